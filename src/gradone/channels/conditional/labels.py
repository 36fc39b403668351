"""Labels that are a function of simpler ones with the same level sets.

Statistical queries may transform the label, so without noise nothing changes when a function is
taken off that keeps the level sets; and what it squeezed into the last digits is seen again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from ...targets.language.expression import Expression
from ...targets.language.levels import same_level_sets
from ...targets.language.tree import Node, Product, Sum, add, multiply, variables


class Relabeled(NamedTuple):
    """A simpler label, and factors that were taken off: where one is zero the label is constant."""

    tree: Node
    factors: tuple[Node, ...]


def simpler_label(tree: Node, unknown: Collection[int], *, is_noisy: bool) -> Relabeled:
    """Label that says as much about the unknown variables, the others being known.

    Terms and factors of known variables only are numbers, and come off like numbers; with noise,
    terms alone.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> from gradone.targets.language.printing import text_of
    >>> label = simpler_label(parse("exp(z1 + relu(z1)*tanh(z2))"), (2,), is_noisy=False)
    >>> text_of(label.tree), [text_of(factor) for factor in label.factors]
    ('z2', ['relu(z1)'])
    >>> text_of(simpler_label(parse("2*tanh(z1*z2 + 1) - 3"), (1, 2), is_noisy=False).tree)
    'z1*z2'
    """
    factors: list[Node] = []
    while True:
        inner = tree
        match tree:
            case Sum(terms=parts):
                moving = _depending(parts, unknown)
                inner = add(moving) if moving else tree
            case Product(factors=parts) if not is_noisy:
                moving = _depending(parts, unknown)
                factors += [part for part in parts if part not in moving and variables(part)]
                inner = multiply(moving) if moving else tree
        if inner == tree and not is_noisy:
            inner = same_level_sets(tree, unknown)
        if inner == tree:
            return Relabeled(tree, tuple(factors))
        tree = inner


def relabeled(expression: Expression) -> Expression:
    """Expression with the same level sets, all variables being unknown."""
    tree = simpler_label(expression.tree, expression.variables, is_noisy=False).tree
    if tree == expression.tree:
        return expression
    return Expression.from_tree(tree, letter=expression.letter, r=expression.r)


def _depending(parts: tuple[Node, ...], unknown: Collection[int]) -> list[Node]:
    return [part for part in parts if set(variables(part)) & set(unknown)]
