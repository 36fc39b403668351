"""An expression along a line: where it vanishes, and where it may change abruptly."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .evaluate import evaluate_columns
from .functions import FUNCTIONS
from .tree import Call, Node, Quotient, nodes, variables

_SCAN = np.linspace(-40.0, 40.0, 8001)
_SECOND_SCAN = np.linspace(-40.0, 40.0, 11003)
_NEAR = 8.0  # beyond, nothing has weight
_STEEP = 20.0  # slope of an argument from which a function of it counts as sharp
_MAX_SHARP = 20_000
_CLOUD, _NEAREST, _TINY = 4096, 64, 1e-7
_VERY_STEEP, _ORDER_ONE, _NEWTON_STEPS = 50.0, 3.0, 20
_LADDER = 0.25 ** np.arange(1.0, 25.0)  # distances of points around a sharp place
_MAX_STEPS = 60
_GOLDEN_STEPS = 45  # then rounding decides
_EPS = float(np.finfo(float).eps)
_Function = Callable[[np.ndarray], np.ndarray]


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
    # Zeros that are denser than the scan show on a second one, whose step is not commensurate.
    count, again = _crossings(values), _crossings(f(*_all_pairs(n, second)))
    is_lost = (np.abs(again - count) > 1 + count // 100) | ~np.isfinite(size).any(axis=1)
    keep = ~is_lost[member]
    member, place = member[keep], place[keep]
    crossing = bracketed_zeros(lambda t: f(member, t), scan[place], scan[place + 1])
    owner, where = np.nonzero(_ends_of_zeros(values) & ~is_lost[:, None])
    touching = _touching(f, scan, values, is_lost)
    found: list[list[float] | None] = []
    for i in range(n):
        zeros = [*crossing[member == i], *scan[where[owner == i]]]
        # Minima are known to half the digits only.
        zeros += [z for z in touching[1][touching[0] == i] if not _is_near(z, zeros, 1e-7)]
        zeros.sort()
        apart = [float(z) for j, z in enumerate(zeros) if j == 0 or z - zeros[j - 1] > 1e-9]
        found.append(None if is_lost[i] else apart)
    return found


def _ends_of_zeros(values: np.ndarray) -> np.ndarray:
    """Where values are zero, but not on both sides: saturated functions cancel over long ways."""
    is_zero = np.pad(values == 0, [(0, 0), (1, 1)])
    return np.asarray(is_zero[:, 1:-1] & ~(is_zero[:, :-2] & is_zero[:, 2:]))


def _is_near(point: float, others: list[float], distance: float) -> bool:
    return bool(len(others)) and float(np.abs(np.array(others) - point).min()) < distance


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
        # second difference. Where saturated functions cancel all three are zero, which is no dip.
        is_dip &= 2 * middle < left + right - 2 * middle
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


def _crossings(values: np.ndarray) -> np.ndarray:
    """Number of changes of sign in each row, also where a value is zero between them."""
    sign = np.sign(values)
    is_between = (sign[:, 1:-1] == 0) & (sign[:, :-2] * sign[:, 2:] < 0)
    return is_between.sum(axis=1) + (sign[:, :-1] * sign[:, 1:] < 0).sum(axis=1)


class SharpPoints(NamedTuple):
    """Points between which a function is smooth, and whether they are all that there are."""

    points: tuple[float, ...]
    is_complete: bool


def sharp_points(node: Node, w: np.ndarray, breaks: Sequence[float] = ()) -> SharpPoints:
    """Points t between which ``node(t w)`` changes on no shorter scale than their distance.

    Where the argument of a function is steep, what happens happens where it is zero or extremal,
    or at one of the `breaks`, on a scale that its values there tell: the middle of
    ``exp(-1e5*(z - 1.2)**2)``, the step of ``tanh(1e4*z)``. Around each such place the points are
    graded: their distances grow from that scale by factors of four. Of too many points those in the
    middle are kept, and places that are denser than the scan are not found: then they are not all.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> points, is_complete = sharp_points(parse("exp(-100000*(z - 1.25)**2)"), np.ones(1))
    >>> sorted({round(t - 1.25, 4) + 0.0 for t in points if abs(t - 1.25) < 0.01})
    [-0.0039, -0.001, 0.0, 0.001, 0.0039]
    """
    grid, second = (scan[np.abs(scan) <= _NEAR] for scan in (_SCAN, _SECOND_SCAN))
    found, is_complete = np.zeros(0), True
    for argument in _arguments(node):
        f = on_line(argument, w)
        with np.errstate(all="ignore"):
            values = f(grid)
            slopes = np.abs(np.diff(values)) / np.diff(grid)
            if not np.nanmax(slopes, initial=0.0) > _STEEP:
                continue
            is_complete &= _sees_all(values, f(second))
            places = [*breaks, *_zeros(f, grid, values), *_extrema(f, grid, values)]
            graded = _graded(f, np.unique(places))
        found = np.union1d(found, graded)
        if len(found) > _MAX_SHARP:  # the middle matters most
            found, is_complete = np.sort(found[np.argsort(np.abs(found))[:_MAX_SHARP]]), False
        grid = np.union1d(grid, found)  # functions of this part are seen by the next scans
    return SharpPoints(tuple(found.tolist()), is_complete)


def _sees_all(values: np.ndarray, others: np.ndarray) -> bool:
    """Whether two scans of a function with different steps see the same crossings of zero."""
    count, again = _crossings(values[None])[0], _crossings(others[None])[0]
    return bool(abs(int(again) - int(count)) <= 1 + count // 100)


def thin_layers(node: Node, r: int) -> tuple[float, float]:
    """Probability of the layers of a function that a rule may step over, and its size there.

    Where the argument of a function is steep, the function changes where it is of order one. What
    that probability is follows from the points next to its zeros; these are moved onto the layer.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> share, size = thin_layers(parse("exp(-1000000*(z1 - z2**2)**2)"), 2)
    >>> 2e-4 < share < 2e-3, round(size, 2)
    (True, 1.0)
    """
    rng = np.random.default_rng(1729)
    z = rng.standard_normal((r, _CLOUD))
    direction = rng.standard_normal(z.shape)
    share, size = 0.0, 0.0
    for argument in _arguments(node):
        u = np.abs(_at(argument, z))
        nearest = np.argpartition(np.nan_to_num(u, nan=np.inf), _NEAREST)[:_NEAREST]
        at, reach = z[:, nearest], max(float(u[nearest].max()), _ORDER_ONE)
        # Half of the points are nearer than the median: so does their number grow with u.
        spread = reach / max(float(np.median(u[nearest])), 1e-300)
        growth = min(1.0, math.log(2) / math.log(max(spread, 2.0)))
        slopes = np.abs(_at(argument, at + _TINY * direction[:, nearest]) - _at(argument, at))
        if not np.median(slopes) > _VERY_STEEP * _TINY:
            continue
        share += float(np.mean(u <= reach)) * (_ORDER_ONE / reach) ** growth
        around = np.hstack([at, _onto_layer(argument, at)])
        size = max(size, float(np.nanmax(np.abs(_at(node, around)))))
    return min(share, 1.0), size if np.isfinite(size) else 0.0


def _at(node: Node, z: np.ndarray) -> np.ndarray:
    values = evaluate_columns(node, lambda i: z[i - 1])
    return np.broadcast_to(np.asarray(values, dtype=np.float64), z.shape[1:])


def _onto_layer(argument: Node, z: np.ndarray) -> np.ndarray:
    """Points moved towards the zeros of an argument along its gradient, by Newton's method."""
    with np.errstate(all="ignore"):
        for _ in range(_NEWTON_STEPS):
            u = _at(argument, z)
            gradient = np.array(
                [(_at(argument, z + step[:, None]) - u) / _TINY for step in _TINY * np.eye(len(z))]
            )
            step = u * gradient / (gradient * gradient).sum(axis=0)
            z = np.where(np.abs(step) < 1, z - step, z)
    return z


def _zeros(f: _Function, grid: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Zeros between the points of a scan, and on them unless the function is zero around."""
    place = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
    alone = grid[_ends_of_zeros(values[None])[0]]
    return np.concatenate([alone, bracketed_zeros(f, grid[place], grid[place + 1])])


def _extrema(f: _Function, grid: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Local extrema of a function that was scanned."""
    rise = np.sign(np.diff(values))
    place = np.flatnonzero(rise[:-1] * rise[1:] < 0) + 1
    up = rise[place - 1]
    return _minima(lambda t: up * -f(t), grid[place - 1], grid[place + 1])


def _graded(f: _Function, places: np.ndarray) -> np.ndarray:
    """Places around which a function is steep, with points at growing distances."""
    steps = _LADDER[:, None]
    sides = [np.abs(f(places + sign * steps) - f(places)) for sign in (-1.0, 1.0)]
    is_slow = ~(np.maximum(*sides) > 1)
    # The longest step below which the function changes by less than one.
    first = np.where(is_slow.all(axis=0), 0, len(_LADDER) - np.argmin(is_slow[::-1], axis=0))
    sharp = np.flatnonzero(first > 1)
    ladders = [
        place + sign * _LADDER[: min(index + 1, len(_LADDER))]
        for place, index in zip(places[sharp], first[sharp], strict=True)
        for sign in (-1.0, 1.0)
    ]
    points = np.unique(np.concatenate([places[sharp], *ladders]))
    return points[np.abs(points) <= _NEAR]


def _arguments(node: Node) -> list[Node]:
    """Arguments of functions that have a scale, which sign and abs have not, and denominators."""
    inside: dict[Node, None] = {}
    for part in nodes(node):
        match part:
            case Call(name=name, arguments=arguments) if FUNCTIONS[name].branches is None:
                inside |= dict.fromkeys(arguments)
            case Quotient(denominator=bottom):  # its relative change counts
                inside[Call("log", (Call("abs", (bottom,)),))] = None
    return [argument for argument in inside if variables(argument)]
