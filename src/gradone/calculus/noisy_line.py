r"""Conditional moments given a noisy output of one variable, by direct integration.

.. math:: a_k(y) = \mathbb{E}\big[\mathrm{he}_k(z)\,\mathcal{N}(y; g(z), \Delta)\big], \qquad
          T_k = \int \frac{a_k(y)^2}{a_0(y)}\,dy
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from .hermite import hermite_table, normal_density, tail_energy
from .line import gauss_legendre
from .monotone import Family
from .output_gram import OutputGram

_REACH = 10.0
_PANELS = 160
_MAX_CELLS, _MAX_OUTPUTS = 6_000_000, 1 << 14
_BLOCK = 64  # values of y for which the same few values of g matter
_FEW = 1 << 14  # pairs of them that are worth no selection
_WINDOW = 9.0  # beyond so many standard deviations a Gaussian has no weight
Function = Callable[[np.ndarray], np.ndarray]
Grams = dict[int, OutputGram]


def noisy_line_grams(
    g: Function, breaks: Sequence[float], noise: float, orders: Sequence[int]
) -> Grams | None:
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
    (found,) = noisy_family_grams(lambda _, z: g(z), [breaks], noise, orders)
    return found


def noisy_family_grams(
    g: Family, breaks: Sequence[Sequence[float]], noise: float, orders: Sequence[int]
) -> list[Grams | None]:
    """The same for many functions at once: ``g(members, points)``, with the breaks of each.

    Examples
    --------
    >>> family = noisy_family_grams(lambda i, z: (i + 1) * z, [[], []], 1.0, [1])
    >>> [round(float(grams[1].value[0, 0]), 9) for grams in family]  # 1 / 2 and 4 / 5
    [0.5, 0.8]
    """
    fine = _second_moments(g, breaks, noise, max(orders), 1)
    coarse = _second_moments(g, breaks, noise, max(orders), 2)
    return [
        None if a is None or b is None else {k: _gram(a, b, k) for k in orders}
        for a, b in zip(fine, coarse, strict=True)
    ]


def _gram(fine: np.ndarray, coarse: np.ndarray, k: int) -> OutputGram:
    error = float(abs(fine[k] - coarse[k])) + 1e-12 + tail_energy(k, _REACH)
    return OutputGram(np.array([[fine[k]]]), error)


def _second_moments(
    g: Family, breaks: Sequence[Sequence[float]], noise: float, degree: int, coarseness: int
) -> list[np.ndarray | None]:
    sigma = math.sqrt(noise)
    member, low, high = _panels(g, breaks, 2 * sigma * coarseness)
    t, w = gauss_legendre(6 if coarseness == 1 else 5)
    width = (high - low)[:, None]
    z = (low[:, None] + width * t).ravel()
    member = np.repeat(member, len(t))
    features = hermite_table(z, degree) * ((width * w).ravel() * normal_density(z))
    values = g(member, z)
    step = sigma / (4 if coarseness == 1 else 3)
    starts = np.searchsorted(member, np.arange(len(breaks) + 1))
    return [
        _mixture(values[a:b], features[:, a:b], sigma, step) for a, b in itertools.pairwise(starts)
    ]


def _panels(
    g: Family, breaks: Sequence[Sequence[float]], most: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Member, low and high end of panels so short that g moves by less than `most` in each."""
    grids = [
        np.unique([*np.linspace(-_REACH, _REACH, _PANELS + 1), *np.clip(points, -_REACH, _REACH)])
        for points in breaks
    ]
    member = np.repeat(np.arange(len(grids)), [len(grid) - 1 for grid in grids])
    low = np.concatenate([grid[:-1] for grid in grids])
    high = np.concatenate([grid[1:] for grid in grids])
    inset = 1e-9 * (high - low)  # a jump at an end belongs to the neighbour
    rise = np.abs(g(member, high - inset) - g(member, low + inset))
    parts = np.ceil(np.clip(rise / most, 1, 200)).astype(np.int64)
    index = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    step = np.repeat((high - low) / parts, parts)
    start = np.repeat(low, parts) + index * step
    return np.repeat(member, parts), start, start + step


def _mixture(
    values: np.ndarray, features: np.ndarray, sigma: float, step: float
) -> np.ndarray | None:
    """Integral of a_k^2 / a_0 over y, where a_k is a mixture of Gaussians around the values."""
    distinct, where = np.unique(values, return_inverse=True)  # few where g is constant
    y = np.arange(distinct[0] - 8 * sigma, distinct[-1] + 8 * sigma, step)
    block = max(_BLOCK, _FEW // len(distinct))
    seen_at_once = min(1.0, (2 * _WINDOW * sigma + block * step) / max(np.ptp(distinct), sigma))
    if len(y) > _MAX_OUTPUTS or len(y) * len(distinct) * seen_at_once > _MAX_CELLS:
        return None
    order = np.argsort(where, kind="stable")
    first = np.searchsorted(where[order], np.arange(len(distinct)))
    features = np.add.reduceat(features[:, order], first, axis=1).T
    total = np.zeros(features.shape[1])
    for start in range(0, len(y), block):
        part = y[start : start + block]
        near = slice(
            np.searchsorted(distinct, part[0] - _WINDOW * sigma),
            np.searchsorted(distinct, part[-1] + _WINDOW * sigma),
        )
        distance = (part[:, None] - distinct[near]) / sigma
        a = normal_density(distance) @ features[near] / sigma
        seen = a[:, 0] > 1e-250
        total += (a[seen] ** 2 / a[seen, :1]).sum(axis=0) * step
    return total
