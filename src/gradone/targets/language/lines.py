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
_MAX_STEPS = 60
_GOLDEN_STEPS = 45  # then rounding decides
_EPS = float(np.finfo(float).eps)


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
    (zeros,) = family_zeros(lambda _, t: f(t), 1)
    if zeros is None:
        raise Curved
    return zeros


def family_zeros(
    f: Callable[[np.ndarray, np.ndarray], np.ndarray], n: int, reach: float = 40.0
) -> list[list[float] | None]:
    """Zeros and touching points of n smooth functions of one variable on [-reach, reach].

    Parameters
    ----------
    f : callable
        ``(which function, points) -> values``, arrays of one shape.
    n : int
        Number of functions.
    reach : float
        At most 40.

    Returns
    -------
    list of (list or None)
        None for a function with too many zeros to find.

    Examples
    --------
    >>> family_zeros(lambda i, t: t - i, 3)
    [[0.0], [1.0], [2.0]]
    """
    scan, second = (points[np.abs(points) <= reach] for points in (_SCAN, _SECOND_SCAN))
    values = f(*_all_pairs(n, scan))
    size = np.abs(values)
    member, place = _sign_changes(values)
    count = np.bincount(member, minlength=n)
    # Zeros that are denser than the scan show on a second one, whose step is not commensurate.
    again = np.bincount(_sign_changes(f(*_all_pairs(n, second)))[0], minlength=n)
    is_lost = (np.abs(again - count) > 1 + count // 100) | ~np.isfinite(size).any(axis=1)
    keep = ~is_lost[member]
    member, place = member[keep], place[keep]
    crossing = bracketed_zeros(lambda t: f(member, t), scan[place], scan[place + 1])
    owner, where = np.nonzero((values == 0) & ~is_lost[:, None])
    touching = _touching(f, scan, values, is_lost)
    found: list[list[float] | None] = []
    for i in range(n):
        zeros = [*crossing[member == i], *scan[where[owner == i]], *touching[1][touching[0] == i]]
        zeros.sort()
        apart = [float(z) for j, z in enumerate(zeros) if j == 0 or z - zeros[j - 1] > 1e-9]
        found.append(None if is_lost[i] else apart)
    return found


def _all_pairs(n: int, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    shape = (n, len(points))
    return np.broadcast_to(np.arange(n)[:, None], shape), np.broadcast_to(points, shape)


def _touching(
    f: Callable[[np.ndarray, np.ndarray], np.ndarray],
    scan: np.ndarray,
    values: np.ndarray,
    is_lost: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Minima of the absolute values that shrink to nothing: functions and points."""
    size, sign = np.abs(values), np.sign(values)
    left, middle, right = size[:, :-2], size[:, 1:-1], size[:, 2:]
    with np.errstate(invalid="ignore", over="ignore"):
        is_dip = (middle <= left) & (middle <= right) & (sign[:, :-2] == sign[:, 2:])
        # Where a minimum reaches zero its lowest point of the scan is at most an eighth of the
        # second difference.
        is_dip &= 2 * middle <= left + right - 2 * middle
    member, place = np.nonzero(is_dip & ~is_lost[:, None])
    if not len(member):
        return member, np.zeros(0)
    points = _minima(lambda t: np.abs(f(member, t)), scan[place], scan[place + 2])
    scale = np.array([np.median(row[np.isfinite(row)]) for row in size[member]]) + 1e-300
    is_zero = np.abs(f(member, points)) < 1e-12 * scale
    return member[is_zero], points[is_zero]


def bracketed_zeros(
    f: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Zero of f in each interval at whose ends its signs differ.

    Inverse quadratic interpolation of the last three points where that is safe, and else the
    middle of the interval (Chandrupatla).

    Examples
    --------
    >>> bracketed_zeros(np.cos, np.array([1.0]), np.array([2.0])).round(6).tolist()
    [1.570796]
    """
    if not len(low):
        return low
    x1, x2, at1, at2 = low, high, f(low), f(high)
    share = np.full(len(low), 0.5)
    best = low
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for _ in range(_MAX_STEPS):
            x = x1 + share * (x2 - x1)
            value = f(x)
            is_same = np.sign(value) == np.sign(at1)
            x3, at3 = np.where(is_same, x1, x2), np.where(is_same, at1, at2)
            x2, at2 = np.where(is_same, x2, x1), np.where(is_same, at2, at1)
            x1, at1 = x, value
            best = np.where(np.abs(at1) < np.abs(at2), x1, x2)
            least = 2 * _EPS * (1 + np.abs(best)) / np.abs(x2 - x1)
            if ((least > 0.5) | (np.minimum(np.abs(at1), np.abs(at2)) == 0)).all():
                break
            across, up = (x1 - x2) / (x3 - x2), (at1 - at2) / (at3 - at2)
            is_safe = (up**2 < across) & ((1 - up) ** 2 < 1 - across)
            inverse = at1 / (at2 - at1) * at3 / (at2 - at3)
            inverse += (x3 - x1) / (x2 - x1) * at1 / (at3 - at1) * at2 / (at3 - at2)
            share = np.where(is_safe & np.isfinite(inverse), inverse, 0.5)
            share = np.clip(share, np.minimum(least, 0.5), np.maximum(1 - least, 0.5))
    return best


def _minima(f: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Minimum of f in each interval, by golden section."""
    for _ in range(_GOLDEN_STEPS):
        c, d = high - 0.618034 * (high - low), low + 0.618034 * (high - low)
        is_smaller = f(c) < f(d)
        low, high = np.where(is_smaller, low, c), np.where(is_smaller, d, high)
    return (low + high) / 2


def _sign_changes(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and places i such that the sign differs between i and i + 1."""
    row, place = np.nonzero(np.sign(values[:, :-1]) * np.sign(values[:, 1:]) < 0)
    return row, place


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
