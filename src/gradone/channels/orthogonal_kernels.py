"""Compiled moments of products of independent Gaussian variables over boxes."""

from __future__ import annotations

import math

import numpy as np

from ..base.machine_code import njit
from .interval_kernels import scaled_moments, write_excess


@njit(cache=True, nogil=True, error_model="numpy")
def _fill(
    edges: np.ndarray,
    counts: np.ndarray,
    centers: np.ndarray,
    widths: np.ndarray,
    scale: np.ndarray,
    moments: np.ndarray,
) -> None:
    """Moments of every interval of every variable."""
    for a in range(len(counts)):
        low = -math.inf
        for i in range(counts[a] + 1):
            high = math.inf
            if i < counts[a]:
                high = (edges[a, i] - centers[a]) / widths[a]
            scale[a, i], moments[a, i, 0], moments[a, i, 1], moments[a, i, 2] = scaled_moments(
                low, high
            )
            low = high


@njit(cache=True, nogil=True, error_model="numpy")
def _sum_boxes(
    boxes: np.ndarray,
    begin: int,
    end: int,
    scale: np.ndarray,
    moments: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    with_second: bool,
) -> float:
    """Logarithm of the mass of some boxes; their moments divided by that mass."""
    q = boxes.shape[1]
    largest = -math.inf
    for c in range(begin, end):
        total = 0.0
        for a in range(q):
            total += scale[a, boxes[c, a]]
        largest = max(largest, total)
    mass = 0.0
    first[:] = 0.0
    second[:] = 0.0
    for c in range(begin, end):
        total, log_scale = 1.0, -largest
        for a in range(q):
            total *= moments[a, boxes[c, a], 0]
            log_scale += scale[a, boxes[c, a]]
        if log_scale != 0.0:
            total *= math.exp(log_scale)
        if not total > 0.0:
            continue
        mass += total
        for a in range(q):
            mean = moments[a, boxes[c, a], 1] / moments[a, boxes[c, a], 0]
            first[a] += total * mean
            if with_second:
                for b in range(a):
                    other = moments[b, boxes[c, b], 1] / moments[b, boxes[c, b], 0]
                    second[a, b] += total * mean * other
                second[a, a] += total * moments[a, boxes[c, a], 2] / moments[a, boxes[c, a], 0]
    if not mass > 0.0:
        return -math.inf
    for a in range(q):
        first[a] /= mass
        for b in range(a + 1):
            second[a, b] /= mass
    return largest + math.log(mass)


@njit(cache=True, nogil=True, error_model="numpy")
def posterior_boxes(
    labels: np.ndarray,
    centers: np.ndarray,
    widths: np.ndarray,
    edges: np.ndarray,
    counts: np.ndarray,
    boxes: np.ndarray,
    starts: np.ndarray,
    log_z: np.ndarray,
    mean: np.ndarray,
    excess: np.ndarray,
) -> None:
    """Posterior of independent variables given labels that are unions of boxes.

    `mean` is in units of the widths, `excess` is the covariance in these units minus identity.
    """
    n, q = centers.shape
    scale = np.empty(edges.shape)
    moments = np.empty((q, edges.shape[1], 3))
    first, second = np.empty(q), np.empty((q, q))
    for s in range(n):
        _fill(edges, counts, centers[s], widths, scale, moments)
        c = labels[s]
        log_z[s] = _sum_boxes(boxes, starts[c], starts[c + 1], scale, moments, first, second, True)
        if log_z[s] == -math.inf:
            continue
        for a in range(q):
            mean[s, a] = first[a]
        write_excess(1.0, first, second, excess[s])


@njit(cache=True, nogil=True, error_model="numpy")
def outcome_boxes(
    centers: np.ndarray,
    widths: np.ndarray,
    edges: np.ndarray,
    counts: np.ndarray,
    boxes: np.ndarray,
    starts: np.ndarray,
    log_z: np.ndarray,
    mean: np.ndarray,
    excess: np.ndarray,
) -> None:
    """Evidence and mean of independent variables for every label; `excess` may be empty."""
    n, q = centers.shape
    scale = np.empty(edges.shape)
    moments = np.empty((q, edges.shape[1], 3))
    first, second = np.empty(q), np.empty((q, q))
    for s in range(n):
        _fill(edges, counts, centers[s], widths, scale, moments)
        for c in range(len(starts) - 1):
            log_z[s, c] = _sum_boxes(
                boxes, starts[c], starts[c + 1], scale, moments, first, second, len(excess) > 0
            )
            for a in range(q):
                mean[s, c, a] = first[a]
            if len(excess) and log_z[s, c] > -math.inf:
                write_excess(1.0, first, second, excess[s, c])
