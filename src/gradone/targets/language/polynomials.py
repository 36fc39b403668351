"""Expressions that are polynomials with rational coefficients, exactly."""

from __future__ import annotations

import math

from ...calculus.polynomial import Polynomial
from .functions import FUNCTIONS, hermite_polynomial
from .tree import Call, Node, Number, Power, Product, Sum, Variable, fold

MAX_TERMS = 3000


def polynomial_of(node: Node, r: int) -> Polynomial | None:
    """Polynomial in variables 1..r that a node is, or None if it is not one (or far too long).

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> polynomial_of(parse("He2(z1)*z2/2"), 2)
    Polynomial({(2, 1): Fraction(1, 2), (0, 1): Fraction(-1, 2)}, r=2)
    >>> polynomial_of(parse("tanh(z1)"), 1) is None
    True
    """

    def combine(part: Node, parts: list[Polynomial | None]) -> Polynomial | None:
        known = [p for p in parts if p is not None]
        if len(known) < len(parts):
            return None
        match part:
            case Number(value=value):
                return Polynomial.constant(value, r)
            case Variable(index=index):
                return Polynomial.variable(index - 1, r)
            case Sum():
                total = known[0]
                for p in known[1:]:
                    total = total + p
                return total
            case Product():
                product = known[0]
                for p in known[1:]:
                    if _terms(product.degree + p.degree, r) > MAX_TERMS:
                        return None
                    product = product * p
                return product
            case Power(exponent=k):
                small = _terms(known[0].degree * k, r) <= MAX_TERMS
                return known[0] ** k if small else None
            case Call(name=name) if FUNCTIONS[name].degree:
                k = FUNCTIONS[name].degree
                small = _terms(known[0].degree * k, r) <= MAX_TERMS
                return known[0].compose(hermite_polynomial(k)) if small else None
            case _:
                return None

    return fold(node, combine)


def _terms(degree: int, r: int) -> int:
    """Number of monomials up to a degree."""
    return math.comb(degree + r, r)
