"""Ridge regression on the features of a two-layer network after one giant gradient step."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...base.axes import axis_values
from ...base.curves import curve
from ...base.errors import BadData
from ...targets.activation import Activation
from ...targets.target import Target
from .._registry import THEORIES, Theory, refusal
from ._one_direction import directions_used, in_its_directions
from ._one_step_model import KnownBias, OneStep, Point, Variant
from ._one_step_small import small_spike, small_step_point
from ._one_step_spike import read_activation, spike_obstacle
from ._readout_law import readout_law
from ._swept import Swept, one_number

if TYPE_CHECKING:
    import xarray as xr

LABELS = {
    "spike": ("r", "strength of the spike"),
    "alignment": (r"\gamma", "cosine of the spike with the target's direction"),
    "bulk_scale": ("c", "mean squared norm of the rows without the spike"),
    "known_bias": (r"R_\mathrm{step} - R", "known excess of a real gradient step"),
}
_ANSWERS = ("test_mse", "excess_mse", "train_mse", *LABELS)
_ERRORS = tuple(f"{name}_err" for name in _ANSWERS)
# Relative bias from which on a warning is given.
_NOTABLE = 0.02
_MOST_DIRECTIONS = 3


@THEORIES.add("one_step")
class OneStepTheory(Theory):
    r"""Test and training error after one giant step and a ridge readout on fresh samples.

    The step turns the first layer into a bulk with a spike, :math:`W_1 \simeq W + r\,uv^\top`
    [OS-1], and given :math:`\kappa = \langle v, x\rangle` the features are equivalent to Gaussian
    ones [OS-3]. For u = 1,

    .. math:: D = \frac{1}{1+\mu_1^2V_1+\mu_2^2V_2}, \qquad
              V_2 = \Big(\lambda + \tfrac\alpha\beta\,\mathbb{E}[\mu_2^2D]
              + \frac{c\hat V}{1+c\beta\hat VV_2}\Big)^{-1}, \qquad
              V_1 = \frac{cV_2}{1+c\beta\hat VV_2}                                       [OS-4]

    with :math:`\hat V = \frac\alpha\beta\mathbb{E}[\mu_1^2D]`; the errors follow from two linear
    systems, [OS-5] and [OS-6]. No random matrix is drawn.

    Parameters
    ----------
    readout_ratio : array
        Fresh samples of the readout, per dimension.
    batch_ratio : float or array
        Samples of the step, per dimension; ``inf`` is the population gradient.
    step_size : float or array
        s: :math:`w \leftarrow w + s\,u\,\frac{1}{n_0}\sum(y-f_0)\,\sigma'(\langle w,x\rangle)\,x`
        with :math:`f_0 = \frac1p\sum u_k\sigma_k`; zero means random features, which are not the
        limit of small steps at infinite `width` (see the notes).
    activation : str
        Activation of the student.
    width_ratio : float or array
        Width per dimension.
    ridge : float or array
        Penalty :math:`\lambda` of
        :math:`\sum(y-\langle a,\varphi\rangle/\sqrt p)^2+\lambda|a|^2`.
    variant : {"gradient", "spiked"}
        The real gradient step, which changes the norms of the rows coherently with the spike, or
        the spiked random features of the literature, which leave that out.
    width : float
        Width p of the finite-width terms, needed for small steps and for second layers of several
        values; ``inf`` leaves them out.
    readout : {"gaussian", "signs", "ones"} or mapping
        Second layer u before the step, independent of the rows; ``{value: share}``.
    scaling : {"giant", "small"}
        For ``"small"`` the step is :math:`\eta = s\sqrt p` of order one, the limit of infinite
        width at the scale where the spike leaves the bulk.

    Notes
    -----
    Parameters given as sequences become dimensions. Rows start uniformly on the unit sphere and
    independently: pairs of equal rows with opposite u are another model. Errors compare two
    resolutions of all integrals, plus what the iteration leaves.

    At infinite width the errors jump at ``step_size=0``. The spike has the operator norm
    :math:`s\sqrt p` beside a bulk of order one: however small s is, an infinite width makes it the
    largest feature, which the readout scales for free. For sin(z), readout_ratio = 2 and
    batch_ratio = 4 the test error is 0.238 without a step and 0.122 for every small one. Networks
    cross over at :math:`s \sim 1/\sqrt p`: ``width`` gives that for their width,
    ``scaling="small"`` as a limit.

    ``known_bias`` is the excess of
    real gradient steps over the variant ``"gradient"``: 0.15 (c - 1)(1 - gamma^2) of the risk for
    odd activations, about -2 % for others, to a factor of two [OS-8]; the noise of the step is not
    isotropic. Above 2 % a warning of the class ``gd.theory.KnownBias`` says so.

    References
    ----------
    Cui et al. 2024, arXiv:2402.04980; Ba et al. 2022, arXiv:2205.01445.

    Examples
    --------
    One step beats what random features can do, the best linear function:

    >>> import gradone as gd
    >>> after = gd.predict("sin(z)", "one_step", readout_ratio=[0.9, 3.0], batch_ratio=20.0,
    ...                    step_size=3.0, activation="tanh(z)", readout="ones")
    >>> after.test_mse.values.round(4), bool(after.test_mse_err.max() < 1e-8)
    (array([0.0416, 0.0315]), True)
    """

    answers = _ANSWERS
    axes = ("readout_ratio",)
    numerics = 2
    regime = "d, n, width and batch -> infinity in proportion; r <= 3; unit rows; fresh readout"
    cites = ("cui2024asymptotics", "ba2022onestep")
    latent = True

    def obstacle(self, target: Target) -> str | None:
        """Why the theory does not cover a target, or None."""
        used = directions_used(target)
        if used > _MOST_DIRECTIONS:
            return (
                f"the target depends on {used} directions, and the theory of one step covers "
                f"{_MOST_DIRECTIONS}"
            )
        if used == 0:
            return "the target is a constant, so there is nothing to learn"
        return None

    def predict(
        self,
        target: Target,
        *,
        readout_ratio: Any,
        batch_ratio: Any,
        step_size: Any,
        activation: str = "relu(z)",
        width_ratio: Any = 1.0,
        ridge: Any = 0.1,
        variant: Variant = "gradient",
        width: float = math.inf,
        readout: Any = "gaussian",
        scaling: Literal["giant", "small"] = "giant",
    ) -> xr.Dataset:
        """Errors at every point of the grid."""
        sigma, link = read_activation(activation), in_its_directions(target)
        if scaling not in ("giant", "small"):
            raise BadData(f"scaling must be 'giant' or 'small', got {scaling!r}")
        if scaling == "giant" and (reason := spike_obstacle(link, sigma)):
            raise refusal(self, target, reason)
        width = one_number("width", width, infinite=True)
        given = {
            "batch_ratio": (axis_values("batch_ratio", batch_ratio, infinite=True), batch_ratio),
            "step_size": (axis_values("step_size", step_size, zero=True), step_size),
            "width_ratio": (axis_values("width_ratio", width_ratio), width_ratio),
            "ridge": (axis_values("ridge", ridge), ridge),
        }
        grid = Swept({"readout_ratio": readout_ratio}, given)
        found = {name: np.zeros(grid.shape) for name in (*_ANSWERS, *_ERRORS)}
        found |= {"n_iter": np.zeros(grid.shape, int), "converged": np.zeros(grid.shape, bool)}
        found["status"] = np.full(grid.shape, "", dtype=object)
        solve: _Giant | _Small = (
            _Giant(link, sigma, readout=readout, variant=variant, width=width)
            if scaling == "giant"
            else _Small(link, sigma, readout=readout)
        )
        for place, point in grid:
            solved, facts = solve(point)
            for name, value in (_values(solved, target.noise_variance.value) | facts).items():
                found[name][place] = value
        if found["known_bias"].any():
            _warn(found["known_bias"] / found["test_mse"], found["bulk_scale"])
        found["status"] = found["status"].astype(str)
        return curve(
            {name: grid.labeled(array) for name, array in found.items()},
            grid.coords,
            source=f"theory:{self.name}",
            target=target.text,
            params={
                "noise": target.noise, "activation": sigma.text, "variant": variant,
                "width": _finite(width), "readout": _text(readout), "scaling": scaling,
            },
            labels=LABELS,
        )  # fmt: skip


class _Giant:
    """Points after a giant step: errors of the readout, and the spike."""

    def __init__(
        self,
        target: Target,
        activation: Activation,
        *,
        readout: Any,
        variant: Variant,
        width: float,
    ) -> None:
        self.target, self.activation, self.width = target, activation, width
        self.student = {"readout": readout, "variant": variant}
        self._models: dict[tuple[float, float], OneStep] = {}

    def __call__(self, point: dict[str, float]) -> tuple[Point, dict[str, float]]:
        key = point["batch_ratio"], point["step_size"]
        if key not in self._models:
            self._models[key] = OneStep(
                self.target, self.activation, batch_ratio=key[0], step_size=key[1], **self.student
            )
        model = self._models[key]
        solved = model.point(
            readout_ratio=point["readout_ratio"], width_ratio=point["width_ratio"],
            ridge=point["ridge"],
            width=self.width,
        )  # fmt: skip
        spike, bias = model.spike, model.relative_bias * solved.test
        facts = {
            "spike": spike.strength,
            "alignment": spike.alignment,
            "bulk_scale": float(model.layer.shares @ spike.scales),
            "known_bias": bias,
            "known_bias_err": abs(bias),
        }
        return solved, facts | _spike_errors(spike.error, point["step_size"])


class _Small:
    """Points after a small step, where the row norms and a finite width do not count."""

    def __init__(self, target: Target, activation: Activation, *, readout: Any) -> None:
        self.target, self.activation = target, activation
        self.layer = readout_law(readout)

    def __call__(self, point: dict[str, float]) -> tuple[Point, dict[str, float]]:
        solved = small_step_point(self.target, self.activation, self.layer, **point)
        step = {name: point[name] for name in ("batch_ratio", "step_size")}
        strength, cosine2 = small_spike(self.target, self.activation, self.layer, **step)
        facts = {"spike": strength, "alignment": math.sqrt(cosine2), "bulk_scale": 1.0}
        return solved, facts | _spike_errors(1e-14, point["step_size"])


def _spike_errors(error: float, step: float) -> dict[str, float]:
    """Errors of the spike, which come from those of Gaussian means."""
    size = 10 * error * (1 + step * step)
    return {"spike_err": size, "alignment_err": size, "bulk_scale_err": size}


def _values(solved: Point, noise: float) -> dict[str, Any]:
    return {
        "test_mse": solved.test,
        "excess_mse": solved.test - noise,
        "train_mse": solved.train,
        "test_mse_err": solved.test_error,
        "excess_mse_err": solved.test_error,
        "train_mse_err": solved.train_error,
        "n_iter": solved.n_iter,
        "converged": solved.converged,
        "status": solved.status,
    }


def _warn(relative: np.ndarray, scale: np.ndarray) -> None:
    """Say where real gradient steps are known to do worse than the theory."""
    worst = float(relative.max())
    if worst > _NOTABLE:
        warnings.warn(
            f"the bulk of the weights grows to c = {float(scale.max()):.2f} and the noise of the "
            f"step is not isotropic: expect real gradient steps about {100 * worst:.0f} % above "
            "this test error (to a factor of two; variable 'known_bias'). A smaller step_size or a "
            "larger batch_ratio removes the bias, variant='spiked' has none.",
            KnownBias,
            stacklevel=4,
        )


def _finite(width: float) -> float | None:
    """Width as a parameter of a curve, where None stands for infinity."""
    return width if math.isfinite(width) else None


def _text(readout: Any) -> str:
    return readout if isinstance(readout, str) else str(dict(readout))
