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
CLOSE = 0.03  # what comes so close to turning out otherwise is not decided by a coarse climb
TOLERANCE = 1e-7  # of a finished fixed point
_NEAR = 0.02  # farthest that the end of a coarse climb may be from the fixed point
_DIFFERENCE = 1e-4
_NEWTON_STEPS = 3
_NEGLIGIBLE = 1e-4  # move after which the averages need not be computed again
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


def finish(
    evolution: StateEvolution, found: Climb, alpha: float, *, coarse: bool = False
) -> FixedPoint | None:
    """Fixed point at the end of a climb, by Newton's steps at two resolutions, with its errors.

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
    M, count = found.M, found.n_iter
    basis = _learned_basis(evolution, M)
    derivative, gradients = _derivatives(evolution, M, alpha, basis)
    count += 2 * len(basis)
    rate = float(np.abs(np.linalg.eigvals(derivative)).max(initial=0.0))
    solve = np.linalg.pinv(np.eye(len(basis)) - derivative)
    here = evolution.averages(M)
    ahead = np.zeros(len(basis))  # from where `here` was computed to M
    if coarse:
        if rate > 1 - CLOSE:
            return None
        residual = _coordinates(here, M, alpha, basis)
        for _ in range(_NEWTON_STEPS):
            ahead = solve @ residual
            M = M + np.tensordot(ahead, basis, axes=1)
            if not _is_small(M - found.M, found.M) or np.abs(M - found.M).max() > _NEAR:
                return None
            if np.abs(ahead).max(initial=0.0) < _SHORT:
                break
            here, count = evolution.averages(M), count + 1
            before, residual = residual, _coordinates(here, M, alpha, basis)
            solve = _updated(solve, ahead, before - residual)
        else:
            return None
    start, best = M, evolution.fine_averages(M)
    # What the resolution changes in the averages, with those at M by their gradients.
    coarser = np.array(here[1:]) + gradients @ ahead
    resolved = np.abs(np.array(best[1:]) - coarser)
    residual = _coordinates(best, M, alpha, basis)
    for _ in range(_NEWTON_STEPS):
        move = np.tensordot(solve @ residual, basis, axes=1)
        if not _is_small(M + move - start, start):
            break
        M = M + move
        if np.abs(move).max(initial=0.0) < _NEGLIGIBLE:
            residual = _DERIVATIVE_ERROR * residual  # what Newton's step leaves of it
            break
        best, count = evolution.fine_averages(M), count + 1
        residual = _coordinates(best, M, alpha, basis)
    # What the resolution changed, and what is left of the residual.
    left = np.abs(solve) @ (np.abs(residual) + TOLERANCE)
    error = float(np.abs(M - start).max(initial=0.0) + left.max(initial=TOLERANCE))
    log_evidence, test_mse = resolved + error * np.abs(gradients).sum(axis=1)
    at_error = Averages(
        np.abs(best.information - here.information), float(log_evidence), float(test_mse)
    )
    status = (
        "converged"
        if found.converged
        else f"state evolution stopped after {count} evaluations of the map at alpha = "
        f"{alpha:g}, where a deviation shrinks by {rate:.4f} per iteration; "
        "near a threshold convergence is slow"
    )
    # Differences are taken at a low resolution, and next to the fixed point.
    rate_error = _RATE_ERROR * rate + error / max(1e-3, 1 - rate)
    return FixedPoint(M, error, best, at_error, rate, rate_error, count, found.converged, status)


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
    """Orthonormal basis of the symmetric matrices over the learned directions, (k, r, r)."""
    overlaps, Q = np.linalg.eigh(M)
    rows = Q[:, (overlaps >= UNLEARNED) & (overlaps < PERFECT)].T
    if not len(rows):
        return np.zeros((0, *M.shape))
    basis = rows.T @ symmetric_basis(len(rows)) @ rows
    if evolution.r < 3:
        return basis
    # Matrices that break a sign symmetry of M are dear to visit in high dimension, and the
    # iteration never leaves the symmetric ones.
    maps = _group(evolution, M).maps
    signs = maps[np.abs(np.einsum("kii->ki", maps)).min(axis=1) > 0.5]
    return np.array([E for E in basis if np.allclose(symmetrized(signs, E), E, atol=1e-9)])


def _derivatives(
    evolution: StateEvolution, M: np.ndarray, alpha: float, basis: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Derivative of the map in `basis`, and gradients (2, k) of the other averages.

    By central differences at a low resolution.
    """
    size = min(_DIFFERENCE, 0.05 * _room(M))
    # A new channel: what it chooses for the first neighbor it keeps for the others.
    neighbors = _Neighbors(evolution, M, evolution.rough_channel())
    derivative, gradients = np.zeros((len(basis), len(basis))), np.zeros((2, len(basis)))
    for j, E in enumerate(basis):
        up, down = (neighbors.averages(h * E) for h in (size, -size))
        change = overlap_step(up.information, alpha) - overlap_step(down.information, alpha)
        derivative[:, j] = np.tensordot(basis, change, axes=2) / (2 * size)
        gradients[:, j] = np.subtract(up[1:], down[1:]) / (2 * size)
    return derivative, gradients


class _Neighbors:
    """Averages around an overlap matrix; symmetries of the target save half of them."""

    def __init__(self, evolution: StateEvolution, M: np.ndarray, channel: PosteriorChannel) -> None:
        self.M, self.channel = M, channel
        self.resolution = _RATES[evolution.r]
        self.maps = _group(evolution, M).maps
        self.known: list[tuple[np.ndarray, Averages]] = []

    def averages(self, shift: np.ndarray) -> Averages:
        """Averages at ``M + shift``."""
        for other, known in self.known:
            moved = self.maps @ shift @ self.maps.swapaxes(1, 2)
            same = np.abs(moved - other).max(axis=(1, 2)) < 1e-6 * np.abs(shift).max()
            if same.any():
                S = self.maps[same.argmax()]
                return known._replace(information=S.T @ known.information @ S)
        at = averages(self.channel, self.M + shift, self.resolution, around=self.M)
        self.known.append((shift, at))
        return at


def _group(evolution: StateEvolution, M: np.ndarray) -> Symmetries:
    return invariances(evolution.target.expression, np.where(np.abs(M) < 1e-13, 0.0, M))
