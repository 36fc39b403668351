"""Monotone iteration of a map of overlap matrices, with checked leaps.

The maps of Bayes-optimal state evolution preserve the order of symmetric matrices: more overlap
gives more overlap. Iterating from a matrix M with T(M) >= M climbs to the smallest fixed point
above it, from T(M) <= M it descends to the largest below. Acceleration may not jump over a fixed
point, so a leap lands only where the map still points in the same direction, or where the
residual has collapsed and nothing turned on the way.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

CAP = 1e-6  # what is always missing to full overlap: beyond, the posterior is a point
_MEMORY = 4
_FAR = 0.05  # leaps longer than this are looked at in the middle
_CLOSER = 0.5  # what is missing in every direction where an approach may be steady
_STEADY = 0.05  # share of it by which an iteration shrinks it
_ALIKE = 4.0  # what is missing in one direction, in units of another, if they shrink together
_SAME = 1e-10  # overlaps closer than this differ by rounding
_ABOVE = 0.05  # overlap of a place that is far above the end of a descent
_REACHED, _SLOW = 0.1, 0.03  # of what is missing: an end that counts as full, a slow step to it
_PASSED = 0.02  # of a residual that counts as having turned


class Climb(NamedTuple):
    """Where the iteration ended."""

    M: np.ndarray
    residual: float
    n_iter: int
    converged: bool
    narrow: float
    """Smallest residual that grew again on the way: what closes such a bottleneck is an error of
    this size. Infinite if there was none."""
    narrow_at: np.ndarray | None
    """Where it was met; if there was none, where the iteration came closest to a halt."""


def climb(
    step: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    *,
    tolerance: float = 1e-7,
    max_iter: int = 400,
) -> Climb:
    """Fixed point that the iteration ``M <- step(M)`` reaches from `start`.

    Parameters
    ----------
    step : callable
        Order-preserving map of overlap matrices.
    start : array (r, r)
        First overlap matrix.
    tolerance : float
        Largest entry of ``step(M) - M`` that counts as converged; less where M is close to I, so
        that perfect recovery is told from almost perfect.
    max_iter : int
        Evaluations of the map after which to give up.

    Examples
    --------
    >>> half = climb(lambda M: (M + np.eye(1)) / 3, np.zeros((1, 1)))
    >>> round(float(half.M[0, 0]), 6), half.converged
    (0.5, True)
    """
    M = np.array(start, dtype=np.float64)
    R = step(M) - M
    count, leap = 1, 1.0
    past: list[tuple[np.ndarray, np.ndarray]] = []
    path = [(M, _size(R))]
    while _size(R) > tolerance * _room(M) and count < max_iter:
        past = [*past[-_MEMORY:], (M, R)]
        guess = _mixed(past)
        if guess is not None:
            at_guess, used = _try(step, M, R, guess)
            count += used
            if at_guess is not None:
                M, R, leap = guess, at_guess, 1.0
                path.append((M, _size(R)))
                continue
        long = within(M + leap * R)
        while leap > 1 and not _is_short(M, long, left=_left(past)):
            leap /= 2
            long = within(M + leap * R)
        at_long = step(long) - long
        count += 1
        if leap == 1 or _points_along(R, at_long):
            M, R, leap = long, at_long, 2 * leap
            path.append((M, _size(R)))
        else:
            leap = max(leap / 4, 1.0)
    narrow = _narrow(np.array([size for _, size in path]))
    return Climb(
        M,
        _size(R),
        count,
        _size(R) <= tolerance * _room(M),
        np.inf if narrow is None else path[narrow][1],
        _closest(step, path) if narrow is None else path[narrow][0],
    )


def _closest(
    step: Callable[[np.ndarray], np.ndarray], path: list[tuple[np.ndarray, float]]
) -> np.ndarray | None:
    """Where the iteration came closest to a halt far from its end; None if nowhere.

    In units of the distance from full overlap or from the end. Of a descent also between the places
    of the path, which leaps over a halt that errors hide; of an ascent to full overlap only if it
    was slow.
    """
    end = path[-1][0]

    def missing(M: np.ndarray) -> float:
        return float(np.trace(np.eye(len(M)) - M))

    def share(place: tuple[np.ndarray, float]) -> float:
        M, size = place
        return size / min(missing(M), abs(float(np.trace(M - end))))

    below = [(M, size) for M, size in path if missing(end) < _REACHED * missing(M)]
    slow = min(below, key=share, default=None)
    if slow is not None and share(slow) < _SLOW:
        return slow[0]
    above = [(M, size) for M, size in path if np.trace(M - end) > _ABOVE * len(M)]
    for (M, _), (other, _) in itertools.pairwise(above[:]):
        between = (M + other) / 2
        above.append((between, _size(step(between) - between)))
    return min(above, key=share)[0] if above else None


def _narrow(sizes: np.ndarray) -> int | None:
    """Place of the smallest number that has numbers at least twice as large before and after it.

    Examples
    --------
    >>> _narrow(np.array([0.3, 0.01, 0.1, 0.001])), _narrow(np.array([0.1, 0.2, 0.1]))
    (1, None)
    """
    before = np.maximum.accumulate(sizes)
    after = np.maximum.accumulate(sizes[::-1])[::-1]
    places = np.flatnonzero(2 * sizes < np.minimum(before, after))
    return int(places[sizes[places].argmin()]) if len(places) else None


def _try(
    step: Callable[[np.ndarray], np.ndarray], M: np.ndarray, R: np.ndarray, guess: np.ndarray
) -> tuple[np.ndarray | None, int]:
    """Residual at a guess of the fixed point, or None if the guess is not to be trusted."""
    used = 0
    if not _is_short(M, guess) or np.trace(guess - M) * np.trace(R) < 0:
        return None, used
    if _size(guess - M) > _FAR:
        middle = (M + guess) / 2
        used += 1
        if not _points_along(R, step(middle) - middle):
            return None, used
    at_guess = step(guess) - guess
    return (at_guess if _size(at_guess) < 0.5 * _size(R) else None), used + 1


def _mixed(past: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray | None:
    """Anderson's guess of the fixed point from the last iterates."""
    if len(past) < 3:
        return None
    M, R = past[-1]
    dM = np.array([(a[0] - b[0]).ravel() for a, b in zip(past[1:], past[:-1], strict=True)]).T
    dR = np.array([(a[1] - b[1]).ravel() for a, b in zip(past[1:], past[:-1], strict=True)]).T
    coefficients = np.linalg.lstsq(dR, R.ravel(), rcond=1e-8)[0]
    mixed = (M + R).ravel() - (dM + dR) @ coefficients
    guess = mixed.reshape(M.shape)
    return within((guess + guess.T) / 2)


def within(M: np.ndarray) -> np.ndarray:
    """Overlap matrix brought back into 0 <= M < I.

    Overlaps that rounding tells apart are made equal: leap after leap would drive them apart, and
    symmetries would be lost that make the map cheap.
    """
    overlaps, Q = np.linalg.eigh((M + M.T) / 2)
    return (Q * np.minimum(_merged(overlaps), 1 - CAP)) @ Q.T


def _merged(overlaps: np.ndarray) -> np.ndarray:
    """Ascending overlaps, those that differ by rounding replaced by their mean."""
    group = np.cumsum(np.concatenate([[0], np.diff(overlaps) > _SAME]))
    return (np.bincount(group, overlaps) / np.bincount(group))[group]


def _points_along(R: np.ndarray, other: np.ndarray) -> bool:
    """Whether two residuals point up (or down) together in every direction where the first does."""
    sign = 1.0 if np.trace(R) >= 0 else -1.0
    return float(np.linalg.eigvalsh(sign * other)[0]) >= -_PASSED * _size(R)


def _is_short(M: np.ndarray, far: np.ndarray, *, left: float = 0.5) -> bool:
    """Whether a leap changes the overlap, and what is missing to full overlap, at most twofold.

    And leaves the share `left` of what is missing in every direction.
    """
    r, before, after = len(M), np.trace(M), np.trace(far)
    if not (before / 2 <= after <= 2 * before and r - after <= 2 * (r - before)):
        return False
    return float(np.linalg.eigvalsh(np.eye(r) - far - left * (np.eye(r) - M))[0]) >= -CAP


def _left(past: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """Share of what is missing to full overlap that a leap leaves.

    Smaller than a half if the last iterates came closer by as large a share of the rest each, in
    every direction: a bottleneck ahead would slow one of them down. Still smaller if all directions
    shrink together, so that the posterior does not change its shape.
    """
    missing = 1 - np.linalg.eigvalsh(past[-1][0])
    if len(past) < 3 or missing[0] > _CLOSER:
        return 1 / 2
    shares = [_smallest_share(M, R) for M, R in past[-3:]]
    if shares[0] < _STEADY or any(b < 0.9 * a for a, b in zip(shares, shares[1:], strict=False)):
        return 1 / 2
    return 1 / 4 if missing[0] > _ALIKE * missing[-1] else 1 / 16


def _smallest_share(M: np.ndarray, R: np.ndarray) -> float:
    """Smallest share of what is missing to full overlap by which a step R reduces it.

    Over all directions but those that are at the cap.

    Examples
    --------
    >>> round(_smallest_share(np.diag([0.9, 0.2]), np.diag([0.01, 0.4])), 3)
    0.1
    """
    overlaps, Q = np.linalg.eigh(M)
    kept = 1 - overlaps > 2 * CAP
    unit = Q[:, kept] / np.sqrt(1 - overlaps[kept])
    return float(np.linalg.eigvalsh(unit.T @ R @ unit).min(initial=1.0))


def _room(M: np.ndarray) -> float:
    """Ten times what is missing to full overlap, at most 1; directions at the cap do not count."""
    missing = 1 - np.linalg.eigvalsh(M)
    return min(1.0, 10 * float(missing[missing > 2 * CAP].min(initial=1.0)))


def _size(R: np.ndarray) -> float:
    return float(np.abs(R).max())
