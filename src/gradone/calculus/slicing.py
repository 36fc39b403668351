r"""Conditional moments given the output of several variables, by cross-fitted slices.

The output is cut into slices, fine in its tails; the mean of :math:`\mathrm{he}_\beta` over each
slice comes from independent scrambled Sobol replicates, and only products of *different*
replicates are used: the square of a slice mean contains the square of its noise, which looks like
a signal where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

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
    beta = np.vstack([multi_indices(r, k)[multi_indices(r, k).sum(axis=1) == k] for k in orders])
    outputs: list[Columns] = []
    features: list[np.ndarray] = []
    # Small replicates are evaluated together: many calls would cost more than their numbers.
    size = min(REPLICATES, max(1, _TOGETHER // n))
    for first in range(0, REPLICATES, size):
        z, weight = _points(r + (noise > 0), n, range(first, first + size), scramble)
        y = np.array(np.broadcast_to(g(list(z[:r])), weight.shape), dtype=np.float64)
        outputs += zip(np.split(y, size), np.split(z[-1], size), strict=True)
        features += np.split(_features(z[:r], beta) * weight, size, axis=1)
    outputs = _without_rounding(outputs)
    pooled = np.concatenate([y for y, _ in outputs])
    if noise > 0 and np.ptp(pooled) + 14 * noise**0.5 < _MAX_BINS * noise**0.5 / 8:
        sums, mass = _smoothed([y for y, _ in outputs], features, noise)
        levels = [_cross_products(sums, mass)]
    else:
        ys = [y + noise**0.5 * xi for y, xi in outputs]
        cells = min(_MAX_CELLS, 1 << int(np.log2(len(pooled) / _POINTS_PER_CELL)))
        sums = _binned(ys, features, cells)
        levels = [_shifted_slices(sums, cells, width) for width in _WIDTHS]
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
    size = float(np.median(np.abs(np.concatenate([y for y, _ in outputs])))) or 1.0
    digits = 11 - int(np.floor(np.log10(size)))
    return [(np.round(y, digits), z) for y, z in outputs]


def _points(r: int, n: int, which: range, scramble: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (r, n len(which)) of a wide Gaussian and their weights under the standard one."""
    if n <= _MAX_KEPT and not scramble:
        return _kept_points(r, n, which)
    return _new_points(r, n, which, scramble)


@lru_cache(maxsize=4 * REPLICATES)  # many small problems share their points
def _kept_points(r: int, n: int, which: range) -> tuple[np.ndarray, np.ndarray]:
    return _new_points(r, n, which, 0)


def _new_points(r: int, n: int, which: range, scramble: int) -> tuple[np.ndarray, np.ndarray]:
    sequences = [SobolSequence(r, np.random.default_rng([_SEED, i, scramble])) for i in which]
    z = _SCALE * gaussian_points(np.concatenate([s.draw(n).T for s in sequences], axis=1))
    weight = np.exp(-0.5 * (1 - _SCALE**-2) * np.einsum("rn,rn->n", z, z)).reshape(-1, n)
    return z, (weight / weight.mean(axis=1, keepdims=True)).ravel()


def _features(z: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Values of he_beta, shape (1 + number of beta, n); the first row is that of beta = 0."""
    tables = [hermite_table(column, int(beta.max(initial=0))) for column in z]
    rows = [np.ones(z.shape[1])]
    for index in beta:
        value = np.ones(z.shape[1])
        for table, k in zip(tables, index, strict=True):
            value = value * table[k] if k else value
        rows.append(value)
    return np.array(rows)


def _binned(outputs: list[np.ndarray], features: list[np.ndarray], cells: int) -> np.ndarray:
    """Means of features times the indicator of each cell, then of each atom: (R, rows, bins)."""
    pooled = np.concatenate(outputs)
    order = np.argsort(pooled)
    ordered = pooled[order]
    first = np.flatnonzero(np.concatenate([[True], np.diff(ordered) != 0]))
    is_atom = np.diff(np.append(first, len(ordered))) > 0.002 * len(ordered)
    # Which atom each output is, or none, in increasing order of the outputs.
    run = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(ordered))))
    weight = np.concatenate([feature[0] for feature in features])[order]
    edges = _graded_edges(ordered, np.where(is_atom[run], 0.0, weight), cells)
    above = np.bincount(np.searchsorted(ordered, edges, side="right"), minlength=len(ordered) + 1)
    cell = np.cumsum(above[:-1])
    cell = np.where(is_atom[run], cells - 1 + np.cumsum(is_atom)[run], cell)
    where = np.empty_like(cell)
    where[order] = cell
    bins = cells + int(is_atom.sum())
    sums = []
    for part, feature in zip(np.split(where, len(outputs)), features, strict=True):
        sums.append([np.bincount(part, row, bins) / len(part) for row in feature])
    return np.array(sums)


def _graded_edges(ordered: np.ndarray, weight: np.ndarray, cells: int) -> np.ndarray:
    """Inner edges of cells whose probabilities shrink quadratically towards both ends."""
    cumulative = np.cumsum(weight)
    if cumulative[-1] <= 0:  # nothing but atoms
        return np.zeros(0)
    s = np.linspace(0, 1, cells + 1)[1:-1]
    at = np.searchsorted(cumulative, s * s * (3 - 2 * s) * cumulative[-1])
    return ordered[np.minimum(at, len(ordered) - 1)]


def _shifted_slices(sums: np.ndarray, cells: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Cross products for slices of `width` cells, averaged over eight positions of the slices.

    Without the average, what is lost in the slice that contains a jump of the conditional moments
    would depend on where in the slice the jump falls, and could not be extrapolated.
    """
    joined = []
    for shift in range(0, width, width // _SHIFTS):
        starts = np.unique([0, *range(shift, cells, width)])
        joined.append(np.add.reduceat(sums[..., :cells], starts, axis=-1))
        joined.append(sums[..., cells:])
    slices = np.concatenate(joined, axis=-1)
    return _cross_products(slices[:, 1:] / _SHIFTS**0.5, _unbiased_mass(slices[:, 0]))


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
