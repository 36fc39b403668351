"""Whitened inputs and their weighted moments, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.arrays import array_namespace, like, to_numpy
from ._standardize import Standardization, chunk_rows

_LEAST_ROWS = 512  # shorter sums in a matrix product are slower than its writing of results


@dataclass(frozen=True)
class WhitenedInputs:
    """Whitened inputs, computed block by block from the data.

    Parameters
    ----------
    X : array (n, d)
        Inputs.
    standardization : Standardization
        Centre and scale of the columns.
    axes : ndarray (m, columns that vary)
        Coordinate j of a standardized input x is ``axes[j] @ x``.
    chunk_size : int, optional
        Rows of a block; chosen by size if None.
    row_weights : ndarray (n,), optional
        Weights of the rows in every mean, themselves with mean 1.
    """

    X: Any
    standardization: Standardization
    axes: np.ndarray
    chunk_size: int | None = None
    row_weights: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns that vary."""
        return int(self.X.shape[0]), self.axes.shape[1]

    def blocks(self, rows: int) -> Iterator[tuple[slice, Any]]:
        """Rows of a block, and their whitened coordinates (m, rows)."""
        axes, xp = like(self.X, self.axes), array_namespace(self.X)
        for part, block in self.standardization.blocks(self.X, self.chunk_size or rows):
            yield part, axes @ xp.matrix_transpose(block)

    def means(self, weights: np.ndarray) -> np.ndarray:
        """Means of ``T_b u`` (q, m) for weights T (n, q)."""
        weights = self._counted(weights)
        total = np.zeros((weights.shape[1], len(self.axes)))
        for part, u in self.blocks(chunk_rows(len(self.axes) + weights.shape[1])):
            total += to_numpy(u @ like(self.X, weights[part])).T
        return total / len(weights)

    def residual(self, weights: np.ndarray) -> np.ndarray:
        """What a linear fit leaves of centred weights (n, q)."""
        rows, variance = chunk_rows(len(self.axes)), np.zeros(len(self.axes))
        count = self._counted(np.ones((len(weights), 1)))
        for part, u in self.blocks(rows):
            variance += to_numpy(u**2 @ like(self.X, count[part]))[:, 0]
        # Whitened coordinates are uncorrelated, so that each has its slope for itself.
        slopes = like(self.X, self.means(weights).T / (variance[:, None] / len(weights)))
        xp = array_namespace(self.X)
        fitted = [to_numpy(xp.matrix_transpose(u) @ slopes) for _, u in self.blocks(rows)]
        return weights - np.concatenate(fitted)

    def moments(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means of ``T_b u`` (q, m) and of ``T_b u u'`` (q, m, m) for weights T (n, q)."""
        weights = self._counted(weights)
        xp, m, n = array_namespace(self.X), len(self.axes), len(weights)
        pairs = np.triu_indices(m)
        rows = self.chunk_size or max(_LEAST_ROWS, chunk_rows(len(pairs[0])))
        groups = list(_groups_of_coordinates(m, chunk_rows(rows)))
        first, upper = np.zeros((weights.shape[1], m)), np.zeros((weights.shape[1], len(pairs[0])))
        for part, u in self.blocks(rows):
            T = xp.matrix_transpose(like(self.X, weights[part]))
            first += to_numpy(T @ xp.matrix_transpose(u))
            # Products of two coordinates: the second moments of every weight and of every
            # permutation of it are then one matrix product.
            for coordinates, some in groups:
                products = xp.concat([u[i : i + 1, :] * u[i:, :] for i in coordinates], axis=0)
                upper[:, some] += to_numpy(T @ xp.matrix_transpose(products))
        second = np.empty((weights.shape[1], m, m))
        second[:, *pairs] = second[:, *pairs[::-1]] = upper / n
        return first / n, second

    def _counted(self, weights: np.ndarray) -> np.ndarray:
        return weights if self.row_weights is None else weights * self.row_weights[:, None]


def whitened(
    X: Any,
    standardization: Standardization,
    *,
    shrinkage: float,
    chunk_size: int | None,
    row_weights: np.ndarray | None = None,
) -> WhitenedInputs:
    r"""Inputs whitened with a covariance that is shrunk towards the identity.

    .. math:: u = [(1 - s) C + s I]^{-1/2} x,

    up to a rotation; directions in which the data do not vary are left out.

    Parameters
    ----------
    X : array (n, d)
        Inputs.
    standardization : Standardization
        Centre and scale of the columns.
    shrinkage : float
        s, from 0 to 1.
    chunk_size : int, optional
        Rows of a block; chosen by size if None.
    row_weights : ndarray (n,), optional
        Weights of the rows, with mean 1.
    """
    n, d = X.shape[0], len(standardization.kept)
    rows = chunk_size or chunk_rows(d)
    root = None if row_weights is None else like(X, np.sqrt(row_weights)[:, None])
    blocks = (
        block if root is None else block * root[part, :]
        for part, block in standardization.blocks(X, rows)
    )
    if n > d:
        covariance = np.zeros((d, d))
        for block in blocks:
            covariance += to_numpy(array_namespace(X).matrix_transpose(block) @ block)
        variances, vectors = np.linalg.eigh(covariance / n)
        vectors = vectors.T
    else:
        # Fewer rows than columns: the matrix of inner products is the smaller one.
        rows_of_X = np.concatenate([to_numpy(block) for block in blocks])
        variances, left = np.linalg.eigh(rows_of_X @ rows_of_X.T / n)
        vectors = left.T @ rows_of_X
    unit = float(array_namespace(X).finfo(X.dtype).eps)
    varies = variances > 10 * max(n, d) * unit * variances[-1]
    variances, vectors = variances[varies], vectors[varies].astype(float)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    axes = vectors / np.sqrt((1 - shrinkage) * variances + shrinkage)[:, None]
    return WhitenedInputs(X, standardization, axes, chunk_size, row_weights)


def _groups_of_coordinates(m: int, most: int) -> Iterator[tuple[range, slice]]:
    """Groups of coordinates i with at most that many pairs i <= j (at least one i), and the pairs.

    Examples
    --------
    >>> list(_groups_of_coordinates(3, 5))
    [(range(0, 2), slice(0, 5, None)), (range(2, 3), slice(5, 6, None))]
    """
    start, done, count = 0, 0, 0
    for i in range(m):
        if count and count + m - i > most:
            yield range(start, i), slice(done, done + count)
            start, done, count = i, done + count, 0
        count += m - i
    yield range(start, m), slice(done, done + count)
