"""Rows that are there more than once: one observation with a weight, or several that agree."""

from __future__ import annotations

import numpy as np

_FEW = 10  # rows that differ, of which many agree by chance
_BEYOND_CHANCE = 10.0  # agreement of whole rows over that of their columns


def distinct_rows(
    X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Places of rows that differ, in an order of their own, and their weights; None if all count 1.

    Rows that are equal, label included, are copies of one observation (as in a bootstrap sample)
    where values repeat only with the whole row: labels may then be permuted among observations
    alone. In a table of few values rows agree by chance, and each is an observation.

    Parameters
    ----------
    X : ndarray (n, d)
        Inputs.
    y : ndarray (n,)
        Labels.
    weights : ndarray (n,), optional
        Weights, above 0; equal rows are then counted together in any case.

    Examples
    --------
    >>> X = np.arange(24.0).reshape(12, 2)
    >>> places, weights = distinct_rows(np.r_[X, X[:3]], np.r_[X[:, 0], X[:3, 0]])
    >>> len(places), float(weights.sum())
    (12, 15.0)
    """
    n = len(y)
    _, label = np.unique(y, return_inverse=True)
    rows = np.column_stack([X + 0.0, label])  # a zero has no sign
    columns = _numbers_of_values(rows)
    if weights is None and columns.max() == n:
        return None
    keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1])))
    _, places, which = np.unique(keys.ravel(), return_index=True, return_inverse=True)
    if weights is None and not _are_copies(rows, which, columns):
        return None
    return places, np.bincount(which, weights).astype(float)


def _numbers_of_values(rows: np.ndarray) -> np.ndarray:
    ordered = np.sort(rows, axis=0)
    return 1 + np.count_nonzero(np.diff(ordered, axis=0), axis=0)


def _are_copies(rows: np.ndarray, which: np.ndarray, columns: np.ndarray) -> bool:
    n, different = len(rows), int(which.max()) + 1
    if different == n:
        return False
    if np.sum(columns[:-1] == different) > 1:
        return True  # two features of which each tells the row
    if different <= min(_FEW, n / 3):
        return False
    if columns.max() == different:
        return True
    pairs = n * (n - 1) / 2
    by_chance = sum(np.log(max(_equal_pairs(column), 0.5) / pairs) for column in rows.T)
    log_ratio = np.log(max(_equal_pairs(which), 0.5) / pairs) - by_chance
    return bool(log_ratio > np.log(_BEYOND_CHANCE) and different > n / 3)


def _equal_pairs(values: np.ndarray) -> float:
    counts = np.unique(values, return_counts=True)[1].astype(float)
    return float(np.sum(counts * (counts - 1)) / 2)
