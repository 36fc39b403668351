r"""Conditional moments given the output of several variables, by cross-fitted slices.

The output is cut into slices, fine in its tails; the mean of :math:`\mathrm{he}_\beta` over each
slice comes from independent scrambled Sobol replicates, and only products of *different*
replicates are used: the square of a slice mean contains the square of its noise, which looks like
a signal where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .output_gram import OutputGram
from .quantile_cells import first_points, sums_below, sums_over_cells
from .slice_points import REPLICATES, order_indices, point_features, wide_points
from .smoothing import smoothing_filter

_MAX_CELLS = 4096
_POINTS_PER_CELL = 64
_FINEST = 4  # cells in the thinnest slices; others are twice and four times as wide
_MAX_BINS = 1 << 14
_TOGETHER = 1 << 14

Function = Callable[[Sequence[np.ndarray]], np.ndarray]


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
    outputs: list[np.ndarray] = []  # each (replicates, n)
    shocks: list[np.ndarray] = []
    features: list[np.ndarray] = []  # each (rows, replicates, n)
    # Small replicates are treated together: many calls would cost more than their numbers.
    size = min(REPLICATES, max(1, _TOGETHER // n))
    for first in range(0, REPLICATES, size):
        cloud = wide_points(r + (noise > 0), n, range(first, first + size), scramble)
        y = np.broadcast_to(g(list(cloud.z[:r])), cloud.weight.shape)
        outputs.append(y.astype(np.float64).reshape(size, n))
        shocks.append(cloud.z[-1].reshape(size, n))
        features.append(point_features(cloud, r, tuple(orders)).reshape(-1, size, n))
    outputs = _without_rounding(outputs)
    span = max(y.max() for y in outputs) - min(y.min() for y in outputs)
    if noise > 0 and span + 14 * noise**0.5 < _MAX_BINS * noise**0.5 / 8:
        sums, mass = _smoothed(outputs, features, noise)
        levels = [_cross_products(sums, mass)]
    else:
        ys = [y + noise**0.5 * xi for y, xi in zip(outputs, shocks, strict=True)]
        cells = min(_MAX_CELLS, 1 << int(np.log2(n * REPLICATES / _POINTS_PER_CELL)))
        sums = sums_over_cells(ys, features, cells)
        widths = (_FINEST, 2 * _FINEST, 4 * _FINEST)
        below = sums_below(sums[..., :cells], widths[-1] - 1)
        atoms = _cross_products(sums[:, 1:, cells:], _unbiased_mass(sums[:, 0, cells:]))
        levels = [_all_slices(below, widths[-1] - width, width) for width in widths]
        levels = [(value + atoms[0], rest + atoms[1]) for value, rest in levels]
    result, start = {}, 0
    for k in orders:
        m = len(order_indices(r, (k,)))
        block = slice(start, start + m)
        parts = [(value[block, block], rest[:, block, block]) for value, rest in levels]
        result[k] = _extrapolated(parts)
        start += m
    return result


def _without_rounding(outputs: list[np.ndarray]) -> list[np.ndarray]:
    """Outputs with eleven digits: values that differ by rounding only are one atom.

    Where a target is constant the last bits of its value still depend on z, and would reveal it.
    """
    size = float(np.median(np.abs(first_points(outputs)))) or 1.0
    digits = 11 - int(np.floor(np.log10(size)))
    return [np.round(y, digits) for y in outputs]


def _all_slices(below: np.ndarray, unused: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Cross products for slices of `width` cells, averaged over all positions of the slices.

    `below` holds the sums below each edge, `unused` more of them at each end than are needed here.
    Without the average, what is lost in the slice that contains a jump of the conditional moments
    would depend on where in the slice the jump falls, and could not be extrapolated.
    """
    used = below[..., unused : below.shape[-1] - unused]
    low, high = used[..., :-width], used[..., width:]
    mass = _unbiased_mass(high[:, 0] - low[:, 0])
    return _cross_products(high[:, 1:] - low[:, 1:], width * mass)


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
    for y, rows in zip(outputs, features, strict=True):
        position = (y - low) / h
        cell = position.astype(np.int64)
        t = position - cell
        rest, square, cube = 1 - t, t * t, t * t * t
        spline = [rest * rest * rest, 3 * cube - 6 * square + 4, 3 * (square + t - cube) + 1, cube]
        cell += size * np.arange(len(y))[:, None]
        grid = np.zeros((len(rows), len(y) * size))
        for i, weight in enumerate(spline):
            where, share = (cell + i).ravel(), weight / 6
            for curve, row in zip(grid, rows, strict=True):
                curve += np.bincount(where, (row * share).ravel(), len(curve))
        smooth = np.fft.irfft(np.fft.rfft(grid.reshape(len(rows), len(y), size)) * kernel, size)
        curves.append(np.swapaxes(smooth, 0, 1) / (y.shape[1] * h))
    total = np.concatenate(curves)
    mean = total[:, 0].mean(axis=0)
    # With little noise few points share a value of y, and the mean is correlated with each part.
    mass = _unbiased_mass(total[:, 0])
    seen = (mean > 1e-10 * mean.max()) & np.isfinite(mass)
    return total[:, 1:, seen] * h**0.5, mass[seen]


def _cross_products(sums: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over pairs i != j of sum_b a_i a_j^T / p_b, and the same with each i left out.

    The sums are scaled in place: they are large.
    """
    n = len(sums)
    sums /= np.sqrt(np.where(mass > 0, mass, np.inf))
    total = sums.sum(axis=0)
    own = sums @ np.swapaxes(sums, 1, 2)
    mixed = sums @ total.T
    whole = total @ total.T
    value = (whole - own.sum(axis=0)) / (n * (n - 1))
    without = whole - mixed - np.swapaxes(mixed, 1, 2) + own - (own.sum(axis=0) - own)
    return value, without / ((n - 1) * (n - 2))


def _extrapolated(levels: list[tuple[np.ndarray, np.ndarray]]) -> OutputGram:
    r"""Value for infinitely thin slices.

    What is lost is linear in the width where the moments jump and quadratic where they are smooth:
    three widths determine both, and the linear part alone is a second opinion.

    A jump by J at the fraction u of a cell of probability c costs, in slices of w = m c,

    .. math:: J^2 \big(w/6 - B_2(u) c^2/w\big), \qquad B_2(u) = 1/6 - u (1 - u) \le 1/6,

    and of the second term :math:`7 J^2 c B_2(u) / (4 m)` survives the extrapolation, m being that
    of the thinnest slices. As u is unknown, its bound belongs to the error.
    """
    if len(levels) == 1:
        return OutputGram(levels[0][0], 0.0, levels[0][1])
    (fine, fine_rest), (middle, middle_rest), (coarse, coarse_rest) = levels
    value = (8 * fine - 6 * middle + coarse) / 3
    rest = (8 * fine_rest - 6 * middle_rest + coarse_rest) / 3
    linear = np.abs((3 * value - 4 * fine + middle) / 2)  # J^2 w/6 in the thinnest slices
    inside_cells = 7 / (4 * _FINEST**2) * linear
    return OutputGram(value, np.abs(value - (2 * fine - middle)) + inside_cells, rest)
