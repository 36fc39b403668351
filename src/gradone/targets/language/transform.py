"""Expressions with some variables held fixed."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from .expression import Expression
from .functions import substitute
from .tree import Node, Variable, number


def given(expression: Expression, fixed: Mapping[int, float]) -> Expression:
    """Expression in the remaining variables (renumbered from 1) when some are held fixed.

    Examples
    --------
    >>> given(Expression("z1*z2 + z3"), {1: 0.5}).canonical
    'z1/2 + z2'
    """
    letter = expression.letter
    kept = [i for i in range(1, expression.r + 1) if i not in fixed]
    values: dict[Node, Node] = {
        Variable(letter, i): number(Fraction(float(value))) for i, value in fixed.items()
    }
    values |= {Variable(letter, i): Variable(letter, k) for k, i in enumerate(kept, start=1)}
    tree = substitute(expression.tree, values)
    return Expression.from_tree(tree, letter=letter, r=max(len(kept), 1))
