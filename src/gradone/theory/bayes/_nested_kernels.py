"""Compiled nodes of nested rules."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_MOST_STEPS = 80


@njit(cache=True, nogil=True, error_model="numpy")
def _position(a: float, centers: np.ndarray, widths: np.ndarray, far: float, turn: float) -> float:
    """Coordinate t(a) of [NM-1]."""
    t = a / far
    for c in range(len(centers)):
        t += math.asinh((a - centers[c]) / widths[c]) / turn
    return t


@njit(cache=True, nogil=True, error_model="numpy")
def _density(a: float, centers: np.ndarray, widths: np.ndarray, far: float, turn: float) -> float:
    """Derivative of t(a)."""
    slope = 1.0 / far
    for c in range(len(centers)):
        slope += 1.0 / (turn * math.hypot(widths[c], a - centers[c]))
    return slope


@njit(cache=True, nogil=True, error_model="numpy")
def lattice_lines(
    outer: np.ndarray,
    centers: np.ndarray,
    slopes: np.ndarray,
    widths: np.ndarray,
    far: float,
    turn: float,
    end: float,
    step: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Nodes with t = step * index within [-end, end], on the line through every outer place.

    Parameters
    ----------
    outer : array (n,)
        Places along the other axis.
    centers, slopes, widths : arrays (k,)
        Where the lines are denser, how much that moves with the outer place, and how wide it is.
    far, turn : float
        Steps s and tau of [NM-1].
    end, step : float
        End of the lines, and distance of the nodes in t.

    Returns
    -------
    line, index : int arrays (m,)
        Number of the line, and of the node on it.
    place, weight : arrays (m,)
        The node, and the inverse of the density of nodes.
    """
    first, size = np.empty(len(outer), np.int64), np.empty(len(outer), np.int64)
    for j in range(len(outer)):
        at = centers + slopes * outer[j]
        first[j] = math.ceil(_position(-end, at, widths, far, turn) / step)
        last = math.floor(_position(end, at, widths, far, turn) / step)
        size[j] = max(last - first[j] + 1, 0)
    total = size.sum()
    line, index = np.empty(total, np.int64), np.empty(total, np.int64)
    place, weight = np.empty(total), np.empty(total)
    m = 0
    for j in range(len(outer)):
        at = centers + slopes * outer[j]
        a = -end
        for i in range(size[j]):
            # Newton's steps, and halves of the interval where they leave it.
            low, high, goal = a, end, (first[j] + i) * step
            for _ in range(_MOST_STEPS):
                miss = _position(a, at, widths, far, turn) - goal
                if miss > 0.0:
                    high = a
                else:
                    low = a
                new = a - miss / _density(a, at, widths, far, turn)
                if not low <= new <= high:
                    new = 0.5 * (low + high)
                move, a = abs(new - a), new
                if move < 1e-14 * (1.0 + abs(a)):
                    break
            line[m], index[m], place[m] = j, first[j] + i, a
            weight[m] = 1.0 / _density(a, at, widths, far, turn)
            m += 1
    return line, index, place, weight
