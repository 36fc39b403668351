"""Labels that are an invertible function of simpler ones.

Statistical queries may transform the label, so without noise nothing changes when an increasing or
decreasing outer function is taken off; and what it squeezed into the last digits is seen again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from ...targets.language.tree import (
    Call,
    Node,
    Power,
    Product,
    Sum,
    add,
    multiply,
    variables,
)

_STRICTLY_MONOTONE = ("erf", "exp", "sigmoid", "softplus", "tanh")


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
    >>> label = simpler_label(parse("exp(z1 + z1**2*tanh(z2))"), (2,), is_noisy=False)
    >>> text_of(label.tree), [text_of(factor) for factor in label.factors]
    ('z2', ['z1**2'])
    >>> text_of(simpler_label(parse("2*tanh(z1*z2 + 1) - 3"), (1, 2), is_noisy=False).tree)
    'z1*z2'
    """
    inner: Node | None
    factors: list[Node] = []
    while True:
        match tree:
            case Sum(terms=parts):
                moving = _depending(parts, unknown)
                inner = add(moving) if 0 < len(moving) < len(parts) else None
            case Product(factors=parts) if not is_noisy:
                moving = _depending(parts, unknown)
                factors += [part for part in parts if part not in moving and variables(part)]
                inner = multiply(moving) if 0 < len(moving) < len(parts) else None
            case Call(name=name, arguments=(argument,)) if name in _STRICTLY_MONOTONE:
                inner = None if is_noisy else argument
            case Power(base=base, exponent=k) if k % 2 and not is_noisy:
                inner = base
            case _:
                inner = None
        if inner is None:
            return Relabeled(tree, tuple(factors))
        tree = inner


def _depending(parts: tuple[Node, ...], unknown: Collection[int]) -> list[Node]:
    return [part for part in parts if set(variables(part)) & set(unknown)]
