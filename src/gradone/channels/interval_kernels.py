"""Compiled moments of a standard Gaussian variable on an interval."""

from __future__ import annotations

import math

import numpy as np

from ..base.machine_code import njit

DENSITY = 1 / math.sqrt(2 * math.pi)  # at zero
_ROOT2 = math.sqrt(2.0)
_TAIL = 5.0  # sd: beyond, moments are kept relative to the density at the near end


@njit(cache=True, nogil=True, error_model="numpy")
def upper(x: float) -> float:
    """Mass of a standard Gaussian above x."""
    return 0.5 * math.erfc(x / _ROOT2)


@njit(cache=True, nogil=True, error_model="numpy")
def interval_moments(low: float, high: float) -> tuple[float, float, float]:
    """Moments of order 0, 1, 2 of a standard Gaussian between two points, by tails only."""
    at_low = 0.0 if low == -math.inf else DENSITY * math.exp(-0.5 * low * low)
    at_high = 0.0 if high == math.inf else DENSITY * math.exp(-0.5 * high * high)
    if high == math.inf:
        mass = upper(low) if low > -math.inf else 1.0
    elif low == -math.inf:
        mass = upper(-high)
    elif low >= 0:
        mass = upper(low) - upper(high)
    elif high <= 0:
        mass = upper(-high) - upper(-low)
    else:
        mass = 1.0 - upper(-low) - upper(high)
    second = mass
    if at_low > 0:
        second += low * at_low
    if at_high > 0:
        second -= high * at_high
    return mass, at_low - at_high, second


@njit(cache=True, nogil=True, error_model="numpy")
def scaled_upper(x: float) -> float:
    """Mass of a standard Gaussian above x > 0 times exp(x^2/2)."""
    if x < 26.0:
        return 0.5 * math.exp(0.5 * x * x) * math.erfc(x / _ROOT2)
    t = 1 / (x * x)
    return DENSITY / x * (1 - t * (1 - 3 * t * (1 - 5 * t * (1 - 7 * t))))


@njit(cache=True, nogil=True, error_model="numpy")
def scaled_moments(low: float, high: float) -> tuple[float, float, float, float]:
    """Logarithmic scale, and moments of order 0, 1, 2 between two points divided by it."""
    if high < -_TAIL:
        scale, m0, m1, m2 = scaled_moments(-high, -low)
        return scale, m0, -m1, m2
    if low <= _TAIL:
        m0, m1, m2 = interval_moments(low, high)
        return 0.0, m0, m1, m2
    m0 = scaled_upper(low)
    at_high = 0.0
    if high < math.inf:
        at_high = math.exp(-0.5 * (high - low) * (high + low))
        m0 -= at_high * scaled_upper(high)
    m1 = DENSITY * (1.0 - at_high)
    m2 = m0 + DENSITY * low
    if at_high > 0:
        m2 -= DENSITY * high * at_high
    return -0.5 * low * low, m0, m1, m2


@njit(cache=True, nogil=True, error_model="numpy")
def beyond(distance: float) -> tuple[float, float, float]:
    """Mean and log mass of a standard Gaussian above a large distance; 1 minus its variance."""
    mills = scaled_upper(distance) / DENSITY
    hazard = 1 / mills
    # h (h - D) for large D, where the difference cancels: 1 - 2/D^2 + ...
    shrink = hazard * (hazard - distance) if distance < 100.0 else 1.0 - 2.0 / distance**2
    return hazard, math.log(DENSITY * mills) - 0.5 * distance * distance, shrink


@njit(cache=True, nogil=True, error_model="numpy")
def add_row(
    sums: np.ndarray,
    weight: float,
    point: np.ndarray,
    outer: int,
    mass: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
) -> None:
    """Add the sums of one row of parallel lines, on which the first `outer` coordinates are fixed.

    Row c of `sums` has the moments of the next coordinate x and the last one t for label c, of
    order (0,0), (1,0), (0,1), (2,0), (1,1), (0,2); the last row has those of all labels together.
    `second` may be empty: then second moments are not needed.
    """
    x, t = outer, outer + 1
    for c in range(len(mass)):
        m0 = weight * sums[c, 0]
        mass[c] += m0
        for a in range(outer):
            first[c, a] += m0 * point[a]
        first[c, x] += weight * sums[c, 1]
        first[c, t] += weight * sums[c, 2]
    for c in range(len(second)):
        for a in range(outer):
            for b in range(a + 1):
                second[c, a, b] += weight * sums[c, 0] * point[a] * point[b]
            second[c, x, a] += weight * sums[c, 1] * point[a]
            second[c, t, a] += weight * sums[c, 2] * point[a]
        second[c, x, x] += weight * sums[c, 3]
        second[c, t, x] += weight * sums[c, 4]
        second[c, t, t] += weight * sums[c, 5]


@njit(cache=True, nogil=True, error_model="numpy")
def complete(mass: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
    """Give what the nodes miss of the whole Gaussian to the label that has most of it.

    A prior that the label does not cut then has the moments of a Gaussian exactly: what is wrong is
    in proportion to what the label tells.
    """
    total = len(mass) - 1
    c = np.argmax(mass[:total])
    if mass[c] <= 0.5:
        return
    mass[c] += 1.0 - mass[total]
    for a in range(first.shape[1]):
        first[c, a] -= first[total, a]
        if len(second):
            for b in range(a + 1):
                second[c, a, b] -= second[total, a, b]
            second[c, a, a] += 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def write_excess(mass: float, first: np.ndarray, second: np.ndarray, excess: np.ndarray) -> None:
    """Covariance minus identity, from moments that are multiplied by the mass."""
    for a in range(len(first)):
        for b in range(a + 1):
            value = second[a, b] / mass - (first[a] / mass) * (first[b] / mass)
            value -= 1.0 if a == b else 0.0
            excess[a, b] = value
            excess[b, a] = value
