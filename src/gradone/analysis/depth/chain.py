r"""The chain of functions of a hierarchical target, each with the variance of its argument."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from ...base.errors import BadData, OutOfRegime
from ...base.estimate import Estimate, roughest
from ...targets.hierarchical import HierarchicalTarget, Might, QuadraticForms, Sight, Tree
from ...targets.language.expression import Expression
from .scaled_function import ScaledFunction
from .weights import Number, Weights

_CENTERED = 1e-8


@dataclass(frozen=True, eq=False)
class Chain:
    r"""Outer function, inner functions and widths of a hierarchical target.

    Parameters
    ----------
    outer : ScaledFunction
        The function g of the top features, at their variance.
    inners : tuple of ScaledFunction
        The functions :math:`P_1, P_2, \dots` from the bottom to the top.
    exponents : tuple of float
        Exponents :math:`e_0 = 1, e_1, \dots, e_{L+1}` of the widths: of the input, of the
        directions, of the features of each level. The last is 0 if the top has O(1) features.
    branches : int
        Number of top features; 0 if it grows with the dimension.
    """

    outer: ScaledFunction
    inners: tuple[ScaledFunction, ...]
    exponents: tuple[float, ...]
    branches: int = 1

    @property
    def feature_degree(self) -> float:
        """Degree of the top feature in z; infinite if an inner function is no polynomial."""
        return math.prod(P.degree for P in self.inners)

    @property
    def degree(self) -> float:
        """Degree of the label in z."""
        return self.feature_degree * self.outer.degree

    def shares(self, level: int, degree: int) -> Weights:
        r"""Shares :math:`w_j = c_j^2/(j!\,\mathrm{Var} P)`, j = 0..degree, of an inner function.

        The first, the share of the mean, is zero: inner functions are centered.
        """
        P = self.inners[level]
        found = P.energies(degree)
        if P.exact_null is not None:
            exact: list[Number] = [e / P.exact_null for e in found.value]
            exact[0] = Fraction(0)
            return Weights(exact, exact)
        value, low = P.null.value, P.null.value - P.null.error
        return Weights(
            [0.0, *(float(e) / value for e in found.value[1:])],
            [0.0, *(float(e) / low for e in found.upper[1:])],
            roughest(found.kind, P.null.kind),
        )

    def composed(self, degree: int) -> Weights:
        r"""Shares of the top feature per degree of z, :math:`w^{(L)} \circ \dots \circ w^{(1)}`."""
        result = self.shares(0, degree)
        for level in range(1, len(self.inners)):
            result = result.inside(self.shares(level, degree), degree)
        return result


@lru_cache(maxsize=64)
def chain(target: HierarchicalTarget) -> Chain:
    """Chain of a hierarchical target; refuses what no input dimension can realize.

    Examples
    --------
    >>> found = chain(Sight("tanh(3*h)", "He2(z)/2 + He3(z)/6"))
    >>> found.shares(0, 3).value[2:], found.outer.square
    ([Fraction(3, 4), Fraction(1, 4)], Fraction(2, 3))
    """
    match target:
        case Sight() | Might():
            return _branches(target)
        case Tree():
            return _levels(target)
        case QuadraticForms():
            # Two times the trace of A^2 is 2; each form sees every direction.
            inner = ScaledFunction(Expression("He2(z)"), Fraction(1))
            outer = ScaledFunction(target._outer, Fraction(2))
            count = target.count
            return Chain(outer, (inner,), (1.0, 1.0, 1.0 if count is None else 0.0), count or 0)
        case _:
            raise BadData(
                f"a hierarchical target (Sight, Might, Tree, QuadraticForms) is needed, "
                f"got {type(target).__name__}"
            )


def _branches(target: Sight | Might) -> Chain:
    if target.branches > 1 and target.exponent == 1:
        raise OutOfRegime(
            f"{target.branches} branches of d directions each do not fit into dimension d: "
            f"with exponent 1 only one branch is possible; use an exponent below 1"
        )
    inner = ScaledFunction(target._inner, Fraction(1))
    squares = _mean_squares(target.signs, target.branches)
    if len(set(squares)) > 1:
        raise OutOfRegime(
            "the weights a of the branches have different mean squares "
            f"{[round(float(q), 6) for q in squares]}; the analysis needs equal ones"
        )
    outer = ScaledFunction(target._outer, _variance(inner, squares[0]))
    return Chain(outer, (inner,), (1.0, target.exponent, 0.0), target.branches)


def _levels(target: Tree) -> Chain:
    square: Fraction | Estimate = Fraction(1)
    inners: list[ScaledFunction] = []
    top = len(target._inners) - 1
    for level, expression in enumerate(target._inners):
        inner = ScaledFunction(expression, square)
        mean = inner.mean
        if abs(mean.value) > mean.error + _CENTERED * math.sqrt(inner.null.value):
            raise OutOfRegime(
                f"inner function {level + 1}, '{expression.text}', is not centered for the "
                f"variance {float(square):.6g} of its argument (mean {mean.value:.6g}), so its "
                "feature has a mean of the order of the root of the block size; "
                "set standardize=True"
            )
        # One level: the weights themselves; more: one array for each level.
        given = isinstance(target.signs, tuple) and top > 0
        signs = target.signs[level] if given else target.signs
        (scale,) = _mean_squares(signs, 1)
        if (
            level < top
            and not isinstance(signs, str)
            and {abs(a) for a in flat_weights(signs)} != {1.0}
        ):
            raise OutOfRegime(
                f"the weights a of level {level + 1} must be +1 or -1: otherwise the features of "
                "the level do not have equal variances"
            )
        square = _variance(inner, scale)
        if target.standardize and level < top:
            square = Fraction(1)
        inners.append(inner)
    outer = ScaledFunction(target._outer, square)
    return Chain(outer, tuple(inners), (1.0, *target.exponents, 0.0))


def _variance(inner: ScaledFunction, scale: Fraction) -> Fraction | Estimate:
    if inner.exact_null is not None:
        return inner.exact_null * scale
    null = inner.null
    return Estimate(null.value * float(scale), null.error * float(scale), null.kind)


def _mean_squares(signs: Any, branches: int) -> list[Fraction]:
    """Mean of a^2 for every branch."""
    if isinstance(signs, str):
        return [Fraction(1)] * branches
    flat = flat_weights(signs)
    if len(flat) % branches or not any(flat):
        raise BadData(f"{len(flat)} weights a cannot be shared by {branches} branches")
    rows = np.array(flat, dtype=object).reshape(branches, -1)
    return [sum((Fraction(a) ** 2 for a in row), Fraction(0)) / len(row) for row in rows]


def flat_weights(signs: Any) -> list[float]:
    """Weights a of every level and branch in one list."""
    if isinstance(signs, tuple):
        return [a for part in signs for a in flat_weights(part)]
    return [float(signs)]
