r"""Means, scales and linear part of training data, in one pass over its rows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...base.errors import BadData
from ...base.units import units
from ._row_stream import Block


class InputMoments:
    r"""Sums over rows of x, x^2, y, y^2 and y x, each counted from the first row.

    Counted from the first row a constant column has exactly no spread, and columns far from 0 lose
    no digits. They are counted in units of the first block, so that squares stay in range.

    Examples
    --------
    >>> moments = InputMoments(1)
    >>> moments.add([(np.array([[5.0], [7.0]]), np.array([1.0, 3.0]))])
    >>> moments.mean, moments.scale, moments.label_mean, moments.label_scale
    (array([6.]), array([1.]), 2.0, 1.0)
    >>> moments.slope(moments.scale, 1.0)
    array([1.])
    """

    def __init__(self, d: int) -> None:
        self.n, self._first, self._label = 0, np.zeros(d), 0.0
        self._unit, self._label_unit = np.ones(d), 1.0
        self._x, self._xx, self._yx = np.zeros(d), np.zeros(d), np.zeros(d)
        self._y = self._yy = 0.0

    def add(self, blocks: Iterable[Block]) -> None:
        """Count more rows."""
        for X, y in blocks:
            if not self.n and len(y):
                self._first, self._label = X[0].astype(np.float64), float(y[0])
                self._unit, self._label_unit = units(X), float(units(y))
            shifted = X - self._first.astype(X.dtype)
            if (self._unit != 1).any():
                shifted = shifted / self._unit.astype(X.dtype)
            labels = (y - self._label) / self._label_unit
            self.n += len(y)
            with np.errstate(over="ignore", invalid="ignore"):  # refused below
                self._x += shifted.sum(axis=0, dtype=np.float64)
                self._xx += np.einsum("ij,ij->j", shifted, shifted, dtype=np.float64)
                self._yx += labels @ shifted
                self._y += float(labels.sum())
                self._yy += float(labels @ labels)
        if not np.isfinite([*self._xx, *self._yx, self._yy]).all():
            raise BadData(
                "later rows are so much larger than the first ones that their squares leave the "
                "range of floats. Measure in other units, or look for wrong entries."
            )

    @property
    def mean(self) -> np.ndarray:
        """Means of the columns (d,)."""
        return self._first + self._unit * (self._x / self.n)

    @property
    def scale(self) -> np.ndarray:
        """Standard deviations of the columns (d,); 0 marks a constant one."""
        spread: np.ndarray = np.sqrt(np.maximum(self._xx / self.n - (self._x / self.n) ** 2, 0.0))
        return self._unit * spread

    @property
    def label_mean(self) -> float:
        """Mean of the labels."""
        return self._label + self._label_unit * (self._y / self.n)

    @property
    def label_scale(self) -> float:
        """Standard deviation of the labels."""
        spread = np.sqrt(max(self._yy / self.n - (self._y / self.n) ** 2, 0.0))
        return self._label_unit * float(spread)

    def slope(self, scale: np.ndarray, label_scale: float) -> np.ndarray:
        r"""Covariances :math:`\overline{(y - \bar y)(x - \bar x)}` (d,) for given scales."""
        covariances = self._yx / self.n - (self._y / self.n) * (self._x / self.n)
        return covariances / ((scale / self._unit) * (label_scale / self._label_unit))
