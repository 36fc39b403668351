"""Compiled Gaussian weight of a region in a plane: one direction in closed form, one by panels."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from .interval_kernels import DENSITY, scaled_moments

_NARROW = 1e-4  # length of an interval on which a Gaussian is uniform
SHARP = 1.0  # width of a rise, in standard deviations, below which it gets panels of its own
RISE = 3.0  # half-width of these panels, in widths of the rise
_LOST = 40.0  # exp(-_LOST) of what is there already is nothing


@njit(cache=True, nogil=True, error_model="numpy")
def piece_moments(low: float, high: float) -> tuple[float, float, float, float]:
    """Log scale and moments of order 0, 1, 2 of N(0, 1) on an interval, of any length."""
    if high - low < _NARROW:  # nothing but rounding is left of the differences
        mean, length = 0.5 * (low + high), high - low
        mass = DENSITY * length
        return -0.5 * mean * mean, mass, mass * mean, mass * (mean * mean + length * length / 12.0)
    return scaled_moments(low, high)


@njit(cache=True, nogil=True, error_model="numpy")
def _narrowed(low: float, high: float, c0: float, c1: float) -> tuple[float, float]:
    """Part of an interval on which c_0 + c_1 s > 0; none is left if high < low."""
    if c1 > 0.0:
        return max(low, -c0 / c1), high
    if c1 < 0.0:
        return low, min(high, -c0 / c1)
    return (low, high) if c0 > 0.0 else (np.inf, -np.inf)


@njit(cache=True, nogil=True, error_model="numpy")
def _sort(values: np.ndarray, n: int) -> None:
    """Sort the first n numbers, a few, in place."""
    for i in range(1, n):
        value, j = values[i], i
        while j and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@njit(cache=True, nogil=True, error_model="numpy")
def allowed_intervals(
    c: np.ndarray, sign: np.ndarray, edges: np.ndarray, lows: np.ndarray, highs: np.ndarray
) -> int:
    """Where sign_j (c_0 + c_1 s + c_2 s^2)_j > 0 for all j, c of shape (j, 3); returns how many."""
    n = 1
    low, high = -np.inf, np.inf
    for j in range(len(sign)):
        c0, c1, c2 = sign[j] * c[j, 0], sign[j] * c[j, 1], sign[j] * c[j, 2]
        if c2 == 0.0:
            low, high = _narrowed(low, high, c0, c1)
            continue
        square = c1 * c1 - 4.0 * c2 * c0
        if square >= 0.0:
            half = -0.5 * (c1 + math.copysign(math.sqrt(square), c1))
            edges[n] = half / c2
            edges[n + 1] = c0 / half if half != 0.0 else half / c2
            n += 2
        elif c2 < 0.0:
            return 0
    if not low < high:
        return 0
    if n == 1:
        lows[0], highs[0] = low, high
        return 1
    edges[0], edges[n] = -np.inf, np.inf
    _sort(edges, n + 1)
    found = 0
    for k in range(n):
        left, right = max(edges[k], low), min(edges[k + 1], high)
        if not left < right:
            continue
        inside = 0.5 * (left + right)
        if left == -np.inf:
            inside = right - 1.0 if right < np.inf else 0.0
        elif right == np.inf:
            inside = left + 1.0
        holds = True
        for j in range(len(sign)):
            if c[j, 2] != 0.0:
                value = c[j, 0] + inside * (c[j, 1] + inside * c[j, 2])
                holds = holds and sign[j] * value > 0.0
        if holds:
            lows[found], highs[found] = left, right
            found += 1
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def _cut_at_zeros(c: np.ndarray, reach: float, cuts: np.ndarray, n: int) -> int:
    """Append the zeros of a polynomial of degree one or two within the reach; returns how many."""
    degree = len(c) - 1
    size = 0.0
    for value in c:
        size = max(size, abs(value))
    while degree > 0 and abs(c[degree]) <= 1e-13 * size:
        degree -= 1
    if degree == 1:
        cuts[n] = -c[0] / c[1]
        return n + 1 if abs(cuts[n]) < reach else n
    if degree != 2:
        return n
    square = c[1] * c[1] - 4.0 * c[2] * c[0]
    if square < 0.0:
        return n
    half = -0.5 * (c[1] + math.copysign(math.sqrt(square), c[1]))
    for zero in (half / c[2], c[0] / half if half != 0.0 else 0.0):
        if abs(zero) < reach:
            cuts[n] = zero
            n += 1
    return n


@njit(cache=True, nogil=True, error_model="numpy")
def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    out = np.zeros(len(a) + len(b) - 1)
    for i in range(len(a)):
        for j in range(len(b)):
            out[i + j] += a[i] * b[j]
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _panel_cuts(c: np.ndarray, reach: float, cuts: np.ndarray) -> int:
    """Places along e at which the weight of the conditions c (j, degree + 1, 3) is not smooth.

    A condition a(e) + b(e) s > 0 has the probability of an error function of a/b: it jumps where
    b vanishes, and rises within b/a' where a does, maybe fast. Two of them exchange their parts
    where both vanish at the same s; one of degree two appears where its discriminant vanishes.
    """
    n = 0
    count = len(c)
    zeros = np.empty(2 * c.shape[1])
    for j in range(count):
        a, b = c[j, :, 0], c[j, :, 1]
        if c[j, :, 2].any():
            square = _product(b, b) - 4.0 * _product(a, c[j, :, 2])
            n = _cut_at_zeros(square, reach, cuts, n)
            n = _cut_at_zeros(c[j, :, 2], reach, cuts, n)
        elif b.any():
            n = _cut_at_zeros(b, reach, cuts, n)
        else:
            n = _cut_at_zeros(a, reach, cuts, n)
            continue
        for k in range(_cut_at_zeros(a, reach, zeros, 0)):
            e = zeros[k]
            slope, height = 0.0, 0.0
            for i in range(len(a) - 1, -1, -1):
                slope = slope * e + i * a[i] if i else slope
                height = height * e + b[i]
            if abs(height) < SHARP * abs(slope):
                width = RISE * abs(height / slope)
                cuts[n], cuts[n + 1], cuts[n + 2] = e - width, e, e + width
                n += 3
        for k in range(j):
            if c[k, :, 1].any() and not c[k, :, 2].any() and not c[j, :, 2].any():
                crossing = _product(a, c[k, :, 1]) - _product(b, c[k, :, 0])
                n = _cut_at_zeros(crossing, reach, cuts, n)
    return n


@njit(cache=True, nogil=True, error_model="numpy")
def _panels(
    c: np.ndarray, reach: float, step: float, points: np.ndarray, weights: np.ndarray,
    cuts: np.ndarray, node: np.ndarray, weight: np.ndarray,
) -> int:  # fmt: skip
    """Gauss-Legendre nodes on [-reach, reach] between the cuts; returns how many.

    Row n of `points`, `weights` is the rule with n nodes on [0, 1].
    """
    n = _panel_cuts(c, reach, cuts[1:]) + 1
    cuts[0], cuts[n] = -reach, reach
    _sort(cuts, n + 1)
    most = points.shape[1]
    size = 0
    for k in range(n):
        left, right = max(cuts[k], -reach), min(cuts[k + 1], reach)
        length = right - left
        if length < 1e-9:
            continue
        own = min(int(math.ceil(length / step)) + 3, most)
        for j in range(own):
            node[size] = left + length * points[own, j]
            weight[size] = DENSITY * length * weights[own, j]
            size += 1
    return size


@njit(cache=True, nogil=True, error_model="numpy")
def _at(c: np.ndarray, b: int, e: float) -> float:
    """Coefficient of s^b at e, of a condition c (degree + 1, 3)."""
    value = c[-1, b]
    for a in range(len(c) - 2, -1, -1):
        value = value * e + c[a, b]
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def _plane_moments(
    c: np.ndarray, sign: np.ndarray, node: np.ndarray, weight: np.ndarray, size: int, base: float,
    along: np.ndarray, edges: np.ndarray, lows: np.ndarray, highs: np.ndarray, sums: np.ndarray,
) -> float:  # fmt: skip
    """Moments (1, e, s, ee, es, ss) over the region in units of exp(base); returns the largest log.

    The region is sign_j c_j(e, s) > 0; e has the given nodes and s is integrated in closed form.
    """
    sums[:] = 0.0
    highest = -np.inf
    last_low, last_high = np.nan, np.nan
    scale, m0, m1, m2 = 0.0, 0.0, 0.0, 0.0
    is_curved = c[:, :, 2].any()
    for k in range(size):
        e = node[k]
        if is_curved:
            for j in range(len(sign)):
                for b in range(3):
                    along[j, b] = _at(c[j], b, e)
            pieces = allowed_intervals(along, sign, edges, lows, highs)
        else:  # a single interval
            low, high = -np.inf, np.inf
            for j in range(len(sign)):
                low, high = _narrowed(
                    low, high, sign[j] * _at(c[j], 0, e), sign[j] * _at(c[j], 1, e)
                )
            pieces, lows[0], highs[0] = int(low < high), low, high
        for piece in range(pieces):
            low, high = lows[piece], highs[piece]
            # The same up to rounding for every e where conditions are products.
            if not (
                (low == last_low or abs(low - last_low) < 1e-12)
                and (high == last_high or abs(high - last_high) < 1e-12)
            ):
                scale, m0, m1, m2 = piece_moments(low, high)
                last_low, last_high = low, high
            if not m0 > 0.0:
                continue
            log_size = scale - 0.5 * e * e
            highest = max(highest, log_size)
            w = weight[k] * math.exp(log_size - base)
            sums[0] += w * m0
            sums[1] += w * m0 * e
            sums[2] += w * m1
            sums[3] += w * m0 * e * e
            sums[4] += w * m1 * e
            sums[5] += w * m2
    return highest


@njit(cache=True, nogil=True, error_model="numpy")
def add_planes(
    sample: np.ndarray, offset: np.ndarray, log_weight: np.ndarray,
    c: np.ndarray, sign: np.ndarray, d: np.ndarray,
    reach: float, step: float, points: np.ndarray, weights: np.ndarray,
    top: np.ndarray, mass: np.ndarray, first: np.ndarray, second: np.ndarray,
) -> None:  # fmt: skip
    """Add planes to the moments of their samples, in units of exp(top) of each sample.

    A plane is offset + e d_0 + s d_1 with e, s standard Gaussian, cut by the conditions
    sign_j sum_ab c[plane, j, a, b] e^a s^b > 0; without reach e is zero. Sorted by
    sample; the best plane of each comes first, and those that could not add to it are left out.
    """
    planes, r = len(sample), len(offset)
    count, powers = c.shape[1:3]
    most = 2 + count * (6 * powers + 2) + count * count * 2 * powers
    cuts = np.empty(most)
    node, weight = np.zeros(most * points.shape[1]), np.ones(most * points.shape[1])
    along = np.empty((count, 3))
    edges, lows, highs = np.empty((3, 2 * count + 2))
    sums, m1, m2 = np.empty(6), np.empty(r), np.empty((r, r))
    start = 0
    while start < planes:
        i = sample[start]
        best = start
        stop = start
        while stop < planes and sample[stop] == i:
            if log_weight[stop] > log_weight[best]:
                best = stop
            stop += 1
        for turn in range(start, stop):
            # The best one first.
            j = best if turn == start else (turn - 1 if turn <= best else turn)
            if log_weight[j] < top[i] - _LOST:
                continue
            size = _panels(c[j], reach, step, points, weights, cuts, node, weight) if reach else 1
            base = 0.0
            highest = _plane_moments(
                c[j], sign, node, weight, size, base, along, edges, lows, highs, sums
            )
            if highest == -np.inf:
                continue
            if sums[0] < 1e-200:
                base = highest
                _plane_moments(
                    c[j], sign, node, weight, size, base, along, edges, lows, highs, sums
                )
            total = log_weight[j] + base + math.log(sums[0])
            for a in range(r):
                u, v = d[0, a], d[1, a]
                m1[a] = offset[a, j] + (u * sums[1] + v * sums[2]) / sums[0]
                for b in range(a + 1):
                    x, y = d[0, b], d[1, b]
                    m2[a, b] = (
                        offset[a, j] * offset[b, j]
                        + (
                            (u * sums[1] + v * sums[2]) * offset[b, j]
                            + (x * sums[1] + y * sums[2]) * offset[a, j]
                            + u * x * sums[3]
                            + (u * y + v * x) * sums[4]
                            + v * y * sums[5]
                        )
                        / sums[0]
                    )
            high = max(top[i], total)
            old, new = math.exp(top[i] - high), math.exp(total - high)
            top[i] = high
            mass[i] = old * mass[i] + new
            for a in range(r):
                first[i, a] = old * first[i, a] + new * m1[a]
                for b in range(a + 1):
                    second[i, a, b] = old * second[i, a, b] + new * m2[a, b]
        start = stop
