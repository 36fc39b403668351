r"""Means, scales and linear part of training data, in one pass over its rows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ._row_stream import Block


class InputMoments:
    r"""Sums over rows of x, x^2, y, y^2 and y x, each counted from the first row.

    Counted from the first row a constant column has exactly no spread, and columns far from 0 lose
    no digits.

    Examples
    --------
    >>> moments = InputMoments(1)
    >>> moments.add([(np.array([[5.0], [7.0]]), np.array([1.0, 3.0]))])
    >>> moments.mean, moments.scale, moments.label_mean, moments.label_scale
    (array([6.]), array([1.]), 2.0, 1.0)
    >>> moments.label_slope
    array([1.])
    """

    def __init__(self, d: int) -> None:
        self.n, self._first = 0, np.zeros(d)
        self._label = 0.0
        self._x, self._xx, self._yx = np.zeros(d), np.zeros(d), np.zeros(d)
        self._y = self._yy = 0.0

    def add(self, blocks: Iterable[Block]) -> None:
        """Count more rows."""
        for X, y in blocks:
            if not self.n and len(y):
                self._first, self._label = X[0].astype(np.float64), float(y[0])
            shifted = X - self._first.astype(X.dtype)
            labels = y - self._label
            self.n += len(y)
            self._x += shifted.sum(axis=0, dtype=np.float64)
            self._xx += np.einsum("ij,ij->j", shifted, shifted, dtype=np.float64)
            self._yx += labels @ shifted
            self._y += float(labels.sum())
            self._yy += float(labels @ labels)

    @property
    def mean(self) -> np.ndarray:
        """Means of the columns (d,)."""
        return self._first + self._x / self.n

    @property
    def scale(self) -> np.ndarray:
        """Standard deviations of the columns (d,); 0 marks a constant one."""
        spread: np.ndarray = np.sqrt(np.maximum(self._xx / self.n - (self._x / self.n) ** 2, 0.0))
        return spread

    @property
    def label_mean(self) -> float:
        """Mean of the labels."""
        return self._label + self._y / self.n

    @property
    def label_scale(self) -> float:
        """Standard deviation of the labels."""
        return float(np.sqrt(max(self._yy / self.n - (self._y / self.n) ** 2, 0.0)))

    @property
    def label_slope(self) -> np.ndarray:
        r"""Covariances :math:`\overline{(y - \bar y)(x - \bar x)}` (d,)."""
        return self._yx / self.n - (self._y / self.n) * (self._x / self.n)
