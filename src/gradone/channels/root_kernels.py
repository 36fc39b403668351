"""Compiled real roots of polynomials of one variable."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def real_roots(c: np.ndarray, degree: int, low: float, high: float, out: np.ndarray) -> int:
    """Real roots in [low, high] of the polynomial sum_i c_i v^i, increasing; returns how many."""
    if degree == 0:
        return 0
    if degree == 1:
        out[0] = -c[0] / c[1]
        return 1 if low <= out[0] <= high else 0
    if degree == 2:
        square = c[1] * c[1] - 4.0 * c[2] * c[0]
        if square < 0.0:
            return 0
        # The sum of two numbers of one sign: nothing cancels, and c_2 may be zero.
        half = -0.5 * (c[1] + math.copysign(math.sqrt(square), c[1]))
        one = half / c[2]
        two = c[0] / half if half != 0.0 else one
        n = 0
        if low <= min(one, two) <= high:
            out[n] = min(one, two)
            n += 1
        if low <= max(one, two) <= high and one != two:
            out[n] = max(one, two)
            n += 1
        return n
    if degree == 3:
        # One double root of the slope too many is one empty bracket.
        square = c[2] * c[2] - 3.0 * c[3] * c[1]
        if square <= 0.0:
            return _bracketed(c, degree, low, high, out, 0)
        half = -(c[2] + math.copysign(math.sqrt(square), c[2]))
        one, two = half / (3.0 * c[3]), c[1] / half
        left = _bracketed(c, degree, low, min(max(min(one, two), low), high), out, 0)
        middle = min(max(max(one, two), low), high)
        left = _bracketed(c, degree, min(max(min(one, two), low), high), middle, out, left)
        return _bracketed(c, degree, middle, high, out, left)
    # The extrema, which are roots of the derivative, separate the roots.
    slope = np.empty(degree)
    for i in range(degree):
        slope[i] = (i + 1) * c[i + 1]
    turns = np.empty(degree)
    count = real_roots(slope, degree - 1, low, high, turns)
    n = 0
    left_end = low
    for k in range(count + 1):
        right_end = turns[k] if k < count else high
        n = _bracketed(c, degree, left_end, right_end, out, n)
        left_end = right_end
    return n


@njit(cache=True, nogil=True, error_model="numpy")
def _bracketed(c: np.ndarray, degree: int, low: float, high: float, out: np.ndarray, n: int) -> int:
    """Append the root of a polynomial that is monotone on [low, high] to `out`, if there is one."""
    below = _polynomial(c, degree, low) < 0.0
    if not low < high or below == (_polynomial(c, degree, high) < 0.0):
        return n
    v = 0.5 * (low + high)
    for _ in range(100):
        value, slope = c[degree], 0.0
        for i in range(degree - 1, -1, -1):
            slope = slope * v + value
            value = value * v + c[i]
        if (value < 0.0) == below:
            low = v
        else:
            high = v
        new = v - value / slope if slope != 0.0 else low
        if not low < new < high:
            new = 0.5 * (low + high)
        done = abs(new - v) <= 1e-14 * (1.0 + abs(v))
        v = new
        if done:
            break
    out[n] = v
    return n + 1


@njit(cache=True, nogil=True, error_model="numpy")
def _polynomial(c: np.ndarray, degree: int, v: float) -> float:
    value = c[degree]
    for i in range(degree - 1, -1, -1):
        value = value * v + c[i]
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def line_roots(coefficients: np.ndarray, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Roots v in [-reach, reach] of polynomials (degree + 1, lines): line of each root, its v."""
    degree, lines = len(coefficients) - 1, coefficients.shape[1]
    line = np.empty(degree * lines, dtype=np.int64)
    root = np.empty(degree * lines)
    c = np.empty(degree + 1)
    out = np.empty(degree + 1)
    place = 0
    for i in range(lines):
        for k in range(degree + 1):
            c[k] = coefficients[k, i]
        n = real_roots(c, degree, -reach[i], reach[i], out)
        for k in range(n):
            line[place] = i
            root[place] = out[k]
            place += 1
    return line[:place].copy(), root[:place].copy()
