"""Labels that are an invertible function of simpler ones.

Statistical queries may transform the label, so without noise nothing changes when an increasing or
decreasing outer function is taken off; and what it squeezed into the last digits is seen again.
"""

from __future__ import annotations

from ...targets.language.expression import Expression
from ...targets.language.tree import Call, Node, Number, Power, Product, Sum, is_constant

_STRICTLY_MONOTONE = ("erf", "exp", "sigmoid", "softplus", "tanh")


def without_relabeling(expression: Expression) -> Expression:
    """Expression with its outermost invertible functions removed.

    Examples
    --------
    >>> without_relabeling(Expression("2*tanh(z1*z2 + 1) - 3")).canonical
    'z1*z2'
    """
    tree = expression.tree
    while (inner := _inside(tree)) is not None:
        tree = inner
    if tree is expression.tree:
        return expression
    return Expression.from_tree(tree, letter=expression.letter, r=expression.r)


def _inside(node: Node) -> Node | None:
    """Argument of an invertible outermost function, or None."""
    match node:
        case Call(name=name, arguments=(argument,)) if name in _STRICTLY_MONOTONE:
            return argument
        case Power(base=base, exponent=k) if k % 2:
            return base
        case Product(factors=(Number(), single)):
            return single
        case Product(factors=(Number(), *rest)):
            return Product(tuple(rest))
        case Sum(terms=terms):
            moving = [term for term in terms if not is_constant(term)]
            return moving[0] if len(moving) == 1 and len(terms) > 1 else None
        case _:
            return None
