r"""Labels that are products of powers of the projections: a lattice of their logarithms.

With :math:`g = c \prod_i z_i^{p_i}` and :math:`z_i = s_i e^{t_i}`, the labels y lie on planes
:math:`\sum_i p_i t_i = \log|y/c|`, one for each choice of signs that gives the sign of y/c:

.. math:: Z(y) = \sum_s \int \frac{dt_1 \cdots dt_{k-1}}{p_k |y|}\, N(z; \omega, V)
          \prod_i |z_i|                                                                   [MO-1]

The density falls faster than exponentially in every direction of a plane, so a lattice on the
simplex in which no variable is far from its prior mean converges geometrically.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...targets.language.polynomials import polynomial_of
from .formulas import Formula
from .grids import root
from .label import FormulaLabel
from .sums import Rule, Sums

# Steps along an edge of the simplex, by the number of variables.
_NODES = {2: (32, 64, 128), 3: (24, 48, 96), 4: (20, 30)}
_REACH = 6.0  # standard deviations
_BLOCK = 2**15  # nodes that are looked at together


class Monomial(NamedTuple):
    """Function c * prod(z**powers) of all variables."""

    powers: np.ndarray
    c: float


def monomial(parts: tuple[Formula, ...]) -> Monomial | None:
    """The function without invertible outer functions; None if it is none.

    Examples
    --------
    >>> from gradone.channels.samples.formulas import formulas
    >>> from gradone.targets.language.expression import Expression
    >>> monomial(formulas(Expression("tanh(2*z1*z2**2)")))
    Monomial(powers=array([1, 2]), c=1.0)
    """
    inner, k = parts[0].relabeled.inner, parts[0].r
    polynomial = polynomial_of(inner, k) if len(parts) == 1 and k in _NODES else None
    if polynomial is None or len(polynomial.coefficients) != 1:
        return None
    ((powers, c),) = polynomial.coefficients.items()
    return Monomial(np.array(powers), float(c)) if all(powers) else None


class MonomialRule:
    """Exact rule for products of powers without noise [MO-1]."""

    is_geometric, is_enough = True, False

    def __init__(self, label: FormulaLabel) -> None:
        self._part, self._form = label.parts[0], monomial(label.parts)

    @staticmethod
    def covers(label: FormulaLabel) -> bool:
        """Whether the label is a product of powers of all variables."""
        return label.exact and not label.noise and monomial(label.parts) is not None

    def rules(self, V: np.ndarray) -> list[Rule]:
        """Rules with finer and finer steps."""
        assert self._form is not None
        return [monomial_rule(self._form, self._part, V, steps) for steps in _NODES[len(V)]]


@lru_cache(maxsize=8)
def _simplex(k: int, steps: int) -> np.ndarray:
    """Vectors (m, k) of whole numbers that add up to `steps`."""
    bars = np.array(list(itertools.combinations(range(steps + k - 1), k - 1)))
    edges = np.pad(bars, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, steps + k - 1)))
    return np.diff(edges, axis=1) - 1


def monomial_rule(form: Monomial, part: Formula, V: np.ndarray, steps: int) -> Rule:
    """Rule with so many steps along every edge; the coarse one has half of them."""
    k, W = len(V), np.linalg.inv(root(V))
    powers, deviation = form.powers, np.sqrt(np.diag(V))
    place = _simplex(k, steps)
    is_coarse = (place % 2 == 0).all(axis=1)
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=k)))
    parity = np.prod(signs**powers, axis=1)
    norm = math.log(abs(np.linalg.det(W))) - 0.5 * k * math.log(2 * math.pi)

    def rule(y: np.ndarray, omega: np.ndarray) -> tuple[Sums, Sums]:
        y, slope = part.relabeled(y)
        y = y / form.c
        totals = np.zeros((2, len(y), 1 + k, 1 + k))
        top = np.log(np.abs(omega) + _REACH * deviation)
        low = np.log(np.maximum(np.abs(omega) - _REACH * deviation, 1e-99)) * powers
        with np.errstate(divide="ignore", invalid="ignore"):
            level = np.log(np.abs(y))[:, None]
            # Where the other variables cannot be small, this one cannot be large.
            top = np.minimum(top, (level - low.sum(axis=1, keepdims=True) + low) / powers)
            length = top @ powers - level[:, 0]
            cell = np.prod(powers[:-1]) * abs(form.c) * np.abs(y) * powers[-1]
            cell = (length / steps) ** (k - 1) / cell
        cell = np.where((length > 0) & np.isfinite(cell), cell, 0.0)
        length = np.where(cell > 0, length, 0.0)
        block = max(_BLOCK // len(place), 1)
        for value in (-1.0, 1.0):
            own = np.flatnonzero(np.sign(y) == value)
            for start in range(0, len(own), block):
                rows = own[start : start + block]
                step = length[rows, None] / (steps * powers)
                t = top[rows, :, None] - step[:, :, None] * place.T
                size, sizes = np.exp(t), np.exp(t.sum(axis=1))
                for sign in signs[parity == value]:
                    x = np.ones((len(rows), 1 + k, len(place)))
                    x[:, 1:] = (W * sign) @ size - (omega[rows] @ W)[:, :, None]
                    weight = sizes * np.exp(-0.5 * (x[:, 1:] ** 2).sum(axis=1))
                    weighted = x * weight[:, None]
                    totals[0, rows] += weighted @ x.transpose(0, 2, 1)
                    half = weighted[:, :, is_coarse]
                    totals[1, rows] += half @ x[:, :, is_coarse].transpose(0, 2, 1)
        totals *= cell[:, None, None]
        totals[1] *= 2 ** (k - 1)
        fine, coarse = (
            Sums(slope + norm, part[:, 0, 0], part[:, 0, 1:], part[:, 1:, 1:]) for part in totals
        )
        return fine, coarse

    return rule
