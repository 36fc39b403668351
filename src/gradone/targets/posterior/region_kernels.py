"""Compiled weights of regions: panels, intervals, and moments that are added up."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from .interval_kernels import DENSITY, scaled_moments

_NARROW = 1e-4  # length of an interval on which a Gaussian is uniform


@njit(cache=True, nogil=True, error_model="numpy")
def truncated(low: float, high: float) -> tuple[float, float, float]:
    """Log probability of [low, high] under N(0, 1), mean and variance inside."""
    if not low < high:
        return -np.inf, 0.0, 0.0
    if high - low < _NARROW:  # nothing but rounding is left of the differences
        mean = 0.5 * (low + high)
        log_mass = math.log(DENSITY * (high - low)) - 0.5 * mean * mean
        return log_mass, mean, (high - low) ** 2 / 12.0
    scale, mass, first, second = scaled_moments(low, high)
    if not mass > 0.0:
        return -np.inf, 0.0, 0.0
    mean = first / mass
    return scale + math.log(mass), mean, max(second / mass - mean * mean, 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def panel_nodes(
    cuts: np.ndarray, reach: float, step: float, points: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes for N(0, 1) on [-reach, reach], cut at the given points (lines, c).

    Row n of `points`, `weights` is the rule with n nodes on [0, 1]. Returns the line of each node,
    its place, and the log of its weight with the density included.
    """
    lines, count = cuts.shape
    most = len(points) - 1
    edges = np.empty(count + 2)
    place = 0
    for pass_ in range(2):
        if pass_ == 1:
            line = np.empty(place, dtype=np.int64)
            node = np.empty(place)
            log_weight = np.empty(place)
        place = 0
        for i in range(lines):
            edges[0] = -reach
            n = 1
            for c in range(count):
                if -reach < cuts[i, c] < reach:
                    edges[n] = cuts[i, c]
                    n += 1
            edges[n] = reach
            n += 1
            edges[:n] = np.sort(edges[:n])
            for k in range(n - 1):
                length = edges[k + 1] - edges[k]
                if length < 1e-9:
                    continue
                size = min(int(math.ceil(length / step)) + 3, most)
                if pass_ == 0:
                    place += size
                    continue
                for j in range(size):
                    t = edges[k] + length * points[size, j]
                    line[place] = i
                    node[place] = t
                    log_weight[place] = (
                        math.log(length * weights[size, j]) - 0.5 * t * t + math.log(DENSITY)
                    )
                    place += 1
    return line, node, log_weight


@njit(cache=True, nogil=True, error_model="numpy")
def allowed_intervals(
    c0: np.ndarray, c1: np.ndarray, c2: np.ndarray, sign: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Where sign_j (c0 + c1 s + c2 s^2)_j > 0 for all j, along lines s ~ N(0, 1).

    Returns for every non-empty interval its line, log probability, mean and variance.
    """
    count, lines = c0.shape
    capacity = lines * (2 * count + 1)
    line = np.empty(capacity, dtype=np.int64)
    log_mass = np.empty(capacity)
    mean = np.empty(capacity)
    variance = np.empty(capacity)
    edges = np.empty(2 * count + 2)
    place = 0
    for i in range(lines):
        n = 1
        edges[0] = -np.inf
        low, high = -np.inf, np.inf
        is_affine, possible = True, True
        for j in range(count):
            a, b, c = sign[j] * c2[j, i], sign[j] * c1[j, i], sign[j] * c0[j, i]
            if a == 0.0:
                if b > 0.0:
                    low = max(low, -c / b)
                elif b < 0.0:
                    high = min(high, -c / b)
                elif c <= 0.0:
                    possible = False
                continue
            is_affine = False
            square = b * b - 4.0 * a * c
            if square >= 0.0:
                half = -0.5 * (b + math.copysign(math.sqrt(square), b))
                edges[n] = half / a
                edges[n + 1] = c / half if half != 0.0 else half / a
                n += 2
        if not possible or not low < high:
            continue
        if is_affine:
            mass, m1, v = truncated(low, high)
            if mass > -np.inf:
                line[place], log_mass[place], mean[place], variance[place] = i, mass, m1, v
                place += 1
            continue
        edges[n] = np.inf
        n += 1
        edges[:n] = np.sort(edges[:n])
        for k in range(n - 1):
            left, right = max(edges[k], low), min(edges[k + 1], high)
            if not left < right:
                continue
            inside = 0.5 * (left + right)
            if left == -np.inf:
                inside = right - 1.0 if right < np.inf else 0.0
            elif right == np.inf:
                inside = left + 1.0
            holds = True
            for j in range(count):
                if c2[j, i] != 0.0:
                    value = c0[j, i] + inside * (c1[j, i] + inside * c2[j, i])
                    holds = holds and sign[j] * value > 0.0
            if not holds:
                continue
            mass, m1, v = truncated(left, right)
            if mass > -np.inf:
                line[place], log_mass[place], mean[place], variance[place] = i, mass, m1, v
                place += 1
    return (
        line[:place].copy(),
        log_mass[:place].copy(),
        mean[:place].copy(),
        variance[:place].copy(),
    )


@njit(cache=True, nogil=True, error_model="numpy")
def accumulate(
    sample: np.ndarray,
    log_weight: np.ndarray,
    q: np.ndarray,
    variance: np.ndarray,
    spread: np.ndarray,
    top: np.ndarray,
    mass: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
) -> None:
    """Add nodes to the moments of their samples, in units of exp(top) of each sample.

    A node carries the mean q (r, nodes) and the covariance variance * spread spread'.
    """
    r = len(q)
    nodes = len(sample)
    start = 0
    while start < nodes:
        i = sample[start]
        stop = start
        high = top[i]
        while stop < nodes and sample[stop] == i:
            high = max(high, log_weight[stop])
            stop += 1
        if high > -np.inf:
            scale = math.exp(top[i] - high) if top[i] > -np.inf else 0.0
            top[i] = high
            mass[i] *= scale
            for a in range(r):
                first[i, a] *= scale
                for b in range(a + 1):
                    second[i, a, b] *= scale
            for j in range(start, stop):
                gap = log_weight[j] - high
                if gap < -40.0:
                    continue
                weight = math.exp(gap)
                mass[i] += weight
                for a in range(r):
                    wq = weight * q[a, j]
                    first[i, a] += wq
                    for b in range(a + 1):
                        second[i, a, b] += wq * q[b, j]
                extra = weight * variance[j]
                if extra > 0.0:
                    for a in range(r):
                        for b in range(a + 1):
                            second[i, a, b] += extra * spread[a] * spread[b]
        start = stop
