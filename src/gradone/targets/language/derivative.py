"""Derivatives of a tree, derived and never typed."""

from __future__ import annotations

from .functions import FUNCTIONS
from .tree import (
    ONE,
    ZERO,
    Call,
    Node,
    Power,
    Product,
    Quotient,
    Sum,
    Variable,
    add,
    divide,
    fold,
    multiply,
    negate,
    number,
    power,
)


def derivative(node: Node, index: int) -> Node:
    """Partial derivative with respect to variable `index`, valid away from jumps.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> from gradone.targets.language.printing import text_of
    >>> text_of(derivative(parse("He3(z1)*z2"), 1))
    '3*He2(z1)*z2'
    """
    Pair = tuple[Node, Node]

    def combine(part: Node, pairs: list[Pair]) -> Pair:
        parts, slopes = [p for p, _ in pairs], [s for _, s in pairs]
        slope: Node
        match part:
            case Variable(index=i):
                slope = ONE if i == index else ZERO
            case Sum():
                slope = add(slopes)
            case Product():
                slope = add(
                    multiply((*parts[:i], slopes[i], *parts[i + 1 :]))
                    for i in range(len(parts))
                    if slopes[i] != ZERO
                )
            case Power(base=base, exponent=k):
                slope = multiply((number(k), power(base, k - 1), slopes[0]))
            case Quotient(numerator=top, denominator=bottom):
                slope = add(
                    (
                        divide(slopes[0], bottom),
                        negate(divide(multiply((top, slopes[1])), power(bottom, 2))),
                    )
                )
            case Call(name=name):
                slope = add(
                    multiply((outer(*parts), inner))
                    for outer, inner in zip(FUNCTIONS[name].derivatives, slopes, strict=True)
                    if inner != ZERO
                )
            case _:
                slope = ZERO
        return part, slope

    return fold(node, combine)[1]
