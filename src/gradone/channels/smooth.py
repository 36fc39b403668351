"""A smooth formula as a function of the few linear forms that it depends on."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..base.seeds import stream
from ..targets.language.derivative import derivative
from ..targets.language.evaluate import evaluate_columns
from ..targets.language.polynomials import polynomial_of
from ..targets.language.structure import linear_span
from ..targets.language.tree import Node, variables

MAX_DEGREE = 6
_POINTS = 256
_SAME = 1e-9  # differences below this size, relative to the values, are rounding


class Smooth:
    """A smooth function of z, seen in orthonormal coordinates x = S z.

    Parameters
    ----------
    tree : Node
        The formula.
    rows : array (k, r)
        Orthonormal rows S whose span contains every direction on which the formula depends.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> f = Smooth(parse("z1*z3"), np.eye(3)[[0, 2]])
    >>> f.value(np.array([[2.0], [5.0]])), f.gradient(np.array([[2.0], [5.0]]))[:, 0]
    (array([10.]), array([5., 2.]))
    """

    def __init__(self, tree: Node, rows: np.ndarray) -> None:
        self.tree, self.rows = tree, rows
        self._degrees: dict[bytes, int | None] = {}
        # On axes a coordinate is a variable: nothing has to be added up.
        self._axis = {
            int(row.argmax()): i for i, row in enumerate(rows) if row.max() == row.sum() == 1.0
        }

    def value(self, x: np.ndarray) -> np.ndarray:
        """Values at points x (k, ...)."""
        return self._evaluate(self.tree, x)

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Gradient (k, ...) with respect to x."""
        out = np.zeros(x.shape)
        for index, slope in self._slopes.items():
            values = self._evaluate(slope, x)
            for i in np.flatnonzero(self.rows[:, index - 1]):
                out[i] += self.rows[i, index - 1] * values
        return out

    def slope(self, i: int, x: np.ndarray) -> np.ndarray:
        """Entry i of the gradient."""
        parts = [
            self._evaluate(slope, x) if scale == 1.0 else scale * self._evaluate(slope, x)
            for index, slope in self._slopes.items()
            if (scale := self.rows[i, index - 1])
        ]
        return sum(parts[1:], parts[0]) if parts else np.zeros(x.shape[1:])

    def hessian(self, x: np.ndarray) -> np.ndarray:
        """Second derivatives (k, k, ...)."""
        used = list(self._slopes)
        out = np.zeros((len(self.rows), *x.shape))
        for a in used:
            for b in used:
                values = self._evaluate(self._curvatures[a, b], x)
                out += np.multiply.outer(np.outer(self.rows[:, a - 1], self.rows[:, b - 1]), values)
        return out

    def degree_along(self, direction: np.ndarray) -> int | None:
        """Degree of the polynomial in v that f(x + v direction) is for every x, None if none."""
        # For almost every direction only the places of its zeros matter, those by rounding too.
        direction = np.where(np.abs(direction) > 1e-12 * np.abs(direction).max(), direction, 0.0)
        key = (direction != 0).tobytes()
        if key not in self._degrees:
            self._degrees[key] = self._degree(direction)
        return self._degrees[key]

    def _degree(self, direction: np.ndarray) -> int | None:
        rng = stream(0, "points", r=len(self.rows), what="degree")
        x = rng.standard_normal((len(self.rows), _POINTS))
        unit = direction / np.linalg.norm(direction)
        steps = 0.7 * (np.arange(MAX_DEGREE + 2) - (MAX_DEGREE + 1) / 2)
        values = np.stack([self.value(x + v * unit[:, None]) for v in steps])
        size = np.abs(values).max(axis=0)
        for degree in range(MAX_DEGREE + 1):
            values = np.diff(values, axis=0)
            if np.all(np.abs(values) <= _SAME * np.maximum(size, 1e-300)):
                return degree
        return None

    @cached_property
    def monomials(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Exponents (terms, k) and coefficients (terms,) in x, if it is a polynomial on axes."""
        if len(self._axis) < len(self.rows):
            return None
        polynomial = polynomial_of(self.tree, self.rows.shape[1])
        if polynomial is None:
            return None
        axes = [int(row.argmax()) for row in self.rows]
        exponents = np.array([[m[a] for a in axes] for m in polynomial.coefficients])
        return exponents, np.array([float(c) for c in polynomial.coefficients.values()])

    @cached_property
    def _slopes(self) -> dict[int, Node]:
        return {i: derivative(self.tree, i) for i in variables(self.tree)}

    @cached_property
    def _curvatures(self) -> dict[tuple[int, int], Node]:
        return {(i, j): derivative(self._slopes[i], j) for i in self._slopes for j in self._slopes}

    def _evaluate(self, tree: Node, x: np.ndarray) -> np.ndarray:
        def column(index: int) -> np.ndarray:
            if index - 1 in self._axis:
                return x[self._axis[index - 1]]
            return np.tensordot(self.rows[:, index - 1], x, axes=1)

        values = np.asarray(evaluate_columns(tree, column), dtype=np.float64)
        return values if values.shape == x.shape[1:] else np.broadcast_to(values, x.shape[1:])


def used_rows(tree: Node, r: int) -> np.ndarray:
    """Orthonormal rows (k, r) of the linear forms that a formula depends on."""
    return linear_span(tree, r)


def complement(rows: np.ndarray) -> np.ndarray:
    """Orthonormal rows that complete `rows`: axes where possible.

    Examples
    --------
    >>> complement(np.array([[0.0, 1.0, 0.0]]))
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    r = rows.shape[1]
    free = [i for i in range(r) if not np.abs(rows[:, i]).any()]
    taken = np.vstack([rows, np.eye(r)[free]])
    rest = np.linalg.svd(taken)[2][len(taken) :] if len(taken) < r else np.zeros((0, r))
    return np.vstack([np.eye(r)[free], rest])
