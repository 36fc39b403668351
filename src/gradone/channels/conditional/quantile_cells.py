"""Sums over cells between quantiles of an output, fine in its tails, and over its atoms."""

from __future__ import annotations

from collections.abc import Iterable

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
    outputs: list[np.ndarray],
    weights: list[np.ndarray],
    features: Iterable[np.ndarray],
    cells: int,
) -> np.ndarray:
    """Means of features times the indicator of each cell, then of each atom: (R, rows, bins).

    Parameters
    ----------
    outputs : list of ndarray, shape (replicates, n)
        The outputs, some replicates in each array.
    weights : list of ndarray, shape (replicates, n)
        The weights of the points.
    features : iterable of ndarray, shape (rows, replicates, n)
        The features, each array used before the next is asked for; the first row are the weights.
    cells : int
        Number of cells.

    Notes
    -----
    Cells and atoms are chosen from the first points of each replicate.

    Examples
    --------
    >>> y, ones = np.arange(4096.0)[None, :], np.ones((1, 4096))
    >>> sums_over_cells([y], [ones], [ones[None]], 4)[0, 0].round(3).tolist()
    [0.156, 0.344, 0.344, 0.156]
    >>> y = np.maximum(y, 2000.0)  # and an atom
    >>> sums_over_cells([y], [ones], [ones[None]], 4)[0, 0].round(3).tolist()
    [0.08, 0.176, 0.176, 0.08, 0.489]
    """
    sample, weight = first_points(outputs), first_points(weights)
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
        where = places(y.ravel()) + np.repeat(bins * np.arange(len(y)), y.shape[1])
        own = np.empty((len(y), len(rows), bins))
        for i, row in enumerate(rows):
            found = np.bincount(where, row.ravel(), bins * len(y)) / y.shape[1]
            own[:, i] = found.reshape(len(y), bins)
        sums.append(own)
    return np.concatenate(sums)


def sums_below(sums: np.ndarray, beyond: int) -> np.ndarray:
    """Sums over all cells below edges between which the probabilities are exactly as intended.

    Parameters
    ----------
    sums : ndarray, shape (R, rows, cells)
        Sums over cells; the first row are the probabilities.
    beyond : int
        How many edges to add below the first one, and above the last.

    Notes
    -----
    Cells that few points have chosen differ in their probabilities, in the same way for all
    replicates: an error that these would not show. Inside a cell the sums are taken to be linear in
    the probability.

    Examples
    --------
    >>> sums_below(np.array([[[0.2, 0.3, 0.3, 0.2]]]), 1).round(3).tolist()
    [[[0.0, 0.0, 0.156, 0.5, 0.844, 1.0, 1.0]]]
    """
    cells = sums.shape[-1]
    found = np.append(0.0, np.cumsum(sums[:, 0].mean(axis=0)))
    intended = _graded(np.clip(np.arange(-beyond, cells + beyond + 1) / cells, 0, 1)) * found[-1]
    cell = np.clip(np.searchsorted(found, intended, side="right") - 1, 0, cells - 1)
    share = (intended - found[cell]) / np.maximum(found[cell + 1] - found[cell], 1e-300)
    missing = 1 - np.clip(share, 0, 1)
    result = np.empty((*sums.shape[:-1], len(cell)))
    for below, own in zip(result, sums, strict=True):
        np.take(np.cumsum(own, axis=-1), cell, axis=-1, out=below, mode="clip")
        below -= np.take(own, cell, axis=-1) * missing
    return result


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
            self._below = np.cumsum(count) - count
            self._inside = np.minimum(count, 2).astype(np.int8)  # none, one, several

    def _keys(self, y: np.ndarray) -> np.ndarray:
        x = (y - self._middle) / self._width
        np.clip(x, -_KEYS, _KEYS, out=x)
        x /= 1 + np.abs(x)
        x += 1
        x *= 0.5 * _KEYS
        return x.astype(np.int32)

    def __call__(self, y: np.ndarray) -> np.ndarray:
        if self._is_worth_it:
            keys = self._keys(y)
            where, inside = self._below.take(keys), self._inside.take(keys)
            one, several = np.flatnonzero(inside == 1), np.flatnonzero(inside == 2)
            where[one] += self._edges[where[one]] < y[one]
            where[several] = np.searchsorted(self._edges, y[several])
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
    at = np.searchsorted(cumulative, _graded(s) * cumulative[-1])
    return ordered[np.minimum(at, len(ordered) - 1)]


def _graded(s: np.ndarray) -> np.ndarray:
    """Probability below the fraction s of all cells."""
    return s * s * (3 - 2 * s)
