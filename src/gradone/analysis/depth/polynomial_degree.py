"""Degree of expressions that are polynomials, whatever their coefficients."""

from __future__ import annotations

import math

from ...targets.language.expression import Expression
from ...targets.language.functions import FUNCTIONS
from ...targets.language.tree import Call, Node, Power, Product, Quotient, Sum, Variable, fold


def polynomial_degree(expression: Expression) -> float:
    """Degree of a polynomial, also with irrational coefficients; infinite for other functions.

    Examples
    --------
    >>> [polynomial_degree(Expression(text)) for text in ("He2(z)/sqrt(2) + pi*z", "abs(z)")]
    [2, inf]
    """
    if expression.polynomial is not None:
        return expression.polynomial.degree

    def combine(node: Node, parts: list[float]) -> float:
        match node:
            case Variable():
                return 1
            case Sum():
                return max(parts)
            case Product():
                return sum(parts)
            case Power(exponent=k):
                return k * parts[0]
            case Quotient() if not parts[1]:
                return parts[0]
            case Call(name=name) if FUNCTIONS[name].degree:
                return FUNCTIONS[name].degree * parts[0]
            case _:
                return math.inf if any(parts) else 0

    return fold(expression.tree, combine)
