"""The end of a climb made precise: Newton's steps, errors, and the rate of convergence."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..targets.posterior import PosteriorChannel
from ._climb import Climb
from ._folding import Symmetries, invariances, symmetrized
from ._state_evolution import Averages, averages, overlap_step, symmetric_basis

if TYPE_CHECKING:
    from ._fixed_points import StateEvolution

UNLEARNED = 1e-4  # overlaps below it belong to directions that are not learned
PERFECT = 1 - 1e-5  # overlaps above it are perfect recovery
COARSE = {1: 0, 2: -2, 3: -1, 4: -1}  # resolution of the rule over prior means in a coarse climb
_RATES = {1: 0, 2: -1, 3: -1, 4: -1}  # the same for derivatives of the map
_FIRST = {1: 1, 2: 0, 3: 1, 4: 1}  # the same for the first answer, and how fine it may become
_FINEST = 1
_GOAL = 1e-4  # error at which an answer is not refined
_LEAST_GAIN = 0.02  # of a refinement: a rule is not trusted to converge faster
CLOSE = 0.03  # what comes so close to turning out otherwise is not decided by a coarse climb
TOLERANCE = 1e-7  # of a finished fixed point
_NEAR = 0.02  # farthest that the end of a coarse climb may be from the fixed point
_DIFFERENCE = 1e-4
_NEWTON_STEPS = 3
_NEGLIGIBLE = 1.5e-3  # move after which the averages need not be computed again
_SHORT = 1e-3  # move of Newton's steps that leaves less than a tenth of the negligible
_RATE_ERROR = 0.005  # relative
_DERIVATIVE_ERROR = 0.05  # relative, of the differences that Newton's steps use


class FixedPoint(NamedTuple):
    """A fixed point of state evolution."""

    M: np.ndarray
    """Overlap matrix (r, r)."""
    error: float
    """Bound on the error of its entries."""
    at: Averages
    """Averages at M."""
    at_error: Averages
    """Their errors."""
    rate: float
    """Largest factor by which a small deviation changes in one iteration."""
    rate_error: float
    """Its error."""
    n_iter: int
    """Evaluations of the map."""
    converged: bool
    status: str
    """What happened, in words."""


class Refined(NamedTuple):
    """Averages at one overlap matrix by rules over prior means that become finer."""

    rules: tuple[Averages, ...]
    """From the coarsest to the finest rule."""
    best: Averages
    """By the finest rule, with what a finer channel changes."""


def finish(
    evolution: StateEvolution, found: Climb, alpha: float, *, coarse: bool = False
) -> FixedPoint | None:
    """Fixed point at the end of a climb, by Newton's steps, with its errors.

    Parameters
    ----------
    evolution : StateEvolution
        The map.
    found : Climb
        Where the climb ended.
    alpha : float
        Samples per dimension.
    coarse : bool
        Whether the climb was coarse. Then the answer is None if its end is in doubt.
    """
    basis = _learned_basis(evolution, found.M)
    derivative, gradients, neighbors = _derivatives(evolution, found.M, alpha, basis)
    count = found.n_iter + len(basis) + 1
    rate = float(np.abs(np.linalg.eigvals(derivative)).max(initial=0.0))
    solve = np.linalg.pinv(np.eye(len(basis)) - derivative)
    M = found.M
    if coarse:
        if rate > 1 - CLOSE:
            return None
        nearby = _nearby(neighbors, M, alpha, basis, solve)
        if nearby is None:
            return None
        M, solve, used = nearby
        count += used
    reached = _newton(evolution, M, alpha, basis, solve)
    count += reached.n_iter
    best = reached.at.best
    log_evidence, test_mse = np.array(best[1:]) + gradients @ reached.step
    errors = _scalar_errors(reached.at) + reached.error * np.abs(gradients).sum(axis=1)
    errors += _DERIVATIVE_ERROR * np.abs(gradients @ reached.step)
    J = [at.information for at in reached.at.rules]
    spread = _left_by_rules(*J) + np.abs(best.information - J[-1])
    at_error = Averages(spread, *map(float, errors))
    status = (
        "converged"
        if found.converged
        else f"state evolution stopped after {count} evaluations of the map at alpha = "
        f"{alpha:g}, where a deviation shrinks by {rate:.4f} per iteration; "
        "near a threshold convergence is slow"
    )
    # Differences are taken at a low resolution, and next to the fixed point.
    rate_error = _RATE_ERROR * rate + reached.error / max(1e-3, 1 - rate)
    return FixedPoint(
        reached.M,
        reached.error,
        Averages(best.information, float(log_evidence), float(test_mse)),
        at_error,
        rate,
        rate_error,
        count,
        found.converged,
        status,
    )


def _nearby(
    neighbors: _Neighbors, M: np.ndarray, alpha: float, basis: np.ndarray, solve: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int] | None:
    """Fixed point at a low resolution next to M, inverse derivative, and evaluations.

    None if it is not close.
    """
    shift, before, move = np.zeros_like(M), np.zeros(0), np.zeros(0)
    for count in range(1, _NEWTON_STEPS + 1):
        residual = _coordinates(neighbors.averages(shift), M + shift, alpha, basis)
        if count > 1:
            solve = _updated(solve, move, before - residual)
        move, before = solve @ residual, residual
        shift = shift + np.tensordot(move, basis, axes=1)
        if not _is_small(shift, M) or np.abs(shift).max() > _NEAR:
            return None
        if np.abs(move).max(initial=0.0) < _SHORT:
            return M + shift, solve, count
    return None


class _Reached(NamedTuple):
    """Fixed point with a rule over prior means."""

    M: np.ndarray
    error: float
    at: Refined
    """Averages next to M."""
    step: np.ndarray
    """From there to M, in the coordinates of the basis."""
    n_iter: int


def _newton(
    evolution: StateEvolution, M: np.ndarray, alpha: float, basis: np.ndarray, solve: np.ndarray
) -> _Reached:
    """Fixed point next to M by Newton's steps, with rules that become finer as it needs them."""
    start, rule, count = M, _FIRST[evolution.r], 0
    while count < _NEWTON_STEPS:
        count += 1
        at = evolution.refined(M, rule)
        while (unresolved := _unresolved(at, M, alpha, basis, solve)).max(initial=0.0) > _GOAL:
            if rule == _FINEST:
                break
            rule += 1
            at = evolution.refined(M, rule)
        residual = _coordinates(at.best, M, alpha, basis)
        step = solve @ residual
        move = np.tensordot(step, basis, axes=1)
        if not _is_small(M + move - start, start):
            step = np.zeros(len(basis))
            break
        M = M + move
        if np.abs(move).max(initial=0.0) < _NEGLIGIBLE:
            residual = _DERIVATIVE_ERROR * residual  # what Newton's step leaves of it
            break
    left = np.abs(solve) @ (np.abs(residual) + TOLERANCE) + unresolved
    return _Reached(M, float(left.max(initial=TOLERANCE)), at, step, count)


def _unresolved(
    at: Refined, M: np.ndarray, alpha: float, basis: np.ndarray, solve: np.ndarray
) -> np.ndarray:
    """What finer rules and channels would change in the coordinates of the fixed point."""
    *levels, best = (
        solve @ _coordinates(averages, M, alpha, basis) for averages in (*at.rules, at.best)
    )
    return _left_by_rules(*levels) + np.abs(best - levels[-1])


def _left_by_rules(coarsest: np.ndarray, coarse: np.ndarray, fine: np.ndarray) -> np.ndarray:
    r"""Error of the finest of three rules, each with a step smaller by the square root of two.

    That of the trapezoidal rule of step h falls like :math:`\exp(-c/h^2)`: a refinement gains the
    square of what the one before gained.

    Examples
    --------
    >>> _left_by_rules(np.array([1.0]), np.array([0.1]), np.array([0.4])).round(3).tolist()
    [0.033]
    """
    before, last = np.abs(coarse - coarsest), np.abs(fine - coarse)
    size = float(before.max(initial=0.0))
    gain = (float(last.max(initial=0.0)) / size) ** 2 if size else 1.0
    return last * min(max(gain, _LEAST_GAIN), 1.0)


def _scalar_errors(at: Refined) -> np.ndarray:
    """Errors of the mean of log Z and of the error of labels where they were computed."""
    *levels, best = (np.array(averages[1:]) for averages in (*at.rules, at.best))
    by_rules = [_left_by_rules(*column) for column in np.array(levels).T[:, :, None]]
    return np.concatenate(by_rules) + np.abs(best - levels[-1])


def _updated(solve: np.ndarray, move: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Inverse derivative that also explains the last step (Broyden's first formula)."""
    expected = solve @ change
    return solve + np.outer((move - expected) / (move @ expected), move @ solve)


def _coordinates(at: Averages, M: np.ndarray, alpha: float, basis: np.ndarray) -> np.ndarray:
    """Residual of the map at M in `basis`."""
    return np.tensordot(basis, overlap_step(at.information, alpha) - M, axes=2)


def _is_small(shift: np.ndarray, M: np.ndarray) -> bool:
    """Whether a correction stays in the neighborhood in which Newton's steps can be trusted."""
    return bool(np.linalg.norm(shift, 2) < 0.3 * _room(M))


def _room(M: np.ndarray) -> float:
    """Smallest distance of a learned overlap from nothing and from everything."""
    overlaps = np.linalg.eigvalsh(M)
    learned = overlaps[(overlaps >= UNLEARNED) & (overlaps < PERFECT)]
    return float(np.minimum(learned, 1 - learned).min(initial=1.0))


def _learned_basis(evolution: StateEvolution, M: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the matrices over the learned directions that the iteration visits.

    (k, r, r): symmetric ones that also have the symmetries which the target leaves to M. The map
    keeps the order of matrices, so by the theorem of Perron and Frobenius a matrix that shrinks
    slowest is positive; its mean over the symmetries shrinks as slowly, and is among these.
    """
    overlaps, Q = np.linalg.eigh(M)
    rows = Q[:, (overlaps >= UNLEARNED) & (overlaps < PERFECT)].T
    if not len(rows):
        return np.zeros((0, *M.shape))
    basis = rows.T @ symmetric_basis(len(rows)) @ rows
    maps = _group(evolution, M).maps
    flat = np.array([symmetrized(maps, E) for E in basis]).reshape(len(basis), -1)
    _, kept, right = np.linalg.svd(flat)
    return right[: int((kept > 0.5).sum())].reshape(-1, *M.shape)


def _derivatives(
    evolution: StateEvolution, M: np.ndarray, alpha: float, basis: np.ndarray
) -> tuple[np.ndarray, np.ndarray, _Neighbors]:
    """Derivative of the map in `basis`, and gradients (2, k) of the other averages.

    By differences at a low resolution, between neighbors that are also given back.
    """
    size = min(_DIFFERENCE, 0.05 * _room(M))
    # A new channel: what it chooses for the first neighbor it keeps for the others.
    neighbors = _Neighbors(evolution, M, evolution.rough_channel())
    derivative, gradients = np.zeros((len(basis), len(basis))), np.zeros((2, len(basis)))
    here = neighbors.averages(np.zeros_like(M)) if len(basis) else None
    for j, E in enumerate(basis):
        assert here is not None
        there = neighbors.averages(size * E)
        change = overlap_step(there.information, alpha) - overlap_step(here.information, alpha)
        derivative[:, j] = np.tensordot(basis, change, axes=2) / size
        gradients[:, j] = np.subtract(there[1:], here[1:]) / size
    return derivative, gradients, neighbors


class _Neighbors:
    """Averages around an overlap matrix, at a low resolution."""

    def __init__(self, evolution: StateEvolution, M: np.ndarray, channel: PosteriorChannel) -> None:
        self.M, self.channel = M, channel
        self.resolution = _RATES[evolution.r]
        self.known: dict[bytes, Averages] = {}

    def averages(self, shift: np.ndarray) -> Averages:
        """Averages at ``M + shift``."""
        key = shift.tobytes()
        if key not in self.known:
            self.known[key] = averages(self.channel, self.M + shift, self.resolution, around=self.M)
        return self.known[key]


def _group(evolution: StateEvolution, M: np.ndarray) -> Symmetries:
    return invariances(evolution.target.expression, np.where(np.abs(M) < 1e-13, 0.0, M))
