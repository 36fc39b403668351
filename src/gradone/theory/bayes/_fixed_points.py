"""Fixed points of state evolution, stage by stage, with their errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from ...channels import PosteriorChannel, posterior_channel
from ...targets.language.structure import has_jumps
from ...targets.target import Target
from ._climb import Climb, climb
from ._curve_means import lost_information, shared_labels_of
from ._finish import CLOSE, COARSE, TOLERANCE, UNLEARNED, FixedPoint, finish
from ._refined import Refined
from ._state_evolution import (
    Averages,
    averages,
    axes_of,
    growth_operator,
    mean_of,
    overlap_step,
    sums,
    symmetric_basis,
)

# Of a full and of a coarse climb: how large a growing mode begins, and the residual that ends the
# climb before Newton's steps.
_SEED = {False: 1e-3, True: 1e-2}
_ROUGH = {False: 1e-5, True: 2e-4}
_ALMOST_KNOWN = {1: 0.999, 2: 0.99, 3: 0.95, 4: 0.9}  # what the rule over prior means resolves


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
        # Sums over prior means, by the overlap matrix and the channel, and by their rule.
        self._known: dict[tuple[bytes, int], dict[int, np.ndarray]] = {}
        self._last_within: dict[bytes, tuple[float, np.ndarray]] = {}

    def channel(self, resolution: int) -> PosteriorChannel:
        """Posterior channel of the target at a resolution; -1 is a rough one."""
        if resolution not in self._channels:
            self._channels[resolution] = (
                self.channel(resolution - 1).finer()
                if resolution > 0
                else posterior_channel(self.target, resolution=resolution)
            )
        return self._channels[resolution]

    def rough_channel(self) -> PosteriorChannel:
        """Rough channel of its own, with nothing remembered; the usual one if that is as fast."""
        new = posterior_channel(self.target, resolution=-1)
        return new if new.is_rough else self.channel(0)

    def averages(self, M: np.ndarray, *, coarse: bool = False) -> Averages:
        """Averages at the usual resolution or a coarse one, kept for other values of alpha."""
        return self._at(M, -1, COARSE[self.r]) if coarse else self._at(M, 0, 0)

    def _at(self, M: np.ndarray, channel: int, rule: int) -> Averages:
        """Averages at resolutions of the channel and of the rule over prior means."""
        place = M.tobytes(), channel
        known = self._known.get(place, {})
        if rule not in known:
            if len(self._known) > 2000:
                self._known.clear()
            self._known[place] = known
            contained = [other for other in known if other < rule and self.is_nested(M)]
            below = max(contained, default=None)
            known[rule] = sums(self.channel(channel), M, rule, beyond=below)
            if below is not None:
                known[rule] += known[below]
        return mean_of(known[rule])

    def is_nested(self, M: np.ndarray) -> bool:
        """Whether a rule over prior means contains the coarser ones."""
        return axes_of(self.channel(0), M) is not None

    def shares_labels(self, M: np.ndarray) -> bool:
        """Whether averages come from labels that all prior means share: finer rules are cheap."""
        return shared_labels_of(self.channel(0), M) is not None

    def refined(self, M: np.ndarray, rule: int, near: Refined | None = None) -> Refined:
        """Averages with finer and finer rules over prior means, up to the resolution `rule`.

        And what a finer channel adds, on few prior means, if it is not known from `near`.
        """
        back = 4 if self.is_nested(M) else 2  # coarser rules that are part of it are for free
        rules = tuple(self._at(M, 0, other) for other in range(rule - back, rule + 1))
        is_plain = not (self.is_nested(M) or self.shares_labels(M))
        if near is None:
            finer = self._added(M, 1)
            near = Refined(rules, finer, finer, lost_information(self.channel(1), M))
        return near._replace(rules=rules, power=2 if is_plain else 1)

    def sharper(self, M: np.ndarray, at: Refined) -> Refined:
        """Averages with what a still finer channel adds."""
        added = self._added(M, 2)
        return at._replace(
            finer=at.finer.plus(added), doubt=added, lost=lost_information(self.channel(2), M)
        )

    def _added(self, M: np.ndarray, resolution: int) -> Averages:
        """What the channel of a resolution adds to the one before, on few prior means."""
        few = COARSE[self.r]
        return self._at(M, resolution, few).plus(self._at(M, resolution - 1, few), -1.0)

    def step(self, M: np.ndarray, alpha: float, *, coarse: bool = False) -> np.ndarray:
        """One iteration [SE-1]."""
        return overlap_step(self.averages(M, coarse=coarse).information, alpha)

    def information(self, M: np.ndarray) -> tuple[np.ndarray, float]:
        """J(M) at the fine resolution, and how much the coarse one differs from it."""
        J = averages(self.channel(1), M, 1).information
        return J, float(np.abs(J - self.averages(M).information).max())

    def growth_modes(
        self, M: np.ndarray, rows: np.ndarray, resolution: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Growth rates [SE-2] per unit of alpha, ascending, and their modes (k, q, q).

        Over the directions `rows` (q, r), in which `M` has no overlap; roughly at resolution -1.
        """
        operator = growth_operator(self.channel(resolution), M, rows, max(resolution, 0))
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
        return self._solved(
            alpha,
            lambda coarse: self._stairs(
                alpha, np.eye(self.r), start, _ROUGH[coarse], coarse=coarse
            ),
        )

    def _solved(self, alpha: float, reach: Callable[[bool], Climb]) -> FixedPoint:
        """Fixed point that a coarse climb reaches, or a full one where the coarse is in doubt."""
        found = reach(True)
        if found.converged and found.narrow > CLOSE:
            point = finish(self, found, alpha, coarse=True)
            if point is not None:
                return point
        full = reach(False)
        point = finish(self, full._replace(n_iter=full.n_iter + found.n_iter), alpha)
        assert point is not None
        return point

    def within(self, alpha: float, rows: np.ndarray, *, fine: bool = False) -> np.ndarray:
        """Overlap matrix reached when only the directions `rows` (k, r) are looked for."""
        if not len(rows):
            return np.zeros((self.r, self.r))
        start = self._last_within.get(rows.tobytes())
        below = start[1] if start and start[0] <= alpha else None
        found = self._stairs(alpha, rows, below, TOLERANCE)
        self._last_within[rows.tobytes()] = (alpha, found.M)
        point = finish(self, found, alpha) if fine else None
        return point.M if point else found.M

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
        narrow = np.inf
        for _ in range(2 * self.r + 1):
            found = climb(
                lambda at: P @ self.step(at, alpha, coarse=coarse) @ P, M, tolerance=tolerance
            )
            M, count = _without_unlearned(found.M), count + found.n_iter
            narrow = min(narrow, found.narrow)
            reached = found._replace(M=M, n_iter=count)
            overlaps, Q = np.linalg.eigh(M + np.eye(self.r) - P)
            unlearned = Q[:, overlaps < UNLEARNED].T
            if not len(unlearned):
                return reached._replace(narrow=narrow)
            rates, modes = self.growth_modes(M, unlearned, -1 if coarse else 0)
            narrow = min(narrow, float(np.abs(alpha * rates - 1).min()))
            growing = alpha * rates > 1
            if not growing.any():
                return reached._replace(narrow=narrow)
            # All growing modes at once, in the proportion that an isotropic start has.
            block = np.tensordot(growing * np.einsum("kii->k", modes), modes, axes=1)
            # Close to its threshold a mode hardly moves at first: that is no convergence.
            tolerance = min(tolerance, 0.1 * _SEED[coarse] * (alpha * float(rates[-1]) - 1))
            M = M + _SEED[coarse] * unlearned.T @ (block / np.linalg.norm(block, 2)) @ unlearned
        return reached._replace(converged=False)

    def informed(self, alpha: float, start: np.ndarray | None = None) -> FixedPoint:
        """Fixed point reached from almost complete knowledge (or from `start`)."""
        return self._solved(alpha, lambda coarse: self._descend(alpha, start, coarse=coarse))

    def uninformed_overlap(self, alpha: float) -> np.ndarray:
        """Overlap matrix reached without prior knowledge, at the coarse resolution."""
        return self._stairs(alpha, np.eye(self.r), None, _ROUGH[False]).M

    def informed_overlap(self, alpha: float) -> np.ndarray:
        """Overlap matrix reached from almost complete knowledge, at the coarse resolution."""
        return self._descend(alpha, None).M

    def _descend(self, alpha: float, start: np.ndarray | None, *, coarse: bool = False) -> Climb:
        M = self.almost_known * np.eye(self.r) if start is None else start
        found = climb(lambda at: self.step(at, alpha, coarse=coarse), M, tolerance=_ROUGH[coarse])
        return found._replace(M=_without_unlearned(found.M))

    @cached_property
    def almost_known(self) -> float:
        """Overlap of an informed start, the largest that is looked at.

        A label that varies continuously may determine the projections completely, which is seen
        from very close only. Jumps are seen on the scale of the posterior, which the rule over
        prior means must resolve.
        """
        jumps = has_jumps(self.target.expression.tree)
        is_sharp = self.target.channel.kind == "deterministic" and not jumps
        return 1 - 1e-5 if is_sharp else _ALMOST_KNOWN[self.r]


def _without_unlearned(M: np.ndarray) -> np.ndarray:
    """Overlap matrix with the traces of rounding in unlearned directions removed."""
    overlaps, Q = np.linalg.eigh(M)
    return (Q * np.where(overlaps < UNLEARNED, 0.0, overlaps)) @ Q.T
