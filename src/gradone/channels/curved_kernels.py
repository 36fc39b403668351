"""Compiled sums over tables of lines, for labels that change on curved surfaces."""

from __future__ import annotations

import math

import numpy as np

from ..base.machine_code import njit
from .interval_kernels import DENSITY, add_row, beyond, complete, interval_moments, write_excess

_FAR = 16.0  # sd: labels that are farther out are left to an expansion


@njit(cache=True, nogil=True, error_model="numpy")
def _integrate(
    wanted: int,
    center: np.ndarray,
    root: np.ndarray,
    outer: np.ndarray,
    outer_weight: np.ndarray,
    starts: np.ndarray,
    inner: np.ndarray,
    inner_weight: np.ndarray,
    first_label: np.ndarray,
    break_starts: np.ndarray,
    breaks: np.ndarray,
    labels: np.ndarray,
    reach: float,
    mass: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
) -> None:
    """Moments of w ~ N(0, I) where the label is `wanted` (-1: masses and means of all labels).

    ``root`` is lower triangular: z = center + root @ w, in the order outer, inner, along the line.
    """
    r = len(center)
    last = r - 1
    mass[:] = 0.0
    first[:] = 0.0
    second[:] = 0.0
    point = np.zeros(r)
    sums = np.empty((len(mass), 6))
    width, slope, scale = root[last - 1, last - 1], root[last, last - 1], 1 / root[last, last]
    begin, end = 0, 1
    if r == 3:
        begin = np.searchsorted(outer, center[0] - reach * root[0, 0])
        end = np.searchsorted(outer, center[0] + reach * root[0, 0])
    for i in range(begin, end):
        room, row_weight, middle, base = reach, 1.0, center[last - 1], center[last]
        if r == 3:
            point[0] = (outer[i] - center[0]) / root[0, 0]
            room = math.sqrt(max(reach * reach - point[0] * point[0], 1.0))
            row_weight = outer_weight[i] / root[0, 0] * DENSITY * math.exp(-0.5 * point[0] ** 2)
            middle += root[1, 0] * point[0]
            base += root[2, 0] * point[0]
        nodes = inner[starts[i] : starts[i + 1]]
        low_node = starts[i] + np.searchsorted(nodes, middle - room * width)
        high_node = starts[i] + np.searchsorted(nodes, middle + room * width)
        sums[:] = 0.0
        for j in range(low_node, high_node):
            x = (inner[j] - middle) / width
            weight = inner_weight[j] / width * DENSITY * math.exp(-0.5 * x * x)
            sums[-1, 0] += weight
            sums[-1, 1] += weight * x
            sums[-1, 3] += weight * x * x
            at = base + slope * x
            low, label = -math.inf, first_label[j]
            stop = break_starts[j + 1]
            for k in range(break_starts[j], stop + 1):
                high = (breaks[k] - at) * scale if k < stop else math.inf
                if wanted < 0 or label == wanted:
                    m0, m1, m2 = interval_moments(low, high)
                    m0, m1 = weight * m0, weight * m1
                    c = 0 if wanted >= 0 else label
                    sums[c, 0] += m0
                    sums[c, 1] += m0 * x
                    sums[c, 2] += m1
                    sums[c, 3] += m0 * x * x
                    sums[c, 4] += m1 * x
                    sums[c, 5] += weight * m2
                if k < stop:
                    low, label = high, labels[k]
        sums[-1, 5] = sums[-1, 0]
        add_row(sums, row_weight, point, last - 1, mass, first, second)


@njit(cache=True, nogil=True, error_model="numpy")
def _nearest(
    wanted: int,
    center: np.ndarray,
    root: np.ndarray,
    outer: np.ndarray,
    starts: np.ndarray,
    inner: np.ndarray,
    first_label: np.ndarray,
    break_starts: np.ndarray,
    breaks: np.ndarray,
    labels: np.ndarray,
    point: np.ndarray,
) -> float:
    """Point w of smallest norm on the lines where the label is `wanted`; its squared norm."""
    r = len(center)
    last = r - 1
    best = math.inf
    trial = np.zeros(r)
    for i in range(len(starts) - 1):
        middle = center[last - 1]
        if r == 3:
            trial[0] = (outer[i] - center[0]) / root[0, 0]
            middle += root[1, 0] * trial[0]
        for j in range(starts[i], starts[i + 1]):
            trial[last - 1] = (inner[j] - middle) / root[last - 1, last - 1]
            norm, base = 0.0, center[last]
            for a in range(last):
                norm += trial[a] * trial[a]
                base += root[last, a] * trial[a]
            if norm >= best:
                continue
            low, label = -math.inf, first_label[j]
            for k in range(break_starts[j], break_starts[j + 1] + 1):
                high = math.inf
                if k < break_starts[j + 1]:
                    high = (breaks[k] - base) / root[last, last]
                if label == wanted:
                    t = min(max(0.0, low), high)
                    if norm + t * t < best:
                        best = norm + t * t
                        trial[last] = t
                        point[:] = trial
                if k < break_starts[j + 1]:
                    low, label = high, labels[k]
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def posterior_lines(
    wanted: np.ndarray,
    centers: np.ndarray,
    root: np.ndarray,
    outer: np.ndarray,
    outer_weight: np.ndarray,
    starts: np.ndarray,
    inner: np.ndarray,
    inner_weight: np.ndarray,
    first_label: np.ndarray,
    break_starts: np.ndarray,
    breaks: np.ndarray,
    labels: np.ndarray,
    reach: float,
    log_z: np.ndarray,
    mean: np.ndarray,
    excess: np.ndarray,
) -> None:
    """Posterior of w ~ N(0, I) given the label; `excess` is its covariance minus identity."""
    n, r = centers.shape
    mass, first, second = np.zeros(2), np.zeros((2, r)), np.zeros((2, r, r))
    point = np.zeros(r)
    for s in range(n):
        radius = reach
        while True:
            _integrate(
                wanted[s],
                centers[s],
                root,
                outer,
                outer_weight,
                starts,
                inner,
                inner_weight,
                first_label,
                break_starts,
                breaks,
                labels,
                radius,
                mass,
                first,
                second,
            )
            needed = math.sqrt(reach * reach - 2 * math.log(min(50 * mass[0] + 1e-300, 1.0)))
            if needed <= radius + 0.5 or radius >= _FAR:
                break
            radius = min(needed, 2 * radius, _FAR)
        if needed <= _FAR + 0.5:
            complete(mass, first, second)
            log_z[s] = math.log(mass[0])
            for a in range(r):
                mean[s, a] = first[0, a] / mass[0]
            write_excess(mass[0], first[0], second[0], excess[s])
            continue
        # So far out the posterior sits on the nearest point, flat across the line to it.
        norm2 = _nearest(
            wanted[s],
            centers[s],
            root,
            outer,
            starts,
            inner,
            first_label,
            break_starts,
            breaks,
            labels,
            point,
        )
        if norm2 == math.inf:
            log_z[s] = -math.inf
            continue
        distance = math.sqrt(norm2)
        hazard, log_z[s], shrink = beyond(distance)
        for a in range(r):
            mean[s, a] = point[a] / distance * hazard
            for b in range(r):
                excess[s, a, b] = -shrink * point[a] * point[b] / norm2


@njit(cache=True, nogil=True, error_model="numpy")
def outcome_lines(
    centers: np.ndarray,
    root: np.ndarray,
    outer: np.ndarray,
    outer_weight: np.ndarray,
    starts: np.ndarray,
    inner: np.ndarray,
    inner_weight: np.ndarray,
    first_label: np.ndarray,
    break_starts: np.ndarray,
    breaks: np.ndarray,
    labels: np.ndarray,
    reach: float,
    masses: np.ndarray,
    means: np.ndarray,
    excess: np.ndarray,
) -> None:
    """Mass and mean of every label; its covariance minus identity, unless `excess` is empty."""
    n, r = centers.shape
    labels_count = masses.shape[1]
    mass, first = np.zeros(labels_count + 1), np.zeros((labels_count + 1, r))
    second = np.zeros((labels_count + 1 if len(excess) else 0, r, r))
    for s in range(n):
        _integrate(
            -1,
            centers[s],
            root,
            outer,
            outer_weight,
            starts,
            inner,
            inner_weight,
            first_label,
            break_starts,
            breaks,
            labels,
            reach,
            mass,
            first,
            second,
        )
        complete(mass, first, second)
        for c in range(labels_count):
            masses[s, c] = mass[c]
            if mass[c] > 0:
                for a in range(r):
                    means[s, c, a] = first[c, a] / mass[c]
                if len(excess):
                    write_excess(mass[c], first[c], second[c], excess[s, c])
