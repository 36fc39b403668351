"""Fixed points of state evolution, stage by stage, with their errors."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..targets.language.tree import Call, nodes
from ..targets.posterior import PosteriorChannel, posterior_channel
from ..targets.target import Target
from ._climb import Climb, climb
from ._folding import invariances, symmetrized
from ._state_evolution import (
    Averages,
    averages,
    growth_operator,
    overlap_step,
    symmetric_basis,
)

UNLEARNED = 1e-4  # overlaps below it belong to directions that are not learned
PERFECT = 1 - 1e-5  # overlaps above it are perfect recovery
_SEED = 1e-3
_TOLERANCE = 1e-7  # of a finished fixed point
_ROUGH = 1e-5  # of the climb, before Newton's steps
_DIFFERENCE = 1e-4
_NEWTON_STEPS = 3
_NEGLIGIBLE = 1e-4  # move after which the averages need not be computed again
_DERIVATIVE_ERROR = 0.02  # relative, of the differences that Newton's steps use
_ALMOST_KNOWN = {1: 0.999, 2: 0.99, 3: 0.95, 4: 0.9}  # what the rule over prior means resolves


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


class StateEvolution:
    """State evolution of a target at two resolutions, the difference of which is the error.

    Parameters
    ----------
    target : Target
        What is observed.
    """

    def __init__(self, target: Target) -> None:
        self.target, self.r = target, target.r
        self._channels: dict[int, PosteriorChannel] = {}
        self._known: dict[bytes, Averages] = {}
        self._last_within: dict[bytes, tuple[float, np.ndarray]] = {}

    def channel(self, resolution: int) -> PosteriorChannel:
        """Posterior channel of the target at a resolution."""
        if resolution not in self._channels:
            self._channels[resolution] = posterior_channel(self.target, resolution=resolution)
        return self._channels[resolution]

    def averages(self, M: np.ndarray) -> Averages:
        """Averages at the coarse resolution; asked for again at other values of alpha."""
        key = M.tobytes()
        if key not in self._known:
            if len(self._known) > 2000:
                self._known.clear()
            self._known[key] = averages(self.channel(0), M)
        return self._known[key]

    def step(self, M: np.ndarray, alpha: float) -> np.ndarray:
        """One iteration [SE-1] at the coarse resolution."""
        return overlap_step(self.averages(M).information, alpha)

    def information(self, M: np.ndarray) -> tuple[np.ndarray, float]:
        """J(M) at the fine resolution, and how much the coarse one differs from it."""
        J = averages(self.channel(1), M, 1).information
        return J, float(np.abs(J - self.averages(M).information).max())

    def growth_modes(
        self, M: np.ndarray, rows: np.ndarray, resolution: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Growth rates [SE-2] per unit of alpha, ascending, and their modes (k, q, q).

        Over the directions `rows` (q, r), in which `M` has no overlap.
        """
        operator = growth_operator(self.channel(resolution), M, rows, resolution)
        rates, modes = np.linalg.eigh(operator)
        return rates, np.tensordot(modes.T, symmetric_basis(len(rows)), axes=1)

    # ---- fixed points

    def uninformed(self, alpha: float, start: np.ndarray | None = None) -> FixedPoint:
        """Fixed point reached without prior knowledge: stairs are taken as they open.

        Parameters
        ----------
        alpha : float
            Samples per dimension.
        start : array (r, r), optional
            Fixed point at a smaller alpha, from where to go on.
        """
        M, count, converged = self._stairs(alpha, np.eye(self.r), start, _ROUGH)
        return self._finish(M, alpha, count, converged)

    def within(self, alpha: float, rows: np.ndarray, *, fine: bool = False) -> np.ndarray:
        """Overlap matrix reached when only the directions `rows` (k, r) are looked for."""
        if not len(rows):
            return np.zeros((self.r, self.r))
        start = self._last_within.get(rows.tobytes())
        below = start[1] if start and start[0] <= alpha else None
        M, count, converged = self._stairs(alpha, rows, below, _TOLERANCE)
        self._last_within[rows.tobytes()] = (alpha, M)
        return self._finish(M, alpha, count, converged).M if fine else M

    def _stairs(
        self, alpha: float, rows: np.ndarray, start: np.ndarray | None, tolerance: float
    ) -> tuple[np.ndarray, int, bool]:
        """Climb from an uninformed start within the span of `rows`, taking stairs that are open."""
        P = rows.T @ rows
        M, count = np.zeros((self.r, self.r)) if start is None else start, 0
        for _ in range(2 * self.r + 1):
            found = climb(lambda at: P @ self.step(at, alpha) @ P, M, tolerance=tolerance)
            M, count = _without_unlearned(found.M), count + found.n_iter
            overlaps, Q = np.linalg.eigh(M + np.eye(self.r) - P)
            unlearned = Q[:, overlaps < UNLEARNED].T
            if not len(unlearned):
                return M, count, found.converged
            rates, modes = self.growth_modes(M, unlearned)
            growing = alpha * rates > 1
            if not growing.any():
                return M, count, found.converged
            # All growing modes at once, in the proportion that an isotropic start has.
            block = np.tensordot(growing * np.einsum("kii->k", modes), modes, axes=1)
            M = M + _SEED * unlearned.T @ (block / np.linalg.norm(block, 2)) @ unlearned
        return M, count, False

    def informed(self, alpha: float, start: np.ndarray | None = None) -> FixedPoint:
        """Fixed point reached from almost complete knowledge (or from `start`)."""
        found = self._descend(alpha, start)
        return self._finish(_without_unlearned(found.M), alpha, found.n_iter, found.converged)

    def uninformed_overlap(self, alpha: float) -> np.ndarray:
        """Overlap matrix reached without prior knowledge, at the coarse resolution."""
        return self._stairs(alpha, np.eye(self.r), None, _ROUGH)[0]

    def informed_overlap(self, alpha: float) -> np.ndarray:
        """Overlap matrix reached from almost complete knowledge, at the coarse resolution."""
        return _without_unlearned(self._descend(alpha, None).M)

    def _descend(self, alpha: float, start: np.ndarray | None) -> Climb:
        M = self.almost_known * np.eye(self.r) if start is None else start
        return climb(lambda at: self.step(at, alpha), M, tolerance=_ROUGH)

    @cached_property
    def almost_known(self) -> float:
        """Overlap of an informed start, the largest that is looked at.

        A label that varies continuously may determine the projections completely, which is seen
        from very close only. Jumps are seen on the scale of the posterior, which the rule over
        prior means must resolve.
        """
        is_sharp = self.target.channel.kind == "deterministic" and not has_jumps(self.target)
        return 1 - 1e-5 if is_sharp else _ALMOST_KNOWN[self.r]

    def _finish(self, M: np.ndarray, alpha: float, count: int, converged: bool) -> FixedPoint:
        """Newton steps at the fine resolution, and the errors."""
        basis = self._learned_basis(M)
        derivative, slopes = self._derivatives(M, alpha, basis)
        count += 2 * len(basis)
        solve = np.linalg.pinv(np.eye(len(basis)) - derivative)
        shift, best = np.zeros_like(M), averages(self.channel(1), M, 1)
        residual = self._coordinates(best, M, alpha, basis)
        for _ in range(_NEWTON_STEPS):
            move = np.tensordot(solve @ residual, basis, axes=1)
            if not self._is_small(shift + move, M):
                break
            shift = shift + move
            if np.abs(move).max(initial=0.0) < _NEGLIGIBLE:
                residual = _DERIVATIVE_ERROR * residual  # what Newton's step leaves of it
                break
            best, count = averages(self.channel(1), M + shift, 1), count + 1
            residual = self._coordinates(best, M + shift, alpha, basis)
        # What the resolution changed, and what is left of the residual.
        left = np.abs(solve) @ (np.abs(residual) + _TOLERANCE)
        error = float(np.abs(shift).max(initial=0.0) + left.max(initial=_TOLERANCE))
        M = M + shift
        here = self.averages(M)
        at_error = Averages(
            np.abs(best.information - here.information),
            *(
                abs(a - b) + error * slope
                for a, b, slope in zip(best[1:], here[1:], slopes, strict=True)
            ),
        )
        rate = float(np.abs(np.linalg.eigvals(derivative)).max(initial=0.0))
        status = (
            "converged"
            if converged
            else f"state evolution stopped after {count} evaluations of the map at alpha = "
            f"{alpha:g}, where a deviation shrinks by {rate:.4f} per iteration; "
            "near a threshold convergence is slow"
        )
        # Central differences are off by the square of the step, and by what the resolution does.
        rate_error = 1e-6 + error / max(1e-3, 1 - rate)
        return FixedPoint(M, error, best, at_error, rate, rate_error, count, converged, status)

    def _coordinates(
        self, at: Averages, M: np.ndarray, alpha: float, basis: np.ndarray
    ) -> np.ndarray:
        """Residual of the map at M in `basis`."""
        return np.tensordot(basis, overlap_step(at.information, alpha) - M, axes=2)

    def _is_small(self, shift: np.ndarray, M: np.ndarray) -> bool:
        """Whether a correction leaves the neighborhood in which Newton's steps can be trusted."""
        overlaps = np.linalg.eigvalsh(M)
        learned = overlaps[(overlaps >= UNLEARNED) & (overlaps < PERFECT)]
        room = np.minimum(learned, 1 - learned).min(initial=1.0)
        return bool(np.linalg.norm(shift, 2) < 0.3 * room)

    def _learned_basis(self, M: np.ndarray) -> np.ndarray:
        """Orthonormal basis of the symmetric matrices over the learned directions, (k, r, r)."""
        overlaps, Q = np.linalg.eigh(M)
        rows = Q[:, (overlaps >= UNLEARNED) & (overlaps < PERFECT)].T
        if not len(rows):
            return np.zeros((0, *M.shape))
        basis = rows.T @ symmetric_basis(len(rows)) @ rows
        if self.r < 3:
            return basis
        # Matrices that break a sign symmetry of M are dear to visit in high dimension, and the
        # iteration never leaves the symmetric ones.
        signs = invariances(self.target.expression, np.where(np.abs(M) < 1e-13, 0.0, M))
        return np.array([E for E in basis if np.allclose(symmetrized(signs, E), E, atol=1e-9)])

    def _derivatives(
        self, M: np.ndarray, alpha: float, basis: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivative of the map in `basis`, and size of the gradients of the other averages."""
        r, derivative = self.r, np.zeros((len(basis), len(basis)))
        gradients = np.zeros((2, len(basis)))
        overlaps = np.linalg.eigvalsh(M)
        learned = overlaps[(overlaps >= UNLEARNED) & (overlaps < PERFECT)]
        size = 0.05 * float(np.minimum(learned, 1 - learned).min(initial=1.0))
        size = min(_DIFFERENCE, size)
        for j, E in enumerate(basis):
            # A tenth of a percent is enough here, and rotated matrices are dear in high dimension.
            up, down = (averages(self.channel(0), M + h * E, -max(r - 2, 0)) for h in (size, -size))
            change = overlap_step(up.information, alpha) - overlap_step(down.information, alpha)
            derivative[:, j] = np.tensordot(basis, change, axes=2) / (2 * size)
            gradients[:, j] = np.subtract(up[1:], down[1:]) / (2 * size)
        return derivative, np.abs(gradients).sum(axis=1)


def _without_unlearned(M: np.ndarray) -> np.ndarray:
    """Overlap matrix with the traces of rounding in unlearned directions removed."""
    overlaps, Q = np.linalg.eigh(M)
    return (Q * np.where(overlaps < UNLEARNED, 0.0, overlaps)) @ Q.T


def has_jumps(target: Target) -> bool:
    """Whether a function of the target's formula jumps."""
    return any(
        isinstance(node, Call) and node.name in ("sign", "step")
        for node in nodes(target.expression.tree)
    )
