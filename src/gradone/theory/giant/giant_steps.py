"""The exact limit of several giant gradient steps on fresh batches."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.correlation.climbing import blind_degrees, staircase_degrees
from ...base.axes import axis_values
from ...base.curves import curve
from ...base.errors import BadData
from ...base.seeds import stream
from ...calculus.expansion import MAX_VARIABLES
from ...targets.activation import Activation
from ...targets.sampled import whole_number
from ...targets.target import Target
from .._inputs import nonnegative
from .._registry import THEORIES, Theory
from ..sgd._effective_process import cloud
from ._giant_limit import Classes, Course, course, draw_count
from ._one_step_spike import read_activation
from ._readout_law import ReadoutLaw, readout_law
from ._swept import Swept

if TYPE_CHECKING:
    import xarray as xr

LABELS = {
    "gradient_cosine": (r"\cos(G, w^\star)", "cosine of the gradient with the target directions"),
    "norm": ("|w|", "norm of the weights"),
    "share": ("P", "share of the neurons"),
}
_DIMS: dict[str, tuple[str, ...]] = {
    "gradient_cosine": ("step", "neuron", "direction"),
    "overlap": ("step", "neuron", "direction"),
    "norm": ("step", "neuron"),
    "test_mse": ("step",),
}
_REPLICAS = 8
_NODES = 8  # values that stand for a Gaussian readout or bias


@THEORIES.add("giant_steps")
class GiantStepsTheory(Theory):
    r"""Weights, gradients and error after each of T giant steps on batches of fresh samples.

    Every neuron is described by its overlaps :math:`M_c` with the target's directions and with the
    noise that it shares with all others, and by the scale :math:`S_c` of a Gaussian of its own:

    .. math:: M_c \leftarrow (M_c + s\,a_c\mathbb{E}[\epsilon\,\bar\sigma'_c\,u],\; sL_c), \qquad
              S_c \leftarrow \sqrt{(S_c+sg_c)^2+s^2v_c}                                   [GL-2]

    with :math:`LL^\top = K` the covariance of the noise of the gradients [GL-1]. Directions appear
    one after the other along the staircase of the target, as far as the student can see them.

    Parameters
    ----------
    batch_ratio : array
        Samples of each step, per dimension.
    step_size : float or array
        s of :math:`w \leftarrow w + s\,a\,\frac1n\sum(y-f)\,\sigma'(\langle w,x\rangle+b)\,x` with
        :math:`f = \frac1p\sum_ja_j\sigma_j`.
    activation : str
        Activation of the student.
    steps : int
        Number T of steps.
    readout : {"gaussian", "signs", "ones"} or mapping
        Second layer a, fixed; ``{value: share}``.
    bias : float or mapping
        Biases b, fixed and independent of a; ``{value: share}``.
    bias_scale : float
        Standard deviation of Gaussian biases around `bias`, which is then a number.
    points : int
        Points in each of 8 scrambles; a power of two is best.
    seed : int
        Seed of the scrambles.

    Notes
    -----
    At ``step`` t stand the weights after t steps, and the gradient taken there, which makes step
    t + 1. A ``neuron`` is a class of neurons, with the ``readout``, the ``bias`` and the share of
    the network given by variables of these names. ``test_mse`` counts the label noise. Errors are
    half-widths of 99 % intervals over the scrambles; that eight values stand for a Gaussian readout
    or bias moves cosines by less than 0.005. Checked against simulations with widths up to
    d/4; at widths of the order of d and above the network's noise is not that of this limit.

    References
    ----------
    Dandi et al. 2023, arXiv:2305.18270.

    Examples
    --------
    The second direction of z1 + z1 z2 is hidden from the first gradient and found by the second:

    >>> import gradone as gd
    >>> found = gd.predict("z1 + z1*z2", "giant_steps", batch_ratio=8.0, step_size=1.5,
    ...                    readout="signs", bias_scale=0.0)
    >>> found.gradient_cosine.sel(neuron=2).values[0].round(2) + 0.0
    array([[0.82, 0.  ],
           [0.63, 0.45]])
    """

    answers = ("gradient_cosine", "overlap", "norm", "test_mse", "readout", "bias", "share")
    axes = ("batch_ratio",)
    seconds = 0.2
    numerics = 2
    regime = (
        "d -> infinity with fresh samples of order d in each of T steps, then width -> infinity"
    )
    cites = ("dandi2023giant",)

    latent = True

    def obstacle(self, target: Target) -> str | None:
        """Why the theory does not cover a target, or None."""
        if len(target.joint.span) == 0:
            return "the target is a constant, so there is nothing to learn"
        return None

    def predict(
        self,
        target: Target,
        *,
        batch_ratio: Any,
        step_size: Any,
        activation: str = "relu(z)",
        steps: int = 1,
        readout: Any = "gaussian",
        bias: Any = 0.0,
        bias_scale: float = 1.0,
        points: int = 2**14,
        seed: int = 0,
    ) -> xr.Dataset:
        """State after each step, at every point of the grid."""
        sigma = read_activation(activation)
        classes = _classes(readout_law(readout, nodes=_NODES), _biases(bias, bias_scale))
        steps, points = whole_number("steps", steps), whole_number("points", points, least=64)
        grid = Swept(
            {"batch_ratio": batch_ratio},
            {"step_size": (axis_values("step_size", step_size), step_size)},
        )
        count = draw_count(classes, target, steps)
        courses: dict[tuple[int, ...], list[Course]] = {place: [] for place, _ in grid}
        for replica in range(_REPLICAS):
            rng = stream(seed, "data", theory=self.name, replicate=replica)
            draws = cloud(count, points, rng)
            for place, point in grid:
                # A divergence is found by its size, and reported.
                with np.errstate(over="ignore", invalid="ignore"):
                    courses[place].append(
                        course(target, sigma, classes, **point, steps=steps, draws=draws)
                    )
        values = _gathered(grid, courses) | _verdict(grid, courses, steps)
        for name in ("readout", "bias", "share"):
            number = getattr(classes, name)
            values |= {
                name: (("neuron",), number),
                f"{name}_err": (("neuron",), np.zeros_like(number)),
            }
        return curve(
            values,
            grid.coords
            | {
                "step": np.arange(steps + 1),
                "neuron": np.arange(1, len(classes.share) + 1),
                "direction": np.arange(1, target.r + 1),
            },
            source=f"theory:{self.name}",
            target=target.text,
            params={
                "noise": target.noise, "activation": sigma.text, "steps": steps, "points": points
            },
            seed=seed,
            labels=LABELS,
        ).assign_attrs(_blindness(target, sigma, classes))  # fmt: skip


def _blindness(target: Target, sigma: Activation, classes: Classes) -> dict[str, str]:
    """Steps of the staircase that the student cannot see, in words."""
    degrees = staircase_degrees(target.regression) if target.r <= MAX_VARIABLES else ()
    blind = blind_degrees(sigma, degrees, np.unique(classes.bias).tolist())
    if not blind:
        return {}
    return {
        "notes": f"The student is blind to terms of degree {', '.join(map(str, blind))} of the "
        f"staircase: this Hermite coefficient of '{sigma.text}' vanishes for its biases. "
        "gd.Student.for_target(target) proposes one that climbs."
    }


def _biases(bias: Any, scale: Any) -> ReadoutLaw:
    """Values of the biases and their shares."""
    scale = nonnegative("bias_scale", scale, what="a standard deviation")
    if isinstance(bias, Mapping):
        if scale:
            raise BadData(
                "bias_scale spreads a bias that is a number: use bias_scale=0 with shares"
            )
        return readout_law(bias, name="bias")
    try:
        value = math.nan if isinstance(bias, str) else float(bias)
    except TypeError:
        value = math.nan
    if not math.isfinite(value):
        raise BadData(
            f"bias must be a finite number or a mapping of values to shares such as "
            f"{{-0.5: 0.5, 0.5: 0.5}}, got {bias!r}; bias_scale=1 makes it Gaussian"
        )
    if not scale:
        return ReadoutLaw(np.array([value]), np.ones(1))
    law = readout_law("gaussian", nodes=_NODES)
    return ReadoutLaw(value + scale * law.values, law.shares)


def _classes(layer: ReadoutLaw, biases: ReadoutLaw) -> Classes:
    """All pairs of a readout weight and a bias."""
    pairs = list(itertools.product(zip(layer.values, layer.shares, strict=True),
                                   zip(biases.values, biases.shares, strict=True)))  # fmt: skip
    return Classes(
        np.array([a for (a, _), _ in pairs]),
        np.array([b for _, (b, _) in pairs]),
        np.array([p * q for (_, p), (_, q) in pairs]),
    )


def _gathered(
    grid: Swept, courses: dict[tuple[int, ...], list[Course]]
) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Means over the scrambles and their errors."""
    from scipy.special import stdtrit

    quantile = float(stdtrit(_REPLICAS - 1, 0.995)) / math.sqrt(_REPLICAS)
    values = {}
    for name, dims in _DIMS.items():
        each = np.array([[getattr(one, name) for one in courses[place]] for place, _ in grid])
        shape = (*grid.shape, *each.shape[2:])
        values[name] = grid.labeled(each.mean(axis=1).reshape(shape), *dims)
        error = quantile * each.std(axis=1, ddof=1)
        values[f"{name}_err"] = grid.labeled(error.reshape(shape), *dims)
    return values


def _verdict(
    grid: Swept, courses: dict[tuple[int, ...], list[Course]], steps: int
) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Whether the weights stayed finite."""
    converged, status = np.ones(grid.shape, bool), np.full(grid.shape, "", dtype=object)
    for place, point in grid:
        done = min(one.steps_done for one in courses[place])
        if done < steps:
            converged[place] = False
            status[place] = (
                f"the weights diverge at step {done + 1}; use a step_size smaller than "
                f"{point['step_size']:g}"
            )
    return {
        "converged": grid.labeled(converged),
        "status": grid.labeled(status.astype(str)),
    }
