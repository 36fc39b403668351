"""Random features fitted by squares: the points of a curve, all at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...base.errors import OutOfRegime
from ...base.estimate import Estimate
from ...targets.target import Target
from ._erm_solve import Field
from ._features_ridge import effective_ridge
from ._features_spectrum import FeatureSpectrum, Moments

Values = dict[str, tuple[tuple[str, ...], np.ndarray]]


@dataclass(frozen=True)
class Setting:
    """What is learned and by which features.

    Parameters
    ----------
    target : Target
        The target.
    moments : Moments
        Moments of the activation.
    has_constant : bool
        Whether a constant is learned at no cost.
    delta, flips, outliers
        Parameters of the losses: see the theory.
    """

    target: Target
    moments: Moments
    has_constant: bool
    delta: float = 1.0
    flips: float = 0.0
    outliers: tuple[float, float] | None = None

    @property
    def noise(self) -> list[tuple[float, float]]:
        """Shares and variances of the components of the label noise."""
        if self.outliers is None:
            return [(1.0, self.target.noise)]
        share, variance = self.outliers
        return [(1 - share, self.target.noise), (share, variance)]

    @property
    def noise_variance(self) -> float:
        """Variance of the label noise."""
        return sum(share * variance for share, variance in self.noise)

    @property
    def is_two_valued(self) -> bool:
        """Whether the target is a label with two values."""
        if self.noise_variance:
            return False
        channel = self.target.channel
        return channel.kind == "discrete" and len(channel.values) == 2

    @property
    def flipped_labels(self) -> tuple[float, float, float]:
        r"""Factor and shift of the mean label given z by flips, and the variance that they add.

        With values :math:`a \pm c` and probability p the mean is :math:`(1-2p)\,y + 2pa`, the
        variance :math:`4p(1-p)\,c^2`.
        """
        if not self.flips:
            return 1.0, 0.0, 0.0
        if not self.is_two_valued:
            raise OutOfRegime(
                f"flips are for labels of two values without noise, '{self.target.text}' has "
                "others; write sign(...) around it, or latent noise xi into the target"
            )
        low, high = (float(value) for value in self.target.channel.values)
        p = self.flips
        return 1 - 2 * p, p * (low + high), p * (1 - p) * (high - low) ** 2


class _Weights(NamedTuple):
    """Weights of the parts of a target, as squares see them, with errors."""

    linear: float
    nonlinear: float
    noise: float
    slope: np.ndarray
    linear_error: float
    nonlinear_error: float
    slope_error: np.ndarray


_SQUARE = ("test_mse", "excess_mse", "train_mse", "overlap", "norm", "effective_ridge")


def square_points(
    setting: Setting, alpha: np.ndarray, width_ratio: np.ndarray, ridge: np.ndarray
) -> Values:
    """Variables of the loss "square" over (alpha, width_ratio, ridge) [LR-3]."""
    expansion = setting.target.hermite(1)
    linear, rest, slope = expansion.energy(1), expansion.tail, expansion.tensor(1)
    mean = expansion.coefficient(*(0,) * setting.target.r)
    # Flipped labels: their mean given z is a share of the label, and what varies is noise.
    kept, shift, flipped = setting.flipped_labels
    center, center_err = kept * mean.value + shift, kept * mean.error
    if setting.has_constant:
        b, b_err, unlearned = center, center_err, Estimate(0.0)
    else:
        b, b_err = 0.0, 0.0
        unlearned = Estimate(center**2, (2 * abs(center) + center_err) * center_err)
    weights = _Weights(
        linear=kept**2 * linear.value,
        nonlinear=kept**2 * max(rest.value, 0.0) + unlearned.value,
        noise=setting.noise_variance + flipped,
        slope=kept * slope.value,
        linear_error=kept**2 * linear.error,
        nonlinear_error=kept**2 * rest.error + unlearned.error,
        slope_error=kept * slope.error,
    )
    parts = [_at_width(setting, weights, alpha, float(beta), ridge) for beta in width_ratio]
    values: Values = {}
    for name in _SQUARE:
        dims = ("direction",) if name == "overlap" else ()
        values[name] = (dims, np.stack([part[name][0] for part, _ in parts], axis=1))
        values[f"{name}_err"] = (dims, np.stack([part[name][1] for part, _ in parts], axis=1))
    shape = values["test_mse"][1].shape
    values["intercept"] = ((), np.full(shape, b))
    values["intercept_err"] = ((), np.full(shape, b_err))
    if setting.is_two_valued:
        values |= _square_label_errors(setting, values, b)
    converged = np.stack([mark for _, mark in parts], axis=1)
    return values | verdict(converged, "Newton's iteration for the effective ridge did not end")


def _at_width(
    setting: Setting, weights: _Weights, alpha: np.ndarray, width_ratio: float, ridge: np.ndarray
) -> tuple[dict[str, tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """Quantities and errors over (alpha, ridge) at one width, and whether they converged."""
    moments = setting.moments
    # The second entry moves the moments by their errors.
    shifts = np.array([0.0, 1.0]).reshape(2, 1, 1)
    spectrum = FeatureSpectrum(
        width_ratio,
        moments.linear + shifts * moments.linear_error * (moments.linear > 0),
        moments.rest + shifts * moments.rest_error * (moments.rest > 0),
    )
    found, noise = effective_ridge(spectrum, alpha[:, None], ridge), weights.noise
    share = found.sums.df2 / alpha[:, None]
    # 1/room - 1 = share/room: the noise of a new label is not part of the excess.
    missed = weights.linear * found.bias() + weights.nonlinear + noise * share
    missed_err = weights.linear_error * found.bias() + weights.nonlinear_error
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.where(missed > 0, missed / found.room, 0.0)
        excess_err = missed_err / found.room + found.accuracy * (excess + noise)
        test = excess + noise
        train, train_err = (
            np.where(found.shrink > 0, x * found.shrink**2, 0.0) for x in (test, excess_err)
        )
        norm = test * share + weights.linear * found.sums.learned2
        overlap = found.sums.learned[..., None] * weights.slope
        both = {
            "excess_mse": (excess, excess_err),
            "test_mse": (test, excess_err),
            "train_mse": (train, train_err),
            "norm": (norm, excess_err + 1e-14 * norm),
            "overlap": (overlap, np.abs(weights.slope_error) + 1e-14 * (1 + overlap)),
            "effective_ridge": (
                np.where((ridge == 0) & (spectrum.rank <= alpha[:, None]), 0.0, found.kappa),
                np.minimum(found.accuracy, 1.0) * found.kappa,
            ),
        }
        values = {
            name: (
                value[0],
                np.where(np.isfinite(value[0]), error[0] + abs(value[1] - value[0]), 0),
            )
            for name, (value, error) in both.items()
        }
    return values, found.converged[0]


def _square_label_errors(setting: Setting, values: Values, b: float) -> Values:
    """Probabilities of wrong labels when squares are fitted to a label with two values.

    Nothing if the law of the label is an integral over too many directions.
    """
    from ._erm_labels import TwoLabels

    try:
        labels = TwoLabels(setting.target, setting.flips)
    except OutOfRegime:
        return {}
    low, high = labels.values
    scale = 2 / (high - low)
    norm, overlap = values["norm"][1], values["overlap"][1]
    shape = norm.shape
    test, train = np.empty((2, *shape)), np.empty((2, *shape))
    for place in np.ndindex(shape):
        if not np.isfinite(norm[place]):
            # Infinite fluctuations: a coin decides on new samples, training samples are fitted.
            test[:, *place], train[:, *place] = (0.5, 0.0), 0.0
            continue
        field = Field(
            V=0.0,
            q=float(norm[place]) * scale**2,
            m=overlap[place] * scale,
            b=(b - (low + high) / 2) * scale,
        )
        shift = values["norm_err"][1][place] * scale**2
        shrink2 = values["train_mse"][1][place] / values["test_mse"][1][place]
        test[:, *place] = label_error(labels, field, 0.0, shift)
        # The proximal point (t + V)/(1 + V) is negative below t = -V.
        with np.errstate(divide="ignore"):
            V = float(1 / np.sqrt(shrink2) - 1)
        train[:, *place] = label_error(labels, field, -V, shift) if np.isfinite(V) else 0.0
    return {
        "zero_one_error": ((), test[0]),
        "zero_one_error_err": ((), test[1]),
        "train_zero_one_error": ((), train[0]),
        "train_zero_one_error_err": ((), train[1]),
    }


def label_error(labels: Any, field: Field, margin: float, shift: float) -> tuple[float, float]:
    """Probability of a margin below a value, and its error when q may move by `shift`."""
    from ._erm_margin import zero_one_error

    found, coarse = (zero_one_error(labels, field, margin=margin, resolution=i) for i in (1, 0))
    moved = zero_one_error(labels, field._replace(q=field.q + shift), margin=margin, resolution=1)
    return found, abs(found - coarse) + abs(found - moved) + 1e-15


def verdict(converged: np.ndarray, reason: str) -> Values:
    """Variables that say where a solver did not converge, and why."""
    status = np.where(converged, "", reason)
    return {"converged": ((), converged), "status": ((), status)}
