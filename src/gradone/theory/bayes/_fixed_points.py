r"""Fixed points of state evolution, stage by stage, with their errors.

The overlap matrix M of Bayes-AMP has a dynamics of its own.

With the posterior channel at :math:`\omega \sim N(0, M)`, :math:`V = I - M`,

.. math:: J(M) = \mathbb{E}_\omega \sum_y Z\, g_{out} g_{out}^\top, \qquad
          M \leftarrow \alpha J (I + \alpha J)^{-1}.                                        [SE-1]

A direction that carries no overlap yet grows if the map is unstable there: with
:math:`G = \mathbb{E}[z_\perp z_\perp^\top - I \mid y, \omega]`,

.. math:: K \leftarrow \alpha F_M(K), \qquad F_M(K) = \mathbb{E}_{\omega, y}[G K G].        [SE-2]

Its derivative elsewhere has the same form, with :math:`\partial_\omega g_{out}` in place of G:

.. math:: K \leftarrow \alpha (I - M)\, \mathbb{E}[\partial g\, K\, \partial g]\, (I - M).  [SE-4]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...analysis.queries.operators import operator_on_symmetric
from ...channels.averages.moments import (
    PERFECT,
    Averages,
    growth_matrix,
    matrix_power,
    response_matrix,
    total,
)
from ...channels.rules import channel_averages
from ...targets.rotations import symmetric_basis
from ...targets.target import Target
from ._climb import CAP, Climb, climb
from ._enclosure import enclosure

UNLEARNED = 1e-4  # overlaps below it belong to directions that are not learned
TOLERANCE = 1e-7  # of a finished fixed point
_SEED = 1e-3  # how large a growing mode begins
_ROUGH = 1e-5  # residual that ends a climb before Newton's steps
_CLOSE = 0.03  # what comes so close to turning out otherwise is not decided by a coarse climb
_NEAR = 0.05  # farthest that the end of a climb may be from the fixed point, as a share of the room
_NEWTON_STEPS = 6
_SECANT = 1e-4  # shortest step along which the map tells its own derivative
_ALMOST_KNOWN = 0.995  # overlap of an informed start
_RATE_ERROR = 0.01
_VAGUE = 1e-3  # error of an overlap that is worth a sentence
_SLOW = 0.9  # rate from which on errors of the integrals grow tenfold
_LEAST_ERROR = 5e-5  # relative, of a growth rate


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
    """State evolution of a target.

    Parameters
    ----------
    target : Target
        What is observed.
    """

    def __init__(self, target: Target) -> None:
        self.target, self.r = target, target.r
        self.channel = channel_averages(target)
        self._known: dict[tuple[bytes, bool], Averages] = {}
        self._last_within: dict[bytes, tuple[float, np.ndarray]] = {}

    def averages(self, M: np.ndarray, *, coarse: bool = False) -> Averages:
        """Averages at M, kept for other values of alpha."""
        key = M.tobytes(), coarse
        if key not in self._known:
            if len(self._known) > 2000:
                self._known.clear()
            self._known[key] = self.channel.at(M, coarse=coarse)
        return self._known[key]

    def step(self, M: np.ndarray, alpha: float, *, coarse: bool = False) -> np.ndarray:
        """One iteration [SE-1]."""
        return overlap_step(self.averages(M, coarse=coarse).information, alpha)

    def growth_modes(self, M: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Growth rates [SE-2] per unit of alpha, ascending, and their modes (k, r, r).

        Over the directions `rows` (q, r), in which `M` has no overlap.
        """
        basis = symmetric_basis(rows)
        rates, modes = np.linalg.eigh(self._growth(M, basis))
        return rates, np.tensordot(modes.T, basis, axes=1)

    def _growth(self, M: np.ndarray, basis: np.ndarray, **rule: Any) -> np.ndarray:
        """The operator [SE-2] in a basis of symmetric matrices."""
        return operator_on_symmetric(self.channel.pairs(M, growth_matrix, **rule), basis)

    def growth_error(self, M: np.ndarray, rows: np.ndarray) -> float:
        """Error of the largest growth rate."""
        basis = symmetric_basis(rows)
        rules: list[dict[str, Any]] = [{}, {"merge": True}]
        rules += [{"block": i} for i in range(4)] + [{"part": i} for i in (0, 1)]
        usual, rough, *parts = (
            np.linalg.eigvalsh(self._growth(M, basis, **rule))[-1] for rule in rules
        )
        spread = np.std(parts[:4], ddof=1) + abs(parts[4] - parts[5]) / 2
        return float(spread + abs(rough - usual) + _LEAST_ERROR * usual)

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
        return self._solved(
            alpha, lambda coarse: self._stairs(alpha, np.eye(self.r), start, _ROUGH, coarse=coarse)
        )

    def informed(self, alpha: float, start: np.ndarray | None = None) -> FixedPoint:
        """Fixed point reached from almost complete knowledge (or from `start`)."""
        return self._solved(alpha, lambda coarse: self._descend(alpha, start, coarse=coarse))

    def uninformed_overlap(self, alpha: float) -> np.ndarray:
        """Overlap matrix reached without prior knowledge, without Newton's steps."""
        return self._stairs(alpha, np.eye(self.r), None, _ROUGH).M

    def informed_overlap(self, alpha: float) -> np.ndarray:
        """Overlap matrix reached from almost complete knowledge, without Newton's steps."""
        return self._descend(alpha, None).M

    def within(self, alpha: float, rows: np.ndarray) -> np.ndarray:
        """Overlap matrix reached when only the directions `rows` (k, r) are looked for."""
        if not len(rows):
            return np.zeros((self.r, self.r))
        start = self._last_within.get(rows.tobytes())
        below = start[1] if start and start[0] <= alpha else None
        found = self._stairs(alpha, rows, below, TOLERANCE)
        self._last_within[rows.tobytes()] = (alpha, found.M)
        return found.M

    def within_error(self, alpha: float, rows: np.ndarray) -> float:
        """Error of that overlap matrix."""
        if not len(rows):
            return 0.0
        point = self.finished(self._stairs(alpha, rows, None, TOLERANCE), alpha)
        assert point is not None
        return point.error + float(np.abs(point.M - self.within(alpha, rows)).max())

    def _solved(self, alpha: float, reach: Callable[[bool], Climb]) -> FixedPoint:
        """Fixed point that a coarse climb reaches, or a full one where the coarse is in doubt."""
        found = reach(True)
        if found.converged and found.narrow > _CLOSE:
            point = self.finished(found, alpha, coarse=True)
            if point is not None:
                return self._doubted(point, found, alpha)
        full = reach(False)
        point = self.finished(full._replace(n_iter=full.n_iter + found.n_iter), alpha)
        assert point is not None
        return self._doubted(point, full, alpha)

    def _doubted(self, point: FixedPoint, found: Climb, alpha: float) -> FixedPoint:
        """Fixed point whose error says if the climb may have missed one at a bottleneck."""
        if found.narrow_at is None:
            return point
        at = found.narrow_at
        left, residual = np.eye(self.r) - at, self.step(at, alpha) - at
        # Errors across the way do not close it.
        along = [
            abs(np.vdot(residual, alpha * left @ source.information @ left))
            for source in self.channel.estimate(at)[1]
        ]
        if sum(along) < np.vdot(residual, residual):
            return point
        missed = float(np.abs(point.M - at).max())
        status = (
            f"{point.status}; within the errors of all integrals another fixed point exists at a "
            f"distance of {missed:.2g}"
        )
        return point._replace(error=max(point.error, missed), status=status)

    def _stairs(
        self,
        alpha: float,
        rows: np.ndarray,
        start: np.ndarray | None,
        tolerance: float,
        *,
        coarse: bool = False,
    ) -> Climb:
        """Climb from an uninformed start within the span of `rows`, taking stairs that are open."""
        P = rows.T @ rows
        M, count = np.zeros((self.r, self.r)) if start is None else start, 0
        narrow, narrow_at = np.inf, None
        for _ in range(2 * self.r + 1):
            found = climb(
                lambda at: P @ self.step(at, alpha, coarse=coarse) @ P, M, tolerance=tolerance
            )
            M, count = _without_unlearned(found.M), count + found.n_iter
            if found.narrow < narrow or narrow_at is None:
                narrow, narrow_at = found.narrow, found.narrow_at
            reached = found._replace(M=M, n_iter=count, narrow_at=narrow_at)
            overlaps, Q = np.linalg.eigh(M + np.eye(self.r) - P)
            unlearned = Q[:, overlaps < UNLEARNED].T
            if not len(unlearned):
                return reached._replace(narrow=narrow)
            rates, modes = self.growth_modes(M, unlearned)
            narrow = min(narrow, float(np.abs(alpha * rates - 1).min()))
            growing = alpha * rates > 1
            if not growing.any():
                return reached._replace(narrow=narrow)
            # All growing modes at once, in the proportion that an isotropic start has.
            block = np.tensordot(growing * np.einsum("kii->k", modes), modes, axes=1)
            # Close to its threshold a mode hardly moves at first: that is no convergence.
            tolerance = min(tolerance, 0.1 * _SEED * (alpha * float(rates[-1]) - 1))
            M = M + _SEED * block / np.linalg.norm(block, 2)
        return reached._replace(converged=False)

    def _descend(self, alpha: float, start: np.ndarray | None, *, coarse: bool = False) -> Climb:
        M = _ALMOST_KNOWN * np.eye(self.r) if start is None else start
        found = climb(lambda at: self.step(at, alpha, coarse=coarse), M, tolerance=_ROUGH)
        return found._replace(M=_without_unlearned(found.M))

    # ---- the end of a climb

    def finished(self, found: Climb, alpha: float, *, coarse: bool = False) -> FixedPoint | None:
        """Fixed point at the end of a climb by Newton's steps, with its errors.

        None if the climb was coarse and its end is in doubt.
        """
        M, count = found.M, found.n_iter
        basis = symmetric_basis(_learned(M))
        best, sources = self.channel.estimate(M)
        correction = best.plus(self.averages(M), -1.0)
        derivative = self._derivative(M, alpha, basis)
        step, image = np.full(len(basis), np.inf), np.zeros(len(basis))
        for _ in range(_NEWTON_STEPS):
            J = self.averages(M).information + correction.information
            before, image = image, np.tensordot(basis, overlap_step(J, alpha), axes=2)
            if _SECANT < np.abs(step).max(initial=0.0) < np.inf:
                derivative = _updated(derivative, step, image - before)
            residual = image - np.tensordot(basis, M, axes=2)
            step = np.linalg.pinv(np.eye(len(basis)) - derivative) @ residual
            shift = np.tensordot(step, basis, axes=1)
            if coarse and np.abs(M + shift - found.M).max() > _NEAR * _room(found.M):
                return None
            M, count = _inside(M + shift), count + 1
            if np.abs(step).max(initial=0.0) < TOLERANCE:
                break
        solve = np.linalg.pinv(np.eye(len(basis)) - derivative)
        left = np.eye(self.r) - M
        spread = [
            np.abs(solve @ np.tensordot(basis, alpha * left @ source.information @ left, axes=2))
            for source in sources
        ]
        error = np.sum(spread, axis=0) + np.abs(solve) @ (np.abs(step) + TOLERANCE)
        overlaps, Q = np.linalg.eigh(M)
        along = error @ np.abs(np.einsum("kij,ia,ja->ka", basis, Q, Q))
        along = np.where(overlaps < PERFECT, along, 1 - overlaps)
        around = enclosure(self._shifted(found.M, alpha, best, sources), M, along)
        ends = [np.tensordot(basis, end, axes=2) for end in around]
        images = [np.tensordot(basis, self.step(end, alpha), axes=2) for end in around]
        rough = _rate(derivative)
        if np.abs(ends[0] - ends[1]).max(initial=0.0) > _SECANT:
            derivative = _updated(derivative, ends[0] - ends[1], images[0] - images[1])
        rate = _rate(derivative)
        if coarse and rate > 1 - _CLOSE:
            return None
        errors, at = total(sources), self.averages(M).plus(correction)
        # What is known perfectly is known up to what the iteration leaves of it.
        missing = (1 - overlaps)[overlaps >= PERFECT].max(initial=0.0)
        size = max(float(missing), *(float(np.abs(end - M).max()) for end in around))
        slopes = [
            abs(self.averages(end).test_mse - self.averages(M).test_mse) / np.abs(end - M).max()
            for end in around
            if (end != M).any()
        ]
        at_error = errors._replace(
            log_evidence=errors.log_evidence + size * float(np.abs(at.information).sum()) / 2,
            test_mse=errors.test_mse + size * max(slopes, default=0.0),
        )
        at = at._replace(test_mse=max(at.test_mse, self.target.noise))  # noise is never predicted
        status = (
            "converged"
            if found.converged
            else f"state evolution stopped after {count} evaluations of the map at alpha = "
            f"{alpha:g}: a deviation shrinks by {rate:.4f} per iteration; near a threshold that is "
            "slow"
        )
        if size > _VAGUE:
            status += f"; the overlap is known up to {size:.2g} only"
            if rate > _SLOW:
                status += (
                    ": errors of the integrals grow where the iteration hardly contracts "
                    f"(by {rate:.3f} here)"
                )
        rate_error = abs(rate - rough) + _RATE_ERROR * rate + size
        return FixedPoint(M, size, at, at_error, rate, rate_error, count, found.converged, status)

    def _shifted(
        self, M: np.ndarray, alpha: float, best: Averages, sources: list[Averages]
    ) -> Callable[[np.ndarray, int], np.ndarray]:
        """The map made larger or smaller by its error at M, as a share of the information."""
        inverse = matrix_power(self.averages(M).information, -0.5)
        error = np.sum(
            [matrix_power(s.information @ s.information.T, 0.5) for s in sources], axis=0
        )
        shares = {k: inverse @ (best.information + k * error) @ inverse for k in (1, -1)}

        def step(at: np.ndarray, sign: int) -> np.ndarray:
            root = matrix_power(self.averages(at).information, 0.5)
            return overlap_step(root @ shares[sign] @ root, alpha)

        return step

    def _derivative(self, M: np.ndarray, alpha: float, basis: np.ndarray) -> np.ndarray:
        """Derivative [SE-4] of the map in a basis of symmetric matrices."""
        if not len(basis):
            return np.zeros((0, 0))
        left = np.eye(self.r) - M
        inner = left @ basis @ left
        responses = self.channel.pairs(M, response_matrix, coarse=True)
        return alpha * np.einsum("ajk,ijkl,bil->ba", basis, responses, inner)


def overlap_step(J: np.ndarray, alpha: float) -> np.ndarray:
    r"""New overlap matrix :math:`\alpha J (I + \alpha J)^{-1}` of [SE-1], kept within [0, I)."""
    information, Q = np.linalg.eigh(alpha * J)
    information = np.maximum(information, 0.0)
    return (Q * np.minimum(information / (1 + information), 1 - CAP)) @ Q.T


def _updated(derivative: np.ndarray, step: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Derivative that tells, along a step, what the map itself has done (Broyden)."""
    return derivative + np.outer(change - derivative @ step, step) / (step @ step)


def _rate(derivative: np.ndarray) -> float:
    """Largest factor by which a deviation changes; where an iteration has ended, none grows."""
    return min(float(np.abs(np.linalg.eigvals(derivative)).max(initial=0.0)), 1.0)


def _learned(M: np.ndarray) -> np.ndarray:
    """Directions that are learned, but not perfectly, as rows."""
    overlaps, Q = np.linalg.eigh(M)
    return Q[:, (overlaps >= UNLEARNED) & (overlaps < PERFECT)].T


def _room(M: np.ndarray) -> float:
    """Smallest distance of a learned overlap from nothing and from everything."""
    overlaps = np.linalg.eigvalsh(M)
    learned = overlaps[(overlaps >= UNLEARNED) & (overlaps < PERFECT)]
    return float(np.minimum(learned, 1 - learned).min(initial=1.0))


def _inside(M: np.ndarray) -> np.ndarray:
    """Overlap matrix with eigenvalues within [0, 1)."""
    overlaps, Q = np.linalg.eigh((M + M.T) / 2)
    if overlaps[0] >= 0 and overlaps[-1] < PERFECT:
        return (M + M.T) / 2
    return (Q * overlaps.clip(0.0, 1 - CAP)) @ Q.T


def _without_unlearned(M: np.ndarray) -> np.ndarray:
    """Overlap matrix with the traces of rounding in unlearned directions removed."""
    overlaps, Q = np.linalg.eigh(M)
    if overlaps[0] >= UNLEARNED:
        return M
    return (Q * np.where(overlaps < UNLEARNED, 0.0, overlaps)) @ Q.T
