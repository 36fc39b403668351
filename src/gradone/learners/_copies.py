"""Rows that are there more than once: one observation with a weight, or several that agree."""

from __future__ import annotations

import numpy as np

_FEW = 10  # rows that differ, of which many agree by chance
_BEYOND_CHANCE = 10.0  # agreement of whole rows over that of their columns
_MOST_ROWS = 1_000_000  # that whole weights may stand for; beyond they are weights of observations


def distinct_rows(
    X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Places of the observations, in an order of their own, and their weights; None if all count 1.

    Rows that are equal, label included, are copies of one observation (as in a bootstrap sample)
    where values repeat only with the whole row: labels may then be permuted among observations
    alone. In a table of few values rows agree by chance, and each is an observation. Whole weights
    say how often a row is there, and the result is that of the rows repeated.

    Parameters
    ----------
    X : ndarray (n, d)
        Inputs.
    y : ndarray (n,)
        Labels.
    weights : ndarray (n,), optional
        Weights, above 0.

    Examples
    --------
    >>> X = np.arange(24.0).reshape(12, 2)
    >>> places, weights = distinct_rows(np.r_[X, X[:3]], np.r_[X[:, 0], X[:3, 0]])
    >>> len(places), float(weights.sum())
    (12, 15.0)
    >>> cells = np.array([[0.0], [1.0]]), np.array([0, 0])  # each seen ten times by chance
    >>> len(distinct_rows(*cells, weights=np.full(2, 10.0))[0])
    20
    """
    if weights is not None and (weights == 1).all():
        weights = None
    counts = np.ones(len(y)) if weights is None else weights
    _, label = np.unique(y, return_inverse=True)
    rows = np.column_stack([X + 0.0, label])  # a zero has no sign
    columns = _numbers_of_values(rows)
    if weights is None and columns.max() == len(y):
        return None
    keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1])))
    _, places, which = np.unique(keys.ravel(), return_index=True, return_inverse=True)
    if weights is None and len(places) == len(y):
        return None
    whole = (counts == np.round(counts)).all() and counts.sum() <= _MOST_ROWS
    if whole and not _are_copies(rows, counts, which, columns):
        order = np.argsort(which, kind="stable")
        repeated = np.repeat(order, counts[order].astype(int))
        return repeated, np.ones(len(repeated))
    return places, np.bincount(which, counts).astype(float)


def _numbers_of_values(rows: np.ndarray) -> np.ndarray:
    ordered = np.sort(rows, axis=0)
    return 1 + np.count_nonzero(np.diff(ordered, axis=0), axis=0)


def _are_copies(
    rows: np.ndarray, counts: np.ndarray, which: np.ndarray, columns: np.ndarray
) -> bool:
    n, different = counts.sum(), int(which.max()) + 1
    if np.sum(columns[:-1] == different) > 1:
        return True  # two features of which each tells the row
    if different <= min(_FEW, n / 3):
        return False
    if columns.max() == different:
        return True
    pairs = n * (n - 1) / 2
    by_chance = sum(np.log(max(_equal_pairs(column, counts), 0.5) / pairs) for column in rows.T)
    log_ratio = np.log(max(_equal_pairs(which, counts), 0.5) / pairs) - by_chance
    return bool(log_ratio > np.log(_BEYOND_CHANCE) and different > n / 3)


def _equal_pairs(values: np.ndarray, counts: np.ndarray) -> float:
    seen = np.bincount(np.unique(values, return_inverse=True)[1], counts)
    return float(np.sum(seen * (seen - 1)) / 2)
