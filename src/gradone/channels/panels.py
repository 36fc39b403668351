r"""Nodes for many Gaussian integrals at once, with panels that end where the integrand breaks.

Coordinate by coordinate, :math:`z = \omega + L x` with L lower triangular: given the coordinates
before, the breaks are points on the line of the next one. Where there are none the rule is the
trapezoidal one, else Gauss-Legendre between the breaks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit

from ..calculus.integrand import Plane
from ..calculus.line import gauss_legendre

LEAST = 5  # nodes in the shortest panel
# Up to which all numbers of nodes are used, and up to which multiples of four: few rules have to be
# known. More nodes are several rules, on equal parts of the panel.
_ALL, _MOST = 16, 64
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
    owner, x, z = np.arange(m), np.zeros((m, 0)), np.zeros((m, 0))
    weight = np.ones(m)
    for axis, breaks in enumerate(breaks_by_axis(planes, k)):
        normals = np.array([normal[: axis + 1] for normal, _ in breaks]).reshape(-1, axis + 1)
        offsets = np.array([offset for _, offset in breaks])
        edges = _edges(owner, x, z, omega[:, axis], lower[axis], normals, offsets, reach)
        count, largest = _counts(edges, steps[axis])
        size = int(count.sum())
        grown = Nodes(
            np.empty(size, np.int64),
            np.empty((size, axis + 1)),
            np.empty((size, axis + 1)),
            np.empty(size),
        )
        _grow(
            owner,
            x,
            z,
            weight,
            omega[:, axis],
            lower[axis],
            edges,
            count,
            steps[axis],
            *_legendre_table(-(-largest // 32) * 32),
            *grown,
        )
        owner, x, z, weight = grown
    _normalize(owner, weight, np.bincount(owner, weight, m))
    return Nodes(owner, x, z, weight)


@njit(cache=True, nogil=True, error_model="numpy")
def _normalize(owner: np.ndarray, weight: np.ndarray, total: np.ndarray) -> None:
    """Divide the weights by their sums."""
    for j in range(len(owner)):
        weight[j] /= total[owner[j]]


@njit(cache=True, nogil=True, error_model="numpy")
def _edges(
    owner: np.ndarray,
    x: np.ndarray,
    z: np.ndarray,
    omega: np.ndarray,
    lower: np.ndarray,
    normals: np.ndarray,
    offsets: np.ndarray,
    reach: float,
) -> np.ndarray:
    """Ends of the panels on the line of the next coordinate, through every node so far."""
    axis, breaks = x.shape[1], len(offsets)
    edges = np.empty((len(owner), breaks + 2))
    for j in range(len(owner)):
        center, square = omega[owner[j]], 0.0
        for a in range(axis):
            center += lower[a] * x[j, a]
            square += x[j, a] ** 2
        half = math.sqrt(max(reach * reach - square, 0.0)) + 1e-9
        edges[j, 0], edges[j, breaks + 1] = -half, half
        for b in range(breaks):
            place = offsets[b]
            for a in range(axis):
                place -= normals[b, a] * z[j, a]
            cut = (place / normals[b, axis] - center) / lower[axis]
            edges[j, b + 1] = min(max(cut, -half), half)
        if breaks > 1:
            edges[j].sort()
    return edges


@njit(cache=True, nogil=True, error_model="numpy")
def _is_whole(edges: np.ndarray, panel: int) -> bool:
    """Whether one panel is the whole line."""
    return edges[panel + 1] - edges[panel] > edges[-1] - edges[0] - 1e-12


@njit(cache=True, nogil=True, error_model="numpy")
def _counts(edges: np.ndarray, step: float) -> tuple[np.ndarray, int]:
    """Numbers of nodes in the panels of every line, and the largest of a Gauss-Legendre rule."""
    count, largest = np.zeros((edges.shape[0], edges.shape[1] - 1), np.int64), 1
    for j in range(count.shape[0]):
        for panel in range(count.shape[1]):
            width = edges[j, panel + 1] - edges[j, panel]
            if _is_whole(edges[j], panel):
                count[j, panel] = 2 * int(edges[j, -1] / step) + 1
            elif width > 1e-12:
                n = math.ceil(DENSER * width / step) + LEAST
                if n > _ALL:
                    several = 4 if n <= _MOST else _MOST
                    n = -(-n // several) * several
                count[j, panel] = n
                largest = max(largest, min(n, _MOST))
    return count, largest


@njit(cache=True, nogil=True, error_model="numpy")
def _grow(
    owner: np.ndarray,
    x: np.ndarray,
    z: np.ndarray,
    weight: np.ndarray,
    omega: np.ndarray,
    lower: np.ndarray,
    edges: np.ndarray,
    count: np.ndarray,
    step: float,
    table: np.ndarray,
    weights: np.ndarray,
    start: np.ndarray,
    new_owner: np.ndarray,
    new_x: np.ndarray,
    new_z: np.ndarray,
    new_weight: np.ndarray,
) -> None:
    """Every node becomes a line of nodes: trapezoidal on a whole line, else Gauss-Legendre."""
    axis = x.shape[1]
    place = 0
    for j in range(len(owner)):
        center = omega[owner[j]]
        for a in range(axis):
            center += lower[a] * x[j, a]
        for panel in range(count.shape[1]):
            n = count[j, panel]
            low, width = edges[j, panel], edges[j, panel + 1] - edges[j, panel]
            whole = _is_whole(edges[j], panel)
            size = min(n, _MOST)
            parts = n / max(size, 1)
            for i in range(n):
                if whole:
                    at, share = (i - n // 2) * step, step
                else:
                    entry = start[size] + i % size
                    at = low + width * (i // size + table[entry]) / parts
                    share = width * weights[entry] / parts
                new_owner[place] = owner[j]
                for a in range(axis):
                    new_x[place, a] = x[j, a]
                    new_z[place, a] = z[j, a]
                new_x[place, axis] = at
                new_z[place, axis] = center + lower[axis] * at
                new_weight[place] = weight[j] * share * math.exp(-0.5 * at * at)
                place += 1


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


@lru_cache(maxsize=16)
def _legendre_table(largest: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gauss-Legendre rules one after another, and where the rule with n nodes begins."""
    sizes = [n for n in range(1, largest + 1) if n <= _ALL or n % 4 == 0]
    rules = [gauss_legendre(n) for n in sizes]
    start = np.zeros(largest + 1, np.int64)
    start[sizes] = np.cumsum(sizes) - sizes
    return np.concatenate([t for t, _ in rules]), np.concatenate([w for _, w in rules]), start
