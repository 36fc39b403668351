"""Compiled trapezoid rules whose nodes are denser around some points."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

MAX_RULE = 4096  # nodes of one rule


@njit(cache=True, nogil=True, error_model="numpy")
def graded_rule(
    low: float,
    high: float,
    step: float,
    centers: np.ndarray,
    widths: np.ndarray,
    count: int,
    grading: float,
    node: np.ndarray,
    space: np.ndarray,
) -> int:
    """Nodes of a trapezoid rule on [low, high], denser around centers; returns how many.

    A smooth map of a uniform grid, so a smooth function is integrated as well as by a uniform
    rule: far from a center nodes are `step` apart, close to it `grading` times the distance, and
    within the center's width not closer any more.
    """
    if not high > low:
        return 0
    used = 0
    for c in range(count):
        # A center whose own density is small against the uniform one does nothing.
        outside = max(low - centers[c], centers[c] - high, 0.0)
        if grading * math.hypot(widths[c], outside) < step:
            centers[used], widths[used] = centers[c], widths[c]
            used += 1
    if used == 0:
        size = int((high - low) / step) + 1
        begin = 0.5 * (low + high - (size - 1) * step)
        for j in range(size):
            node[j] = begin + j * step
            space[j] = step
        return size
    if used == 1:
        return _graded_once(low, high, step, centers[0], widths[0], grading, node, space)
    return _graded_often(low, high, step, centers, widths, used, grading, node, space)


@njit(cache=True, nogil=True, error_model="numpy")
def _graded_once(
    low: float,
    high: float,
    step: float,
    center: float,
    width: float,
    grading: float,
    node: np.ndarray,
    space: np.ndarray,
) -> int:
    """One center: t - center = scale (softplus(shift + s) - softplus(shift - s)), s equidistant."""
    scale = step / grading
    shift = math.log(0.5 * width / scale)
    left, right = (low - center) / scale, (high - center) / scale
    first = left + shift if left < 0.0 else left - shift
    last = right - shift if right > 0.0 else right + shift
    start = math.floor(first / grading) + 0.5
    ratio = math.exp(grading)
    up = math.exp(shift + grading * start)
    down = math.exp(shift - grading * start)
    size = 0
    for _ in range(int((last - first) / grading) + 3):
        t = center + scale * math.log((1.0 + up) / (1.0 + down))
        if low < t < high:
            node[size] = t
            space[size] = step * (up / (1.0 + up) + down / (1.0 + down))
            size += 1
            if size == len(node):
                return size
        up *= ratio
        down /= ratio
    return size


@njit(cache=True, nogil=True, error_model="numpy")
def _graded_often(
    low: float,
    high: float,
    step: float,
    centers: np.ndarray,
    widths: np.ndarray,
    used: int,
    grading: float,
    node: np.ndarray,
    space: np.ndarray,
) -> int:
    """Many centers: density 1/step + sum_c 1/(grading sqrt(widths_c^2 + (t - centers_c)^2))."""
    first, last = low / step, high / step
    for c in range(used):
        first += math.asinh((low - centers[c]) / widths[c]) / grading
        last += math.asinh((high - centers[c]) / widths[c]) / grading
    size = min(int(last - first) + 1, len(node))
    shift = first + 0.5 * (last - first - size + 1)
    t = low
    for j in range(size):
        slope = 1.0 / step
        for _ in range(40):
            value, slope = t / step, 1.0 / step
            for c in range(used):
                x = t - centers[c]
                far = math.sqrt(x * x + widths[c] * widths[c])
                # asinh, without cancellation for negative x.
                value += math.copysign(math.log((abs(x) + far) / widths[c]), x) / grading
                slope += 1.0 / (grading * far)
            move = (shift + j - value) / slope
            t += move
            if abs(move) * slope < 1e-3:  # the next one would be a millionth of the spacing
                break
        node[j] = t
        space[j] = 1.0 / slope
        t += 1.0 / slope
    return size


@njit(cache=True, nogil=True, error_model="numpy")
def graded_nodes(
    low: np.ndarray,
    high: np.ndarray,
    step: float,
    centers: np.ndarray,
    widths: np.ndarray,
    grading: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes of many graded rules one after the other: rule, place and spacing of each."""
    rules = len(low)
    node, space = np.empty(MAX_RULE), np.empty(MAX_RULE)
    capacity = 64 * rules + MAX_RULE
    rule, places, spaces = np.empty(capacity, np.int64), np.empty(capacity), np.empty(capacity)
    total = 0
    for i in range(rules):
        n = graded_rule(
            low[i], high[i], step, centers[i], widths[i], centers.shape[1], grading, node, space
        )
        if total + n > capacity:
            capacity *= 2
            wider = np.empty(capacity, np.int64)
            wider[:total] = rule[:total]
            rule = wider
            longer = np.empty((2, capacity))
            longer[0, :total], longer[1, :total] = places[:total], spaces[:total]
            places, spaces = longer[0], longer[1]
        rule[total : total + n] = i
        places[total : total + n] = node[:n]
        spaces[total : total + n] = space[:n]
        total += n
    return rule[:total].copy(), places[:total].copy(), spaces[:total].copy()
