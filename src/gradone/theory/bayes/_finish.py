"""The end of a climb made precise: Newton's steps, errors, and the rate of convergence."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...channels import PosteriorChannel
from ...targets.signed_permutations import Symmetries
from ._climb import Climb
from ._folding import invariances, symmetrized
from ._prior_means import PERFECT
from ._refined import CHANNEL_ERROR, Refined, scalar_errors
from ._state_evolution import Averages, averages, overlap_step, symmetric_basis

if TYPE_CHECKING:
    from ._fixed_points import StateEvolution

UNLEARNED = 1e-4  # overlaps below it belong to directions that are not learned
_ALMOST_PERFECT = 5e-5  # what is missing to full overlap where posteriors are very narrow
COARSE = {1: 0, 2: -2, 3: -1, 4: -1}  # resolution of the rule over prior means in a coarse climb
_RATES = {1: 0, 2: -1, 3: -1, 4: -1}  # the same for derivatives of the map
_FIRST = {1: 1, 2: 0, 3: 1, 4: 1}  # the same for the first answer
_FINEST, _FINEST_NESTED = 1, 3  # and how fine it may become
_GOAL = 1e-4  # error at which an answer is not refined
_GOAL_SHARE = 5e-3  # the same as a share of the distance from no overlap and from full overlap
_SHARP = 2  # directions up to which a still finer channel is affordable
_RESOLVED = 0.6  # share of the goal that is left to the rules
CLOSE = 0.03  # what comes so close to turning out otherwise is not decided by a coarse climb
TOLERANCE = 1e-7  # of a finished fixed point
_NEAR = 0.02  # farthest that the end of a coarse climb may be from the fixed point
_DIFFERENCE = 1e-4
_NEWTON_STEPS = 4
_SHORT, _TINY = 1e-3, 1e-4  # last moves of Newton's steps to a rough fixed point, and to the answer
_RATE_ERROR = 0.005  # relative, of a rate as Newton's steps use it
_STATED_RATE_ERROR = 0.02  # the same as it is stated: where channels are rough it may be larger
_CHANGE_ERROR = 0.05  # relative, of changes that are computed at a low resolution
_DERIVATIVE_ERROR = 0.05  # relative, of the derivative that Newton's steps use


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
    shift = np.zeros_like(found.M)
    if coarse:
        if rate > 1 - CLOSE:
            return None
        rough = _root(neighbors, shift, alpha, basis, solve, _SHORT)
        if rough is None:
            return None
        shift, solve = rough.shift, rough.solve
        count += rough.n_iter
    reached = _newton(evolution, neighbors, shift, alpha, basis, solve)
    if coarse and not reached.is_root:
        return None
    count += reached.n_iter
    best = reached.at.best
    step = gradients @ reached.step
    log_evidence, test_mse = np.array(best[1:]) + reached.change + step
    errors = scalar_errors(reached.at) + reached.error * np.abs(gradients).sum(axis=1)
    errors += _CHANGE_ERROR * np.abs(reached.change) + _DERIVATIVE_ERROR * np.abs(step)
    J = [at.information for at in reached.at.rules]
    spread = reached.at.left(*J) + CHANNEL_ERROR * np.abs(reached.at.doubt.information)
    missing = _missing_to_perfect(reached.M)
    if missing.size == evolution.r:  # then the label is known, up to its noise
        errors[1] = max(errors[1], abs(test_mse - evolution.target.noise))
    at_error = Averages(spread, *map(float, errors))
    status = (
        "converged"
        if found.converged
        else f"state evolution stopped after {count} evaluations of the map at alpha = "
        f"{alpha:g}: {_why_not(found.M, rate)}"
    )
    # Differences are taken at a low resolution, and next to the fixed point.
    rate_error = _STATED_RATE_ERROR * rate + reached.error / max(1e-3, 1 - rate)
    return FixedPoint(
        reached.M,
        float(missing.max(initial=reached.error)),
        Averages(best.information, float(log_evidence), float(test_mse)),
        at_error,
        rate,
        rate_error,
        count,
        found.converged,
        status,
    )


def _why_not(M: np.ndarray, rate: float) -> str:
    """Why a climb did not end."""
    overlap = float(np.linalg.eigvalsh(M)[-1])
    if overlap > 1 - _ALMOST_PERFECT:
        return (
            f"at an overlap of {overlap:.6f} the posterior is narrower than the rules over prior "
            "means resolve; ask for a smaller alpha"
        )
    return f"a deviation shrinks by {rate:.4f} per iteration; near a threshold that is slow"


class _Root(NamedTuple):
    """End of Newton's steps at a low resolution."""

    shift: np.ndarray
    """Last place at which the map was evaluated, from where the neighbors are."""
    step: np.ndarray
    """From there to the root, in the coordinates of the basis."""
    solve: np.ndarray
    """Inverse derivative."""
    n_iter: int


def _root(
    neighbors: _Neighbors,
    shift: np.ndarray,
    alpha: float,
    basis: np.ndarray,
    solve: np.ndarray,
    tolerance: float,
    offset: np.ndarray | float = 0.0,
) -> _Root | None:
    """Where the residual at a low resolution is ``-offset``, next to `shift`; None if not close."""
    before, step = np.zeros(0), np.zeros(0)
    for count in range(_NEWTON_STEPS):
        residual = _coordinates(neighbors.averages(shift), neighbors.M + shift, alpha, basis)
        residual = residual + offset
        if count:
            solve = _updated(solve, step, before - residual)
        step, before = solve @ residual, residual
        there = shift + np.tensordot(step, basis, axes=1)
        if not _is_small(there, neighbors.M) or np.abs(there).max() > _NEAR:
            return None
        if np.abs(step).max(initial=0.0) < tolerance:
            return _Root(shift, step, solve, count)
        shift = there
    return None


class _Reached(NamedTuple):
    """Fixed point with a rule over prior means."""

    M: np.ndarray
    error: float
    at: Refined
    """Averages next to M."""
    change: np.ndarray
    """Change of the mean of log Z and of the error of labels from there to the last step."""
    step: np.ndarray
    """The last step to M, in the coordinates of the basis."""
    n_iter: int
    is_root: bool
    """Whether Newton's steps ended."""


def _newton(
    evolution: StateEvolution,
    neighbors: _Neighbors,
    shift: np.ndarray,
    alpha: float,
    basis: np.ndarray,
    solve: np.ndarray,
) -> _Reached:
    """Fixed point next to `shift`, with rules that become finer as it needs them.

    What the map at a low resolution lacks is almost the same at neighbors: it is computed once, and
    Newton's steps take the rest from the low resolution.
    """
    more = evolution.shares_labels(neighbors.M)
    rule, count, near = _FIRST[evolution.r] + more, 0, None
    while True:
        M = neighbors.M + shift
        goal = min(_GOAL, _GOAL_SHARE * _room(M))
        finest = _FINEST_NESTED if evolution.is_nested(M) else _FINEST + 2 * more
        at = evolution.refined(M, rule, near)
        while True:
            by_rules, by_channel = _unresolved(at, M, alpha, basis, solve)
            if by_rules.max(initial=0.0) < _RESOLVED * goal or rule == finest:
                break
            rule += 1
            at = evolution.refined(M, rule, at)
        if near is None and evolution.r <= _SHARP and by_channel.max(initial=0.0) > _GOAL:
            at = evolution.sharper(M, at)
            by_rules, by_channel = _unresolved(at, M, alpha, basis, solve)
        near = at
        residual = _coordinates(at.best, M, alpha, basis)
        rough = neighbors.averages(shift)
        lacking = residual - _coordinates(rough, M, alpha, basis)
        root = _root(neighbors, shift, alpha, basis, solve, _TINY, lacking)
        if root is None:
            change, step = np.zeros(2), np.zeros(len(basis))
            left = np.abs(solve) @ np.abs(residual)
            break
        change = np.subtract(neighbors.averages(root.shift)[1:], rough[1:])
        step, solve = root.step, root.solve
        # Close to a threshold an error of the rate is large in what Newton's steps add up to.
        unsure = _CHANGE_ERROR + _RATE_ERROR * float(np.linalg.norm(solve, 2))
        left = unsure * np.abs(solve @ residual) + _DERIVATIVE_ERROR * np.abs(step)
        shift = root.shift + np.tensordot(step, basis, axes=1)
        count += 1 + root.n_iter
        if left.max(initial=0.0) < (1 - _RESOLVED) * goal or count > _NEWTON_STEPS:
            break
    error = left + by_rules + by_channel + np.abs(solve).sum(axis=1) * TOLERANCE
    return _Reached(
        neighbors.M + shift,
        float(error.max(initial=TOLERANCE)),
        at,
        change,
        step,
        count,
        root is not None,
    )


def _unresolved(
    at: Refined, M: np.ndarray, alpha: float, basis: np.ndarray, solve: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What finer rules and finer channels change in the coordinates of the fixed point."""
    *levels, before, best = (
        solve @ _coordinates(averages, M, alpha, basis)
        for averages in (*at.rules, at.before, at.best)
    )
    # An error E of J is one of alpha (I - M) E (I - M).
    share, rest = at.lost
    left = np.eye(len(M)) - M
    lost = solve @ np.tensordot(basis, share * left @ M + rest * alpha * left @ left, axes=2)
    return at.left(*levels), CHANNEL_ERROR * np.abs(best - before) + np.abs(lost)


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


def _missing_to_perfect(M: np.ndarray) -> np.ndarray:
    """What the overlaps lack that stand for perfect recovery: the iteration stops short of it."""
    overlaps = np.linalg.eigvalsh(M)
    return 1 - overlaps[overlaps >= PERFECT]


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
