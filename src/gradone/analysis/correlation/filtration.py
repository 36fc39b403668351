"""Two ways to look at a function from a learned subspace: exact for polynomials, and numeric."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...calculus.polynomial import Polynomial
from ...targets.frame import natural_frame
from ...targets.language.coordinates import linear_forms
from ...targets.language.expression import Expression
from ...targets.language.tree import Number, nodes
from ...targets.subspace import Subspace
from ..exponent import ARITHMETIC, FLOOR, Energy
from .hermite_blocks import HermiteBlocks
from .polynomial_staircase import Vector, exact_step

# Largest total degree by the number of variables, and by that of the largest block that does not
# separate: a tensor of order m has r^m entries, a block of s variables (degree + 1)^s coefficients.
_DEGREE_OF_VARIABLES = {1: 12, 2: 12, 3: 12, 4: 10, 5: 8, 6: 8, 7: 8, 8: 8, 9: 9}
_DIGITS = 6  # more than these in a number: it stands for an irrational one
_DEGREE_OF_BLOCK = {1: 12, 2: 12, 3: 10, 4: 8, 5: 6}


class ExactFiltration:
    """Filtration of a polynomial, in rational arithmetic.

    It keeps the learned subspace as rational vectors: ask for the directions at an order right
    after its energy, with the subspaces that the filtration itself has found.
    """

    def __init__(self, polynomial: Polynomial) -> None:
        self.polynomial = polynomial
        self.degree = polynomial.degree
        self.floor = FLOOR["exact"]
        square = (polynomial * polynomial).expectation()
        self._variance = square - polynomial.expectation() ** 2
        self.variance = float(self._variance)
        self._rows: list[Vector] = []
        self._found: list[Vector] = []

    def energy(self, subspace: Subspace, k: int) -> Energy:
        r"""Energy :math:`|P_{U,=k} f|^2` given what is learned."""
        energy, self._found = exact_step(self.polynomial, self._rows, k, self._variance)
        size = float(energy)
        return Energy(size, size, size, "exact")

    def directions(self, subspace: Subspace, k: int) -> tuple[np.ndarray, float]:
        """New directions as unit rows, which are learned from now on; their error is 0."""
        self._rows = self._rows + self._found
        return _floats(self._found), 0.0


def largest_degree(expression: Expression) -> int:
    """Total degree up to which a function is expanded."""
    blocks = (block for term in expression.form.terms for block in term.blocks)
    widest = max((len(block.axes) for block in blocks), default=1)
    return min(_DEGREE_OF_VARIABLES[expression.r], _DEGREE_OF_BLOCK[min(widest, 5)])


class NumericFiltration(HermiteBlocks):
    """Filtration through Hermite coefficients with errors, in the natural frame."""

    def __init__(self, expression: Expression, max_order: int) -> None:
        framed, self.rows = natural_frame(expression)
        super().__init__(framed, min(max_order, largest_degree(framed)))
        if self.kind == "quadrature" and not _has_long_decimals(expression):
            self.floor = ARITHMETIC


def snapped(
    vectors: np.ndarray, sine: float, learned: Subspace, expression: Expression, rows: np.ndarray
) -> tuple[Subspace, str]:
    """Span of new directions; moved to typed linear forms if these lie within the error.

    Monte Carlo finds directions up to its noise only, and what is learned must be conditioned on
    exactly: forms of the expression, their sums and differences are tried.
    """
    found = Subspace.span(vectors, len(rows))
    if found.dim == len(rows) - learned.dim:  # nothing else is left: no error in that
        return learned.complement(), ""
    if not FLOOR["quadrature"] < sine < 0.3:
        return found, ""
    forms = [*(rows @ w for w in linear_forms(expression)), *np.eye(len(rows))]
    forms += [a + s * b for i, a in enumerate(forms) for b in forms[:i] for s in (1.0, -1.0)]
    outside = learned.complement().projector
    near: list[np.ndarray] = []
    for form in forms:
        w = outside @ form
        if np.linalg.norm(w) < 1e-6:
            continue
        w = w / np.linalg.norm(w)
        close = float(np.linalg.norm(w - found.projector @ w)) <= sine
        rest = w - Subspace.span(np.array(near), len(rows)).projector @ w
        if close and np.linalg.norm(rest) > 0.1:
            near.append(w)
        if len(near) == found.dim:
            exact = Subspace.span(np.array(near))
            return exact, _worth_saying("moved to the typed linear forms, by less than", sine)
    return found, _worth_saying("directions known up to an angle of", sine)


def _worth_saying(text: str, sine: float) -> str:
    return f"{text} {sine:.0e}" if sine > 1e-6 else ""


def _has_long_decimals(expression: Expression) -> bool:
    """Whether numbers are typed that look like a rounding, such as 0.70710678."""
    return any(
        isinstance(part, Number) and len(str(part.value.numerator).rstrip("0")) > _DIGITS
        for part in nodes(expression.tree)
    )


def _floats(vectors: list[tuple[Fraction, ...]]) -> np.ndarray:
    """Rational rows as unit vectors."""
    rows = np.array([[float(x / max(map(abs, v))) for x in v] for v in vectors])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
