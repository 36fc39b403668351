r"""Rows of a linear model :math:`f = F\theta`, held in memory or made again block by block."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from .._feature_map import FeatureMap
from .._standardize import chunk_rows, row_blocks
from ._feature_ridge import HELD_BYTES, add_gram


class Design:
    """The n x m matrix F of a linear model, and the products that a Newton step needs.

    Parameters
    ----------
    matrix : ndarray (n, m)
        F, in C order.
    has_intercept : bool
        Whether the last column is that of ones, which is not penalized.

    Examples
    --------
    >>> design = Design(np.array([[2.0, 1.0], [0.0, 1.0]]), has_intercept=True)
    >>> design.forward(np.array([1.0, -1.0])), design.backward(np.array([1.0, 1.0]))
    (array([ 1., -1.]), array([2., 2.]))
    """

    def __init__(self, matrix: np.ndarray, *, has_intercept: bool) -> None:
        self._matrix = matrix
        self.n, self.columns = matrix.shape
        self.has_intercept = has_intercept

    @property
    def penalized(self) -> int:
        """Number of columns whose coefficients are penalized: the first ones."""
        return self.columns - self.has_intercept

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Rows of a block and their entries, in float64."""
        for part in row_blocks(self.n, chunk_rows(self.columns)):
            yield part, self._matrix[part].astype(np.float64, copy=False)

    def forward(self, theta: np.ndarray) -> np.ndarray:
        r""":math:`F\theta` (n,)."""
        out = np.empty(self.n)
        for part, block in self.blocks():
            np.matmul(block, theta, out=out[part])
        return out

    def backward(self, v: np.ndarray) -> np.ndarray:
        r""":math:`F^\top v` (m,)."""
        return sum((v[part] @ block for part, block in self.blocks()), np.zeros(self.columns))

    def weighted_gram(self, weights: np.ndarray) -> np.ndarray:
        r""":math:`F^\top \mathrm{diag}(w) F` (m, m) in its upper triangle, for weights >= 0."""
        total = np.zeros((self.columns, self.columns), order="F")
        roots = np.sqrt(weights)
        buffer = np.empty((min(self.n, chunk_rows(self.columns)), self.columns))
        for part, block in self.blocks():
            scaled = np.multiply(block, roots[part, None], out=buffer[: len(block)])
            total = add_gram(total, scaled)
        return total


class FeatureDesign(Design):
    r"""Random features divided by :math:`\sqrt p`, and the column of ones.

    Parameters
    ----------
    features : FeatureMap
        The features.
    X : ndarray (n, d)
        Inputs.
    has_intercept : bool
        Whether there is a column of ones.
    chunk_size : int, optional
        Rows of a block; chosen by size if None.
    """

    def __init__(
        self, features: FeatureMap, X: np.ndarray, *, has_intercept: bool, chunk_size: int | None
    ) -> None:
        self._features, self._X, self._chunk_size = features, X, chunk_size
        self.n, self.columns = len(X), features.width + has_intercept
        self.has_intercept = has_intercept

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Rows of a block and their entries, made anew."""
        p = self._features.width
        extra, factor = int(self.has_intercept), 1 / math.sqrt(p)
        for part, block in self._features.blocks(self._X, chunk_size=self._chunk_size, extra=extra):
            block[:, :p] *= factor
            block[:, p:] = 1.0
            yield part, block.astype(np.float64, copy=False)

    def held(self) -> Design:
        """The same with its rows in memory, if they take little; otherwise itself."""
        itemsize = self._features.weights.itemsize
        if self.n * self.columns * itemsize > HELD_BYTES:
            return self
        matrix = np.empty((self.n, self.columns), self._features.weights.dtype)
        for part, block in self.blocks():
            matrix[part] = block
        return Design(matrix, has_intercept=self.has_intercept)
