"""Who takes part in a comparison: theories and learners that cover a target, and with what numbers.

Theory and learner of one algorithm have the same parameters, so that their curves can agree.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.children import Task
from ..base.errors import GradoneError
from ..base.pool import Call
from ..learners import LEARNERS
from ..targets.hierarchical import QuadraticForms
from ..targets.hierarchy import HierarchicalTarget
from ..targets.sampled import Sampled
from ..targets.target import Target
from ..theory import THEORIES
from ..theory._registry import obstacle
from ._common_quantities import ERRORS, common_quantities
from .sgd_pairs import exact_reuse, exact_sgd, flow_of, reuse_theory

if TYPE_CHECKING:
    import xarray as xr

# Random features of twice the dimension; the ridge keeps the peak at n = width small.
_FROZEN: dict[str, Any] = {"activation": "relu(z)", "ridge": 1.0}
_WIDTH_RATIO = 2.0
# One giant step: half of the samples for the step, half for the readout, as the learner has it.
_STEP: dict[str, Any] = {"activation": "tanh(z)", "ridge": 0.1, "step_size": 1.0}
_AS_THEORY = {  # what the formula of one step assumes of the network
    "readout": "ones",
    "symmetric": False,
    "bias_scale": 0.0,
    "fit_intercept": False,
    "standardize": False,
}
_NOT_COMPARED = {
    "giant_steps": "it describes single neurons during the steps, not what a readout makes of them",
    "lazy": "its axis is log n / log d",
}
_DEPTHS = {
    "lazy_excess_mse": "theory:lazy",
    "two_layer_excess_mse": "theory:two_layers",
    "three_layer_excess_mse": "theory:three_layers",
}


@dataclass(frozen=True)
class Field:
    """Everybody who takes part, and why the others do not.

    Parameters
    ----------
    axis : {"alpha", "kappa"}
        Samples per dimension, or log n / log d for hierarchical targets.
    tasks : tuple of Task
        Their pieces give ``{source: curve}``; the name of a task is that of its first source.
    absent : dict of str to str
        Source to the reason why it has no curve.
    places : ndarray
        All values of the axis.
    """

    axis: str
    tasks: tuple[Task, ...]
    absent: Mapping[str, str] = field(default_factory=dict)
    places: np.ndarray = field(default_factory=lambda: np.empty(0))


def line_up(
    target: Sampled,
    *,
    d: int,
    grid: np.ndarray,
    points: np.ndarray,
    replicates: int = 2,
    seed: int = 0,
    theories: Sequence[str] | None = None,
    learners: Sequence[str] | None = None,
) -> Field:
    """Tasks of all theories and learners that cover a target.

    Parameters
    ----------
    target : Target or hierarchical target
        What is learned.
    d : int
        Dimension of the simulations.
    grid, points : ndarray
        Values of the axis for theories and for simulations.
    replicates, seed : int
        Of the simulations.
    theories, learners : sequence of str, optional
        Names; all by default.

    Examples
    --------
    >>> field = line_up(Target("z1*z2"), d=100, grid=np.array([1.0]), points=np.array([1.0]),
    ...                 theories=["bayes_amp", "one_step"], learners=["bayes_amp"])
    >>> [task.name for task in field.tasks], list(field.absent)
    (['theory:bayes_amp', 'simulation:bayes_amp'], ['theory:one_step'])
    """
    is_deep = isinstance(target, HierarchicalTarget)
    axis = "kappa" if is_deep else "alpha"
    common = {"target": target, "d": d}
    tasks: list[Task] = []
    absent: dict[str, str] = {}
    for name in THEORIES if theories is None else theories:
        if reason := _absence(name, target, axis):
            absent[f"theory:{name}"] = reason
            continue
        # One point is one piece, the middle ones first: a curve that was stopped is still a curve.
        order = coarse_to_fine(len(grid))
        pieces: list[Call] = [
            (predicted, {**common, "name": name, "axis": axis, "place": float(grid[i])})
            for i in order
        ]
        if name in _AT_ONCE:
            pieces = [(predicted, {**common, "name": name, "axis": axis, "place": grid.tolist()})]
        handicap = _SLOW.get(name, 0.0)
        tasks.append(Task(f"theory:{name}", pieces, handicap=handicap))
    for name in LEARNERS if learners is None else learners:
        if reason := _blindness(name, target):
            absent[f"simulation:{name}"] = reason
            continue
        # Along log n / log d the cost grows fast: what is cheap comes first.
        order = list(range(len(points))) if is_deep else coarse_to_fine(len(points))
        shared = {**common, "name": name, "axis": axis, "replicates": replicates, "seed": seed}
        pieces = [(simulated, {**shared, "place": float(points[i])}) for i in order]
        tasks.append(Task(f"simulation:{name}", pieces))
    return Field(axis, tuple(tasks), absent, np.union1d(grid, points))


# Theories whose whole curve takes less than a second.
_SLOW = {"bayes_optimal": 20.0}  # seconds that others may use first
_AT_ONCE = ("random_features", "one_step", "sgd_flow")


def coarse_to_fine(count: int) -> list[int]:
    """Positions 0 ... count - 1, the ends first, then the middle, then the quarters.

    Examples
    --------
    >>> coarse_to_fine(5)
    [4, 0, 2, 1, 3]
    """
    found = [count - 1, 0] if count > 1 else [0]
    gaps = [(0, count - 1)]
    while gaps:
        low, high = gaps.pop(0)
        if high - low > 1:
            middle = (low + high) // 2
            found.append(middle)
            gaps += [(low, middle), (middle, high)]
    return found


def _absence(name: str, target: Sampled, axis: str) -> str | None:
    """Why a theory has no curve on the axis, or None."""
    theory = THEORIES[name]()
    if reason := obstacle(theory, target):
        return reason
    if name == "depth" and isinstance(target, QuadraticForms):
        return "at finite d it is about Sight, Might and Tree, this target is a QuadraticForms"
    if axis == "kappa" and name == "lazy":
        return "the theory of depth has its curve, at finite d"
    if name in _NOT_COMPARED:
        return _NOT_COMPARED[name]
    known = {"alpha": ("alpha", "time"), "kappa": ("kappa",)}[axis]
    if not set(theory.axes) & set(known):
        return f"its axis is {' and '.join(theory.axes)}, not {axis}"
    if axis == "alpha" and not set(theory.answers) & {*ERRORS, "overlap"}:
        return f"it answers {', '.join(theory.answers[:3])}, which others do not have"
    return None


def _blindness(name: str, target: Sampled) -> str | None:
    """Why a learner cannot be tried on a target, or None."""
    kind = LEARNERS[name]
    channel = inspect.signature(kind).parameters.get("channel")
    if channel is not None and channel.default is channel.empty:
        if not isinstance(target, Target):
            return "it must know the link, as a function of a fixed number of directions"
        return obstacle(THEORIES["bayes_amp"](), target)
    if getattr(kind, "_estimator_type", "") == "classifier" or "Classifier" in kind.__name__:
        return None if _has_two_labels(target) else "it is for labels of two values"
    return None


def _has_two_labels(target: Sampled) -> bool:
    if not isinstance(target, Target) or target.noise:
        return False
    try:
        return target.channel.kind == "discrete" and len(target.channel.atoms) == 2
    except GradoneError:
        return False


# ---- what a child computes


def predicted(
    target: Sampled, name: str, *, d: int, axis: str, place: float | list[float]
) -> dict[str, xr.Dataset]:
    """Curve of a theory at one or several places of the axis, in common quantities."""
    from ..theory.predict import predict

    values = np.atleast_1d(place)
    if name == "depth":
        return _depths(predict(target, name, kappa=values, d=d, on_failure="mark"))
    source = f"theory:{name}"
    if name == "random_features":
        found = predict(target, name, alpha=values, width_ratio=_WIDTH_RATIO, **_FROZEN)
        return {source: common_quantities(found, "alpha")}
    if name == "one_step":
        half = [
            predict(target, name, alpha=alpha / 2, batch_ratio=alpha / 2, **_STEP)
            .squeeze("alpha")
            .assign_coords(alpha=alpha)
            for alpha in values.tolist()
        ]
        return {source: common_quantities(joined(half, "alpha"), "alpha")}
    if name == "reused_batch" and isinstance(target, Target):
        return _reused(target, d, values)
    if name == "sgd_flow" and isinstance(target, Target):
        return _one_pass(target, d, values)
    found = predict(target, name, alpha=values, on_failure="mark")
    return {source: common_quantities(found, "alpha")}


def _depths(curve: xr.Dataset) -> dict[str, xr.Dataset]:
    """Each kind of learner of the theory of depth as a source of its own."""
    found = {}
    for variable, source in _DEPTHS.items():
        if variable in curve:
            names = {variable: "excess_mse", f"{variable}_err": "excess_mse_err"}
            found[source] = common_quantities(curve.rename(names), "kappa")
    return found


def _reused(target: Target, d: int, alphas: np.ndarray) -> dict[str, xr.Dataset]:
    """Theory of gradient descent on fixed data, and its exact simulation with the same steps."""
    theory, runs = [], []
    for alpha in alphas.tolist():
        run = exact_reuse(target, d=d, alpha=alpha)
        theory.append(common_quantities(reuse_theory(target, run, alpha=alpha), "alpha"))
        runs.append(common_quantities(run.assign_coords(alpha=alpha).expand_dims("alpha"), "alpha"))
    return {
        "theory:reused_batch": joined(theory, "alpha"),
        "simulation:exact_reused_batch": joined(runs, "alpha"),
    }


def _one_pass(target: Target, d: int, alphas: np.ndarray) -> dict[str, xr.Dataset]:
    """Flow of SGD that sees each of n = alpha d samples once, and its exact simulation."""
    run = exact_sgd(target, d=d, times=alphas)
    flow = flow_of(target, run)
    exact = run.swap_dims(step="time").drop_vars("step")
    return {
        "theory:sgd_flow": common_quantities(flow.rename(time="alpha"), "alpha"),
        "simulation:exact_sgd": common_quantities(exact.rename(time="alpha"), "alpha"),
    }


def simulated(
    target: Sampled, name: str, *, d: int, axis: str, place: float, replicates: int, seed: int
) -> dict[str, xr.Dataset]:
    """Curve of a learner at one place of the axis, in common quantities."""
    from .simulate import simulate

    n = max(2, round(d**place if axis == "kappa" else place * d))
    found = simulate(
        target,
        name,
        d=d,
        n=n,
        replicates=replicates,
        seed=seed,
        # Labels may have heavy tails; where a prediction is a matrix product many are cheap.
        test_samples=16384 if name in ("random_features", "giant_step") else 4096,
        progress=False,
        **learner_settings(name, target, d),
    )
    found = found.squeeze("n", drop=True).assign_coords({axis: place})
    return {f"simulation:{name}": common_quantities(found, axis).expand_dims(axis)}


def learner_settings(name: str, target: Sampled, d: int) -> dict[str, Any]:
    """Parameters of a learner, those of its theory where there is one."""
    if name == "random_features":
        return {"width": round(_WIDTH_RATIO * d), **_FROZEN}
    if name == "giant_step" and isinstance(target, Target):
        if not obstacle(THEORIES["one_step"](), target):
            return {"width": d, **_STEP, **_AS_THEORY}
        return {"width": 512, "steps": 2, "step_size": 2.0}
    if name == "dot_kernel_ridge":
        return {"ridge": None}
    if name == "bayes_amp":
        return {"max_iter": 200}
    return {}


def joined(curves: Sequence[xr.Dataset], axis: str) -> xr.Dataset:
    """Curves at several places as one, in the order of the axis."""
    import xarray as xr

    wide = [one if axis in one.dims else one.expand_dims(axis) for one in curves]
    found = xr.concat(
        wide,
        axis,
        data_vars="all",
        coords="minimal",
        compat="override",
        join="outer",
        combine_attrs="override",
    )
    return found.sortby(axis)
