"""Values of a tree on arrays of any library."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ...base.arrays import as_floats
from ...base.budget import check_budget
from ...base.errors import BadData
from .functions import FUNCTIONS
from .tree import Call, Node, Number, Pi, Power, Product, Quotient, Sum, Variable, steps

_QUIET = {"over": "ignore", "invalid": "ignore", "divide": "ignore", "under": "ignore"}


def evaluate(node: Node, z: Any) -> Any:
    """Values at points ``z`` of shape ``(..., r)``, in the array library and precision of `z`.

    Parts that do not depend on `z` and parts that occur twice are computed once.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> evaluate(parse("z1*z2 + 1"), [[2.0, 3.0], [0.0, 1.0]])
    array([7., 1.])
    """
    xp, z = as_floats(z)
    if z.ndim == 0:
        raise BadData("points must have the shape (..., r); write [[0.3]] for one point with r = 1")
    columns: Callable[[int], Any] = lambda index: z[..., index - 1]  # noqa: E731
    value = evaluate_columns(node, columns, xp)
    if isinstance(value, float):
        return xp.zeros_like(z[..., 0]) + value
    return value


def evaluate_columns(node: Node, column: Callable[[int], Any], xp: Any = np) -> Any:
    """Values of a node when ``column(i)`` is the array of variable i; a float if constant.

    Overflow is silent here: whether the values are finite is for the caller to check. All long work
    on expressions comes here again and again, so that a budget is looked at here.
    """
    check_budget()
    known: list[Any] = []
    with np.errstate(**_QUIET):  # type: ignore[arg-type]
        for part, places in steps(node):
            known.append(_value(part, [known[i] for i in places], column, xp))
    return known[-1]


def _value(part: Node, values: list[Any], column: Callable[[int], Any], xp: Any) -> Any:
    match part:
        case Number(value=value):
            return float(value)
        case Pi():
            return math.pi
        case Variable(index=index):
            return column(index)
        case Sum():
            return reduce(operator.add, values)
        case Product():
            return reduce(operator.mul, values)
        case Power(exponent=exponent):
            return _integer_power(values[0], exponent)
        case Quotient():
            return values[0] / values[1]
        case Call(name=name):
            return _apply(name, values, xp)
        case _:
            raise AssertionError(part)


def constant_value(node: Node) -> float:
    """Value of a node without variables, possibly not finite.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> constant_value(parse("2*pi"))
    6.283185307179586
    """

    def no_variables(index: int) -> Any:
        raise ValueError(f"variable {index} in a constant")

    return float(evaluate_columns(node, no_variables))


def _integer_power(base: Any, exponent: int) -> Any:
    """Power by repeated squaring: faster than ``**`` on arrays, and exact for signs."""
    result = None
    while exponent:
        if exponent & 1:
            result = base if result is None else result * base
        exponent >>= 1
        if exponent:
            base = base * base
    return result


def _apply(name: str, values: list[Any], xp: Any) -> Any:
    function = FUNCTIONS[name].evaluate
    constants = [isinstance(value, float) for value in values]
    if all(constants):
        return float(function(np, *(np.asarray(value) for value in values)))
    if any(constants):  # min(z1, 2): the array API wants arrays of one shape
        like = next(v for v, constant in zip(values, constants, strict=True) if not constant)
        values = [v + xp.zeros_like(like) if isinstance(v, float) else v for v in values]
    return function(xp, *values)
