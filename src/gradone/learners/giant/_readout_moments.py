r"""Ridge readout from sums over rows, so that rows are seen once and none is kept.

With columns :math:`\phi` (m of them) and the row scale :math:`1/\sqrt p`,

.. math:: \min_{a, b} \sum_i (y_i - \langle a, \phi_i\rangle/\sqrt p - b)^2 + \lambda |a|^2,

the solution and its error on *other* rows are functions of the sums of products of
:math:`(\phi, 1, y)` over both sets: a whole path of ridges is fitted and validated in one pass.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...base.memory import require_memory
from ..lazy._feature_ridge import add_gram
from ..lazy._ridge_system import RidgeSystem


class ReadoutMoments:
    """Sums of products of the columns, of ones and of the labels.

    Parameters
    ----------
    columns : int
        Number m of columns.
    scale : float
        Factor of the columns: the output is ``scale * columns @ a + b``.
    fit_intercept : bool
        Whether b is free or 0.

    Examples
    --------
    >>> moments = ReadoutMoments(1, scale=1.0, fit_intercept=True)
    >>> moments.add(np.array([[0.0, 1.0, 1.0], [2.0, 1.0, 5.0]]))
    >>> (a,), b = moments.fitted([0.0])[0]
    >>> round(float(a), 12), round(b, 12), round(moments.mean_square(np.array([a]), b), 12)
    (2.0, 1.0, 0.0)
    """

    def __init__(self, columns: int, *, scale: float, fit_intercept: bool) -> None:
        size = columns + 2
        require_memory(
            5 * 8 * size * size,
            f"the {columns} x {columns} system of the readout",
            "Use a smaller width.",
        )
        self._products = np.zeros((size, size), order="F")
        self._columns, self._scale, self._fit_intercept = columns, scale, fit_intercept

    @property
    def n(self) -> int:
        """Number of rows."""
        return round(self._products[-2, -2])

    def add(self, block: np.ndarray) -> None:
        """Count rows (rows, m + 2): the columns, ones, and the labels."""
        if len(block):
            self._products = add_gram(self._products, block)

    def __add__(self, other: ReadoutMoments) -> ReadoutMoments:
        """Both sets of rows together."""
        both = ReadoutMoments(self._columns, scale=self._scale, fit_intercept=self._fit_intercept)
        both._products = self._products + other._products
        return both

    def fitted(self, ridges: Sequence[float]) -> list[tuple[np.ndarray, float]]:
        """Coefficients a (m,) and constant b for every value of the ridge."""
        m, n, products, scale = self._columns, self.n, self._products, self._scale
        means = products[:m, m] / n if self._fit_intercept else np.zeros(m)
        label_mean = products[m, m + 1] / n if self._fit_intercept else 0.0
        gram = scale**2 * (products[:m, :m] - n * np.outer(means, means))
        right = scale * (products[:m, m + 1] - n * label_mean * means)
        solutions = RidgeSystem(gram, right[:, None]).solutions(ridges)
        return [(a[:, 0], float(label_mean - scale * means @ a[:, 0])) for a in solutions]

    def mean_square(self, a: np.ndarray, b: float) -> float:
        """Mean square error of a readout on these rows."""
        v = np.concatenate([self._scale * a, [b, -1.0]])
        upper = self._products
        squares = 2 * v @ (np.triu(upper) @ v) - v**2 @ upper.diagonal()
        return max(float(squares), 0.0) / self.n

    def unit(self) -> float:
        """Mean eigenvalue of the system, the scale of its ridges."""
        diagonal = self._products.diagonal()[: self._columns]
        return float(self._scale**2 * diagonal.sum() / min(self.n, self._columns))


def chosen_ridge(used: ReadoutMoments, held_out: ReadoutMoments) -> float:
    """Ridge whose readout of the used rows has the smallest error on the rows held out."""
    if not (used.n and held_out.n):
        return 1.0  # too few rows to choose by
    unit = used.unit() or 1.0
    ridges = [unit * 10.0**exponent for exponent in np.arange(-6.0, 3.01, 0.5)]
    errors = [held_out.mean_square(a, b) for a, b in used.fitted(ridges)]
    return float(ridges[int(np.argmin(errors))])
