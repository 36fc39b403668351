"""Sums over cells between quantiles of an output, fine in its tails, and over its atoms."""

from __future__ import annotations

import numpy as np

_LOOKED_AT = 1 << 15  # points that choose the cells
_ATOM = 0.002  # share of the points from which a value counts as an atom
_KEYS = 1 << 16
_MANY = 1 << 14  # outputs that are worth a table


def first_points(outputs: list[np.ndarray]) -> np.ndarray:
    """First points of each replicate, which are spread as evenly as all of them, in one array."""
    replicates = sum(map(len, outputs))
    return np.concatenate([y[:, : _LOOKED_AT // replicates].ravel() for y in outputs])


def sums_over_cells(
    outputs: list[np.ndarray], features: list[np.ndarray], cells: int
) -> np.ndarray:
    """Means of features times the indicator of each cell, then of each atom: (R, rows, bins).

    Parameters
    ----------
    outputs : list of ndarray, shape (replicates, n)
        The outputs, some replicates in each array.
    features : list of ndarray, shape (rows, replicates, n)
        The features; the first row are the weights of the points.
    cells : int
        Number of cells.

    Notes
    -----
    Cells and atoms are chosen from the first points of each replicate.

    Examples
    --------
    >>> y, ones = np.arange(4096.0)[None, :], np.ones((1, 1, 4096))
    >>> sums_over_cells([y], [ones], 4)[0, 0].round(3).tolist()
    [0.156, 0.344, 0.344, 0.156]
    >>> sums_over_cells([np.maximum(y, 2000.0)], [ones], 4)[0, 0].round(3).tolist()  # and an atom
    [0.08, 0.176, 0.176, 0.08, 0.489]
    """
    sample, weight = first_points(outputs), first_points([rows[0] for rows in features])
    order = np.argsort(sample)
    ordered, weight = sample[order], weight[order]
    first = np.flatnonzero(np.concatenate([[True], np.diff(ordered) != 0]))
    count = np.diff(np.append(first, len(ordered)))
    is_atom = count > _ATOM * len(ordered)
    atoms = ordered[first[is_atom]]
    weight = np.where(np.repeat(is_atom, count), 0.0, weight)
    places = _Places(_graded_edges(ordered, weight, cells), atoms, cells, ordered)
    bins = cells + len(atoms)
    sums = []
    for y, rows in zip(outputs, features, strict=True):
        where = places(y.ravel()).reshape(y.shape) + bins * np.arange(len(y))[:, None]
        where, size = where.ravel(), bins * len(y)
        found = np.array([np.bincount(where, row.ravel(), size) for row in rows])
        sums.append(np.swapaxes(found.reshape(len(rows), len(y), bins), 0, 1) / y.shape[1])
    return np.concatenate(sums)


class _Places:
    """Cell or atom of outputs: ``np.searchsorted(edges, y)``, several times as fast.

    A table over a bounded increasing function of y says how many edges lie below; only where an
    edge falls into the same entry of the table it has to be looked for.
    """

    def __init__(
        self, edges: np.ndarray, atoms: np.ndarray, cells: int, ordered: np.ndarray
    ) -> None:
        self._edges, self._atoms, self._cells = edges, atoms, cells
        low, self._middle, high = ordered[len(ordered) * np.array([1, 2, 3]) // 4]
        self._width = max(high - low, 1e-9 * max(abs(ordered[0]), abs(ordered[-1])), 1e-300)
        self._is_worth_it = len(ordered) > _MANY
        if self._is_worth_it:
            count = np.bincount(self._keys(edges), minlength=_KEYS + 1)
            self._below, self._is_open = np.cumsum(count) - count, count > 0

    def _keys(self, y: np.ndarray) -> np.ndarray:
        x = np.clip((y - self._middle) / self._width, -_KEYS, _KEYS)
        return ((0.5 * _KEYS) * (1 + x / (1 + np.abs(x)))).astype(np.int32)

    def __call__(self, y: np.ndarray) -> np.ndarray:
        if self._is_worth_it:
            keys = self._keys(y)
            where = self._below[keys]
            unsure = np.flatnonzero(self._is_open[keys])
            where[unsure] = np.searchsorted(self._edges, y[unsure])
        else:
            where = np.searchsorted(self._edges, y)
        if len(self._atoms):
            nearest = np.minimum(np.searchsorted(self._atoms, y), len(self._atoms) - 1)
            where = np.where(self._atoms[nearest] == y, self._cells + nearest, where)
        return where


def _graded_edges(ordered: np.ndarray, weight: np.ndarray, cells: int) -> np.ndarray:
    """Inner edges of cells whose probabilities shrink quadratically towards both ends."""
    cumulative = np.cumsum(weight)
    if cumulative[-1] <= 0:  # nothing but atoms
        return np.zeros(0)
    s = np.linspace(0, 1, cells + 1)[1:-1]
    at = np.searchsorted(cumulative, s * s * (3 - 2 * s) * cumulative[-1])
    return ordered[np.minimum(at, len(ordered) - 1)]
