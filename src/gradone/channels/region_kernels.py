"""Compiled weights of regions: panels, and moments that are added up."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from .interval_kernels import DENSITY


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
def accumulate(
    sample: np.ndarray,
    log_weight: np.ndarray,
    q: np.ndarray,
    spread: np.ndarray,
    top: np.ndarray,
    mass: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
) -> None:
    """Add nodes to the moments of their samples, in units of exp(top) of each sample.

    A node carries the mean q (r, nodes) and the covariance `spread` (r, r).
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
                        second[i, a, b] += wq * q[b, j] + weight * spread[a, b]
        start = stop
