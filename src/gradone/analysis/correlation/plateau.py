r"""Plateaus: the error that remains once some directions, and a low degree in others, are learned.

.. math:: f = \sum_k P_{U,=k} f, \qquad P_{U,=k} f = \sum_{|\beta|=k}
          \frac{\mathbb{E}[f\,\mathrm{He}_\beta(z_\perp)\,|\,z_U]}{\beta!}\,\mathrm{He}_\beta(z_\perp),
          \qquad \mathrm{plateau} = \sum_{k>\kappa} |P_{U,=k} f|^2
          \qquad [AN-5]

A network that has learned U and can fit any polynomial of degree :math:`\kappa` in the other
directions, :math:`\kappa = \min(\log n, \log p)/\log d`, keeps this error. For U = {0} it is the
plateau of kernels and random features, for :math:`\kappa = 0` the variance of f given U.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ...base.errors import BadData
from ...base.estimate import Estimate, roughest
from ...targets.frame import natural_frame
from ...targets.language.coordinates import rewrite
from ...targets.language.expression import Expression
from ...targets.subspace import Subspace
from .conditional import energies_given
from .polynomial_staircase import exact_conditional_energies, rational_rows


def conditional_energies(expression: Expression, subspace: Subspace, degree: int) -> list[Estimate]:
    r"""Energies :math:`|P_{U,=k} f|^2` for k = 0, ..., degree [AN-5].

    Parameters
    ----------
    expression : Expression
        The function f.
    subspace : Subspace
        The learned directions U.
    degree : int
        Largest order in the other directions.

    Notes
    -----
    Exact for polynomials (each note holds the fraction). Otherwise by quadrature, without a series
    in the variables of U.

    Examples
    --------
    >>> f = Expression("(4*z1 + z1**2 + z2)/2")
    >>> [e.note for e in conditional_energies(f, Subspace.span([[4.0, 1.0]]), 2)]
    ['2857/578', '16/289', '1/578']
    """
    if subspace.r != expression.r:
        raise BadData(
            f"the subspace lies in R^{subspace.r}, the function has r = {expression.r} variables"
        )
    if degree < 0:
        raise BadData(f"degree must be at least 0, got {degree}")
    polynomial = expression.polynomial
    if polynomial is not None:
        exact = exact_conditional_energies(polynomial, rational_rows(subspace))
        exact += [Fraction(0)] * (degree + 1 - len(exact))
        return [_exact(x) for x in exact[: degree + 1]]
    # Low degrees are asked for together in a plan: the least that is computed is degree 2.
    return list(_numeric(expression, _Key(subspace), max(degree, 2))[: degree + 1])


def plateau(expression: Expression, subspace: Subspace, kappa: float) -> Estimate:
    r"""Error that remains, :math:`\sum_{k>\kappa} |P_{U,=k} f|^2` [AN-5].

    Examples
    --------
    The 3-parity keeps its whole variance until the degree reaches 3:

    >>> f = Expression("He2(z1) + sign(z1*z2*z3)")
    >>> [round(float(plateau(f, Subspace.zero(3), k)), 9) for k in (1, 2, 3)]
    [3.0, 1.0, 0.741987725]
    """
    if not kappa >= 0:
        raise BadData(f"kappa must be at least 0, got {kappa}")
    # log n / log d of n = d^2 may come out as 2 - 1e-16.
    degree = math.floor(min(kappa, 99.0) + 1e-9)
    polynomial = expression.polynomial
    if polynomial is not None:
        energies = exact_conditional_energies(polynomial, rational_rows(subspace))
        return _exact(sum(energies[degree + 1 :], Fraction(0)))
    if subspace.dim == expression.r:
        return Estimate(0.0)
    learned = conditional_energies(expression, subspace, degree)
    second = _second_moment(natural_frame(expression).expression)
    value = second.value - math.fsum(e.value for e in learned)
    error = second.error + math.fsum(e.error for e in learned)
    error += 8 * np.finfo(float).eps * second.value  # rounding of the difference
    return Estimate(max(value, 0.0), error, roughest(second.kind, *(e.kind for e in learned)))


class _Key:
    """Subspace as the key of a cache: equal when the bases are."""

    def __init__(self, subspace: Subspace) -> None:
        self.subspace = subspace
        self._bytes = (subspace.basis.round(12) + 0.0).tobytes()

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._bytes == other._bytes


@lru_cache(maxsize=128)
def _numeric(expression: Expression, key: _Key, degree: int) -> tuple[Estimate, ...]:
    framed, rows = natural_frame(expression)
    known = _projection(key.subspace, rows)
    if known is None:  # oblique to the span of f: keep every variable
        framed, known = expression, key.subspace
    if known.dim == 0:
        return tuple(framed.hermite(degree).energies)
    if known.dim == framed.r:
        return (_second_moment(framed), *(Estimate(0.0),) * degree)
    frame = np.vstack([known.basis, _complement(known)])
    return tuple(energies_given(rewrite(framed, frame), known.dim, degree))


@lru_cache(maxsize=64)
def _second_moment(expression: Expression) -> Estimate:
    return expression.second_moment()


def _projection(subspace: Subspace, rows: np.ndarray) -> Subspace | None:
    """Subspace in the coordinates of a frame; None if it mixes the frame with what is outside."""
    inside = subspace.basis @ rows.T
    overlaps = np.linalg.svd(inside, compute_uv=False)
    if ((overlaps > 1e-9) & (overlaps < 1 - 1e-9)).any():
        return None
    return Subspace.span(inside[np.linalg.norm(inside, axis=1) > 1e-9], len(rows))


def _complement(known: Subspace) -> np.ndarray:
    """Orthonormal rows of the complement, along axes where possible."""
    axes = [e for e in np.eye(known.r) if np.linalg.norm(known.basis @ e) < 1e-12]
    rest = known + Subspace.span(np.array(axes).reshape(-1, known.r), known.r)
    return np.vstack([*axes, *rest.complement().basis]).reshape(-1, known.r)


def _exact(value: Fraction) -> Estimate:
    return Estimate(float(value), note=str(value) if value.denominator < 10**9 else "")
