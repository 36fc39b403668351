"""Solutions of the flow with their errors: which means, how many runs, what their spread says."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...base.quantities import recovery_of
from ...targets.covariance import Covariance
from ...targets.optimizers import COORDINATEWISE
from ...targets.target import Target
from ...targets.training import TrainedStudent
from ._flow_batches import BatchMeans
from ._flow_erf import ErfMeans
from ._flow_integrate import Trajectory, integrate
from ._flow_maps import iterate
from ._flow_means import LineMeans, MeanRule, SobolMeans
from ._flow_memory import MemoryMeans
from ._flow_motions import BlockMotion, BufferMotion, Motion, NeuronMotion
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


class Limit(NamedTuple):
    """What else of a simulation grows with the dimension, beyond the steps.

    Parameters
    ----------
    second_order : bool
        Whether the noise of the updates is kept.
    momentum_rate : float or None
        kappa of a momentum 1 - kappa/d.
    batch_ratio : float or None
        Samples of a batch over the dimension; times are then numbers of updates.
    covariance : Covariance or None
        Eigenvalues of the covariance of the inputs.
    """

    second_order: bool = True
    momentum_rate: float | None = None
    batch_ratio: float | None = None
    covariance: Covariance | None = None


def solve_flow(
    target: Target,
    student: TrainedStudent,
    start: Neurons,
    times: np.ndarray,
    *,
    limit: Limit,
    points: int | None,
) -> Flow:
    """Solution with errors, by the most accurate means that cover the case.

    Without a number of points a second, larger net is taken if the first one is not good enough.
    """
    nets = _POINTS if points is None else (points,)
    for size in nets:
        solver = _Solver(target, student, start, limit, size)
        found = solver.solution(times)
        good = all(_is_good(*found.values[name]) for name in ("overlap", "norm"))
        if good or found.why or solver.is_exact:
            break
    # The excess error is a mean of squares: below zero it is an error of the solution, stated.
    mse, error = found.values["test_mse"]
    found.values["test_mse"] = np.maximum(mse, target.noise), error
    return found


def _is_good(value: np.ndarray, error: np.ndarray) -> bool:
    return bool((error <= _GOOD * (1 + np.abs(value))).all())


class _Solver:
    """Solutions by several rules, one of them rougher."""

    def __init__(
        self, target: Target, student: TrainedStudent, start: Neurons, limit: Limit, points: int
    ) -> None:
        self._target, self._student, self._start = target, student, start
        self._limit, self._points = limit, points
        pushing = student
        if limit.momentum_rate is not None:  # the step does not multiply the pushes
            pushing = replace(student, step_size=1.0)
        if limit.batch_ratio is not None:  # only those of single samples are needed
            pushing = _bare(student)
        self._motion = self._motion_of(pushing)
        fields = self._motion.neurons(self._motion.start)
        self._fine, self._rough = _mean_rules(target, pushing, fields.M, points)
        self.is_exact = len(self._fine) == 1
        if limit.batch_ratio is not None and student.optimizer in COORDINATEWISE:
            self.is_exact = False
            self._fine = (self._fine * SCRAMBLES)[:SCRAMBLES]

    def _motion_of(self, student: TrainedStudent) -> Motion:
        limit, start = self._limit, self._start
        if limit.covariance is not None:
            return BlockMotion(student, start, limit.covariance, second_order=limit.second_order)
        if limit.momentum_rate is not None:
            gamma = self._student.eta
            return BufferMotion(
                student, start, gamma, limit.momentum_rate, second_order=limit.second_order
            )
        return NeuronMotion(student, start, second_order=limit.second_order)

    def solution(self, times: np.ndarray) -> Flow:
        """Mean of the solutions, with an error from their spread and a rougher one."""
        continuous = self._limit.batch_ratio is None
        looks = _looks(times) if self.is_exact and continuous else np.unique(times)
        last = np.searchsorted(looks, times)
        first = np.searchsorted(looks, _BEFORE * times) if self.is_exact else last

        # Once all goes wrong at the first scramble there is no need to see the others do the same.
        runs = [self._run(self._fine[0], looks, 1.0, 0)]
        for number, means in enumerate(self._fine[1:], start=1):
            if not runs[0].why:
                runs.append(self._run(means, looks, 1.0, number))
        other = self._quantities(self._run(self._rough, looks, _ROUGHER, 0))
        all_runs = [self._quantities(run) for run in runs]
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

    def _run(self, means: MeanRule, looks: np.ndarray, factor: float, number: int) -> Trajectory:
        if self._limit.batch_ratio is not None:
            return iterate(
                means, self._student, self._start, looks,
                ratio=self._limit.batch_ratio, target=self._target,
                scramble=number, points=self._points,
            )  # fmt: skip
        tolerance = _EXACT if self.is_exact else _SMOOTH if means.is_smooth else _KINKED
        allowed = factor * tolerance
        return integrate(
            means, self._motion, looks,
            tolerance=allowed,
            # A square of weights. Means over points are rougher than what this would resolve.
            rest_tolerance=allowed**2 if self.is_exact else allowed,
        )  # fmt: skip

    def _quantities(self, run: Trajectory) -> dict[str, np.ndarray]:
        """What a user sees of a solution."""
        student = self._student
        M, rest, a, b = (
            np.stack(parts) for parts in zip(*map(self._motion.neurons, run.states), strict=True)
        )
        Q = M @ M.transpose(0, 2, 1) + rest
        found = {"overlap": M, "norm": Q, "recovery": recovery_of(M, Q), "test_mse": run.mse}
        found |= self._motion.quantities(run.states)
        if student.train_readout is not None:
            found["readout"] = a
        if student.train_bias is not None:
            found["bias"] = b
        return found


def _bare(student: TrainedStudent) -> TrainedStudent:
    """The same network under steps of size one along the gradients of single samples."""
    return replace(
        student, step_size=1.0, batch_size=1, optimizer="sgd", momentum=0.0, nesterov=False,
        clip_norm=None, clip="batch",
    )  # fmt: skip


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
    if student.optimizer != "sgd" and (
        student.momentum or student.optimizer in ("rmsprop", "adam")
    ):
        runs: list[MeanRule] = [
            MemoryMeans(push, target, M, scramble=i, points=points) for i in range(SCRAMBLES)
        ]
        return runs, runs[0]
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
