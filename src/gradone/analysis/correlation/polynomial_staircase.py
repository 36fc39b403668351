r"""Filtrations and conditional energies of polynomials, in exact arithmetic.

A rational basis of a subspace U is completed to an orthogonal (not orthonormal) rational frame
:math:`b_1, \dots, b_r`, :math:`s_j = |b_j|^2`. The variables :math:`v_j = \langle b_j, z\rangle`
are independent, of variance :math:`s_j`, and with

.. math:: c_\beta = \mathbb{E}\Big[f \prod_j s_j^{\beta_j/2}
          \mathrm{He}_{\beta_j}(v_j/\sqrt{s_j})\Big], \qquad
          |P_{U,=k} f|^2 = \sum_{|\beta_\perp|=k} \frac{c_\beta^2}{\beta!\,s^\beta}
          \qquad [AN-1]

everything is rational: no square root appears, nothing is rounded. It is the same as
:math:`\mathbb{E}[h\,|\,Pz] = (e^{\frac12\sum Q_{ij}\partial_i\partial_j}h)(Pz)` applied to the
derivatives of f.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ...calculus.polynomial import Exponents, Polynomial
from ...targets.subspace import Subspace
from ..exponent import FLOOR

Vector = tuple[Fraction, ...]


class RationalFrame(NamedTuple):
    """Orthogonal rational vectors, the first `inside` of which span the subspace."""

    vectors: tuple[Vector, ...]
    inside: int

    @property
    def norms(self) -> Vector:
        """Squared lengths."""
        return tuple(_dot(b, b) for b in self.vectors)


def rational_frame(rows: Iterable[Vector], r: int) -> RationalFrame:
    """Orthogonal rational frame of R^r that begins with the span of the rows.

    Examples
    --------
    >>> rational_frame([(Fraction(4), Fraction(1))], 2).vectors
    ((Fraction(4, 1), Fraction(1, 1)), (Fraction(1, 1), Fraction(-4, 1)))
    """
    axes = [tuple(Fraction(int(i == j)) for j in range(r)) for i in range(r)]
    found: list[Vector] = []
    inside = 0
    for group in (rows, axes):
        inside = len(found)
        for row in group:
            rest = _orthogonal_part(row, found)
            # A remainder of 1e-30 is what rounding leaves of a vector typed in decimals.
            if _dot(rest, rest) > Fraction(1, 10**20) * _dot(row, row):
                found.append(_primitive(rest))
    return RationalFrame(tuple(found), inside)


def rational_rows(subspace: Subspace) -> list[Vector]:
    """Rational basis of a subspace that has one with small numbers; else its floats, exactly.

    Examples
    --------
    >>> rational_rows(Subspace.span([[4.0, 1.0]]))
    [(Fraction(1, 1), Fraction(1, 4))]
    """
    reduced = np.array(subspace.basis)
    pivots: list[int] = []
    for i in range(len(reduced)):
        free = [c for c in range(reduced.shape[1]) if c not in pivots]
        column = free[int(np.abs(reduced[i, free]).argmax())]
        reduced[i] /= reduced[i, column]
        others = np.arange(len(reduced)) != i
        reduced[others] -= np.outer(reduced[others, column], reduced[i])
        pivots.append(column)
    near = [[Fraction(x).limit_denominator(10**4) for x in row] for row in reduced]
    if np.abs(np.array(near, dtype=float).reshape(reduced.shape) - reduced).max(initial=0) < 1e-11:
        return [tuple(row) for row in near]
    return [tuple(Fraction(float(x)) for x in row) for row in reduced]


def scaled_coefficients(polynomial: Polynomial, frame: RationalFrame) -> dict[Exponents, Fraction]:
    r"""Coefficients :math:`c_\beta` of [AN-1] in a rational frame."""
    norms = frame.norms
    total: dict[Exponents, Fraction] = {}
    for m, c in _in_frame(polynomial, frame).items():
        for beta in itertools.product(*(range(a % 2, a + 1, 2) for a in m)):
            weight = Fraction(1)
            for a, b, s in zip(m, beta, norms, strict=True):
                j = (a - b) // 2  # E[v^a s^(b/2) He_b] = s^((a+b)/2) a!/(2^j j!)
                weight *= s ** ((a + b) // 2) * Fraction(
                    math.factorial(a), 2**j * math.factorial(j)
                )
            total[beta] = total.get(beta, Fraction(0)) + c * weight
    return {beta: c for beta, c in total.items() if c}


def exact_conditional_energies(polynomial: Polynomial, rows: Sequence[Vector]) -> list[Fraction]:
    r"""Energies :math:`|P_{U,=k} f|^2` for k = 0, ..., degree, U the span of the rows [AN-1].

    Examples
    --------
    >>> z1, z2 = Polynomial.variable(0, 2), Polynomial.variable(1, 2)
    >>> one = (Fraction(1), Fraction(0))
    >>> exact_conditional_energies(z1 + z1 * z2, [one])
    [Fraction(1, 1), Fraction(1, 1), Fraction(0, 1)]
    """
    frame = rational_frame(rows, polynomial.r)
    energies = [Fraction(0)] * (polynomial.degree + 1)
    for beta, energy in _energies(scaled_coefficients(polynomial, frame), frame).items():
        energies[sum(beta[frame.inside :])] += energy
    return energies


def exact_step(
    polynomial: Polynomial, rows: Sequence[Vector], order: int, variance: Fraction
) -> tuple[Fraction, list[Vector]]:
    r"""Energy :math:`|P_{U,=k} f|^2` at one order, and rational vectors along the new directions.

    Directions whose energy is below the rounding of typed constants are left out.
    """
    frame = rational_frame(rows, polynomial.r)
    coefficients = scaled_coefficients(polynomial, frame)
    norms, q = frame.norms, range(frame.inside, polynomial.r)
    at_order = {b: c for b, c in coefficients.items() if sum(b[frame.inside :]) == order}
    energy = sum(_energies(at_order, frame).values(), Fraction(0))
    columns: dict[Exponents, dict[int, Fraction]] = {}  # multi-index without one factor -> vector
    for beta, c in at_order.items():
        for j in q:
            if beta[j]:
                rest = (*beta[:j], beta[j] - 1, *beta[j + 1 :])
                columns.setdefault(rest, {})[j] = c / norms[j]
    vectors: list[tuple[Vector, Fraction]] = []
    for rest, entries in columns.items():
        v = tuple(
            sum((x * frame.vectors[j][i] for j, x in entries.items()), Fraction(0))
            for i in range(polynomial.r)
        )
        vectors.append((v, 1 / (_weight(rest, norms) * order)))
    return energy, _leading(vectors, Fraction(FLOOR["exact"]) * variance)


def _leading(vectors: list[tuple[Vector, Fraction]], floor: Fraction) -> list[Vector]:
    """Orthogonal vectors that span weighted ones, largest first, until the energy left is small."""
    found: list[Vector] = []
    rests = vectors
    while rests:
        energies = [_dot(v, v) * weight for v, weight in rests]
        if sum(energies) <= floor:
            break
        best = max(range(len(rests)), key=energies.__getitem__)
        found.append(_primitive(rests[best][0]))
        rests = [(_orthogonal_part(v, found[-1:]), w) for v, w in rests]
        rests = [(v, w) for v, w in rests if any(v)]
    return found


def _energies(
    coefficients: dict[Exponents, Fraction], frame: RationalFrame
) -> dict[Exponents, Fraction]:
    norms = frame.norms
    return {beta: c * c / _weight(beta, norms) for beta, c in coefficients.items()}


def _weight(beta: Exponents, norms: Vector) -> Fraction:
    """Norm beta! s^beta of the scaled Hermite polynomial."""
    weight = Fraction(1)
    for b, s in zip(beta, norms, strict=True):
        weight *= math.factorial(b) * s**b
    return weight


def _in_frame(polynomial: Polynomial, frame: RationalFrame) -> dict[Exponents, Fraction]:
    r"""Polynomial in the variables v, from :math:`z_i = \sum_j v_j b_{ji}/s_j`."""
    r, norms = polynomial.r, frame.norms
    images = [
        Polynomial(
            {
                tuple(int(k == j) for k in range(r)): b[i] / s
                for j, (b, s) in enumerate(zip(frame.vectors, norms, strict=True))
            },
            r,
        )
        for i in range(r)
    ]
    powers = [[Polynomial.constant(1, r)] for _ in range(r)]
    total = Polynomial.constant(0, r)
    for m, c in polynomial.coefficients.items():
        product = Polynomial.constant(c, r)
        for i, k in enumerate(m):
            while len(powers[i]) <= k:
                powers[i].append(powers[i][-1] * images[i])
            if k:
                product = product * powers[i][k]
        total = total + product
    return total.coefficients


def _orthogonal_part(v: Vector, others: Sequence[Vector]) -> Vector:
    for b in others:
        share = _dot(v, b) / _dot(b, b)
        if share:
            v = tuple(x - share * y for x, y in zip(v, b, strict=True))
    return v


def _primitive(v: Vector) -> Vector:
    """Multiple of a vector with coprime whole entries, the first of them positive."""
    scale = math.lcm(*(x.denominator for x in v))
    whole = [int(x * scale) for x in v]
    common = math.gcd(*whole) * (1 if next(x for x in whole if x) > 0 else -1)
    return tuple(Fraction(x, common) for x in whole)


def _dot(a: Vector, b: Vector) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))
