"""The polynomial staircase: what kernels and random features learn with n = d^kappa samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.correlation.plateau import conditional_energies
from ...analysis.correlation.plateau import plateau as index_plateau
from ...analysis.depth.plateaus import plateau as hierarchical_plateau
from ...base.curves import curve
from ...base.errors import BadData, OutOfRegime
from ...base.estimate import Estimate, roughest
from ...targets.activation import Activation
from ...targets.hierarchical import HierarchicalTarget
from ...targets.sampled import whole_number
from ...targets.subspace import Subspace
from ...targets.target import Target
from .._inputs import nonnegative, positive
from .._registry import THEORIES, Theory
from ._deterministic_equivalents import equivalents
from ._levels import level_spectrum, target_levels

if TYPE_CHECKING:
    import xarray as xr

_ANSWERS = ("test_mse", "excess_mse", "train_mse")
_HIGHEST = 12.0  # kappa beyond which no table of degrees is made
_MOST_SAMPLES = 1e12
_ABOVE = 2  # degrees above kappa whose learning is followed at finite d


@THEORIES.add("lazy")
class LazyTheory(Theory):
    r"""Polynomials of degree floor(kappa) are learned from n = d^kappa samples, nothing above.

    .. math::
        \mathbb{E}(g - \hat f)^2 \to \|P_{>\kappa}\, g\|^2 = \mathbb{E}[g^2]
        - \sum_{k \le \kappa} W_k, \qquad \kappa = \frac{\log\min(n, p)}{\log d},      [LZ-1]

    for kernel ridge regression, random features of width p and the tangent kernel, with
    :math:`W_k` the weight of the target at degree k. With `d` the curve at this dimension instead,
    with its smooth steps: the levels [LZ-2] of the kernel on the sphere in the deterministic
    equivalents [DF-1] to [DF-4].

    Parameters
    ----------
    kappa : array
        :math:`\log n/\log d`; 0 is allowed (one sample, the constant).
    activation : str, optional
        Activation of the features. A degree whose Hermite coefficient vanishes is never learned:
        the even ones for ``tanh``, odd ones from 3 on for ``relu``. Without it every degree is.
    fit_intercept : bool
        Whether a constant is fitted besides.
    d : int, optional
        Dimension of the curve; it needs `activation`.
    ridge, width : float
        Penalty and number of features of the curve at finite d.

    Notes
    -----
    At integer kappa a degree is being learned: the limit counts it as learned, the curve at finite
    d shows the step. Label noise does not add to the plateaus. The curve is that of inputs on the
    sphere of radius sqrt(d); weights of targets that are no sums of functions of one variable are
    known up to 1/d, which the error counts. Gaussian inputs have fluctuating norms besides, and
    errors higher by a tenth to a half at d = 20 to 40. Hierarchical targets have the limit only.

    References
    ----------
    Ghorbani et al. 2019, arXiv:1904.12191; Mei, Misiakiewicz & Montanari 2021, arXiv:2101.10588;
    Defilippis, Loureiro & Misiakiewicz 2024, arXiv:2405.15699.

    Examples
    --------
    >>> import gradone as gd
    >>> t = "He2(z1) + sign(z1*z2*z3)"
    >>> gd.predict(t, "lazy", kappa=[1.5, 2.5, 3.5]).excess_mse.values.round(6)
    array([3.      , 1.      , 0.741988])
    >>> gd.predict(t, "lazy", kappa=[1.5, 2.5], activation="tanh(z)").excess_mse.values.round(6)
    array([3., 3.])
    """

    answers = _ANSWERS
    axes = ("kappa",)
    may_be_zero = ("kappa",)
    numerics = 2
    regime = "d -> infinity with n = d^kappa, kappa not an integer; the first layer stays random"
    cites = ("ghorbani2019linearized", "mei2021hyper", "defilippis2024rfrr")
    kinds = (Target, HierarchicalTarget)

    latent = True

    def obstacle(self, target: Target | HierarchicalTarget) -> str | None:
        """Why the theory does not cover a target, or None."""
        return None

    def predict(
        self,
        target: Target | HierarchicalTarget,
        *,
        kappa: Any,
        activation: str | None = None,
        fit_intercept: bool = True,
        d: int | None = None,
        ridge: float = 1.0,
        width: float = math.inf,
    ) -> xr.Dataset:
        """Errors at each kappa."""
        target = target.averaged if isinstance(target, Target) else target
        function = None if activation is None else Activation(activation)
        params = {"noise": target.noise, "activation": activation, "fit_intercept": fit_intercept}
        if d is None:
            found = [_plateau(target, float(k), function, fit_intercept) for k in kappa]
            excess, error = np.array([[e.value, e.error] for e in found]).T
            values = {"excess_mse": (excess, error), "test_mse": (excess + target.noise, error)}
        else:
            values = _finite(target, kappa, function, fit_intercept, d, ridge, width)
            params |= {"d": d, "ridge": ridge, "width": width if math.isfinite(width) else "inf"}
        return curve(
            {
                key: ("kappa", array)
                for name, both in values.items()
                for key, array in zip((name, f"{name}_err"), both, strict=True)
            },
            {"kappa": kappa},
            source=f"theory:{self.name}",
            target=target.text,
            params=params,
        )


def _plateau(
    target: Target | HierarchicalTarget,
    kappa: float,
    activation: Activation | None,
    fit_intercept: bool,
) -> Estimate:
    """Weight of the target that is not learned [LZ-1]."""
    if not isinstance(target, Target):
        if activation is not None:
            raise OutOfRegime(
                "'lazy' does not cover a hierarchical target with a given activation; leave "
                "activation out for features that contain every degree"
            )
        return hierarchical_plateau(target, kappa, "lazy")
    nothing = Subspace.zero(target.r)
    if activation is None:
        return index_plateau(target.expression, nothing, kappa)
    if kappa > _HIGHEST:
        raise BadData(f"kappa must be at most {_HIGHEST:g} with an activation, got {kappa:g}")
    degree = math.floor(kappa + 1e-9)  # log n/log d of n = d^2 may come out as 2 - 1e-16
    weights = conditional_energies(target.expression, nothing, degree)
    coefficients = activation.expression.hermite(max(degree, 1))
    learned = [
        weight
        for k, weight in enumerate(weights)
        if (k == 0 and fit_intercept) or not coefficients.coefficient(k).is_zero
    ]
    second = target.expression.second_moment()
    value = second.value - math.fsum(e.value for e in learned)
    error = second.error + math.fsum(e.error for e in learned) + 1e-15 * second.value
    return Estimate(max(value, 0.0), error, roughest(second.kind, *(e.kind for e in learned)))


def _finite(
    target: Target | HierarchicalTarget,
    kappa: np.ndarray,
    activation: Activation | None,
    fit_intercept: bool,
    d: int,
    ridge: float,
    width: float,
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Errors at dimension d, from the levels of the kernel [LZ-2]."""
    if not isinstance(target, Target):
        raise OutOfRegime(
            "'lazy' has the curve at finite d for functions of a few directions only; leave d out"
        )
    if activation is None:
        raise BadData("a curve at finite d needs the features: write activation='relu(z - 0.5)'")
    d = whole_number("d", d, least=4)
    ridge, width = nonnegative("ridge", ridge), positive("width", width, infinite=True)
    samples = d**kappa
    if samples.max() > _MOST_SAMPLES:
        raise OutOfRegime(
            f"n = d^kappa = {samples.max():.1e} samples are more than the levels that can be "
            f"listed, {_MOST_SAMPLES:g}; leave d out for the limit of large d"
        )
    highest = math.floor(float(kappa.max())) + _ABOVE
    levels = target_levels(target, d, highest)
    if fit_intercept:
        levels.weights[0] = 0.0
    spectrum = level_spectrum(activation, levels, d)
    values: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    points = [
        equivalents(spectrum, n=float(n), width=width, ridge=ridge, noise=target.noise)
        for n in samples
    ]
    for name in _ANSWERS:
        numbers = np.array([getattr(found, name) for found, _ in points])
        errors = np.array([getattr(error, name) for _, error in points])
        # Every part of the error is at most the amplified weight it comes from.
        amplified = np.array([1 / max(1 - found.upsilon, 1e-300) for found, _ in points])
        values[name] = numbers, errors + levels.error * amplified
    return values
