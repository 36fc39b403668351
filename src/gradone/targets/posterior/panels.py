r"""Nodes for many Gaussian integrals at once, with panels that end where the integrand breaks.

Coordinate by coordinate, :math:`z = \omega + L x` with L lower triangular: given the coordinates
before, the breaks are points on the line of the next one. Where there are none the rule is the
trapezoidal one, else Gauss-Legendre between the breaks.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...calculus.integrand import Plane
from ...calculus.line import gauss_legendre

LEAST = 5  # nodes in the shortest panel
DENSER = 1.25  # Gauss-Legendre needs more nodes than the trapezoidal rule for the same accuracy


class Nodes(NamedTuple):
    """Nodes of several integrals, one after another."""

    owner: np.ndarray
    """(N,) number of the integral that each node belongs to, in increasing order."""
    x: np.ndarray
    """(N, k) standardized nodes."""
    z: np.ndarray
    """(N, k) nodes."""
    weight: np.ndarray
    """(N,) weights; those of one integral sum to 1."""


def panel_nodes(
    planes: Sequence[Plane],
    omega: np.ndarray,
    lower: np.ndarray,
    steps: Sequence[float],
    reach: float,
) -> Nodes:
    """Nodes for the laws N(omega_i, L L^T), cut at `reach` standard deviations.

    Parameters
    ----------
    planes : sequence of Plane
        Where the integrand breaks.
    omega : array (m, k)
        Means.
    lower : array (k, k)
        Lower triangular square root L of the covariance.
    steps : sequence of float
        Distance of neighbors along each standardized coordinate.
    reach : float
        Radius of the nodes.

    Examples
    --------
    The mean of :math:`|z|` under N(0.3, 1), with a break at 0:

    >>> nodes = panel_nodes([Plane((1.0,), 0.0)], np.array([[0.3]]), np.eye(1), [0.5], 8.0)
    >>> bool(abs(nodes.weight @ abs(nodes.z[:, 0]) - 0.8335224842344199) < 1e-12)
    True
    """
    m, k = omega.shape
    owner, x, z, log_weight = np.arange(m), np.zeros((m, 0)), np.zeros((m, 0)), np.zeros(m)
    factor = np.ones(m)
    for axis, breaks in enumerate(breaks_by_axis(planes, k)):
        center = omega[owner, axis] + x @ lower[axis, :axis]
        half = np.sqrt(np.maximum(reach**2 + 2 * log_weight, steps[axis] ** 2))
        points = [(c - z @ n[:axis]) / n[axis] for n, c in breaks]
        cuts = [(point - center) / lower[axis, axis] for point in points]
        parent, new, share = _line_nodes(half, cuts, steps[axis])
        owner, log_weight = owner[parent], log_weight[parent] - new**2 / 2
        factor = factor[parent] * share
        x = np.column_stack([x[parent], new])
        z = np.column_stack([z[parent], center[parent] + lower[axis, axis] * new])
    weight = factor * np.exp(log_weight)
    return Nodes(owner, x, z, weight / np.bincount(owner, weight, m)[owner])


def breaks_by_axis(planes: Sequence[Plane], k: int) -> list[list[tuple[np.ndarray, float]]]:
    """Planes sorted by the last coordinate that they contain, and where they cross each other.

    Where two breaks of one coordinate change places, the integral over it is not smooth.
    """
    found = [(np.array(plane.normal), plane.offset) for plane in planes]
    sorted_planes: list[list[tuple[np.ndarray, float]]] = [[] for _ in range(k)]
    for axis in reversed(range(k)):
        here = [(n, c) for n, c in found if n[axis] and not n[axis + 1 :].any()]
        sorted_planes[axis] = here
        for (n, c), (other, d) in itertools.combinations(here, 2):
            crossing = n / n[axis] - other / other[axis]
            crossing[axis] = 0.0
            if np.abs(crossing).max() > 1e-12:
                found.append((crossing, c / n[axis] - d / other[axis]))
    return sorted_planes


def _line_nodes(
    half: np.ndarray, cuts: list[np.ndarray], step: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes on the intervals [-half, half] between the cuts: (parent, x, weight)."""
    if not cuts:
        count = np.floor(half / step).astype(np.int64)
        parent = np.repeat(np.arange(len(half)), 2 * count + 1)
        first = np.cumsum(2 * count + 1) - (2 * count + 1)
        place = np.arange(len(parent)) - first[parent] - count[parent]
        return parent, step * place, np.full(len(parent), step)
    edges = np.sort(np.clip(np.column_stack([-half, *cuts, half]), -half[:, None], half[:, None]))
    low, width = edges[:, :-1].ravel(), np.diff(edges, axis=1).ravel()
    count = np.ceil(DENSER * width / step).astype(np.int64) + LEAST
    count[width <= 1e-12] = 0
    table, weights, start = _legendre_table(-(-int(count.max()) // 32) * 32)
    panel = np.repeat(np.arange(len(low)), count)
    first = np.cumsum(count) - count
    place = np.arange(len(panel)) - first[panel] + start[count[panel]]
    x = low[panel] + width[panel] * table[place]
    return panel // (edges.shape[1] - 1), x, width[panel] * weights[place]


@lru_cache(maxsize=16)
def _legendre_table(largest: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gauss-Legendre rules with 1, 2, ... nodes, one after another, and where each begins."""
    rules = [gauss_legendre(n) for n in range(1, largest + 1)]
    start = np.concatenate([[0, 0], np.cumsum(np.arange(1, largest + 1))])
    return np.concatenate([t for t, _ in rules]), np.concatenate([w for _, w in rules]), start
