"""Compiled integrals of a standard Gaussian over the cells between hyperplanes."""

from __future__ import annotations

import math

import numpy as np

from ..base.machine_code import njit
from .interval_kernels import DENSITY, add_row, complete, interval_moments, write_excess

MOST_NODES = 24  # of one Gauss-Legendre panel
_BUFFER = 4096  # nodes along one coordinate
_SAME = 1e-10  # sd: splits that are closer are one
_FAR = 16.0  # sd: labels that are farther out are left to an expansion


@njit(cache=True, nogil=True, error_model="numpy")
def _place_nodes(
    splits: np.ndarray,
    count: int,
    reach2: float,
    rate: float,
    least: int,
    nodes: np.ndarray,
    weights: np.ndarray,
    excess: np.ndarray,
    rule_x: np.ndarray,
    rule_w: np.ndarray,
) -> int:
    """Gauss-Legendre nodes between sorted splits, with the Gaussian density in the weights.

    Every interval is cut where the density has fallen by ``exp(-reach2/2)`` from its largest value
    *in this interval*, so that an interval far out is integrated as well as the middle.
    """
    total = 0
    for i in range(count + 1):
        low = -math.inf if i == 0 else splits[i - 1]
        high = math.inf if i == count else splits[i]
        top = min(max(0.0, low), high)
        radius = math.sqrt(top * top + reach2)
        low, high = max(low, -radius), min(high, radius)
        length = high - low
        # Between splits that differ by rounding a node may be on either side of a plane.
        if length <= _SAME:
            continue
        wanted = int(math.ceil(rate * length)) + least
        panels = (wanted + MOST_NODES - 1) // MOST_NODES
        order = min((wanted + panels - 1) // panels, MOST_NODES)
        if total + panels * order > _BUFFER:
            return -1
        half = 0.5 * length / panels
        for panel in range(panels):
            middle = low + (2 * panel + 1) * half
            for k in range(order):
                x = middle + half * rule_x[order, k]
                nodes[total] = x
                weights[total] = half * rule_w[order, k] * DENSITY * math.exp(-0.5 * x * x)
                excess[total] = x * x - top * top
                total += 1
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _row(
    base: np.ndarray,
    across: np.ndarray,
    along: np.ndarray,
    table: np.ndarray,
    wanted: int,
    nodes: np.ndarray,
    weights: np.ndarray,
    count: int,
    sums: np.ndarray,
    breaks: np.ndarray,
    which: np.ndarray,
    missing: np.ndarray,
) -> int:
    """Add the cells on parallel lines; -1, or the line on which a cell is not known.

    On the line through node x the planes are ``base + across*x + along*t = 0``. `wanted` is the
    label whose moments are needed, -1 for all of them; `sums` is as in :func:`add_row`.
    """
    k = len(base)
    for line in range(count):
        x, weight = nodes[line], weights[line]
        sums[-1, 0] += weight
        sums[-1, 1] += weight * x
        sums[-1, 3] += weight * x * x
        pattern, crossing = 0, 0
        for i in range(k):
            value = base[i] + across[i] * x
            if along[i] == 0.0:
                if value > 0:
                    pattern |= 1 << i
                continue
            if along[i] < 0:
                pattern |= 1 << i
            at = -value / along[i]
            place = crossing
            while place > 0 and breaks[place - 1] > at:
                breaks[place] = breaks[place - 1]
                which[place] = which[place - 1]
                place -= 1
            breaks[place] = at
            which[place] = i
            crossing += 1
        low = -math.inf
        label = table[pattern]
        if label < 0:
            missing[0], missing[1] = pattern, breaks[0] - 1.0 if crossing else 0.0
            return line
        for i in range(crossing + 1):
            high = math.inf
            after = label
            if i < crossing:
                high = breaks[i]
                pattern ^= 1 << which[i]
                following = math.inf if i + 1 == crossing else breaks[i + 1]
                # Between planes that meet in one point there is no cell, only rounding.
                if following - high > 1e-13 * (1 + abs(high)):
                    after = table[pattern]
                if after < 0:
                    missing[0], missing[1] = pattern, min(high + 1.0, 0.5 * (high + following))
                    return line
                if after == label:
                    continue
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
            low, label = high, after
    sums[-1, 5] = sums[-1, 0]
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def _integrate(
    planes: np.ndarray,
    d: np.ndarray,
    conditions: np.ndarray,
    mixing: np.ndarray,
    starts: np.ndarray,
    table: np.ndarray,
    wanted: int,
    reach: float,
    rates: np.ndarray,
    least: int,
    rule_x: np.ndarray,
    rule_w: np.ndarray,
    mass: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    missing: np.ndarray,
    work: np.ndarray,
) -> int:
    """Sum over nested nodes; 0 if done, 1 if a cell is missing, -1 if there are too many nodes.

    One coordinate is in the nodes of a row, the last one in closed form; what comes before them is
    an odometer over the nodes of the coordinates ``0 ... r - 3``.
    """
    k, r = planes.shape
    outer = r - 2
    count, index = np.zeros(r, np.int64), np.zeros(r, np.int64)
    point, weight, excess = np.zeros(r), np.ones(r), np.zeros(r)
    splits = np.empty(len(conditions) + 1)
    breaks, which = np.empty(k + 1), np.empty(k + 1, np.int64)
    base, across, along = np.empty(k), planes[:, outer].copy(), planes[:, outer + 1].copy()
    sums = np.empty((len(mass), 6))
    mass[:] = 0.0
    first[:] = 0.0
    second[:] = 0.0
    depth = 0
    while True:
        found = 0
        for q in range(starts[depth], starts[depth + 1]):
            value = 0.0
            for i in range(k):
                value += mixing[q, i] * d[i]
            for j in range(depth):
                value += conditions[q, j] * point[j]
            at = -value / conditions[q, depth]
            place = found
            while place > 0 and splits[place - 1] > at:
                splits[place] = splits[place - 1]
                place -= 1
            splits[place] = at
            found += 1
        room = reach * reach
        if depth > 0:
            room = max(room - excess[depth - 1], 1.0)
        count[depth] = _place_nodes(
            splits,
            found,
            room,
            rates[depth],
            least,
            work[depth, 0],
            work[depth, 1],
            work[depth, 2],
            rule_x,
            rule_w,
        )
        if count[depth] < 0:
            return -1
        index[depth] = 0
        if depth == outer:
            for i in range(k):
                base[i] = d[i]
                for j in range(outer):
                    base[i] += planes[i, j] * point[j]
            sums[:] = 0.0
            unknown = _row(
                base,
                across,
                along,
                table,
                wanted,
                work[outer, 0],
                work[outer, 1],
                count[outer],
                sums,
                breaks,
                which,
                missing,
            )
            if unknown >= 0:
                missing[r] = missing[1]
                for j in range(outer):
                    missing[1 + j] = point[j]
                missing[1 + outer] = work[outer, 0, unknown]
                return 1
            add_row(sums, weight[outer - 1] if outer else 1.0, point, outer, mass, first, second)
            depth -= 1
        while depth >= 0 and index[depth] == count[depth]:
            depth -= 1
        if depth < 0:
            return 0
        i = index[depth]
        index[depth] += 1
        before, so_far = (weight[depth - 1], excess[depth - 1]) if depth else (1.0, 0.0)
        point[depth] = work[depth, 0, i]
        weight[depth] = before * work[depth, 1, i]
        excess[depth] = so_far + work[depth, 2, i]
        depth += 1


@njit(cache=True, nogil=True, error_model="numpy")
def posterior_cells(
    labels: np.ndarray,
    d: np.ndarray,
    planes: np.ndarray,
    mixing: np.ndarray,
    conditions: np.ndarray,
    starts: np.ndarray,
    table: np.ndarray,
    reach: float,
    rates: np.ndarray,
    least: int,
    rule_x: np.ndarray,
    rule_w: np.ndarray,
    log_z: np.ndarray,
    mean: np.ndarray,
    shrink: np.ndarray,
    missing: np.ndarray,
) -> tuple[int, int]:
    """Posterior of w ~ N(0, I) given the label, for planes ``planes @ w + d = 0``, r >= 2.

    `shrink` is its covariance minus identity. Returns (status, sample): 0 done; 1 an unknown cell,
    described in `missing`; -1 too many nodes. Where the label is too far out for these nodes,
    `log_z` is -inf and the rest is untouched.
    """
    r = planes.shape[1]
    mass, first, second = np.zeros(2), np.zeros((2, r)), np.zeros((2, r, r))
    work = np.empty((r - 1, 3, _BUFFER))
    for s in range(len(d)):
        radius = reach
        while True:
            # Far out the integrand decays faster: the nodes become denser as they become more.
            status = _integrate(
                planes,
                d[s],
                conditions,
                mixing,
                starts,
                table,
                labels[s],
                radius,
                rates * (radius / reach),
                least,
                rule_x,
                rule_w,
                mass,
                first,
                second,
                missing,
                work,
            )
            if status != 0:
                return status, s
            # What lies outside the radius must be small against what was found inside.
            needed = math.sqrt(reach * reach - 2 * math.log(min(50 * mass[0] + 1e-300, 1.0)))
            if needed <= radius + 0.5 or radius >= _FAR:
                break
            radius = min(needed, 2 * radius, _FAR)
        if needed > _FAR + 0.5:
            log_z[s] = -math.inf
            continue
        complete(mass, first, second)
        log_z[s] = math.log(mass[0])
        for a in range(r):
            mean[s, a] = first[0, a] / mass[0]
        write_excess(mass[0], first[0], second[0], shrink[s])
    return 0, 0


@njit(cache=True, nogil=True, error_model="numpy")
def outcome_cells(
    d: np.ndarray,
    planes: np.ndarray,
    mixing: np.ndarray,
    conditions: np.ndarray,
    starts: np.ndarray,
    table: np.ndarray,
    reach: float,
    rates: np.ndarray,
    least: int,
    rule_x: np.ndarray,
    rule_w: np.ndarray,
    masses: np.ndarray,
    means: np.ndarray,
    shrink: np.ndarray,
    missing: np.ndarray,
) -> tuple[int, int]:
    """Mass and mean of every label, for planes ``planes @ w + d = 0`` and w ~ N(0, I), r >= 2.

    And the covariance minus identity, unless `shrink` is empty.
    """
    r = planes.shape[1]
    labels = masses.shape[1]
    mass, first = np.zeros(labels + 1), np.zeros((labels + 1, r))
    second = np.zeros((labels + 1 if len(shrink) else 0, r, r))
    work = np.empty((r - 1, 3, _BUFFER))
    for s in range(len(d)):
        status = _integrate(
            planes,
            d[s],
            conditions,
            mixing,
            starts,
            table,
            -1,
            reach,
            rates,
            least,
            rule_x,
            rule_w,
            mass,
            first,
            second,
            missing,
            work,
        )
        if status != 0:
            return status, s
        complete(mass, first, second)
        for c in range(labels):
            masses[s, c] = mass[c]
            if mass[c] > 0:
                for a in range(r):
                    means[s, c, a] = first[c, a] / mass[c]
                if len(shrink):
                    write_excess(mass[c], first[c], second[c], shrink[s, c])
    return 0, 0
