r"""Mean of a function at two correlated points, for sums of products of one-variable parts.

.. math::
    \mathbb{E}[g(u) g(v)], \qquad \mathbb{E}[u_i v_j] = \rho\,\delta_{ij}, \qquad
    g = \sum_a c_a \prod_i f_{ai}(u_i)
    \;\Rightarrow\; \sum_{a, b} c_a c_b \prod_i \mathbb{E}[f_{ai}(u) f_{bi}(v)] \qquad [DE-11]
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ...base.estimate import Estimate
from ...calculus.bivariate import bivariate_expectation
from ...calculus.expansion import hermite_expansion
from ...calculus.integrand import SeparableSum, Term
from ...calculus.polynomial import Polynomial

_CUT = 64
_EPS = float(np.finfo(float).eps)
_MOST_TERMS = 16


class _Series(NamedTuple):
    """Function of one variable: Hermite coefficients, errors, the energy left out."""

    form: SeparableSum
    value: np.ndarray
    error: np.ndarray
    left: float


_Product = tuple[float, dict[int, _Series]]


def pair_mean(form: SeparableSum, rho: float) -> Estimate | None:
    r"""Mean of g(u) g(v) at correlation rho [DE-11]; None if g has parts of several variables.

    Examples
    --------
    The product of two signs is the arcsine law, squared:

    >>> from gradone.targets.language.expression import Expression
    >>> found = pair_mean(Expression("sign(z1*z2)").form, 0.5)
    >>> abs(found.value - 1 / 9) <= found.error < 1e-12
    True
    """
    if len(form.terms) + len(form.polynomial.coefficients) > _MOST_TERMS:
        return None
    products: list[_Product] = []
    for powers, coefficient in form.polynomial.coefficients.items():
        factors = {i: _series(_monomial(k)) for i, k in enumerate(powers) if k}
        products.append((float(coefficient), factors))
    for term in form.terms:
        if len(form.terms) == 1 and not products and len(term.blocks) == 1:
            axes = {0}  # one block may be a function of any linear form
        else:
            axes = {block.axes[0] for block in term.blocks if len(block.axes) == 1}
        if len(axes) < len(term.blocks) or any(b.integrand.r > 1 for b in term.blocks):
            return None
        parts = zip(sorted(axes), sorted(term.blocks, key=lambda b: b.axes), strict=True)
        factors = {i: _series(_one_variable(Term(Fraction(1), (block,)))) for i, block in parts}
        products.append((float(term.coefficient), factors))
    value, error = 0.0, 0.0
    for c, f in products:
        for weight, g in products:
            v, e = _pair(f, g, rho)
            value, error = value + c * weight * v, error + abs(c * weight) * e
    return Estimate(value, error, "quadrature")


def _pair(f: dict[int, _Series], g: dict[int, _Series], rho: float) -> tuple[float, float]:
    """Mean of the product of two products, and its error."""
    value, largest = 1.0, 1.0
    for axis in f.keys() | g.keys():
        v, e = _pair_of_one(f.get(axis, _ONE), g.get(axis, _ONE), rho)
        value, largest = value * v, largest * (abs(v) + e)
    return value, largest - abs(value)


def _pair_of_one(f: _Series, g: _Series, rho: float) -> tuple[float, float]:
    powers = rho ** np.arange(_CUT + 1)
    value = float((f.value * g.value * powers).sum())
    size = np.abs(f.value) * g.error + np.abs(g.value) * f.error + f.error * g.error
    error = float((size * powers).sum()) + 1e-15 * abs(value)
    left = math.sqrt(f.left * g.left) * rho ** (_CUT + 1)
    # Only where the mean is not small: the integral is accurate relative to its size.
    if left > 1e-11 and abs(value) > 1e-3 * math.sqrt(f.left * g.left):
        both = bivariate_expectation(f.form, g.form, np.array([[1.0, rho], [rho, 1.0]]))
        if both.error < left:
            return both.value, both.error + 500 * _EPS * abs(both.value)  # rounding, many nodes
    return value, error + left


def _series(f: SeparableSum) -> _Series:
    """Hermite coefficients of a function of one variable, and the energy beyond them."""
    found = hermite_expansion(f, _CUT)
    if found.exact is not None:
        return _Series(f, found.value, found.error, 0.0)
    second = bivariate_expectation(f, f, np.ones((2, 2)))
    left = second.value + second.error - float((found.value**2).sum())
    return _Series(f, found.value, found.error, max(left, 0.0))


def _monomial(k: int) -> SeparableSum:
    return SeparableSum(1, Polynomial({(k,): Fraction(1)}, 1))


def _one_variable(term: Term) -> SeparableSum:
    (block,) = term.blocks
    moved = type(block)((0,), block.integrand)
    return SeparableSum(1, Polynomial.constant(0, 1), (Term(term.coefficient, (moved,)),))


_ONE = _series(_monomial(0))
