"""Solutions of the flow with their errors: which means, how many runs, what their spread says."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...base.quantities import recovery_of
from ...targets.target import Target
from ...targets.training import TrainedStudent
from ._flow_batches import BatchMeans
from ._flow_erf import ErfMeans
from ._flow_integrate import Trajectory, integrate
from ._flow_means import LineMeans, MeanRule, SobolMeans
from ._flow_push import Neurons, Push

SCRAMBLES = 8
# Nets of 2^13 points in seven dimensions have planes that are not filled evenly: errors of 0.03
# instead of 0.004 for the products of four neurons. More points than these only where they help.
_POINTS = (2**14, 2**16)
_GOOD = 0.01  # errors of overlaps and norms with which nobody waits for the larger net
# Of one step. Means over points have errors of their own, and jump when a point crosses a kink: a
# smaller tolerance would follow these jumps one by one.
_EXACT, _SMOOTH, _KINKED = 1e-7, 1e-6, 1e-5
_ROUGHER = 10.0  # a second tolerance, for the error
# Two solutions cross now and then: they are compared over a stretch of time before each time, at
# times that are no farther apart than these factors.
_BEFORE, _APART = 0.6, 0.9
_ROUNDING = 1e-12


class Flow(NamedTuple):
    """Quantities (value, error) over time; valid up to `until`, for the reason `why`."""

    values: dict[str, tuple[np.ndarray, np.ndarray]]
    until: float
    why: str


def solve_flow(
    target: Target,
    student: TrainedStudent,
    start: Neurons,
    times: np.ndarray,
    *,
    second_order: bool,
    points: int | None,
) -> Flow:
    """Solution with errors, by the most accurate means that cover the case.

    Without a number of points a second, larger net is taken if the first one is not good enough.
    """
    nets = _POINTS if points is None else (points,)
    for size in nets:
        fine, rough = _mean_rules(target, student, start.M, size)
        found = _solution(fine, rough, student, start, times, second_order=second_order)
        good = all(_is_good(*found.values[name]) for name in ("overlap", "norm"))
        if good or found.why or len(fine) == 1:
            break
    # The excess error is a mean of squares: below zero it is an error of the solution, stated.
    mse, error = found.values["test_mse"]
    found.values["test_mse"] = np.maximum(mse, target.noise), error
    return found


def _is_good(value: np.ndarray, error: np.ndarray) -> bool:
    return bool((error <= _GOOD * (1 + np.abs(value))).all())


def _solution(
    fine: list[MeanRule],
    rough: MeanRule,
    student: TrainedStudent,
    start: Neurons,
    times: np.ndarray,
    *,
    second_order: bool,
) -> Flow:
    """Mean of the solutions by several rules, with an error from their spread and a rougher one."""
    exact = len(fine) == 1
    tolerance = _EXACT if exact else _SMOOTH if rough.is_smooth else _KINKED
    looks = _looks(times) if exact else np.unique(times)
    last = np.searchsorted(looks, times)
    first = np.searchsorted(looks, _BEFORE * times) if exact else last

    def solve(means: MeanRule, factor: float) -> Trajectory:
        allowed = factor * tolerance
        return integrate(
            means, student, start, looks,
            tolerance=allowed,
            # A square of weights. Means over points are rougher than what this would resolve.
            rest_tolerance=allowed**2 if exact else allowed,
            second_order=second_order,
        )  # fmt: skip

    # Once all goes wrong at the first scramble there is no need to see the others do the same.
    runs = [solve(fine[0], 1.0)]
    runs += [solve(means, 1.0) for means in fine[1:] if not runs[0].why]
    other = _quantities(solve(rough, _ROUGHER), student)
    all_runs = [_quantities(run, student) for run in runs]
    values = {}
    for name, second in other.items():
        found = np.stack([run[name] for run in all_runs])
        gap = np.abs(found[0] - second)
        found, second = found[:, last], second[last]
        error = np.stack([gap[i : j + 1].max(axis=0) for i, j in zip(first, last, strict=True)])
        error = error + _ROUNDING * (1 + np.abs(second))
        if len(found) > 1:
            error = error + _quantile(len(found)) * found.std(axis=0, ddof=1)
        values[name] = found.mean(axis=0), np.where(np.isfinite(error), error, np.inf)
    shortest = min(runs, key=lambda run: run.until)
    return Flow(values, shortest.until, shortest.why)


def _looks(times: np.ndarray) -> np.ndarray:
    """Times at which solutions are compared: those that are asked for, and some before them."""
    count = math.ceil(math.log(_BEFORE * times[0] / times[-1]) / math.log(_APART))
    return np.unique(np.concatenate([times, times[-1] * _APART ** np.arange(1, count + 1)]))


def _mean_rules(
    target: Target, student: TrainedStudent, M: np.ndarray, points: int
) -> tuple[list[MeanRule], MeanRule]:
    """Rules whose solutions are averaged, and the one of the rougher solution."""
    push = Push(student)
    if not target.q and ErfMeans.covers(student, target):
        exact = ErfMeans(student, target)
        return [exact], exact
    if push.is_bounded and student.batch_size > 1:
        tied: list[MeanRule] = [
            BatchMeans(push, target, M, scramble=i, points=points) for i in range(SCRAMBLES)
        ]
        return tied, tied[0]
    if student.width == target.r == 1 and (push.is_plain or not (target.noise or target.q)):
        return [LineMeans(push, target, nodes=10)], LineMeans(push, target, nodes=7)
    fine: list[MeanRule] = [
        SobolMeans(push, target, M, scramble=i, points=points) for i in range(SCRAMBLES)
    ]
    return fine, fine[0]


def _quantile(n: int) -> float:
    """Half-width of a 99 % interval of the mean of n runs, in units of their spread."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, 0.995)) / math.sqrt(n)


def _quantities(run: Trajectory, student: TrainedStudent) -> dict[str, np.ndarray]:
    """What a user sees of a solution."""
    Q = run.M @ run.M.transpose(0, 2, 1) + run.rest
    found = {
        "overlap": run.M,
        "norm": Q,
        "recovery": recovery_of(run.M, Q),
        "test_mse": run.mse,
    }
    if student.train_readout is not None:
        found["readout"] = run.a
    if student.train_bias is not None:
        found["bias"] = run.b
    return found
