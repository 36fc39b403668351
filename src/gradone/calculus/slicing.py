r"""Conditional moments given the output of several variables, by cross-fitted slices.

The output is cut into slices, fine in its tails; the mean of :math:`\mathrm{he}_\beta` over each
slice comes from independent scrambled Sobol replicates, and only products of *different*
replicates are used: the square of a slice mean contains the square of its noise, which looks like
a signal where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .hermite import hermite_table, multi_indices
from .output_gram import OutputGram
from .smoothing import smoothing_filter
from .sobol import SobolSequence, gaussian_points

REPLICATES = 16
_MAX_CELLS = 2048
_POINTS_PER_CELL = 32
_WIDTHS = (8, 16, 32)  # cells in a slice, finest first
_SHIFTS = 8
_MAX_BINS = 1 << 14
_SEED = 314159
_MAX_KEPT = 1 << 15  # points in a replicate that are worth their memory
_TOGETHER = 1 << 14
_LOOKED_AT = 1 << 15  # points that choose the cells
_KEYS = 1 << 16
# The conditional moments are largest in the tails of the output: draw from a wider Gaussian there.
_SCALE = 1.4

Function = Callable[[Sequence[np.ndarray]], np.ndarray]
Columns = tuple[np.ndarray, np.ndarray]


def sliced_grams(
    g: Function,
    r: int,
    orders: Sequence[int],
    *,
    noise: float = 0.0,
    points: int = 1 << 19,
    scramble: int = 0,
) -> dict[int, OutputGram]:
    r"""Matrices :math:`T_k` [OG-1] of any function of r variables, with or without noise.

    Parameters
    ----------
    g : callable
        Columns -> outputs.
    r : int
        Number of variables.
    orders : sequence of int
        Values of k.
    noise : float
        Variance of the Gaussian noise added to the output.
    points : int
        Function values in all, over sixteen replicates.
    scramble : int
        Other values give independent points: errors of different problems then average out.

    Notes
    -----
    Without noise the slices are quantile intervals, graded towards the ends; three widths are
    extrapolated to zero. Values that are taken with positive probability have slices of their
    own. With noise the output is convolved with the Gaussian by FFT and nothing is cut.

    Examples
    --------
    The product :math:`z_1 z_2` has no trivial direction; :math:`T_1 = 0` within its error:

    >>> grams = sliced_grams(lambda z: z[0] * z[1], 2, [1], points=1 << 15)
    >>> bool((np.abs(grams[1].value) <= grams[1].entry_error()).all())
    True
    """
    n = 1 << max(8, int(np.log2(points / REPLICATES)))
    beta = _order_indices(r, orders)
    outputs: list[Columns] = []
    features: list[np.ndarray] = []
    # Small replicates are evaluated together: many calls would cost more than their numbers.
    size = min(REPLICATES, max(1, _TOGETHER // n))
    for first in range(0, REPLICATES, size):
        cloud = (r + (noise > 0), n, range(first, first + size), scramble)
        z, weight = _points(*cloud)
        y = np.array(np.broadcast_to(g(list(z[:r])), weight.shape), dtype=np.float64)
        outputs += zip(np.split(y, size), np.split(z[-1], size), strict=True)
        features += np.split(_point_features(*cloud, r, tuple(orders)), size, axis=1)
    outputs = _without_rounding(outputs)
    pooled = np.concatenate([y for y, _ in outputs])
    if noise > 0 and np.ptp(pooled) + 14 * noise**0.5 < _MAX_BINS * noise**0.5 / 8:
        sums, mass = _smoothed([y for y, _ in outputs], features, noise)
        levels = [_cross_products(sums, mass)]
    else:
        ys = [y + noise**0.5 * xi for y, xi in outputs]
        cells = min(_MAX_CELLS, 1 << int(np.log2(len(pooled) / _POINTS_PER_CELL)))
        sums = _binned(ys, features, cells)
        below = np.zeros((*sums.shape[:-1], cells + 1))
        np.cumsum(sums[..., :cells], axis=-1, out=below[..., 1:])
        levels = [_shifted_slices(below, sums[..., cells:], width) for width in _WIDTHS]
    result, start = {}, 0
    for k in orders:
        m = int((beta.sum(axis=1) == k).sum())
        block = slice(start, start + m)
        parts = [(value[block, block], rest[:, block, block]) for value, rest in levels]
        result[k] = _extrapolated(parts)
        start += m
    return result


def _without_rounding(outputs: list[Columns]) -> list[Columns]:
    """Outputs with eleven digits: values that differ by rounding only are one atom.

    Where a target is constant the last bits of its value still depend on z, and would reveal it.
    """
    size = float(np.median(np.abs(_first([y for y, _ in outputs])))) or 1.0
    digits = 11 - int(np.floor(np.log10(size)))
    return [(np.round(y, digits), z) for y, z in outputs]


def _first(columns: list[np.ndarray]) -> np.ndarray:
    """First points of each replicate, which are spread as evenly as all of them, in one array."""
    return np.concatenate([column[: _LOOKED_AT // len(columns)] for column in columns])


class _Cloud(NamedTuple):
    """Points (dim, n) of a wide Gaussian, and their weights under the standard one."""

    z: np.ndarray
    weight: np.ndarray


def _points(dim: int, n: int, which: range, scramble: int) -> _Cloud:
    """Replicates `which` of n points each."""
    if n <= _MAX_KEPT and not scramble:
        return _kept_points(dim, n, which)
    return _new_points(dim, n, which, scramble)


@lru_cache(maxsize=3 * REPLICATES)  # many problems share their points
def _kept_points(dim: int, n: int, which: range) -> _Cloud:
    return _new_points(dim, n, which, 0)


def _new_points(dim: int, n: int, which: range, scramble: int) -> _Cloud:
    sequences = [SobolSequence(dim, np.random.default_rng([_SEED, i, scramble])) for i in which]
    z = _SCALE * gaussian_points(np.concatenate([s.draw(n).T for s in sequences], axis=1))
    weight = np.exp(-0.5 * (1 - _SCALE**-2) * np.einsum("rn,rn->n", z, z)).reshape(-1, n)
    return _Cloud(z, (weight / weight.mean(axis=1, keepdims=True)).ravel())


def _point_features(
    dim: int, n: int, which: range, scramble: int, r: int, orders: tuple[int, ...]
) -> np.ndarray:
    """Features of these points; those of orders 1 and 2 are kept, which every target needs."""
    if n <= _MAX_KEPT and not scramble and max(orders) <= 2:
        return _kept_features(dim, n, which, r, orders)
    cloud = _points(dim, n, which, scramble)
    return _features(cloud.z[:r], _order_indices(r, orders), cloud.weight)


@lru_cache(maxsize=3 * REPLICATES)
def _kept_features(dim: int, n: int, which: range, r: int, orders: tuple[int, ...]) -> np.ndarray:
    cloud = _kept_points(dim, n, which)
    return _features(cloud.z[:r], _order_indices(r, orders), cloud.weight)


def _order_indices(r: int, orders: Sequence[int]) -> np.ndarray:
    """Multi-indices of each order in turn."""
    return np.vstack([multi_indices(r, k)[multi_indices(r, k).sum(axis=1) == k] for k in orders])


def _features(z: np.ndarray, beta: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weighted values of he_beta, shape (1 + number of beta, n); the first row is for beta = 0."""
    tables = [hermite_table(column, int(beta.max(initial=0))) for column in z]
    rows = np.empty((1 + len(beta), z.shape[1]))
    rows[:] = weight
    for row, index in zip(rows[1:], beta, strict=True):
        for table, k in zip(tables, index, strict=True):
            if k:
                row *= table[k]
    return rows


def _binned(outputs: list[np.ndarray], features: list[np.ndarray], cells: int) -> np.ndarray:
    """Means of features times the indicator of each cell, then of each atom: (R, rows, bins).

    Cells and atoms are chosen from the first points of each replicate.
    """
    sample = _first(outputs)
    order = np.argsort(sample)
    ordered, weight = sample[order], _first([feature[0] for feature in features])[order]
    first = np.flatnonzero(np.concatenate([[True], np.diff(ordered) != 0]))
    count = np.diff(np.append(first, len(ordered)))
    is_atom = count > 0.002 * len(ordered)
    atoms = ordered[first[is_atom]]
    edges = _graded_edges(ordered, np.where(np.repeat(is_atom, count), 0.0, weight), cells)
    bins = cells + len(atoms)
    places = _Places(edges, atoms, cells, ordered)
    sums = []
    for y, feature in zip(outputs, features, strict=True):
        where = places(y)
        sums.append([np.bincount(where, row, bins) / len(y) for row in feature])
    return np.array(sums)


class _Places:
    """Cell or atom of outputs: ``np.searchsorted(edges, y)``, several times as fast.

    A table over a bounded increasing function of y says how many edges lie below; only where an
    edge falls into the same entry of the table it has to be looked for.
    """

    def __init__(
        self, edges: np.ndarray, atoms: np.ndarray, cells: int, ordered: np.ndarray
    ) -> None:
        self._edges, self._atoms, self._cells = edges, atoms, cells
        low, self._middle, high = ordered[len(ordered) * np.array([1, 2, 3]) // 4]
        self._width = max(high - low, 1e-9 * max(abs(ordered[0]), abs(ordered[-1])), 1e-300)
        count = np.bincount(self._keys(edges), minlength=_KEYS + 1)
        self._below, self._is_open = np.cumsum(count) - count, count > 0

    def _keys(self, y: np.ndarray) -> np.ndarray:
        x = np.clip((y - self._middle) / self._width, -_KEYS, _KEYS)
        return ((0.5 * _KEYS) * (1 + x / (1 + np.abs(x)))).astype(np.int32)

    def __call__(self, y: np.ndarray) -> np.ndarray:
        keys = self._keys(y)
        where = self._below[keys]
        unsure = np.flatnonzero(self._is_open[keys])
        where[unsure] = np.searchsorted(self._edges, y[unsure])
        if len(self._atoms):
            nearest = np.minimum(np.searchsorted(self._atoms, y), len(self._atoms) - 1)
            where = np.where(self._atoms[nearest] == y, self._cells + nearest, where)
        return where


def _graded_edges(ordered: np.ndarray, weight: np.ndarray, cells: int) -> np.ndarray:
    """Inner edges of cells whose probabilities shrink quadratically towards both ends."""
    cumulative = np.cumsum(weight)
    if cumulative[-1] <= 0:  # nothing but atoms
        return np.zeros(0)
    s = np.linspace(0, 1, cells + 1)[1:-1]
    at = np.searchsorted(cumulative, s * s * (3 - 2 * s) * cumulative[-1])
    return ordered[np.minimum(at, len(ordered) - 1)]


def _shifted_slices(
    cumulative: np.ndarray, atoms: np.ndarray, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """Cross products for slices of `width` cells, averaged over eight positions of the slices.

    `cumulative` holds the sums over all cells below each edge. Without the average, what is lost in
    the slice that contains a jump of the conditional moments would depend on where in the slice the
    jump falls, and could not be extrapolated.
    """
    low, high = _slice_ends(cumulative.shape[-1] - 1, width)
    slices = np.concatenate(
        [cumulative[..., high] - cumulative[..., low], *[atoms] * _SHIFTS], axis=-1
    )
    return _cross_products(slices[:, 1:] / _SHIFTS**0.5, _unbiased_mass(slices[:, 0]))


@lru_cache(maxsize=64)
def _slice_ends(cells: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """First cell, and the one after the last, of the slices in all positions."""
    shifts = range(0, width, width // _SHIFTS)
    edges = [np.unique([0, *range(shift, cells, width), cells]) for shift in shifts]
    return np.concatenate([e[:-1] for e in edges]), np.concatenate([e[1:] for e in edges])


def _unbiased_mass(shares: np.ndarray) -> np.ndarray:
    """Probabilities p_b such that the cross product of the constant 1 is exactly sum_b p_b.

    The edges were chosen from the same points, which fixes the total of each slice and correlates
    its shares in different replicates; the moments in a slice inherit that, and dividing by the
    cross product of the shares themselves takes it out.
    """
    n = len(shares)
    mean = shares.mean(axis=0)
    cross = ((n * mean) ** 2 - (shares**2).sum(axis=0)) / (n * (n - 1))
    return np.where(cross > 0.1 * mean**2, cross / np.maximum(mean, 1e-300), np.inf)


def _smoothed(
    outputs: list[np.ndarray], features: list[np.ndarray], noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """Densities of features in y (R, m, bins) after convolution with the noise, and that of 1."""
    sigma = noise**0.5
    h = sigma / 8
    low = min(float(y.min()) for y in outputs) - 8 * sigma
    high = max(float(y.max()) for y in outputs) + 8 * sigma
    size = 1 << int(np.ceil(np.log2((high - low) / h + 4)))
    _, kernel = smoothing_filter(size, h, noise)
    curves = []
    for y, feature in zip(outputs, features, strict=True):
        position = (y - low) / h
        cell = position.astype(np.int64)
        t = position - cell
        spline = ((1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3)
        rows = [
            sum(np.bincount(cell + i, row * w / 6, size) for i, w in enumerate(spline))
            for row in feature
        ]
        curve = np.fft.irfft(np.fft.rfft(np.array(rows)) * kernel, size)
        curves.append(curve / (len(y) * h))
    total = np.array(curves)
    mean = total[:, 0].mean(axis=0)
    # With little noise few points share a value of y, and the mean is correlated with each part.
    mass = _unbiased_mass(total[:, 0])
    seen = (mean > 1e-10 * mean.max()) & np.isfinite(mass)
    return total[:, 1:, seen] * h**0.5, mass[seen]


def _cross_products(sums: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over pairs i != j of sum_b a_i a_j^T / p_b, and the same with each i left out."""
    n = len(sums)
    sums = sums / np.sqrt(np.where(mass > 0, mass, np.inf))
    total = sums.sum(axis=0)
    own = sums @ np.swapaxes(sums, 1, 2)
    mixed = sums @ total.T
    whole = total @ total.T
    value = (whole - own.sum(axis=0)) / (n * (n - 1))
    without = whole - mixed - np.swapaxes(mixed, 1, 2) + own - (own.sum(axis=0) - own)
    return value, without / ((n - 1) * (n - 2))


def _extrapolated(levels: list[tuple[np.ndarray, np.ndarray]]) -> OutputGram:
    """Value for infinitely thin slices.

    What is lost is linear in the width where the moments jump and quadratic where they are smooth:
    three widths determine both, and the linear part alone is a second opinion.
    """
    if len(levels) == 1:
        return OutputGram(levels[0][0], 0.0, levels[0][1])
    (fine, fine_rest), (middle, middle_rest), (coarse, coarse_rest) = levels
    value = (8 * fine - 6 * middle + coarse) / 3
    rest = (8 * fine_rest - 6 * middle_rest + coarse_rest) / 3
    return OutputGram(value, np.abs(value - (2 * fine - middle)), rest)
