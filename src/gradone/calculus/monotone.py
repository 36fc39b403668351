"""Functions of one variable cut into pieces on which they are monotone, and their inverses there.

A whole family of functions is treated at once: where a known variable is held fixed at many values,
the same work on one function at a time would be spent on calls, not on numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

_GRID = 4001
_GOLDEN, _GOLDEN_STEPS = 0.6180339887498949, 60
_MAX_STEPS = 80
_BLOCK = 32  # points of a scan that are taken for close to each other
_PLATEAU = 4  # equal values in a row; around an extremum there are two
_EPS = float(np.finfo(float).eps)
_ROUNDING, _NEGLIGIBLE = 4 * _EPS, 1e-3 * _EPS
_STUCK = 1e-10
_MAX_TURNS = 600
Family = Callable[[np.ndarray, np.ndarray], np.ndarray]  # which functions, and where


class MonotonePieces(NamedTuple):
    """Intervals on which members of a family are strictly monotone, and where they are constant.

    Parameters
    ----------
    member : ndarray of int, shape (pieces,)
        Which function; in increasing order.
    ends, values : ndarray, shape (pieces, 2)
        The interval, and the values of the function just inside of it.
    z, y, first : ndarray
        Points of a scan and values there; those of piece i are ``first[i]`` to ``first[i + 1] - 1``
        and begin and end with its ends.
    flat : tuple of (member, low, high)
        Intervals on which a member is constant.
    """

    member: np.ndarray
    ends: np.ndarray
    values: np.ndarray
    z: np.ndarray
    y: np.ndarray
    first: np.ndarray
    flat: tuple[tuple[int, float, float], ...]


def monotone_pieces(
    g: Family,
    breaks: Sequence[Sequence[float]],
    reach: float | np.ndarray,
    *,
    is_half: bool = False,
) -> MonotonePieces:
    """Pieces of all members of a family on [-reach, reach].

    Members that oscillate too fast for the scan have no pieces. Local extrema are located
    first and roots are bracketed by them: scanning for changes of sign alone loses pairs of roots
    next to an extremum.

    Parameters
    ----------
    g : callable
        ``(members, points) -> values``.
    breaks : sequence of sequences of float
        For each member, points where it jumps or has a kink.
    reach : float or ndarray
        Half the length of the line, of each member if they differ.
    is_half : bool
        Whether the half from 0 on is enough.

    Examples
    --------
    >>> pieces = monotone_pieces(lambda i, z: (i + 1) * z * z, [[], [1.0]], 2.0)
    >>> pieces.member.tolist(), (pieces.ends[:, 1].round(6) + 0.0).tolist()
    ([0, 0, 1, 1, 1], [0.0, 2.0, 0.0, 1.0, 2.0])
    """
    return _pieces(g, breaks, reach, is_half, cut_plateaus=True)


def _pieces(
    g: Family,
    breaks: Sequence[Sequence[float]],
    reach: float | np.ndarray,
    is_half: bool,
    *,
    cut_plateaus: bool,
) -> MonotonePieces:
    """Pieces between breaks, and between the ends of plateaus if those are to be found."""
    top = np.broadcast_to(reach, len(breaks))
    member, low, high = _segments(breaks, 0 * top if is_half else -top, top)
    z, of = _scan(low, high, float(np.max(reach)))
    y = g(member[of], z)
    begin = np.searchsorted(of, np.arange(len(member)))
    with np.errstate(invalid="ignore"):
        scale = np.maximum.reduceat(np.abs(y), begin) + 1e-300
        spread = np.maximum.reduceat(y, begin) - np.minimum.reduceat(y, begin)
        rise = np.diff(y)
        rise = np.sign(np.where(np.abs(rise) <= 1e-14 * _nearby(y)[:-1], 0.0, rise))
    rise[of[1:] != of[:-1]] = 0.0
    is_flat = spread <= 1e-12 * scale
    plateaus = _plateaus(y, of, is_flat) if cut_plateaus else ()
    if len(plateaus):
        more = [[*points] for points in breaks]
        for i in plateaus:
            more[member[of[i]]].append(float(z[i]))
        # Once: next to its limit a function such as erf is a staircase of rounded numbers, which
        # has plateaus at every scale.
        return _pieces(g, more, reach, is_half, cut_plateaus=False)
    moving = np.flatnonzero(rise)
    here, after = moving[:-1], moving[1:]
    is_turn = (rise[here] != rise[after]) & (of[here] == of[after]) & ~is_flat[of[here]]
    # What turns at every few points of the scan was not seen by it.
    is_wild = np.bincount(member[of[here[is_turn]]], minlength=len(breaks)) > _MAX_TURNS
    is_turn &= ~is_wild[member[of[here]]]
    # Between the two points the function may seem constant next to larger values.
    first, last = here[is_turn], after[is_turn] + 1
    extrema = _extrema(g, member[of[first]], z[first], z[last], rise[first])
    flat = tuple((int(member[i]), float(low[i]), float(high[i])) for i in np.flatnonzero(is_flat))
    # Ends of the pieces, and the scanned points inside of each: from `start` up to `stop`.
    moves = np.flatnonzero(~is_flat & ~is_wild[member])
    owner = np.append(moves, of[first])
    left, right = np.append(low[moves], extrema), np.append(high[moves], extrema)
    start = np.append(begin[moves], _first_above(z, first, extrema, np.greater))
    stop = np.append(
        np.append(begin, len(z))[moves + 1], _first_above(z, first, extrema, np.greater_equal)
    )
    from_left, from_right = np.lexsort((left, owner)), np.lexsort((right, owner))
    ends = np.column_stack([left[from_left], right[from_right]])
    span = np.column_stack([start[from_left], stop[from_right]])
    is_long = np.diff(ends)[:, 0] > 1e-12
    return _with_values(
        g, member[owner[from_left]][is_long], ends[is_long], span[is_long], z, y, flat
    )


def _segments(
    breaks: Sequence[Sequence[float]], bottom: np.ndarray, top: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Member, low and high end of every interval between breaks."""
    rows = []
    lines = zip(breaks, bottom.tolist(), top.tolist(), strict=True)
    for member, (points, first, last) in enumerate(lines):
        inner = [b for b in sorted(points) if first < b < last]
        rows += [(member, a, b) for a, b in itertools.pairwise([first, *inner, last]) if b > a]
    table = np.array(rows)
    return table[:, 0].astype(np.int64), table[:, 1], table[:, 2]


def _scan(low: np.ndarray, high: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Points spread over each interval, and the interval of each."""
    margin = 1e-12 * (1 + np.abs(low) + np.abs(high))
    count = np.maximum(64, (_GRID * (high - low) / (2 * reach)).astype(np.int64))
    of = np.repeat(np.arange(len(low)), count)
    index = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
    step = (high - low - 2 * margin) / (count - 1)
    return (low + margin)[of] + index * step[of], of


def _nearby(y: np.ndarray) -> np.ndarray:
    """Largest value around each point of a scan.

    The largest of all would hide the extrema of functions that grow fast.
    """
    blocks = np.pad(np.abs(y), (0, -len(y) % _BLOCK)).reshape(-1, _BLOCK).max(axis=1)
    padded = np.pad(blocks, 1)
    wide = np.maximum(blocks, np.maximum(padded[:-2], padded[2:]))
    return np.repeat(wide, _BLOCK)[: len(y)] + 1e-300


def _plateaus(y: np.ndarray, of: np.ndarray, is_flat: np.ndarray) -> np.ndarray:
    """Ends of stretches on which a function that varies elsewhere rounds to one number.

    Far out ``gelu`` is zero in floating point: there the output is an atom as far as we can see.
    """
    same = (np.diff(y) == 0) & (of[1:] == of[:-1]) & ~is_flat[of[:-1]]
    change = np.diff(np.concatenate([[0], same.astype(np.int8), [0]]))
    start, stop = np.flatnonzero(change == 1), np.flatnonzero(change == -1)
    is_long = stop - start >= _PLATEAU
    ends = np.concatenate([start[is_long], stop[is_long]])
    inner = (ends > 0) & (ends < len(y) - 1)
    ends = ends[inner]
    return ends[(of[ends - 1] == of[ends]) & (of[ends + 1] == of[ends])]


def _first_above(
    z: np.ndarray, first: np.ndarray, limit: np.ndarray, is_above: np.ufunc
) -> np.ndarray:
    """Index of the first scanned point from `first` on that lies above a limit."""
    found = first.copy()
    while len(below := np.flatnonzero(~is_above(z[found], limit))):
        found[below] += 1
    return found


def _extrema(
    g: Family, member: np.ndarray, low: np.ndarray, high: np.ndarray, up: np.ndarray
) -> np.ndarray:
    """Positions of maxima (`up` = 1) and minima (-1) between two points, by golden section."""
    if not len(member):
        return np.zeros(0)
    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_a, at_b = up * g(member, a), up * g(member, b)
    for _ in range(_GOLDEN_STEPS):
        left = at_a > at_b
        low, high = np.where(left, low, a), np.where(left, b, high)
        new = np.where(left, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        value = up * g(member, new)
        a, b = np.where(left, new, b), np.where(left, a, new)
        at_a, at_b = np.where(left, value, at_b), np.where(left, at_a, value)
    return (low + high) / 2


def _with_values(
    g: Family,
    member: np.ndarray,
    ends: np.ndarray,
    span: np.ndarray,
    z: np.ndarray,
    y: np.ndarray,
    flat: tuple[tuple[int, float, float], ...],
) -> MonotonePieces:
    """Pieces with the points of a scan z, y inside of each, and the values just inside its ends."""
    count = span[:, 1] - span[:, 0] + 2
    first = np.concatenate([[0], np.cumsum(count)])
    place = np.arange(first[-1]) + np.repeat(span[:, 0] - 1 - first[:-1], count)
    place = np.clip(place, 0, len(z) - 1)
    knots, at_knots = z[place], y[place]
    values = g(np.repeat(member, 2), inside(ends).ravel()).reshape(-1, 2) if len(ends) else ends
    for end, at in enumerate((first[:-1], first[1:] - 1)):
        knots[at], at_knots[at] = ends[:, end], values[:, end]
    return MonotonePieces(member, ends, values, knots, at_knots, first, flat)


def inside(ends: np.ndarray) -> np.ndarray:
    """Points just inside of intervals (n, 2): a jump at an end belongs to the neighbour."""
    return ends + 1e-13 * (1 + np.abs(ends)) * [1, -1]


def inverse(
    g: Family, slope: Family, pieces: MonotonePieces, which: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """Point of piece ``which[i]`` at which its function takes the value ``y[i]``, for each i.

    Newton steps inside the interval of the scan that contains the point; a step that leaves it
    halves the interval instead. The values must lie between those at the ends of the pieces.

    Examples
    --------
    >>> square, double = lambda i, z: z * z, lambda i, z: 2 * z
    >>> pieces = monotone_pieces(square, [[]], 2.0)
    >>> inverse(square, double, pieces, np.array([0, 1]), np.array([2.25, 4.0]))
    array([-1.5,  2. ])
    """
    sign = np.where(pieces.values[which, 1] > pieces.values[which, 0], 1.0, -1.0)
    left, right = pieces.first[which], pieces.first[which + 1] - 1
    wide = np.arange(len(which))
    while len(wide := wide[right[wide] - left[wide] > 1]):
        middle = (left[wide] + right[wide]) // 2
        below = sign[wide] * pieces.y[middle] <= sign[wide] * y[wide]
        left[wide] = np.where(below, middle, left[wide])
        right[wide] = np.where(below, right[wide], middle)
    low, high = pieces.z[left], pieces.z[right]
    x, member = _guess(slope, pieces, which, left, y), pieces.member[which]
    root, before = x.copy(), high - low  # before: length of the last Newton step
    active = np.arange(len(which))
    with np.errstate(all="ignore"):
        for _ in range(_MAX_STEPS):
            gap = sign * (g(member, x) - y)
            low, high = np.where(gap <= 0, x, low), np.where(gap >= 0, x, high)
            new = x - gap / (sign * slope(member, x))
            is_inside = (new >= low) & (new <= high)
            new = np.where(is_inside, new, (low + high) / 2)
            step, length = np.abs(new - x), 1 + np.abs(x)
            # Steps s', s of Newton's method promise a next one of s^3/s'^2. Next to an extremum
            # rounding comes first: then the value is taken, or the steps do not become shorter.
            following = np.where(is_inside, step * (step / before) ** 2, step)
            is_taken = np.abs(gap) <= _ROUNDING * np.abs(y)
            is_stuck = (2 * step >= before) & (high - low <= _STUCK * length)
            before = np.where(is_inside, step, high - low)
            root[active] = new
            rest = np.flatnonzero((following > _NEGLIGIBLE * length) & ~is_taken & ~is_stuck)
            if not len(rest):
                break
            active, x, member, y = active[rest], new[rest], member[rest], y[rest]
            sign, low, high, before = sign[rest], low[rest], high[rest], before[rest]
    return root


def _guess(
    slope: Family, pieces: MonotonePieces, which: np.ndarray, left: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """Points between the scanned ones `left` and ``left + 1``, by interpolation.

    Linear, except next to an extremum, where the function is a square.
    """
    low, high = pieces.z[left], pieces.z[left + 1]
    at_low, at_high = pieces.y[left], pieces.y[left + 1]
    with np.errstate(all="ignore"):
        share = (y - at_low) / (at_high - at_low)
        for side, is_end in enumerate(
            (left == pieces.first[which], left + 2 == pieces.first[which + 1])
        ):
            end = np.flatnonzero(is_end)
            rise = slope(pieces.member[which[end]], (low, high)[side][end]) * (high - low)[end]
            end = end[np.abs(rise) < 0.1 * np.abs(at_high - at_low)[end]]
            share[end] = (1 - np.sqrt(1 - share[end])) if side else np.sqrt(share[end])
        guess = low + (high - low) * share
    return np.where((guess > low) & (guess < high), guess, (low + high) / 2)
