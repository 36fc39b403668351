r"""Conditional moments given a noisy output of one variable, by direct integration.

.. math:: a_k(y) = \mathbb{E}\big[\mathrm{he}_k(z)\,\mathcal{N}(y; g(z), \Delta)\big], \qquad
          T_k = \int \frac{a_k(y)^2}{a_0(y)}\,dy
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from .hermite import hermite_table, normal_density, tail_energy
from .line import gauss_legendre
from .monotone import Family
from .output_gram import OutputGram

_REACH, _SHORT_REACH = 10.0, 8.5  # the second is enough for orders 1 and 2
_PANEL = 0.25  # longest panel
_MAX_OUTPUTS = 1 << 14  # values of y for one function
_MAX_VALUES = 150_000  # of z, of all functions
_CHUNK = 1 << 12  # cells at once
_TERMS = 11  # of the expansion around the middle of a cell
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
    degree = max(orders)
    fine, coarse = (_second_moments(g, breaks, noise, degree, rule) for rule in (1, 2))
    return [
        None if a is None or b is None else {k: _gram(a, b, k, degree) for k in orders}
        for a, b in zip(fine, coarse, strict=True)
    ]


def _gram(fine: np.ndarray, coarse: np.ndarray, k: int, degree: int) -> OutputGram:
    error = float(abs(fine[k] - coarse[k])) + 1e-12 + tail_energy(k, _reach(degree))
    return OutputGram(np.array([[fine[k]]]), error)


def _reach(degree: int) -> float:
    return _SHORT_REACH if degree <= 2 else _REACH


def _second_moments(
    g: Family, breaks: Sequence[Sequence[float]], noise: float, degree: int, coarseness: int
) -> list[np.ndarray | None]:
    """T_0, ..., T_degree of each function; None where there are too many values."""
    sigma, count = math.sqrt(noise), len(breaks)
    step = 1 / (4 if coarseness == 1 else 3)  # of y, in standard deviations
    t, w = gauss_legendre(6 if coarseness == 1 else 5)
    member, low, high = _panels(g, breaks, 2 * sigma * coarseness, _reach(degree))
    # Functions that are too fine are left out before more is spent on them, the finest first.
    values = np.bincount(member, minlength=count)
    cheapest = np.argsort(values, kind="stable")
    is_paid = np.zeros(count, dtype=bool)
    is_paid[cheapest] = len(t) * np.cumsum(values[cheapest]) <= _MAX_VALUES
    kept = is_paid[member]
    width = (high - low)[kept, None]
    z = (low[kept, None] + width * t).ravel()
    weight, member = (width * w).ravel() * normal_density(z), np.repeat(member[kept], len(t))
    y = g(member, z) / sigma
    bottom, top = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(bottom, member, y)
    np.maximum.at(top, member, y)
    cells = np.ceil(np.maximum(top - bottom, 0) / step) + 2 * math.ceil(_WINDOW / step) + 1
    is_seen = np.isfinite(top) & (cells <= _MAX_OUTPUTS)
    kept = is_seen[member]
    member, place = member[kept], ((y - bottom[member]) / step)[kept]
    features = hermite_table(z[kept], degree) * (weight[kept] / sigma)
    sizes = np.where(is_seen, cells, 0).astype(np.int64)
    first = np.cumsum(sizes) - sizes
    a = _smoothed(place, first[member], features, step, int(sizes.sum()))
    with np.errstate(divide="ignore", invalid="ignore"):
        integrand = np.where(a[0] > 1e-250, a**2 / a[0], 0.0) * (step * sigma)
    ends = zip(first.tolist(), sizes.tolist(), strict=True)
    return [integrand[:, i : i + n].sum(axis=1) if n else None for i, n in ends]


def _smoothed(
    place: np.ndarray, first: np.ndarray, features: np.ndarray, step: float, size: int
) -> np.ndarray:
    r"""Mixtures of standard Gaussians on grids of a step, one behind the other: (rows, size).

    Points of one cell are taken together around its middle,

    .. math:: \varphi(x - \delta) = \varphi(x) \sum_p \frac{\delta^p}{p!}\,\mathrm{He}_p(x).

    Parameters
    ----------
    place : ndarray, shape (n,)
        Middles of the Gaussians in steps from where their grid begins to count.
    first : ndarray of int, shape (n,)
        Where that grid begins.
    features : ndarray, shape (rows, n)
        Weights.
    step : float
        Step in standard deviations.
    size : int
        Length of all grids.
    """
    middle = np.rint(place)
    delta = (place - middle) * step
    cell = middle.astype(np.int64) + first
    is_used = np.zeros(size, dtype=bool)
    is_used[cell] = True
    used = np.flatnonzero(is_used)
    owner = (np.cumsum(is_used) - 1)[cell]
    moments = np.empty((len(features), _TERMS, len(used)))
    for p in range(_TERMS):
        for row, feature in zip(moments, features, strict=True):
            row[p] = np.bincount(owner, feature, len(used))
        features = features * (delta / (p + 1))
    near = np.arange(2 * math.ceil(_WINDOW / step) + 1)
    x = (near - near[-1] // 2) * step
    scale = np.sqrt([float(math.factorial(p)) for p in range(_TERMS)])
    kernel = hermite_table(x, _TERMS - 1) * scale[:, None] * normal_density(x)
    a = np.zeros((len(moments), size))
    for start in range(0, len(used), _CHUNK):
        where = (used[start : start + _CHUNK, None] + near).ravel()
        low = int(where[0])
        for row, moment in zip(a, moments, strict=True):
            spread = moment[:, start : start + _CHUNK].T @ kernel
            sums = np.bincount(where - low, spread.ravel())
            row[low : low + len(sums)] += sums
    return a


def _panels(
    g: Family, breaks: Sequence[Sequence[float]], most: float, reach: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Member, low and high end of panels so short that g moves by less than `most` in each."""
    line = np.linspace(-reach, reach, math.ceil(2 * reach / _PANEL) + 1)
    grids = [np.unique([*line, *np.clip(points, -reach, reach)]) for points in breaks]
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
