"""An expression along a line: where it vanishes, and where it may change abruptly."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from .derivative import derivative
from .evaluate import evaluate_columns
from .tree import Call, Node, Quotient, add, multiply, nodes, number, variables

_SCAN = np.linspace(-40.0, 40.0, 8001)
_SECOND_SCAN = np.linspace(-40.0, 40.0, 11003)
_NEAR = 8.0  # beyond, nothing has weight
_STEEP = 20.0  # slope of an argument from which a function of it counts as sharp
_MAX_SHARP = 200


class Curved(Exception):
    """The zeros of an expression do not lie on finitely many planes that we can find."""


def on_line(node: Node, w: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The function t -> node(t w) on arrays."""

    def along(t: np.ndarray) -> np.ndarray:
        values = evaluate_columns(node, lambda i: w[i - 1] * t)
        return np.broadcast_to(np.asarray(values, dtype=np.float64), t.shape)

    return along


def line_zeros(f: Callable[[np.ndarray], np.ndarray]) -> list[float]:
    """Zeros and touching points of a smooth function of one variable on [-40, 40]."""
    values = f(_SCAN)
    size = np.abs(values)
    crossing = _sign_changes(values)
    # Zeros that are denser than the scan show on a second one, whose step is not commensurate.
    again = _sign_changes(f(_SECOND_SCAN))
    if abs(len(again) - len(crossing)) > 1 + len(crossing) // 100 or not np.isfinite(size).any():
        raise Curved
    low, high = _SCAN[crossing], _SCAN[crossing + 1]
    for _ in range(60):
        middle = (low + high) / 2
        left = np.sign(f(middle)) == np.sign(f(low))
        low, high = np.where(left, middle, low), np.where(left, high, middle)
    zeros = [*((low + high) / 2), *_SCAN[values == 0]]
    # Touching zeros: minima of |f| that shrink to nothing.
    inner = np.arange(1, len(_SCAN) - 1)
    dips = inner[(size[inner] <= size[inner - 1]) & (size[inner] <= size[inner + 1])]
    dips = dips[np.sign(values[dips - 1]) == np.sign(values[dips + 1])]
    a, b = _SCAN[dips - 1], _SCAN[dips + 1]
    for _ in range(80):  # golden section
        c, d = b - 0.618034 * (b - a), a + 0.618034 * (b - a)
        smaller = np.abs(f(c)) < np.abs(f(d))
        a, b = np.where(smaller, a, c), np.where(smaller, d, b)
    touching = (a + b) / 2
    scale = np.median(size[np.isfinite(size)]) + 1e-300
    zeros += list(touching[np.abs(f(touching)) < 1e-12 * scale])
    zeros.sort()
    return [float(z) for i, z in enumerate(zeros) if i == 0 or z - zeros[i - 1] > 1e-9]


def _sign_changes(values: np.ndarray) -> np.ndarray:
    """Places i such that the sign differs between i and i + 1."""
    return np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)


def sharp_points(node: Node, w: np.ndarray) -> list[float]:
    """Points t at which a smooth part of ``node(t w)`` may change within a narrow interval.

    Where the argument of a function is steep, what happens happens where it is zero or extremal:
    the middle of ``exp(-1e5*(z - 1.2)**2)``, the step of ``tanh(1e4*z)``. An integral that begins
    a panel there cannot step over it.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> [round(t, 6) for t in sharp_points(parse("exp(-100000*(z - 1.25)**2)"), np.ones(1))]
    [1.25]
    """
    found: set[float] = set()
    for argument in _arguments(node):
        values = on_line(argument, w)(_SCAN[np.abs(_SCAN) <= _NEAR])
        if np.nanmax(np.abs(np.diff(values)), initial=0.0) < _STEEP * (_SCAN[1] - _SCAN[0]):
            continue
        for curve in (argument, _slope(argument, w)):
            try:
                zeros = line_zeros(on_line(curve, w))
            except Curved:
                continue
            found.update(round(z, 12) for z in zeros if abs(z) <= _NEAR)
    return sorted(found)[:_MAX_SHARP]


def _arguments(node: Node) -> list[Node]:
    """Arguments of functions, and denominators."""
    inside: dict[Node, None] = {}
    for part in nodes(node):
        match part:
            case Call(arguments=arguments):
                inside |= dict.fromkeys(arguments)
            case Quotient(denominator=bottom):
                inside[bottom] = None
    return [argument for argument in inside if variables(argument)]


def _slope(node: Node, w: np.ndarray) -> Node:
    """Derivative of t -> node(t w)."""
    return add(
        multiply((number(Fraction(float(w[i - 1]))), derivative(node, i))) for i in variables(node)
    )
