"""Functions that are written with others: the parser replaces them by their formula.

So every fact about them follows from the functions of the formula, and canonical text and LaTeX
show the formula.
"""

from __future__ import annotations

from collections.abc import Callable

from .functions import call
from .tree import ONE, ZERO, Node, Number, add, multiply, negate, number


def _clip(x: Node, low: Node, high: Node) -> Node:
    return call("min", call("max", x, low), high)


def _elu(x: Node) -> Node:
    return add((call("relu", x), call("exp", call("min", x, ZERO)), negate(ONE)))


def _hardtanh(x: Node) -> Node:
    return _clip(x, number(-1), ONE)


def _leaky_relu(x: Node, slope: Node) -> Node:
    """Larger or smaller of two lines, a form that is seen to increase; else the general form."""
    if isinstance(slope, Number) and slope != ZERO:
        return call("max" if slope.value <= 1 else "min", x, multiply((slope, x)))
    return add((call("relu", x), negate(multiply((slope, call("relu", negate(x)))))))


def _silu(x: Node) -> Node:
    return multiply((x, call("sigmoid", x)))


# Name -> names of its arguments, and its formula.
ABBREVIATIONS: dict[str, tuple[tuple[str, ...], Callable[..., Node]]] = {
    "clip": (("z1", "-1", "2"), _clip),
    "elu": (("z1",), _elu),
    "hardtanh": (("z1",), _hardtanh),
    "leaky_relu": (("z1", "0.1"), _leaky_relu),
    "silu": (("z1",), _silu),
}
