"""Where the most probable label changes along lines of prior means."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_FLAT = 1e-9  # logarithms of probabilities that differ by less are equal up to rounding
_PRECISE = 1e-4  # of the distance of the points: the largest probability is off by its square
_MOST_STEPS = 30
_ROUNDS = 4  # labels that appear between two others
_DOUBT = 0.2  # logarithm of a ratio: with less, another label may be the most probable one
_LEAST = -60.0  # logarithm of a probability: less is as little

Logarithms = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Takes lines (m,) and places on them (m,) to logarithms (m, labels) of probabilities."""


def label_changes(
    logarithms: Logarithms,
    line: np.ndarray,
    x: np.ndarray,
    logs: np.ndarray,
    *,
    rounds: int = _ROUNDS,
) -> tuple[np.ndarray, np.ndarray]:
    """Line and place of the kinks of the largest probability.

    Parameters
    ----------
    logarithms : callable
        Logarithms of the probabilities of all labels.
    line, x : arrays (m,)
        Points on each line, in increasing order.
    logs : array (m, labels)
        The logarithms at these points.
    rounds : int
        How many labels may appear between those of two neighbors.

    Examples
    --------
    >>> def logarithms(line, x):
    ...     return np.stack([0 * x, x - 0.5, 3 * (x - 1)], axis=1)
    >>> line, x = np.zeros(2, int), np.array([0.0, 3.0])
    >>> label_changes(logarithms, line, x, logarithms(line, x))[1].round(3).tolist()
    [0.5, 1.25]
    """
    logs = np.maximum(logs, _LEAST)
    near_line, near = _almost_changes(line, x, logs)
    if len(near):
        line, x = np.concatenate([line, near_line]), np.concatenate([x, near])
        logs = np.concatenate([logs, np.maximum(logarithms(near_line, near), _LEAST)])
        order = np.lexsort((x, line))
        line, x, logs = line[order], x[order], logs[order]
    which = logs.argmax(axis=1)
    at = np.flatnonzero((line[1:] == line[:-1]) & (which[1:] != which[:-1]))
    pairs = np.stack([which[at], which[at + 1]])
    apart = np.maximum(_excess(logs[at], pairs), -_excess(logs[at + 1], pairs)) > _FLAT
    at, pairs = at[apart], pairs[:, apart]
    owner, low, high = line[at], x[at], x[at + 1]
    if not len(at):
        return owner, low
    place, there = _crossings(
        lambda rows, x: np.maximum(logarithms(owner[rows], x), _LEAST),
        (low, high),
        (_excess(logs[at], pairs), _excess(logs[at + 1], pairs)),
        pairs,
    )
    larger = np.take_along_axis(there, pairs.T, axis=1).max(axis=1)
    third = np.flatnonzero(there.max(axis=1) > larger + _PRECISE)
    if not len(third) or not rounds:
        return owner, place
    points = np.stack([low, place, high], axis=1)[third].ravel()
    known = np.stack([logs[at], there, logs[at + 1]], axis=1)[third].reshape(len(points), -1)
    inner, inner_place = label_changes(
        lambda i, x: logarithms(owner[third[i]], x),
        np.repeat(np.arange(len(third)), 3),
        points,
        known,
        rounds=rounds - 1,
    )
    return (
        np.concatenate([np.delete(owner, third), owner[third[inner]]]),
        np.concatenate([np.delete(place, third), inner_place]),
    )


def _almost_changes(
    line: np.ndarray, x: np.ndarray, logs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where another label may be the most probable one between points that have the same label.

    The vertex of a parabola through three values of the difference of two logarithms.
    """
    which = logs.argmax(axis=1)
    i = np.arange(1, len(x) - 1)
    i = i[(line[i - 1] == line[i + 1]) & (which[i - 1] == which[i]) & (which[i] == which[i + 1])]
    before, here, after = (
        logs[j, which[i]][:, None] - logs[j] for j in (i - 1, i, i + 1)
    )  # (n, labels)
    first = (here - before) / (x[i] - x[i - 1])[:, None]
    bend = ((after - here) / (x[i + 1] - x[i])[:, None] - first) / (x[i + 1] - x[i - 1])[:, None]
    row, label = np.nonzero((here <= before) & (here <= after) & (bend > 0))
    i, bend, first, before = i[row], bend[row, label], first[row, label], before[row, label]
    vertex = (x[i - 1] + x[i]) / 2 - first / (2 * bend)
    least = before + (vertex - x[i - 1]) * (first + bend * (vertex - x[i]))
    found = (least < _DOUBT) & (vertex > x[i - 1]) & (vertex < x[i + 1]) & (vertex != x[i])
    return line[i][found], vertex[found]


def _excess(logs: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """By how much the first label of each pair (2, n) exceeds the second."""
    first, second = np.take_along_axis(logs, pairs.T, axis=1).T
    return np.asarray(first - second)


def _crossings(
    logarithms: Logarithms,
    ends: tuple[np.ndarray, np.ndarray],
    excesses: tuple[np.ndarray, np.ndarray],
    pairs: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Where two labels are equally probable, and the logarithms of all of them there.

    The Illinois method: secants that keep a change of sign between their ends.
    """
    a, b = (end.copy() for end in ends)
    above, below = (excess.copy() for excess in excesses)
    enough = _PRECISE * (b - a)
    place, side = np.full(len(a), np.inf), np.zeros(len(a))
    active = np.arange(len(a))
    for step in range(_MOST_STEPS):
        fa, fb = above[active], below[active]
        x = a[active] + (b - a)[active] * fa / np.maximum(fa - fb, 1e-300)
        moved = np.abs(x - place[active])
        found = logarithms(active, x)
        if step == 0:
            logs = found.copy()
        place[active], logs[active] = x, found
        now = _excess(found, pairs[:, active])
        is_left = now > 0
        # An end that stays for the second time counts half, so that it moves in the end.
        above[active] = np.where(is_left, now, np.where(side[active] < 0, fa / 2, fa))
        below[active] = np.where(is_left, np.where(side[active] > 0, fb / 2, fb), now)
        a[active], b[active] = np.where(is_left, x, a[active]), np.where(is_left, b[active], x)
        side[active] = np.where(is_left, 1.0, -1.0)
        active = active[(moved > enough[active]) & ((b - a)[active] > enough[active])]
        if not len(active):
            break
    return place, logs
