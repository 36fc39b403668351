"""Panels of the values of functions of one variable: between two of them the roots stay.

Given a value, the variable sits at the roots of :math:`g(z) = y`, one on each monotone piece. They
appear and disappear at the values at the ends of pieces.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...calculus.monotone import Family, MonotonePieces, inside, inverse
from ...targets.language.rounding import ROUNDINGS

_LONG = 1.5  # longest panel
_NEAR_AN_END = 0.1  # length of the panel at the end of a band, in parts of the next
_SHORT = 0.05  # panels that need no such parts
_MAX_PARTS, _FEWEST_PARTS = 30_000, 1_000  # of branches: in all, and of one member
_SAME = 1e-11  # relative distance of two values that differ by rounding only


class Panels(NamedTuple):
    """Intervals [low, high] of monotone pieces."""

    piece: np.ndarray
    low: np.ndarray
    high: np.ndarray
    roots: np.ndarray  # of one value: the branches of its band

    def part(self, chosen: np.ndarray) -> Panels:
        """Those that are chosen."""
        return Panels(*(column[chosen] for column in self))

    def halved(self) -> Panels:
        """The halves of all."""
        middle = (self.low + self.high) / 2
        low, high = np.append(self.low, middle), np.append(middle, self.high)
        return Panels(np.tile(self.piece, 2), low, high, np.tile(self.roots, 2))


def panels_of_values(
    g: Family, slope: Family, pieces: MonotonePieces, rounding: Family | None
) -> Panels:
    """Bands of values, each followed along the piece that carries most of its mass.

    Roots appear and disappear at the values at the ends of pieces: between two such values their
    number does not change. As one piece of each band is enough, the work grows with the number of
    pieces times that of different extrema. Panels are at most 1.5 long.
    """
    piece, low, high, band = _segments(g, slope, pieces, rounding)
    order = np.lexsort((-gaussian_measure(low, high), band))
    heaviest = order[np.unique(band[order], return_index=True)[1]]
    index, edges = [np.zeros(0, dtype=np.int64)], [np.zeros((2, 0))]
    for i in heaviest[high[heaviest] > low[heaviest]]:  # critical values may share a point
        points = _edges(low[i], high[i])
        index.append(np.full(len(points) - 1, i))
        edges.append(np.array([points[:-1], points[1:]]))
    chosen = np.concatenate(index)
    roots = np.bincount(band)[band[chosen]]
    start, stop = np.concatenate(edges, axis=1)
    return Panels(piece[chosen], start, stop, roots)


def _segments(
    g: Family, slope: Family, pieces: MonotonePieces, rounding: Family | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Parts of all pieces between critical values: piece, low and high end, number of the band.

    Members with too many of them are left out.
    """
    tables, offset = [np.zeros((5, 0))], 0
    members = int(pieces.member.max(initial=0)) + 1
    errors = None
    if rounding is not None and len(pieces.ends):
        at, inner = np.repeat(pieces.member, 2), inside(pieces.ends)
        errors = rounding(at, inner.ravel()).reshape(-1, 2)
        # The values are those just inside of the ends.
        errors += np.abs(slope(at, inner.ravel()).reshape(-1, 2) * (inner - pieces.ends))
    for member in np.unique(pieces.member):
        own = np.flatnonzero(pieces.member == member)
        critical = _different(
            pieces.values[own], _usual_rounding(pieces, own) if errors is None else errors[own]
        )
        ends = np.searchsorted((critical[1:] + critical[:-1]) / 2, pieces.values[own])
        levels = np.arange(len(critical))
        bottom, top = ends.min(axis=1)[:, None], ends.max(axis=1)[:, None]
        row, level = np.nonzero((bottom <= levels) & (levels <= top))
        if len(row) > max(_MAX_PARTS // members, _FEWEST_PARTS):
            continue
        is_first, is_last = level == ends[row, 0], level == ends[row, 1]
        tables.append(np.array([own[row], critical[level], level + offset, is_first, is_last]))
        offset += len(critical)
    table = np.concatenate(tables, axis=1)
    piece, band = table[0].astype(np.int64), table[2].astype(np.int64)
    # Extrema of the same height differ by rounding: nothing is cut off between them.
    z = np.where(table[3], pieces.ends[piece, 0], pieces.ends[piece, 1])
    between = np.flatnonzero((table[3] == 0) & (table[4] == 0))
    z[between] = inverse(g, slope, pieces, piece[between], table[1, between])
    inner = np.flatnonzero(piece[1:] == piece[:-1])
    low, high = np.minimum(z[inner], z[inner + 1]), np.maximum(z[inner], z[inner + 1])
    return piece[inner], low, high, band[inner]


def _usual_rounding(pieces: MonotonePieces, own: np.ndarray) -> np.ndarray:
    """Errors of the values at the ends, if nothing better is known."""
    part = slice(pieces.first[own[0]], pieces.first[own[-1] + 1])
    is_likely = np.abs(pieces.z[part]) < 1
    size = float(np.abs(pieces.y[part][is_likely]).max(initial=0.0))
    return np.full(pieces.values[own].shape, 1e-3 * _SAME * size)


def _different(values: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Values in increasing order, those that differ by rounding only once."""
    order = np.argsort(values, axis=None)
    ordered, error = values.ravel()[order], errors.ravel()[order]
    gap = _SAME * np.abs(ordered[1:]) + ROUNDINGS * np.maximum(error[1:], error[:-1])
    return ordered[np.concatenate([[True], np.diff(ordered) > gap])]


def gaussian_measure(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Gaussian measure of intervals, without cancellation far out."""
    from scipy.special import ndtr

    is_right = low > 0
    return ndtr(np.where(is_right, -low, high)) - ndtr(np.where(is_right, -high, low))


def _edges(low: float, high: float) -> np.ndarray:
    """Edges of panels, with shorter ones where other roots appear: at both ends."""
    edges = np.linspace(low, high, int(np.ceil((high - low) / _LONG)) + 1)
    near = _NEAR_AN_END * (edges[1] - edges[0])
    if near < _NEAR_AN_END * _SHORT:
        return edges
    return np.concatenate([edges[:1], [low + near], edges[1:-1], [high - near], edges[-1:]])
