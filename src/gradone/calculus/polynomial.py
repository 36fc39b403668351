r"""Exact polynomials in several variables, and their Hermite coefficients.

Everything is rational arithmetic: the Gaussian moments of a polynomial with rational coefficients
are rational, so nothing is rounded.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

Exponents = tuple[int, ...]


class Polynomial:
    r"""Polynomial with rational coefficients in ``r`` variables.

    Parameters
    ----------
    coefficients : mapping
        Exponents ``(m_1, ..., m_r)`` to coefficient; zeros are dropped.
    r : int
        Number of variables.

    Examples
    --------
    >>> z = Polynomial.variable(0, 1)
    >>> (z * z * z).hermite_coefficient((1,))
    Fraction(3, 1)
    """

    __slots__ = ("coefficients", "r")

    def __init__(self, coefficients: Mapping[Exponents, Fraction], r: int) -> None:
        self.coefficients = {m: Fraction(c) for m, c in coefficients.items() if c}
        self.r = r

    @classmethod
    def constant(cls, value: Fraction | int, r: int) -> Polynomial:
        """Constant polynomial."""
        return cls({(0,) * r: Fraction(value)}, r)

    @classmethod
    def variable(cls, axis: int, r: int) -> Polynomial:
        """Variable number `axis`, counted from 0."""
        return cls({tuple(int(i == axis) for i in range(r)): Fraction(1)}, r)

    @property
    def degree(self) -> int:
        """Total degree; 0 for constants."""
        return max((sum(m) for m in self.coefficients), default=0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and (self.r, self.coefficients) == (
            other.r,
            other.coefficients,
        )

    def __hash__(self) -> int:
        return hash((self.r, frozenset(self.coefficients.items())))

    def __add__(self, other: Polynomial) -> Polynomial:
        total = dict(self.coefficients)
        for m, c in other.coefficients.items():
            total[m] = total.get(m, Fraction(0)) + c
        return Polynomial(total, self.r)

    def __mul__(self, other: Polynomial | Fraction | int) -> Polynomial:
        if not isinstance(other, Polynomial):
            return Polynomial({m: c * other for m, c in self.coefficients.items()}, self.r)
        total: dict[Exponents, Fraction] = {}
        for (m, a), (k, b) in itertools.product(
            self.coefficients.items(), other.coefficients.items()
        ):
            key = tuple(i + j for i, j in zip(m, k, strict=True))
            total[key] = total.get(key, Fraction(0)) + a * b
        return Polynomial(total, self.r)

    def __pow__(self, exponent: int) -> Polynomial:
        result = Polynomial.constant(1, self.r)
        for _ in range(exponent):
            result = result * self
        return result

    def __repr__(self) -> str:
        return f"Polynomial({self.coefficients!r}, r={self.r})"

    def __call__(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Values at points given by columns that broadcast against each other."""
        total = np.zeros(np.broadcast_shapes(*(np.shape(column) for column in columns)))
        for m, c in self.coefficients.items():
            powers = [column**k for column, k in zip(columns, m, strict=True) if k]
            total = total + float(c) * math.prod(powers, start=np.float64(1.0))
        return total

    def compose(self, outer: list[int]) -> Polynomial:
        """Value of a one-variable polynomial (coefficients, lowest first) at this one."""
        result = Polynomial.constant(0, self.r)
        for coefficient in reversed(outer):
            result = result * self + Polynomial.constant(coefficient, self.r)
        return result

    def derivative(self, axis: int) -> Polynomial:
        """Partial derivative along `axis`."""
        return Polynomial(
            {
                (*m[:axis], m[axis] - 1, *m[axis + 1 :]): c * m[axis]
                for m, c in self.coefficients.items()
                if m[axis]
            },
            self.r,
        )

    def hermite_coefficient(self, beta: Exponents) -> Fraction:
        r"""Exact :math:`c_\beta = \mathbb{E}[f(z) \prod_i \mathrm{He}_{\beta_i}(z_i)]`."""
        return sum(
            (
                c * math.prod(_monomial_hermite(a, b) for a, b in zip(m, beta, strict=True))
                for m, c in self.coefficients.items()
                if all(a >= b and (a - b) % 2 == 0 for a, b in zip(m, beta, strict=True))
            ),
            Fraction(0),
        )

    def hermite_coefficients(self) -> dict[Exponents, Fraction]:
        """Every nonzero Hermite coefficient, exactly."""
        total: dict[Exponents, Fraction] = {}
        for m, c in self.coefficients.items():
            for beta in itertools.product(*(range(a % 2, a + 1, 2) for a in m)):
                weight = math.prod(_monomial_hermite(a, b) for a, b in zip(m, beta, strict=True))
                total[beta] = total.get(beta, Fraction(0)) + c * weight
        return {beta: c for beta, c in total.items() if c}

    def expectation(self) -> Fraction:
        """Exact Gaussian mean."""
        return self.hermite_coefficient((0,) * self.r)


@lru_cache(maxsize=4096)
def _monomial_hermite(m: int, k: int) -> int:
    r"""Exact :math:`\mathbb{E}[z^m \mathrm{He}_k(z)] = m! / (2^j j!)` with :math:`m = k + 2j`."""
    j = (m - k) // 2
    return math.factorial(m) // (2**j * math.factorial(j))
