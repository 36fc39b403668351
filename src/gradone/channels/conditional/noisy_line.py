r"""Conditional moments given a noisy output of one variable, by direct integration.

.. math:: a_k(y) = \mathbb{E}\big[\mathrm{he}_k(z)\,\mathcal{N}(y; g(z), \Delta)\big], \qquad
          T_k = \int \frac{a_k(y)^2}{a_0(y)}\,dy
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ...calculus.hermite import hermite_table, line_end, normal_density, tail_energy
from ...calculus.line import gauss_legendre
from ...calculus.monotone import Family
from .gram import OutputGram
from .label import Grams, Label

_ENOUGH = 1e-12  # what may lie beyond the end of the line
_NOTHING = 1e-8  # importance below which it does not matter any more
_PANEL = 0.125  # longest panel
# Nodes of a panel in z, how far g may move in it and the step in y, both in standard deviations,
# and the terms of the expansion around the middle of a step.
_RULES = ((6, 2.0, 1 / 4, 11), (5, 4.0, 1 / 3, 9), (4, 5.0, 1 / 2.5, 8))
_SECOND_BEST = 1e-7  # error of the last
_MAX_OUTPUTS = 1 << 15  # values of y for one function
_MAX_VALUES = 200_000  # of features at nodes: of all functions,
_FEW_VALUES = 8_000  # but of one function it takes less than by other methods
_CHUNK = 1 << 12  # cells at once
_WINDOW = 9.0  # beyond so many standard deviations a Gaussian has no weight
Function = Callable[[np.ndarray], np.ndarray]


class NoisyLine:
    """Exact rule for functions of one variable with noise."""

    @staticmethod
    def covers(label: Label) -> bool:
        """Whether there is one variable, and noise that is added to the label."""
        return label.f.r == 1 and label.noise > 0 and not label.latent

    @staticmethod
    def grams(label: Label, orders: Sequence[int]) -> Grams | None:
        """Matrices T_k; None if the noise is too little to integrate over it."""
        f = label.f
        return noisy_line_grams(lambda z: f(z[..., None]), f.kinks, label.noise, orders)


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
    g: Family,
    breaks: Sequence[Sequence[float]],
    noise: float,
    orders: Sequence[int],
    importance: np.ndarray | None = None,
    *,
    tolerance: float = 0.0,
) -> list[Grams | None]:
    """The same for many functions at once: ``g(members, points)``, with the breaks of each.

    Those of little `importance`, at most 1, may have larger errors, and so may all if a
    `tolerance` is given.

    Examples
    --------
    >>> family = noisy_family_grams(lambda i, z: (i + 1) * z, [[], []], 1.0, [1])
    >>> [round(float(grams[1].value[0, 0]), 9) for grams in family]  # 1 / 2 and 4 / 5
    [0.5, 0.8]
    """
    counts = np.ones(len(breaks)) if importance is None else np.maximum(importance, _NOTHING)
    enough = max(_ENOUGH, tolerance / 100)
    reach = [line_end(max(orders), enough, math.ceil(math.log10(w))) for w in counts]
    rules = _RULES[1:] if tolerance > _SECOND_BEST else _RULES[:2]
    fine, coarse = (_second_moments(g, breaks, reach, noise, max(orders), *rule) for rule in rules)
    return [
        None if a is None or b is None else {k: _gram(a[k], b[k], k, c) for k in orders}
        for a, b, c in zip(fine, coarse, reach, strict=True)
    ]


def _gram(fine: float, coarse: float, k: int, reach: float) -> OutputGram:
    error = abs(float(fine - coarse)) + 1e-12 + tail_energy(k, reach)
    return OutputGram(np.array([[fine]]), error)


def _second_moments(
    g: Family,
    breaks: Sequence[Sequence[float]],
    reach: Sequence[float],
    noise: float,
    degree: int,
    nodes: int,
    most: float,
    step: float,
    terms: int,
) -> list[np.ndarray | None]:
    """T_0, ..., T_degree of each function by a rule; None where there are too many values."""
    sigma, count = math.sqrt(noise), len(breaks)
    t, w = gauss_legendre(nodes)
    member, low, high = _panels(g, breaks, reach, most * sigma)
    # Functions that are too fine are left out before more is spent on them, the finest first.
    prices = len(t) * (degree + 1) * np.bincount(member, minlength=count)
    cheapest = np.argsort(prices, kind="stable")
    is_paid = prices <= _FEW_VALUES
    is_paid[cheapest] |= np.cumsum(prices[cheapest]) <= _MAX_VALUES
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
    a = _smoothed(place, first[member], features, step, terms, int(sizes.sum()))
    with np.errstate(divide="ignore", invalid="ignore"):
        integrand = np.where(a[0] > 1e-250, a**2 / a[0], 0.0) * (step * sigma)
    ends = zip(first.tolist(), sizes.tolist(), strict=True)
    return [integrand[:, i : i + n].sum(axis=1) if n else None for i, n in ends]


def _smoothed(
    place: np.ndarray,
    first: np.ndarray,
    features: np.ndarray,
    step: float,
    terms: int,
    size: int,
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
    terms : int
        Terms of the sum.
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
    moments = np.empty((len(features), terms, len(used)))
    for p in range(terms):
        for row, feature in zip(moments, features, strict=True):
            row[p] = np.bincount(owner, feature, len(used))
        features = features * (delta / (p + 1))
    near = np.arange(2 * math.ceil(_WINDOW / step) + 1)
    x = (near - near[-1] // 2) * step
    scale = np.sqrt([float(math.factorial(p)) for p in range(terms)])
    kernel = hermite_table(x, terms - 1) * scale[:, None] * normal_density(x)
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
    g: Family, breaks: Sequence[Sequence[float]], reach: Sequence[float], most: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Member, low and high end of panels so short that g moves by less than `most` in each."""
    lines = {c: np.linspace(-c, c, math.ceil(2 * c / _PANEL) + 1) for c in set(reach)}
    grids = [
        np.unique(np.concatenate([lines[c], np.clip(points, -c, c)])) if len(points) else lines[c]
        for c, points in zip(reach, breaks, strict=True)
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
