r"""Labels whose formulas are affine: given the label, z is Gaussian and lies in a region.

With :math:`g = c + \langle b, z\rangle` in a region R, noise of variance :math:`\Delta`, and
:math:`D = \Delta + b^\top V b`,

.. math::
    Z(y) = \sum_{formulas} N(y;\, c + \langle b, \omega\rangle,\, D)\,
    P\big(z \in R \mid z \sim N(\omega + V b\,\tfrac{y - c - \langle b, \omega\rangle}{D},\,
    V - \tfrac{V b b^\top V}{D})\big)                                                      [PO-1]

``sign(z1*z2)`` with noise, ``max(z1, z2)``, sums of ``relu`` and ``abs``, with noise or without.
Without noise the Gaussian has one dimension less.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from ...targets.language.structure import affine_form
from .formulas import Formula
from .grids import root
from .label import FormulaLabel
from .regions import Points, Regions
from .sums import Rule, Sums, later


class AffinePart(NamedTuple):
    """Formulas with one slope b, and their constants."""

    slope: np.ndarray
    constants: np.ndarray
    regions: Regions


def affine_parts(parts: tuple[Formula, ...], noise: float) -> list[AffinePart] | None:
    """Formulas that are affine functions; None if some are not.

    Without noise constants are left out: they are atoms.
    """
    k = parts[0].r
    forms = [affine_form(part.tree, k) for part in parts]
    found, flat = [], []
    for part, form in zip(parts, forms, strict=True):
        if part.constant is not None:
            flat.append(part)
        elif form is None:
            return None
        else:
            found.append(AffinePart(form[0], np.array([form[1]]), Regions((part,))))
    if noise and flat:
        constants = np.array([float(part.constant or 0.0) for part in flat])
        found.append(AffinePart(np.zeros(k), constants, Regions(tuple(flat))))
    return found


class Affine:
    """Rule for labels whose formulas are affine functions or constants."""

    is_geometric, is_enough = False, True

    def __init__(self, label: FormulaLabel) -> None:
        self._label, self._found = label, affine_parts(label.parts, label.noise) or []

    @staticmethod
    def covers(label: FormulaLabel) -> bool:
        """Whether every formula is affine."""
        return affine_parts(label.parts, label.noise) is not None

    def rules(self, V: np.ndarray) -> list[Rule]:
        """Rules with finer and finer steps between lines."""
        found, noise = self._found, self._label.noise
        steps = self._label.across(*((p.regions, updated(p, noise, V).rest) for p in found))
        return [later(partial(affine_rule, found, noise, V, h)) for h in steps]


class Updated(NamedTuple):
    """What a label says under one slope."""

    gain: np.ndarray
    """(k,) change of the mean with the label."""
    variance: float
    """D, that of the label."""
    rest: np.ndarray
    """Covariance of z given the label."""


def updated(part: AffinePart, noise: float, V: np.ndarray) -> Updated:
    """Gain, variance of the label, and covariance given the label."""
    gain = V @ part.slope
    D = float(noise + part.slope @ gain)
    return Updated(gain / D, D, V - np.outer(gain, gain) / D)


def affine_rule(found: list[AffinePart], noise: float, V: np.ndarray, h: float) -> Rule:
    """Rule with step h between lines."""
    back = np.linalg.inv(root(V))
    given = [updated(part, noise, V) for part in found]
    laws = [part.regions.law(own.rest) for part, own in zip(found, given, strict=True)]

    def rule(y: np.ndarray, omega: np.ndarray) -> tuple[Sums, Sums]:
        n, k = omega.shape
        gaps = [y - part.constants[:, None] - omega @ part.slope for part in found]
        exponents = [
            -(gap**2) / (2 * D) - 0.5 * math.log(2 * math.pi * D)
            for gap, (_, D, _) in zip(gaps, given, strict=True)
        ]
        top = np.max([exponent.max(axis=0) for exponent in exponents], axis=0)
        total = [Sums.zeros(n, k)._replace(log_scale=top) for _ in range(2)]
        terms = zip(found, gaps, exponents, given, laws, strict=True)
        for part, gap, exponent, (gain, _, _), law in terms:
            shift = gap[0][:, None] * gain  # several constants have no slope, and no shift
            share = np.exp(exponent - top)
            points = Points(np.arange(n), shift, np.ones((n, 2)), share)
            for sums, own in zip(total, part.regions.sums(points, omega, law, h), strict=True):
                sums.add(own.rotated(back))
        return total[0], total[1]

    return rule
