r"""Conditional moments given a noisy output of one variable, by direct integration.

.. math:: a_k(y) = \mathbb{E}\big[\mathrm{he}_k(z)\,\mathcal{N}(y; g(z), \Delta)\big], \qquad
          T_k = \int \frac{a_k(y)^2}{a_0(y)}\,dy
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from .hermite import hermite_table, normal_density
from .line import gauss_legendre
from .output_gram import OutputGram

_REACH = 7.5
_MAX_CELLS = 6_000_000
Function = Callable[[np.ndarray], np.ndarray]


def noisy_line_grams(
    g: Function, breaks: Sequence[float], noise: float, orders: Sequence[int]
) -> dict[int, OutputGram] | None:
    r"""Matrices :math:`T_k` (1 x 1) for :math:`y = g(z) + \sqrt\Delta\,\xi`; None if too fine.

    Notes
    -----
    In y a trapezoid rule of step :math:`\sqrt\Delta/4`, which converges faster than any power; in
    z Gauss-Legendre panels between the breaks, short enough to follow the Gaussian in y.

    Examples
    --------
    >>> grams = noisy_line_grams(lambda z: z, [], 1.0, [1])
    >>> bool(abs(grams[1].value[0, 0] - 0.5) < 1e-9)  # signal / (signal + noise)
    True
    """
    fine = _second_moments(g, breaks, noise, max(orders), 1)
    coarse = _second_moments(g, breaks, noise, max(orders), 2)
    if fine is None or coarse is None:
        return None
    return {
        k: OutputGram(np.array([[fine[k]]]), float(abs(fine[k] - coarse[k])) + 1e-12)
        for k in orders
    }


def _second_moments(
    g: Function, breaks: Sequence[float], noise: float, degree: int, coarseness: int
) -> np.ndarray | None:
    sigma = math.sqrt(noise)
    inner = [b for b in breaks if -_REACH < b < _REACH]
    grid = np.unique([*np.linspace(-_REACH, _REACH, 121), *inner])
    # Panels short enough that g moves by less than the noise in each.
    rise = np.abs(np.diff(g(grid)))
    parts = np.ceil(np.clip(rise / (2 * sigma * coarseness), 1, 200)).astype(int)
    left = np.repeat(grid[:-1], parts)
    index = np.arange(len(left)) - np.repeat(np.cumsum(parts) - parts, parts)
    low = left + index * np.repeat(np.diff(grid) / parts, parts)
    edges = np.append(low, grid[-1])
    t, w = gauss_legendre(6 if coarseness == 1 else 5)
    width = np.diff(edges)[:, None]
    z = (edges[:-1, None] + width * t).ravel()
    weight = (width * w).ravel() * normal_density(z)
    keep = weight > 1e-20
    z, weight = z[keep], weight[keep]
    values = g(z)
    step = sigma / (4 if coarseness == 1 else 3)
    y = np.arange(values.min() - 8 * sigma, values.max() + 8 * sigma, step)
    if len(y) * len(z) > _MAX_CELLS:
        return None
    features = hermite_table(z, degree) * weight
    total = np.zeros(degree + 1)
    for start in range(0, len(y), 512):
        part = y[start : start + 512, None]
        likelihood = np.exp(-0.5 * (part - values) ** 2 / noise) / (math.sqrt(2 * math.pi) * sigma)
        a = likelihood @ features.T
        seen = a[:, 0] > 1e-250
        total += (a[seen] ** 2 / a[seen, :1]).sum(axis=0) * step
    return total
