"""Sums over the crossings of a level with the edges of a lattice, as compiled code."""

from __future__ import annotations

import math

import numpy as np

from ...base.machine_code import njit

_REACH = 6.0  # standard deviations of the noise beyond which an edge does not count
_STRAIGHT = 0.15  # of the noise: how far a bent piece of an edge may be from its chord
_MOST_PARTS = 16


@njit("f8(f8[:], i8[:], i8[:], i8, i8, f8)", cache=True, nogil=True, inline="always")
def _across(
    g: np.ndarray, after: np.ndarray, before: np.ndarray, p: int, q: int, place: float
) -> float:
    """Difference of `g` per step across an edge, between those at its two ends."""
    total = 0.0
    for end in range(2):
        node = q if end else p
        up, down = after[node], before[node]
        if up >= 0 and down >= 0:
            change = 0.5 * (g[up] - g[down])
        elif up >= 0:
            change = g[up] - g[node]
        elif down >= 0:
            change = g[node] - g[down]
        else:
            change = 0.0
        total += change * (place if end else 1.0 - place)
    return total


@njit(
    "void(f8[:,:], f8[:,:,:], f8[:], f8[:], f8, f8[:,:], i8[:,:], i8[:,:], f8[:,:], f8, f8[:,:])",
    cache=True,
    nogil=True,
    error_model="numpy",
)
def add_crossings(
    values: np.ndarray,
    conditions: np.ndarray,
    sides: np.ndarray,
    y: np.ndarray,
    noise: float,
    x: np.ndarray,
    after: np.ndarray,
    before: np.ndarray,
    axes: np.ndarray,
    h: float,
    sums: np.ndarray,
) -> None:
    """Add mass, first and second moments of the level sets of n samples to `sums`.

    Parameters
    ----------
    values : array (n, N)
        Values of the formula at the nodes of every sample.
    conditions, sides : arrays (m, n, N), (m,)
        Functions whose signs must be the given ones where the formula rules.
    y, noise : array (n,), float
        Labels and the variance of their noise.
    x, after, before : arrays (N, k), (k, N), (k, N)
        Nodes, and the numbers of their neighbors along each axis of the lattice, -1 for none.
    axes, h : array (k, k), float
        Unit vectors along the axes of the lattice in its rows, and its step.
    sums : array (n, 1 + k + k * (k + 1) / 2)
        What is added to: masses, means, products of coordinates.
    """
    n, count = values.shape
    k = x.shape[1]
    m = len(sides)
    sigma = math.sqrt(noise)
    reach = _REACH * sigma
    slope = np.empty(k)
    point = np.empty(k)
    for i in range(n):
        g = values[i]
        label = y[i]
        for p in range(count):
            g0 = g[p] - label
            for a in range(k):
                q = after[a, p]
                if q < 0:
                    continue
                g1 = g[q] - label
                if (g0 > reach and g1 > reach) or (g0 < -reach and g1 < -reach):
                    continue
                if noise == 0.0 and (g0 < 0.0) == (g1 < 0.0):
                    continue
                # Cubic through four nodes in a row; at the rim of the lattice a chord.
                last, next_ = before[a, p], after[a, q]
                gm = g[last] - label if last >= 0 else 2 * g0 - g1
                gp = g[next_] - label if next_ >= 0 else 2 * g1 - g0
                c3 = (gp - 3 * g1 + 3 * g0 - gm) / 6
                c2 = (g1 - 2 * g0 + gm) / 2
                c1 = g1 - g0 - c2 - c3
                parts = 1
                if noise > 0.0:
                    bent = math.sqrt(abs(c2 + 1.5 * c3) / 4 / (_STRAIGHT * sigma))
                    parts = int(min(max(math.ceil(bent), 1.0), _MOST_PARTS))
                left = g0
                for part in range(parts):
                    start = part / parts
                    if noise == 0.0:
                        low, high, theta = 0.0, 1.0, g0 / (g0 - g1)
                        for _ in range(6):
                            at = ((c3 * theta + c2) * theta + c1) * theta + g0
                            if (at < 0.0) == (g0 < 0.0):
                                low = theta
                            else:
                                high = theta
                            theta -= at / ((3 * c3 * theta + 2 * c2) * theta + c1)
                            if not (low < theta < high):
                                theta = 0.5 * (low + high)
                        weight, spread = 1.0, 0.0
                    else:
                        stop = (part + 1) / parts
                        right = ((c3 * stop + c2) * stop + c1) * stop + g0
                        u, v = left / sigma, right / sigma
                        left = right
                        if u > v:
                            u, v = v, u
                            stop, start = start, stop
                        # The label lies in a band around a chord: mass, mean and spread of the
                        # piece of a Gaussian between u and v.
                        width = v - u
                        if width < 1e-2:
                            middle = 0.5 * (u + v)
                            weight = math.exp(-0.5 * middle * middle) / math.sqrt(2 * math.pi)
                            mean = 0.5 - middle * width / 12
                            spread = math.sqrt(1 / 12)
                        else:
                            if u > 0.0:
                                mass = 0.5 * (
                                    math.erfc(u * 0.7071067811865476)
                                    - math.erfc(v * 0.7071067811865476)
                                )
                            else:
                                mass = 0.5 * (
                                    math.erfc(-v * 0.7071067811865476)
                                    - math.erfc(-u * 0.7071067811865476)
                                )
                            if mass <= 1e-300:
                                continue
                            at_u = math.exp(-0.5 * u * u) / math.sqrt(2 * math.pi)
                            at_v = math.exp(-0.5 * v * v) / math.sqrt(2 * math.pi)
                            tilt = (at_u - at_v) / mass
                            square = 1.0 + (u * at_u - v * at_v) / mass - tilt * tilt
                            weight = mass / width
                            mean = (tilt - u) / width
                            spread = math.sqrt(max(square, 0.0)) / width
                        theta = start + mean * (stop - start)
                        spread *= abs(stop - start)
                        weight *= h / (parts * sigma)
                    for side in range(1 if noise == 0.0 else 2):
                        place = theta + (spread if side else -spread)
                        if noise > 0.0:
                            share = 0.5 * weight
                        else:
                            share = weight
                        # Slopes along the axes of the lattice.
                        total = 0.0
                        for c in range(k):
                            if c == a:
                                slope[c] = ((3 * c3 * place + 2 * c2) * place + c1) / h
                            else:
                                slope[c] = _across(g, after[c], before[c], p, q, place) / h
                        own = slope[a] * slope[a] + noise
                        for c in range(k):
                            ratio = (slope[c] * slope[c] + noise) / own
                            total += ratio * ratio
                        share /= total
                        if noise == 0.0:
                            share /= abs(slope[a])
                        if not (share < 1e300):
                            continue
                        # The part of the cell on the right side of every condition.
                        for j in range(m):
                            b = conditions[j, i]
                            along = (b[q] - b[p]) / h
                            lean = along * slope[a] / own if own > 0.0 else 0.0
                            wide = 0.0
                            for c in range(k):
                                if c != a:
                                    tilt = _across(b, after[c], before[c], p, q, place) / h
                                    tilt -= lean * slope[c]
                                    wide += tilt * tilt
                            if noise > 0.0:
                                wide += 0.25 * along * along * noise / own
                            height = sides[j] * (b[p] + (b[q] - b[p]) * place)
                            wide = h * math.sqrt(wide)
                            if height <= -0.5 * wide:
                                share = 0.0
                            elif height < 0.5 * wide:
                                share *= 0.5 + height / wide
                        if share == 0.0:
                            continue
                        norm = 0.0
                        for c in range(k):
                            point[c] = x[p, c] + h * place * axes[a, c]
                            norm += point[c] * point[c]
                        share *= math.exp(-0.5 * norm)
                        sums[i, 0] += share
                        where = 1 + k
                        for c in range(k):
                            sums[i, 1 + c] += share * point[c]
                            for d in range(c + 1):
                                sums[i, where] += share * point[c] * point[d]
                                where += 1
