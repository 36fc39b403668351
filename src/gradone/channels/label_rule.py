"""Quadrature over the labels that may come out at a prior mean."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..base.seeds import stream
from ..calculus.line import gauss_legendre
from .base import Outcomes, Posterior

_NODES = 36  # in each interval
PROBE_RADIUS = 6.0  # in standard deviations
_RADII = 7
_DIRECTIONS = 48


class LabelRule(NamedTuple):
    """Labels (m, k) with the length dy that each of them stands for; unused places have dy = 0."""

    y: np.ndarray
    dy: np.ndarray


def probe_points(r: int) -> np.ndarray:
    """Points (r, j) of the ball that carries a standard Gaussian: rays along many directions."""
    corners = np.array(np.meshgrid(*[[-1.0, 0.0, 1.0]] * r)).reshape(r, -1)
    corners = corners[:, np.abs(corners).any(axis=0)]
    random = stream(0, "points", r=r, what="rays").standard_normal((r, _DIRECTIONS))
    rays = np.concatenate([corners, random], axis=1) if r > 1 else corners
    rays = rays / np.linalg.norm(rays, axis=0)
    radii = PROBE_RADIUS * np.linspace(0.0, 1.0, _RADII if r > 1 else 4 * _RADII)
    return np.concatenate([radius * rays for radius in radii], axis=1)


def label_rule(
    low: np.ndarray, high: np.ndarray, critical: np.ndarray, resolution: int
) -> LabelRule:
    """Rule on the union of intervals [low, high] (sheets, m), cut at the critical values.

    At a critical value the density of the label may be infinite like an inverse square root or a
    logarithm, or have a kink: Gauss-Legendre nodes in a variable whose fourth power is the distance
    from it.

    Examples
    --------
    >>> rule = label_rule(np.array([[0.0]]), np.array([[1.0]]), np.array([0.25]), 0)
    >>> float((rule.dy / np.sqrt(np.abs(rule.y - 0.25))).sum().round(9)), 1 + 3**0.5
    (2.732050808, 2.732050807568877)
    """
    m = low.shape[1]
    edges = np.concatenate([low, high, np.repeat(critical[:, None], m, axis=1)])
    edges = np.sort(edges, axis=0)
    size = np.nan_to_num(high - low).max(axis=0)
    is_critical = np.zeros(edges.shape, dtype=bool)
    for value in critical:  # a range may end there
        is_critical |= np.abs(edges - value) <= 1e-9 * size
    left, right = edges[:-1], edges[1:]
    middle = (left + right) / 2
    covered = ((low[:, None] < middle) & (middle < high[:, None])).any(axis=0)
    covered &= right - left > 1e-9 * size
    intervals = int(covered.sum(axis=0).max(initial=1))
    first = np.argsort(~covered, axis=0, kind="stable")[:intervals]
    kind = is_critical[:-1] + 2 * is_critical[1:]
    left, right, covered, kind = (
        np.take_along_axis(a, first, axis=0) for a in (left, right, covered, kind)
    )
    # Measured from the nearer end, so that a node never coincides with a critical value.
    from_left, from_right, weight = (table[kind] for table in _tables(_NODES * 2**resolution))
    width = np.where(covered, right - left, 0.0)[..., None]
    y = np.where(
        from_left < 0.5, left[..., None] + width * from_left, right[..., None] - width * from_right
    )
    y, dy = np.where(covered[..., None], y, 0.0), width * weight
    return LabelRule(y.transpose(1, 0, 2).reshape(m, -1), dy.transpose(1, 0, 2).reshape(m, -1))


def outcomes_on(
    posterior: Callable[[np.ndarray, np.ndarray, np.ndarray], Posterior],
    y: np.ndarray,
    weight: np.ndarray,
    omega: np.ndarray,
    V: np.ndarray,
    *,
    curvature: bool = False,
) -> Outcomes:
    """Outcomes at prior means `omega` (m, r) from the posteriors of given labels (m, k)."""
    (m, k), r = y.shape, omega.shape[1]
    used = np.flatnonzero(weight.ravel() > 0)
    found = posterior(y.ravel()[used], np.repeat(omega, k, axis=0)[used], V)
    log_z, g = np.full(m * k, -np.inf), np.zeros((m * k, r))
    log_z[used], g[used] = found.log_z, found.g
    dg = None
    if curvature:
        dg = np.zeros((m, k, r, r))
        dg.reshape(m * k, r, r)[used] = found.dg
    return Outcomes(y, weight, log_z.reshape(m, k), g.reshape(m, k, r), dg)


@lru_cache(maxsize=4)
def _tables(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distances from both ends of [0, 1] and weights (4, n): graded nowhere, left, right, both."""
    t, w = gauss_legendre(n)
    ends = [_rise(t, a) for a in ((0, 0), (3, 0), (0, 3), (3, 3))]
    back = [_rise(1 - t, a) for a in ((0, 0), (0, 3), (3, 0), (3, 3))]
    slopes = [np.ones(n), 4 * t**3, 4 * (1 - t) ** 3, 140 * (t * (1 - t)) ** 3]
    return np.array(ends), np.array(back), np.array(slopes) * w


def _rise(t: np.ndarray, flat: tuple[int, int]) -> np.ndarray:
    """Polynomial from 0 to 1 on [0, 1] with vanishing derivatives at its ends; small where t is."""
    match flat:
        case (0, 0):
            return t
        case (3, 0):
            return t**4
        case (0, 3):
            return t * (4 - 6 * t + 4 * t**2 - t**3)
        case _:
            return t**4 * (35 - 84 * t + 70 * t**2 - 20 * t**3)
