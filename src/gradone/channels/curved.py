"""Posterior of a label that changes on curved surfaces.

Lines parallel to one axis are tabulated once on nodes that are fixed in space: where each line
changes its label, and to what. The same lines serve all samples: each sums, over the lines near
it, the masses of the intervals with its label, which are error functions.
"""

from __future__ import annotations

import math

import numpy as np

from ..base.errors import OutOfRegime
from ..targets.language.expression import Expression
from .line_table import Lines, LineTable

REACH = 5.0  # sd around the prior mean; more is taken for unlikely labels
_PANEL = 2.0  # sd
_KEPT = 8  # tables in memory
_WIDEST = 12.0  # half the side of a table, at most


class CurvedRegions:
    """Regions of a discrete function of two or three variables.

    Parameters
    ----------
    expression : Expression
        Function that takes finitely many values.
    values : array (k,)
        The values.
    resolution : int
        Number of times that the panels are halved.
    """

    def __init__(self, expression: Expression, values: np.ndarray, resolution: int = 0) -> None:
        if expression.r == 1:
            raise OutOfRegime(
                f"the label '{expression.text}' changes more often than can be resolved; use a "
                "function with fewer breaks"
            )
        if expression.r > 3:
            raise OutOfRegime(
                f"the labels of '{expression.text}' change on curved surfaces in r = "
                f"{expression.r} dimensions; the posterior of z is done for r = 2 and 3"
            )
        self.values, self.resolution = values, resolution
        self._reach = math.sqrt(REACH**2 + 12.0 * resolution)
        self._table = min(
            (LineTable(expression, values, axis) for axis in range(expression.r)),
            key=lambda table: table.complexity(),
        )
        self._order = self._table.order
        self._known: dict[tuple[int, ...], Lines] = {}

    def posterior(
        self, which: np.ndarray, omega: np.ndarray, V: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Logarithm of Z (n,), g (n, r) and dg (n, r, r) for the labels number `which` (n,)."""
        from .curved_kernels import posterior_lines

        centers, root, lines = self._prepare(omega, V)
        n, r = omega.shape
        log_z, mean, excess = np.empty(n), np.zeros((n, r)), np.zeros((n, r, r))
        posterior_lines(which, centers, root, *lines, self._reach, log_z, mean, excess)
        back = self._back(root)
        return log_z, mean @ back, back.T @ excess @ back

    def outcomes(
        self, omega: np.ndarray, V: np.ndarray, *, curvature: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Logarithm of Z (m, labels), g (m, labels, r) and dg, if asked for, of every label."""
        from .curved_kernels import outcome_lines

        centers, root, lines = self._prepare(omega, V)
        m, r = omega.shape
        masses, means = np.zeros((m, len(self.values))), np.zeros((m, len(self.values), r))
        excess = np.zeros((m if curvature else 0, len(self.values), r, r))
        outcome_lines(centers, root, *lines, self._reach, masses, means, excess)
        back = self._back(root)
        with np.errstate(divide="ignore"):
            log_z = np.log(masses)
        return log_z, means @ back, back.T @ excess @ back if curvature else None

    def _back(self, root: np.ndarray) -> np.ndarray:
        """Matrix that takes means of w to g, in the order of the variables."""
        back = np.linalg.inv(root)
        result = np.empty_like(back)
        result[:, self._order] = back
        return result

    def _prepare(self, omega: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray, Lines]:
        root = np.linalg.cholesky(V[np.ix_(self._order, self._order)])
        widths = np.diag(root)
        levels = [
            math.ceil(-math.log2(_PANEL * widths[j:].min())) + self.resolution
            for j in range(len(widths) - 1)
        ]
        margin = (self._reach + 1) * np.sqrt(np.diag(V))[self._order]
        # A prior mean that no Gaussian variable takes must not make the table large.
        most = np.maximum(_WIDEST - margin, 0.0)
        most[-1] = np.inf
        centers = np.clip(omega[:, self._order], -most, most)
        extent = min((np.abs(centers).max(axis=0, initial=0.0) + margin).max(), _WIDEST)
        return centers, root, self._lines(levels, 2 * math.ceil(extent / 2))

    def _lines(self, levels: list[int], extent: int) -> Lines:
        key = (*levels, extent)
        if key not in self._known:
            while len(self._known) >= _KEPT:
                del self._known[next(iter(self._known))]
            self._known[key] = self._table.lines(levels, extent)
        return self._known[key]
