"""The smooth formulas that a function follows between its kinks and jumps, each with its region.

A switch (``abs``, ``relu``, ``sign``, ``max``, ...) chooses by the sign of its break function, so
the region of a formula is given by signs of smooth functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ...base.errors import OutOfRegime
from ...base.seeds import stream
from ...targets.language.derivative import derivative
from ...targets.language.evaluate import constant_value, evaluate
from ...targets.language.expression import Expression
from ...targets.language.functions import FUNCTIONS, rebuild
from ...targets.language.pieces import Pieces
from ...targets.language.polynomials import polynomial_of
from ...targets.language.tree import ZERO, Call, Node, children, fold, is_constant, variables
from ..relabeling import Relabeled, without_relabeling

MAX_FORMULAS = 64
_POINTS = 2**14
_SCALES = (1.0, 0.25, 3.0)  # a wide cloud finds regions of small probability


@dataclass(frozen=True)
class Condition:
    """A smooth function whose sign is +1 or -1 in a region."""

    tree: Node
    sign: int


@dataclass(frozen=True)
class Formula:
    """A smooth formula and the region where the function follows it.

    Parameters
    ----------
    tree : Node
        The formula.
    conditions : tuple of Condition
        The region: every condition holds.
    r : int
        Number of variables.
    """

    tree: Node
    conditions: tuple[Condition, ...]
    r: int

    @cached_property
    def constant(self) -> float | None:
        """Value if the formula is a constant: an atom of the output."""
        if is_constant(self.tree):
            return constant_value(self.tree)
        polynomial = polynomial_of(self.tree, self.r)
        if polynomial is not None and polynomial.degree == 0:
            return float(polynomial.expectation())
        return None

    @cached_property
    def relabeled(self) -> Relabeled:
        """The formula without invertible outer functions."""
        return without_relabeling(self.tree)


@lru_cache(maxsize=64)
def formulas(expression: Expression) -> tuple[Formula, ...]:
    """Every formula that a function follows somewhere, with its region.

    Examples
    --------
    >>> from gradone.targets.language.printing import text_of
    >>> for f in formulas(Expression("max(z1, z2) + sign(z3)")):
    ...     print(text_of(f.tree), [(c.sign, text_of(c.tree)) for c in f.conditions])
    z1 + 1 [(1, 'z1 - z2'), (1, 'z3')]
    z1 - 1 [(1, 'z1 - z2'), (-1, 'z3')]
    z2 + 1 [(-1, 'z1 - z2'), (1, 'z3')]
    z2 - 1 [(-1, 'z1 - z2'), (-1, 'z3')]
    """
    r, tree = expression.r, expression.tree
    switches = Pieces(tree, r).switches
    if not switches:
        return (Formula(tree, (), r),)
    points = cloud(r)
    choices = np.stack([_choice(part, points) for part in switches], axis=1)
    patterns, first = np.unique(choices, axis=0, return_index=True)
    if len(patterns) > MAX_FORMULAS:
        raise OutOfRegime(
            f"'{expression.text}' follows {len(patterns)} different formulas between its kinks, "
            f"the posterior of a noiseless output takes at most {MAX_FORMULAS}. "
            "Give the target a noise > 0."
        )
    return tuple(
        _formula(tree, dict(zip(switches, pattern, strict=True)), points[i], r)
        for pattern, i in zip(patterns, first, strict=True)
    )


def affine_axis(parts: tuple[Formula, ...]) -> int | None:
    """Variable, counted from 0, in which every formula is affine and of which no region depends.

    Examples
    --------
    >>> affine_axis(formulas(Expression("tanh(z1*z2) + abs(z3)*z4")))
    3
    """
    fits: list[tuple[int, int]] = []
    for axis in range(parts[0].r):
        slopes = [derivative(part.tree, axis + 1) for part in parts]
        if any(slope == ZERO or axis + 1 in variables(slope) for slope in slopes):
            continue
        if any(axis + 1 in variables(c.tree) for part in parts for c in part.conditions):
            continue
        fits.append((sum(len(variables(slope)) for slope in slopes), axis))
    return min(fits)[1] if fits else None


@lru_cache(maxsize=4)
def cloud(r: int) -> np.ndarray:
    """Points (m, r) some of which lie in every region that matters."""
    points = stream(0, "points", r=r, what="formulas").standard_normal((_POINTS, r))
    return np.concatenate([scale * points for scale in _SCALES])


def _choice(part: Call, z: np.ndarray) -> np.ndarray:
    """Index of the alternative that a switch follows at each point."""
    value = evaluate(part, z)
    branches = FUNCTIONS[part.name].branches_of(*part.arguments)
    with np.errstate(invalid="ignore"):  # infinities far out
        gaps = np.stack([np.abs(evaluate(branch, z) - value) for branch in branches])
    return gaps.argmin(axis=0)


def _formula(tree: Node, choice: dict[Call, np.intp], inside: np.ndarray, r: int) -> Formula:
    """Formula of a pattern of choices that holds at the point `inside`."""
    conditions: dict[Node, int] = {}

    def combine(part: Node, parts: list[Node]) -> Node:
        if isinstance(part, Call) and part in choice:
            function = FUNCTIONS[part.name]
            edge = function.break_of(*parts)
            if not is_constant(edge):
                conditions.setdefault(edge, 1 if evaluate(edge, inside) > 0 else -1)
            return function.branches_of(*parts)[choice[part]]
        return rebuild(part, parts) if children(part) else part

    smooth = fold(tree, combine)
    return Formula(smooth, tuple(Condition(*item) for item in conditions.items()), r)
