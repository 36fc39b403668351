r"""Averages where some directions are known completely: those of the others, given the known ones.

With P the projector on what is known, :math:`J \simeq J_{rest} + P W P/(1 - m)` as m tends to 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...base.estimate import Estimate
from ...targets.target import Target
from ..rules import channel_averages
from .embedded import Embedded
from .general import ChannelAverages
from .moments import (
    FRAME,
    PERFECT,
    Averages,
    Combine,
    invariant_maps,
    symmetric_matrix,
    symmetric_pairs,
)
from .rest import rest_given

_ALMOST = 0.999  # overlaps above it are so close to complete that their widths must be compared


class _Part(NamedTuple):
    """Averages over what is not known."""

    inner: Embedded
    """Averages of the other directions."""
    projector: np.ndarray
    """Of the known directions."""
    weight: np.ndarray
    """The matrix P W P."""
    scale: float
    """Factor of squared labels."""


class KnownAverages:
    """Averages over labels of a target, by the general rule.

    Parameters
    ----------
    target : Target
        Target of up to four directions.

    Examples
    --------
    With z1 known, the rest is a parity of two:

    >>> channel = KnownAverages(Target("z1**2 + sign(z1*z2*z3)"))
    >>> J = channel.at(np.diag([1 - 1e-6, 0.643841, 0.643841])).information[1, 1]
    >>> round(float(4 * J / (1 + 4 * J)), 5)
    0.64384
    """

    @staticmethod
    def covers(target: Target) -> bool:
        """Whether the general rule covers the target."""
        return ChannelAverages.covers(target)

    def __init__(self, target: Target) -> None:
        self.target = target
        self._all = ChannelAverages(target)
        self._parts: list[_Part] = []

    def at(self, M: np.ndarray, *, coarse: bool = False) -> Averages:
        """Averages at the overlap matrix `M`."""
        if (part := self._part(M)) is None:
            return self._all.at(M, coarse=coarse)
        return self._lifted(part, M, part.inner.at(M, coarse=coarse))

    def estimate(self, M: np.ndarray) -> tuple[Averages, list[Averages]]:
        """Averages at `M` with all corrections, and what each source of error changes in them."""
        if (part := self._part(M)) is None:
            return self._all.estimate(M)
        best, sources = part.inner.estimate(M)
        without = part._replace(weight=0 * part.weight)
        return self._lifted(part, M, best), [self._lifted(without, M, s) for s in sources]

    def pairs(self, M: np.ndarray, combine: Combine, **choice: Any) -> np.ndarray:
        """Means of products of entries of a matrix made of g and H, (r, r, r, r)."""
        if (part := self._part(M)) is None:
            return self._all.pairs(M, combine, **choice)
        found = part.inner.pairs(M, combine, **choice)
        return symmetric_pairs(found, np.eye(len(M)), self._symmetries(M))

    def label_error(self, M: np.ndarray) -> Estimate:
        """Probability that the most probable value of a discrete label is wrong."""
        return self._all.label_error(M)

    def _symmetries(self, M: np.ndarray) -> np.ndarray:
        """Symmetries (k, r, r) of the target that leave M as it is."""
        return invariant_maps(self._all.labels.symmetries.maps, M)

    def _part(self, M: np.ndarray) -> _Part | None:
        """What is not known; None if nothing is known, or almost all."""
        overlaps, Q = np.linalg.eigh(M)
        known = overlaps > PERFECT
        if self.target.q or not known.any() or known.all() or overlaps[~known].max() > _ALMOST:
            return None
        rows = Q[:, known].T
        P = rows.T @ rows
        for part in self._parts:
            if np.abs(part.projector - P).max() < FRAME:
                return part
        # What is known stays so: J of it in units of the width changes little.
        W = self._all.at(M, coarse=True).information * (1 - overlaps[known].max())
        self._parts.append(self._made(rows, P, P @ W @ P))
        return self._parts[-1]

    def _made(self, rows: np.ndarray, P: np.ndarray, weight: np.ndarray) -> _Part:
        rest = rest_given(self.target, rows)
        if rest is None:
            free = ChannelAverages(self.target, rows)
            return _Part(Embedded(free, free.free), P, weight, 1.0)
        inner = Embedded(channel_averages(rest.target), np.eye(len(P))[rest.axes])
        return _Part(inner, P, weight, rest.scale)

    def _lifted(self, part: _Part, M: np.ndarray, found: Averages) -> Averages:
        """Averages of all directions from those of the free ones."""
        known = part.weight / (1 - np.linalg.eigvalsh(M)[-1])
        J = symmetric_matrix(found.information + known, self._symmetries(M))
        return found._replace(information=J, test_mse=part.scale * found.test_mse)
