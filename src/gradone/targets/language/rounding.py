"""How well the values of an expression are known in floating point."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .evaluate import evaluate_columns
from .functions import FUNCTIONS, hermite_polynomial, rebuild
from .tree import Call, Node, Power, Product, Quotient, Sum, Variable, steps

_EPS = float(np.finfo(float).eps)
UNDERFLOW = 1e-290  # smaller values lose digits
ROUNDINGS = 10.0  # errors of two values that are the same for all we know


def with_rounding(node: Node, column: Callable[[int], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Values of a node, and bounds on their rounding errors, the variables being exact.

    Examples
    --------
    What is left of ``1 - tanh(z1)`` at 15 is not known to one part in a thousand:

    >>> from gradone.targets.language.parser import parse
    >>> value, error = with_rounding(parse("1 - tanh(z1)"), lambda i: np.array([15.0]))
    >>> bool(error[0] > 1e-3 * value[0])
    True
    """
    known: list[tuple[np.ndarray, np.ndarray]] = []
    with np.errstate(all="ignore"):
        for part, places in steps(node):
            known.append(_with_rounding(part, [known[i] for i in places], column))
    return known[-1]


def noise_level(node: Node, column: Callable[[int], np.ndarray]) -> float:
    """Size up to which values of a node may be nothing but rounding, as far as the places show.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> z = np.linspace(-3, 3, 100)
    >>> level = noise_level(parse("abs(z1) + relu(-z1) - relu(z1)"), lambda i: z)
    >>> level < 1e-13, noise_level(parse("exp(-50*z1**2)"), lambda i: z)
    (True, 0.0)
    """
    value, error = with_rounding(node, column)
    is_noise = (np.abs(value) <= ROUNDINGS * error) & np.isfinite(error)
    return ROUNDINGS * float(error[is_noise].max(initial=0.0))


def _with_rounding(
    part: Node, parts: list[tuple[np.ndarray, np.ndarray]], column: Callable[[int], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    values, errors = [value for value, _ in parts], [error for _, error in parts]
    if not parts:
        value = np.asarray(evaluate_columns(part, column), dtype=np.float64)
        return value, 0.0 * value if isinstance(part, Variable) else _EPS * np.abs(value)
    value = _of(part, values)
    own = _EPS * np.abs(value) + UNDERFLOW  # what underflows is not known at all
    match part:
        case Sum():
            return value, sum(errors) + _EPS * sum(np.abs(v) for v in values)
        case Product():
            rest = [
                math.prod(np.abs(v) for v in values[:i] + values[i + 1 :])
                for i in range(len(values))
            ]
            return value, own + sum(e * r for e, r in zip(errors, rest, strict=True))
        case Power(exponent=k):
            return value, k * own + k * errors[0] * np.abs(values[0]) ** (k - 1)
        case Quotient():
            return value, own + (errors[0] + np.abs(value) * errors[1]) / np.abs(values[1])
        case Call(name=name) if FUNCTIONS[name].degree:
            sizes = np.abs(hermite_polynomial(FUNCTIONS[name].degree))
            own = _EPS * np.polynomial.polynomial.polyval(np.abs(values[0]), sizes) + UNDERFLOW
    moved = [
        np.abs(_of(part, [v + sign * e if i == j else v for j, (v, e) in enumerate(parts)]) - value)
        for i in range(len(parts))
        for sign in (-1.0, 1.0)
    ]
    return value, own + np.nan_to_num(sum(moved), nan=np.inf)


def _of(part: Node, values: list[np.ndarray]) -> np.ndarray:
    """Value of a part from those of its own parts."""
    places: list[Node] = [Variable("z", i + 1) for i in range(len(values))]
    return np.asarray(evaluate_columns(_shape(part, places), lambda i: values[i - 1]))


def _shape(part: Node, places: list[Node]) -> Node:
    return Call(part.name, tuple(places)) if isinstance(part, Call) else rebuild(part, places)
