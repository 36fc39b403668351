r"""When a diffusion on an interval first reaches one of its ends: the median of the time.

For :math:`dm = b(m)\,d\tau + \sqrt{2D(m)}\,dB` the share of the paths from m that have not yet
arrived solves Kolmogorov's backward equation

.. math:: \partial_\tau u = b\,u' + D\,u'', \qquad u = 0 \text{ at the ends}, \quad u = 1
          \text{ at } \tau = 0,

and from a random start it is the average of u. The equation is solved on a grid that is fine where
the start is; the rates between its points are those of Scharfetter and Gummel 1969, which are
positive at any ratio of drift to noise, so that u stays between 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

_ACCURACY = 1e-6

Coefficients = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
Law = Callable[[np.ndarray], np.ndarray]


def median_passage(
    coefficients: Coefficients,
    law: Law,
    ends: tuple[float, float],
    *,
    scale: float,
    patience: float,
    points: int,
) -> float:
    r"""Median time at which an end is reached, infinite if it is longer than `patience`.

    Parameters
    ----------
    coefficients : callable
        Drift b and half the variance D per unit of time, at points inside.
    law : callable
        Distribution function of the start; starts outside have arrived.
    ends : tuple of float
        Ends of the interval, one on each side of 0.
    scale : float
        Width around 0 in which the grid is fine.
    patience : float
        Longest time that is looked at.
    points : int
        Points of the grid.

    Examples
    --------
    Brownian motion from 0 leaves (-1, 1) at the median time 0.7574957, the root of
    :math:`\sum_k (-1)^k\,\frac{4}{(2k+1)\pi}\,e^{-(2k+1)^2\pi^2 t/8} = \frac12`:

    >>> still = lambda m: (0 * m, 0 * m + 0.5)
    >>> at_zero = lambda m: 1.0 * (m > 0)
    >>> round(median_passage(still, at_zero, (-1, 1), scale=0.3, patience=9.0, points=501), 4)
    0.7575
    """
    from scipy.integrate import solve_ivp

    low, high = (math.asinh(end / scale) for end in ends)
    m = scale * np.sinh(np.linspace(low, high, points))
    gaps, inside = np.diff(m), m[1:-1]
    down, up = gaps[:-1], gaps[1:]
    b, D = coefficients(inside)
    to_right = 2 * D / (up * (up + down)) * _bernoulli(-b * up / D)
    to_left = 2 * D / (down * (up + down)) * _bernoulli(b * down / D)
    share = np.diff(law(np.concatenate([m[:1], (inside[1:] + inside[:-1]) / 2, m[-1:]])))
    if share.sum() <= 0.5:
        return 0.0
    bands = np.zeros((3, len(inside)))
    bands[0, 1:], bands[1], bands[2, :-1] = to_right[:-1], -to_right - to_left, to_left[1:]

    def change(_: float, u: np.ndarray) -> np.ndarray:
        found = bands[1] * u
        found[:-1] += to_right[:-1] * u[1:]
        found[1:] += to_left[1:] * u[:-1]
        return found

    def left_over(_: float, u: np.ndarray) -> float:
        return float(share @ u) - 0.5

    left_over.terminal = True  # type: ignore[attr-defined]
    solution = solve_ivp(
        change, (0.0, patience), np.ones(len(inside)), method="LSODA", events=left_over,
        jac=lambda *_: bands, lband=1, uband=1, rtol=_ACCURACY, atol=_ACCURACY**1.5,
    )  # fmt: skip
    assert solution.t_events is not None
    arrived = solution.t_events[0]
    return float(arrived[0]) if len(arrived) else math.inf


def _bernoulli(x: np.ndarray) -> np.ndarray:
    """x/(e^x - 1), which is 1 at 0."""
    x = np.clip(x, None, 500.0)
    small = np.abs(x) < 1e-5
    return np.where(small, 1 - x / 2, x / np.expm1(np.where(small, 1.0, x)))
