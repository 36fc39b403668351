"""Compiled panels of lines of prior means."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_TINY = 1e-9  # panels that are shorter do not matter
_STRETCH = 1.25  # by how much a panel may be too long before it is two


@njit(cache=True, nogil=True, error_model="numpy")
def _scale(x: float, centers: np.ndarray, widths: np.ndarray) -> float:
    """Length on which a function varies at x: the deviation of u, or less next to a center."""
    scale = 1.0
    for c in range(len(centers)):
        scale = min(scale, math.hypot(widths[c], x - centers[c]))
    return scale


@njit(cache=True, nogil=True, error_model="numpy")
def panels_on_lines(
    centers: np.ndarray,
    widths: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    length: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Panels on lines, which are short next to centers and grow with the distance.

    Parameters
    ----------
    centers : array (m, k)
        Where what is integrated varies fast; panels end there. Those beyond the line do not count.
    widths : array (k,)
        On which length it does; infinite for a center that ends a panel and nothing else.
    low, high : arrays (m,)
        Ends of each line.
    length : float
        Of the panels, in units of the scale.

    Returns
    -------
    line : int array (n,)
        Number of the line of each panel.
    start, stop : arrays (n,)
        Its ends; panels are in increasing order on every line.
    """
    line, edges = [0 for _ in range(0)], [(0.0, 0.0) for _ in range(0)]
    for i in range(len(low)):
        begin = low[i]
        for end in np.append(np.sort(centers[i]), high[i]):
            end = min(end, high[i])
            if not end - begin > _TINY:
                continue
            a, b = begin, end
            behind = [b]
            while True:
                forth = length * _scale(a, centers[i], widths)
                back = length * _scale(b, centers[i], widths)
                step = min(forth, back)
                if b - a <= _STRETCH * step:
                    break
                step = min(step, (b - a) / 2)
                # Away from where the scale is smaller: it grows along the panel.
                if forth <= back:
                    line.append(i)
                    edges.append((a, a + step))
                    a += step
                else:
                    b -= step
                    behind.append(b)
            for x in behind[::-1]:
                line.append(i)
                edges.append((a, x))
                a = x
            begin = end
    found = np.array(edges).reshape(-1, 2)
    return np.array(line), found[:, 0].copy(), found[:, 1].copy()
