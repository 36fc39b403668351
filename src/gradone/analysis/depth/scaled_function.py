r"""Functions of Gaussian variables that do not have unit variance, and their Hermite energies.

.. math::
    \mu_m = \mathbb{E}[g(s u)\,\mathrm{he}_m(u)], \qquad
    E_m = \sum_{|\beta| = m} \mu_\beta^2, \qquad
    S(\rho) = \sum_{m \ge 1} E_m \rho^m = \mathrm{Cov}\big(g(su), g(sv)\big),
    \quad \mathbb{E}[u v] = \rho \qquad [DE-1]

For a polynomial g and a rational variance :math:`s^2` every energy is a fraction, although s is
not: a monomial of degree k meets only :math:`\mathrm{he}_m` with k - m even.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

import numpy as np

from ...base.errors import OutOfRegime
from ...base.estimate import Estimate, roughest
from ...calculus.bivariate import bivariate_expectation
from ...calculus.expansion import HermiteExpansion
from ...calculus.polynomial import Polynomial
from ...targets.language.expression import Expression
from ...targets.language.functions import substitute
from ...targets.language.tree import Node, Variable, add, multiply, number, power
from ...targets.target import variance
from .noise_stability import pair_mean
from .polynomial_degree import polynomial_degree
from .weights import Number, Weights

_EPS = float(np.finfo(float).eps)
_NEAR_ONE = 1 - 1e-6
_SERIES = {1: 64, 2: 20, 3: 12}  # degree at which S is cut, by the number of variables


class ScaledFunction:
    r"""Function of independent centered Gaussian variables of a common variance.

    Parameters
    ----------
    expression : Expression
        The function g.
    square : Fraction or Estimate
        The variance :math:`s^2` of the variables.

    Examples
    --------
    >>> g = ScaledFunction(Expression("h + He2(h)/2", letter="h"), Fraction(1, 2))
    >>> g.energies(2).value, g.null
    ([Fraction(1, 16), Fraction(1, 2), Fraction(1, 8)], 0.625 (exact))
    """

    def __init__(self, expression: Expression, square: Fraction | Estimate) -> None:
        self.original, self.square = expression, square
        polynomial = expression.polynomial
        self.degree = polynomial_degree(expression)
        self._exact = _scaled(polynomial, square) if polynomial is not None else None
        s2 = float(square)
        # Relative error of s: rounding, and half the relative error of the variance.
        self._stretch = 0.0 if s2 == 1 and isinstance(square, Fraction) else _EPS
        if isinstance(square, Estimate):
            self._stretch += square.error / (2 * s2)
        self.expression = _stretched(expression, math.sqrt(s2))
        self._longest: HermiteExpansion | None = None

    @property
    def r(self) -> int:
        """Number of variables."""
        return self.expression.r

    @property
    def is_exact(self) -> bool:
        """Whether every energy is a known fraction."""
        return self._exact is not None

    def _expansion(self, degree: int) -> HermiteExpansion:
        """Expansion up to a degree or beyond; the longest one found so far serves all."""
        if self._longest is None or self._longest.degree < degree:
            self._longest = self.expression.hermite(max(degree, 16 if self.r == 1 else 6))
        return self._longest

    def coefficient(self, m: int) -> Estimate:
        r"""Coefficient :math:`\mu_m` of a function of one variable [DE-1]."""
        if self.r != 1:
            raise OutOfRegime(f"a function of {self.r} variables has no single coefficient {m}")
        found = self._expansion(m + 2)
        value = float(found.value[m])
        # s d(mu_m)/ds = m mu_m + sqrt((m+1)(m+2)) mu_{m+2} carries the error of s over.
        slope = m * abs(value) + math.sqrt((m + 1) * (m + 2)) * abs(float(found.value[m + 2]))
        if self._exact is not None:
            size = math.sqrt(self._exact.get(m, Fraction(0)))
            return Estimate(math.copysign(size, value) if size else 0.0)
        kind = roughest(found.kind, "quadrature")
        return Estimate(value, float(found.error[m]) + self._stretch * slope, kind)

    def amplitude(self, m: int) -> Estimate:
        r"""Norm :math:`\sqrt{E_m}` of the coefficients of degree m, signed for one variable."""
        if self.r == 1:
            return self.coefficient(m)
        if self._exact is not None:
            return Estimate(math.sqrt(self._exact.get(m, Fraction(0))))
        found = self._expansion(m + 2)
        rows = found.indices.sum(axis=1)
        size, above = (float(np.linalg.norm(found.value[rows == k])) for k in (m, m + 2))
        # The norm of the Laplacian from degree m + 2 to m is sqrt((m + 2)(m + r)).
        slope = m * size + math.sqrt((m + 2) * (m + self.r)) * above
        error = float(np.linalg.norm(found.error[rows == m])) + self._stretch * slope
        return Estimate(size, error, roughest(found.kind, "quadrature"))

    def energies(self, degree: int) -> Weights:
        r"""Energies :math:`E_0, \dots, E_{degree}` [DE-1]."""
        if self._exact is not None:
            exact: list[Number] = [self._exact.get(m, Fraction(0)) for m in range(degree + 1)]
            return Weights(exact, exact)
        self._expansion(degree + 2)
        sizes = [self.amplitude(m) for m in range(degree + 1)]
        # A polynomial stretched by a rounded s has no higher degree all the same.
        sizes = [a if m <= self.degree else Estimate(0.0) for m, a in enumerate(sizes)]
        # The square of a rounding error is no energy; the upper bound keeps it.
        return Weights(
            [0.0 if a.is_zero else a.value**2 for a in sizes],
            [(abs(a.value) + a.error) ** 2 for a in sizes],
            roughest(*(a.kind for a in sizes)),
        )

    @property
    def mean(self) -> Estimate:
        """Gaussian mean, up to sign for several variables."""
        return self.amplitude(0)

    @cached_property
    def exact_null(self) -> Fraction | None:
        """Variance as a fraction, if it is one."""
        if self._exact is None:
            return None
        return sum((e for m, e in self._exact.items() if m), Fraction(0))

    @cached_property
    def null(self) -> Estimate:
        """Variance: the error of the best constant."""
        if self.exact_null is not None:
            return Estimate(float(self.exact_null))
        found = variance(self.expression)
        error = found.error + self._stretch * self._sensitivity()
        return Estimate(found.value, error, roughest(found.kind, "quadrature"))

    def _sensitivity(self) -> float:
        r"""Bound of :math:`|s\,d\mathrm{Var}/ds|`, by the moment of (u^2 - 1) g^2 and the mean."""
        second = self.expression.second_moment().value
        if self.r > 1:
            return 10.0 * second  # a scale, not a bound: it multiplies rounding errors only
        z = Variable(self.expression.letter, 1)
        tree = multiply((add((power(z, 2), number(-1))), power(self.expression.tree, 2)))
        moment = abs(Expression.from_tree(tree, letter=self.expression.letter).mean().value)
        means = self._expansion(2).value
        return moment + 2 * math.sqrt(2) * abs(float(means[0] * means[2]))

    def stability(self, rho: Number) -> Estimate:
        r"""Noise stability :math:`S(\rho)`, the covariance at two correlated points [DE-1]."""
        if self._exact is not None:
            powers = (e * rho**m for m, e in self._exact.items() if m)
            total = sum(powers, Fraction(0))
            exact = isinstance(total, Fraction)
            return Estimate(float(total), 0.0 if exact else 8 * _EPS * float(total))
        rho = float(rho)
        if rho in (0.0, 1.0):
            return self.null if rho else Estimate(0.0)
        if rho > _NEAR_ONE:  # S is increasing: an interval instead of an integral along a ridge
            below, null = self.stability(_NEAR_ONE), self.null
            half = max(null.value - below.value, 0.0) / 2
            return Estimate(below.value + half, half + below.error + null.error, null.kind)
        series = self._stability_series(rho)
        if series.error <= 1e-11 * self.null.value:
            return series
        form, mean = self.expression.form, self.mean
        if self.r == 1:
            both = bivariate_expectation(form, form, np.array([[1.0, rho], [rho, 1.0]]))
        else:
            both = pair_mean(form, rho) or Estimate(0.0, math.inf)
        error = both.error + (2 * abs(mean.value) + mean.error) * mean.error
        error += self._stretch * self._sensitivity()  # at rho = 1, where it is largest
        error += 500 * _EPS * self.null.value  # rounding of rules with very many nodes
        if error > series.error:
            return series
        return Estimate(both.value - mean.value**2, error, roughest(both.kind, mean.kind))

    def _stability_series(self, rho: float) -> Estimate:
        """S cut at a degree; what is left lies between 0 and its energy times a power of rho."""
        cut = _SERIES.get(self.r, 8)
        energies = self.energies(cut)
        known = math.fsum(float(e) for e in energies.value[1:])
        left = max(self.null.value - known, 0.0) * rho ** (cut + 1)
        value = math.fsum(float(e) * rho**m for m, e in enumerate(energies.value) if m)
        upper = math.fsum(float(e) * rho**m for m, e in enumerate(energies.upper) if m)
        return Estimate(value + left / 2, upper - value + left / 2 + self.null.error, energies.kind)


def _scaled(polynomial: Polynomial, square: Fraction | Estimate) -> dict[int, Fraction] | None:
    """Exact energies of a polynomial of variables with a rational variance."""
    if isinstance(square, Estimate):
        return None
    # Even and odd degrees never meet, so one factor s is left over for all odd ones together.
    reduced = Polynomial(
        {m: c * square ** (sum(m) // 2) for m, c in polynomial.coefficients.items()}, polynomial.r
    )
    energies: dict[int, Fraction] = {}
    for beta, c in reduced.hermite_coefficients().items():
        m = sum(beta)
        weight = c * c * (square if m % 2 else 1) / math.prod(map(math.factorial, beta))
        energies[m] = energies.get(m, Fraction(0)) + weight
    return energies


def _stretched(expression: Expression, s: float) -> Expression:
    """Expression with every variable multiplied by s."""
    if s == 1:
        return expression
    letter = expression.letter
    values: dict[Node, Node] = {
        Variable(letter, i): multiply((number(Fraction(s)), Variable(letter, i)))
        for i in expression.variables
    }
    return Expression.from_tree(substitute(expression.tree, values), letter=letter, r=expression.r)
