"""Power series with nonnegative coefficients: energies and shares per degree, and their bounds."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ...base.estimate import Kind, roughest

Number = Fraction | float


class Weights(NamedTuple):
    r"""Nonnegative weights of degrees 0, 1, ... with an upper bound of each; fractions are exact.

    Examples
    --------
    >>> w = Weights([0, Fraction(1, 2), Fraction(1, 2)], [0, Fraction(1, 2), Fraction(1, 2)])
    >>> w.inside(w, 2).value
    [Fraction(0, 1), Fraction(1, 4), Fraction(3, 8)]
    """

    value: list[Number]
    upper: list[Number]
    kind: Kind = "exact"

    def inside(self, outer: Weights, degree: int) -> Weights:
        r"""Weights of :math:`\sum_m a_m\,w(t)^m` per power of t up to a degree.

        Sums and products of nonnegative numbers are monotone, so upper bounds stay bounds.
        """
        return Weights(
            _composition(outer.value, self.value, degree),
            _composition(outer.upper, self.upper, degree),
            roughest(outer.kind, self.kind),
        )


def _composition(outer: list[Number], inner: list[Number], degree: int) -> list[Number]:
    if not all(isinstance(x, Fraction | int) for x in (*outer, *inner)):
        return _float_composition(np.array(outer, float), np.array(inner, float), degree)
    result: list[Number] = [Fraction(0)] * (degree + 1)
    for coefficient in reversed(outer):  # Horner
        product: list[Number] = [Fraction(0)] * (degree + 1)
        for i, a in enumerate(result):
            if a:
                for j, b in enumerate(inner[: degree + 1 - i]):
                    if b:
                        product[i + j] += a * b
        product[0] += coefficient
        result = product
    return result


def _float_composition(outer: np.ndarray, inner: np.ndarray, degree: int) -> list[Number]:
    result = np.zeros(degree + 1)
    for coefficient in outer[::-1]:
        result = np.convolve(result, inner)[: degree + 1]
        result[0] += coefficient
    return [float(x) for x in result]
