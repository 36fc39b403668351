"""Panels on a line that end at given points, with nodes that crowd there."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..calculus.line import gauss_legendre

NODES = 6  # in each panel
_SCAN = 1 / 16  # distance at which changes are looked for
_BISECTIONS = 36


def scan(extent: float) -> np.ndarray:
    """Points at which changes between ``-extent`` and ``extent`` are looked for."""
    # The offset keeps them off the places where people put their breaks.
    return np.arange(-extent - _SCAN, extent + 2 * _SCAN, _SCAN) + 0.0123 * _SCAN


def bisect(
    signature: Callable[[np.ndarray], np.ndarray],
    low: np.ndarray,
    high: np.ndarray,
    left: np.ndarray,
) -> np.ndarray:
    """Points between `low` and `high` where the signature stops to be `left`."""
    for _ in range(_BISECTIONS if len(low) else 0):
        middle = (low + high) / 2
        same = signature(middle) == left
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return (low + high) / 2


def panel_edges(changes: np.ndarray, level: int, extent: float) -> tuple[np.ndarray, np.ndarray]:
    """Edges of panels of width ``2^-level`` and of the `changes`; which edges are changes."""
    step = 2.0**-level
    grid = np.arange(-math.ceil(extent / step), math.ceil(extent / step) + 1) * step
    if len(changes):  # an edge of the grid that is a change up to rounding gives way to it
        grid = grid[np.abs(grid[:, None] - changes).min(axis=1) > 1e-3 * step]
    edges = np.concatenate([grid, changes])
    is_change = np.concatenate([np.zeros(len(grid), bool), np.ones(len(changes), bool)])
    order = np.argsort(edges, kind="stable")
    return edges[order], is_change[order]


def graded_nodes(edges: np.ndarray, is_change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights between `edges`, crowded quadratically at the changes.

    Examples
    --------
    The square root is integrated between 0 and 1 as if it were a polynomial:

    >>> x, w = graded_nodes(np.array([0.0, 1.0]), np.array([True, False]))
    >>> round(float(w @ np.sqrt(x)), 12)
    0.666666666667
    """
    low, length = edges[:-1], np.diff(edges)
    t, w = gauss_legendre(NODES)
    maps = {
        (False, False): (t, np.ones_like(t)),
        (True, False): (t**2, 2 * t),
        (False, True): (1 - (1 - t) ** 2, 2 * (1 - t)),
        (True, True): (t**2 * (3 - 2 * t), 6 * t * (1 - t)),
    }
    nodes, weights = np.empty((2, len(low), len(t)))
    for (left, right), (place, slope) in maps.items():
        here = (is_change[:-1] == left) & (is_change[1:] == right)
        nodes[here] = low[here, None] + length[here, None] * place
        weights[here] = length[here, None] * slope * w
    used = length > 1e-13
    return nodes[used].ravel(), weights[used].ravel()
