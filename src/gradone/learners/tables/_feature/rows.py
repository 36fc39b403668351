"""Rows of a table in an order of their own, so that the order they came in does not matter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....base.units import units

_HELD_OUT = 5  # a single split holds out one row in five
_MOST_COLUMNS = 2000  # beyond these distances would cost more than the fit
_DIGITS = 9  # of the leverage of a row, beyond which it is rounding


@dataclass(frozen=True)
class Rows:
    """Standardized inputs and labels with weights.

    Parameters
    ----------
    X : ndarray (n, d)
        Inputs.
    Y : ndarray (n, q)
        Labels.
    weights : ndarray (n,)
        Weights, of mean 1 over the whole table.
    """

    X: np.ndarray
    Y: np.ndarray
    weights: np.ndarray

    def __len__(self) -> int:
        return len(self.X)

    def part(self, rows: np.ndarray) -> Rows:
        """Some of the rows."""
        return Rows(self.X[rows], self.Y[rows], self.weights[rows])

    def columns(self, kept: np.ndarray | None) -> Rows:
        """Some of the columns; all if None."""
        return self if kept is None else Rows(self.X[:, kept], self.Y, self.weights)

    @cached_property
    def root(self) -> np.ndarray:
        """Square roots of the weights as a column (n, 1), for the rows of least squares."""
        return np.asarray(np.sqrt(self.weights)[:, None])

    @cached_property
    def equal(self) -> bool:
        """Whether all weights are 1."""
        return bool((self.weights == 1).all())

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Weighted mean over rows."""
        return np.asarray(self.weights @ values / self.weights.sum())

    def centered(self, values: np.ndarray) -> np.ndarray:
        """Values minus their weighted mean, times the roots of the weights."""
        return np.asarray((values - self.mean(values)) * self.root)


@dataclass(frozen=True)
class Scaling:
    """Centre and scale of columns; those that do not vary have the scale 0 and are left out.

    Parameters
    ----------
    mean, scale : ndarray (d,)
        Weighted mean and standard deviation.
    """

    mean: np.ndarray
    scale: np.ndarray

    @property
    def kept(self) -> np.ndarray:
        """Indices of the columns that vary."""
        return np.flatnonzero(self.scale)

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Standardized columns that vary."""
        kept = self.kept
        scaled: np.ndarray = (values[:, kept] - self.mean[kept]) / self.scale[kept]
        return scaled


def scaling(values: np.ndarray, weights: np.ndarray) -> Scaling:
    """Centre and scale of the columns of a table."""
    unit = units(values)
    shift = values[0]  # taken off first: a constant column then has exactly no spread
    mean = shift + unit * (weights @ ((values - shift) / unit) / weights.sum())
    scale = unit * np.sqrt(weights @ ((values - mean) / unit) ** 2 / weights.sum())
    scale[scale <= 8 * np.finfo(float).eps * np.abs(mean)] = 0.0
    return Scaling(mean, scale)


def in_own_order(
    X: np.ndarray, Y: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    r"""Rows sorted by label, then by their distance from the centre; equal rows made one.

    The distance is :math:`x^\top C^{-1} x` with the covariance C of X: no linear map of X changes
    it. Whatever is drawn at random afterwards falls on the same rows, in whatever order and in
    whatever coordinates they are given. Equal rows are replaced by one with the sum of their
    weights, so that a weight 2 means the same as a row that is there twice.

    Parameters
    ----------
    X, Y : ndarray (n, d), (n, q)
        Inputs and labels.
    weights : ndarray (n,)
        Weights; rows with weight 0 are left out.

    Returns
    -------
    X, Y, weights : ndarray
        The rows.
    places : ndarray of int (n,)
        Where each of the rows that were given is now, -1 for those left out.

    Examples
    --------
    >>> X, Y, weights, places = in_own_order(
    ...     np.array([[3.0], [1.0], [3.0]]), np.array([[2.0], [1.0], [2.0]]), np.ones(3)
    ... )
    >>> X[:, 0], weights, places
    (array([1., 3.]), array([1., 2.]), array([1, 0, 1]))
    """
    used = np.flatnonzero(weights > 0)
    places = np.full(len(X), -1)
    X, Y, weights = X[used], Y[used], weights[used]
    labels = list(Y.T[::-1])
    order = np.lexsort([_distances(X, weights), *labels])
    if (np.diff(Y[order], axis=0) == 0).all(axis=1).any():
        # Only then the entries themselves are needed to tell rows apart.
        order = np.lexsort([*X.T[::-1], _distances(X, weights), *labels])
    X, Y, weights = X[order], Y[order], weights[order]
    first = np.ones(len(X), bool)
    first[1:] = (np.diff(Y, axis=0) != 0).any(axis=1) | (np.diff(X, axis=0) != 0).any(axis=1)
    places[used[order]] = np.cumsum(first) - 1
    return X[first], Y[first], np.add.reduceat(weights, np.flatnonzero(first)), places


def _distances(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    columns = scaling(X, weights)
    if not 0 < len(columns.kept) < min(len(X), _MOST_COLUMNS):
        return np.zeros(len(X))  # with fewer rows than columns all are equally far
    Z = columns(X)
    variances, axes = np.linalg.eigh((Z * weights[:, None]).T @ Z / weights.sum())
    varies = variances > 1e-9 * variances[-1]
    squares = (Z @ axes[:, varies]) ** 2 @ (1 / variances[varies])
    return np.round(squares, _DIGITS)


Splits = list[tuple[np.ndarray, np.ndarray]]
"""Pairs of rows to fit to and rows to predict."""


def balanced_splits(n: int, folds: int, rng: np.random.Generator) -> Splits:
    """Folds of n rows that are sorted by label: every one has labels of all sizes.

    Parameters
    ----------
    n : int
        Number of rows.
    folds : int
        Number of folds; 1 holds out a fifth of the rows, once.
    rng : Generator
        Draws the rows.

    Examples
    --------
    >>> [len(fresh) for used, fresh in balanced_splits(7, 3, np.random.default_rng(0))]
    [3, 2, 2]
    """
    parts = _HELD_OUT if folds == 1 else min(folds, n)
    fold = rng.permuted(np.tile(np.arange(parts), (n // parts, 1)), axis=1).ravel()
    fold = np.concatenate([fold, np.arange(n % parts)])
    return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(min(folds, n))]


def moved_splits(splits: Iterable[tuple[np.ndarray, np.ndarray]], places: np.ndarray) -> Splits:
    """Splits of the rows as they were given, in terms of where they are now.

    Parameters
    ----------
    splits : iterable of (ndarray, ndarray)
        Indices of rows to fit to, and to predict.
    places : ndarray of int
        From :func:`in_own_order`. A row that is on both sides is predicted.
    """
    moved = []
    for used, fresh in splits:
        there = np.unique(places[fresh])
        moved.append((np.setdiff1d(places[used], [*there, -1]), there[there >= 0]))
    return moved
