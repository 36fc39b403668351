r"""Conditional moments given the output of several variables, by cross-fitted slices.

The output is cut into slices, fine in its tails; the mean of :math:`\mathrm{he}_\beta` over each
slice comes from independent scrambled Sobol replicates, and only products of *different*
replicates are used: the square of a slice mean contains the square of its noise, which looks like
a signal where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ...calculus.smoothing import smoothing_filter
from ...targets.language.evaluate import evaluate_columns
from ...targets.language.polynomials import polynomial_of
from ...targets.language.rounding import noise_level
from ...targets.language.tree import Node
from .gram import OutputGram
from .label import Grams, Label
from .quantile_cells import sums_below, sums_over_cells
from .slice_points import (
    MAX_KEPT,
    REPLICATES,
    Cloud,
    order_indices,
    point_features,
    wide_points,
)
from .turns import Turn, turns

_MAX_CELLS = 4096
_POINTS_PER_CELL = 64
_WIDTHS = np.array([4, 8, 16])  # cells in a slice, finest first
# What is lost where the conditional moments jump, and where they are smooth: see _extrapolated.
_AT_JUMPS, _ELSEWHERE = _WIDTHS + 1 / _WIDTHS, _WIDTHS**2
_RULE = np.linalg.solve([np.ones(3), _AT_JUMPS, _ELSEWHERE], [1.0, 0.0, 0.0])
_MAX_BINS = 1 << 14
_TOGETHER = 1 << 14
_UNUSED_BITS = 9  # of the 52 of a number
DIGITS = 2.0 ** (_UNUSED_BITS - 52)  # what is left, thirteen digits
_LOOKED_AT = 512  # places that show how large rounding is

Function = Callable[[Sequence[np.ndarray]], np.ndarray]
_Products = tuple[np.ndarray, np.ndarray]  # a matrix, and the same with each replicate left out


class Slices:
    """The general rule, for any label without latent variables."""

    @staticmethod
    def covers(label: Label) -> bool:
        """Whether nothing is latent."""
        return not label.latent

    @staticmethod
    def grams(label: Label, orders: Sequence[int]) -> Grams:
        """Matrices T_k with the error of their points and slices."""
        tree = label.f.tree
        return sliced_grams(
            lambda columns: evaluate_columns(tree, lambda i: columns[i - 1]),
            label.f.r,
            orders,
            noise=label.noise,
            points=label.points,
            scramble=label.scramble,
            rounding=label_rounding(tree, label.f.r),
        )


def label_rounding(tree: Node, r: int) -> float:
    """Size below which labels may be nothing but rounding; a polynomial is constant nowhere."""
    if polynomial_of(tree, r) is not None:
        return 0.0
    z = wide_points(r, _LOOKED_AT, range(1), 0).z
    return noise_level(tree, lambda i: z[i - 1])


def sliced_grams(
    g: Function,
    r: int,
    orders: Sequence[int],
    *,
    noise: float = 0.0,
    points: int = 1 << 19,
    scramble: int = 0,
    rounding: float = 0.0,
) -> Grams:
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
    rounding : float
        Smaller outputs count as zero.

    Notes
    -----
    Without noise the slices are quantile intervals, graded towards the ends, in all positions;
    three widths are extrapolated to zero. Values that are taken with positive probability have
    slices of their own. With noise the output is convolved with the Gaussian by FFT and nothing is
    cut.

    Examples
    --------
    The product :math:`z_1 z_2` has no trivial direction; :math:`T_1 = 0` within its error:

    >>> grams = sliced_grams(lambda z: z[0] * z[1], 2, [1], points=1 << 15)
    >>> bool((np.abs(grams[1].value) <= grams[1].entry_error()).all())
    True
    """
    # More points than are kept are the same ones turned: only the outputs are computed anew.
    times = max(1, points // (REPLICATES * MAX_KEPT)) if r > 1 else 1
    turned = turns(r, tuple(orders), times)
    n = 1 << max(8, int(np.log2(points / (REPLICATES * times))))
    # Small replicates are treated together: many calls would cost more than their numbers.
    size = min(REPLICATES, max(1, _TOGETHER // n))
    groups = [range(first, first + size) for first in range(0, REPLICATES, size)]
    clouds = [wide_points(r + (noise > 0), n, group, scramble) for group in groups]
    pairs = [(cloud, turn) for cloud in clouds for turn in turned]
    outputs = [_without_rounding(_values(g, *pair).reshape(size, n), rounding) for pair in pairs]
    # Features of one group at a time: all of them would not fit any cache.
    rows = (point_features(c, r, tuple(orders)).reshape(-1, size, n) for c in clouds)
    features = (row for row in rows for _ in turned)
    span = max(y.max() for y in outputs) - min(y.min() for y in outputs)
    counts = [len(order_indices(r, (k,))) for k in orders]
    ends = np.cumsum(counts).tolist()
    blocks = [slice(end - m, end) for end, m in zip(ends, counts, strict=True)]
    if noise > 0 and span + 14 * noise**0.5 < _MAX_BINS * noise**0.5 / 8:
        sums, mass = _smoothed(outputs, features, noise, turned)
        levels = [[_cross_products(sums[:, block], mass) for block in blocks]]
    else:
        if noise > 0:
            shocks = [noise**0.5 * c.z[-1].reshape(size, n) for c, _ in pairs]
            outputs = [y + shock for y, shock in zip(outputs, shocks, strict=True)]
        weights = [c.weight.reshape(size, n) for c, _ in pairs]
        cells = min(_MAX_CELLS, 1 << int(np.log2(n * REPLICATES / _POINTS_PER_CELL)))
        sums = _together(sums_over_cells(outputs, weights, features, cells), turned)
        below, atoms = sums_below(sums[..., :cells], _WIDTHS[-1] - 1), sums[..., cells:]
        exact = _slices(atoms[:, 0], atoms[:, 1:], blocks)
        levels = [_all_slices(below, width, blocks) for width in _WIDTHS]
        levels = [[_sum(*pair) for pair in zip(level, exact, strict=True)] for level in levels]
    return {k: _extrapolated(parts) for k, *parts in zip(orders, *levels, strict=True)}


def _values(g: Function, cloud: Cloud, turn: Turn) -> np.ndarray:
    """Outputs at turned points."""
    z = cloud.z[: len(turn.matrix)]
    values = g(list(z if turn.is_identity else turn.matrix @ z))
    return np.broadcast_to(values, cloud.weight.shape).astype(np.float64)


def _together(sums: np.ndarray, turned: Sequence[Turn]) -> np.ndarray:
    """Means over the turns of each replicate, of sums (R * turns, rows, bins) of its features."""
    if len(turned) == 1:
        return sums
    parts = sums.reshape(-1, len(turned), *sums.shape[1:])
    return np.mean([turn.action @ parts[:, i] for i, turn in enumerate(turned)], axis=0)


def _without_rounding(y: np.ndarray, rounding: float) -> np.ndarray:
    """The same outputs with thirteen digits: values that differ by rounding only are one atom.

    Where a target is constant the last bits of its value still depend on z, and would reveal it.
    """
    y[np.abs(y) <= rounding] = 0.0
    bits = y.view(np.int64)
    bits += 1 << (_UNUSED_BITS - 1)
    bits &= -1 << _UNUSED_BITS
    return y


def _all_slices(below: np.ndarray, width: int, blocks: Sequence[slice]) -> list[_Products]:
    """Cross products for slices of `width` cells, averaged over all positions of the slices.

    `below` holds the sums below each edge; there are enough edges for the widest slices. Without
    the average, what is lost in the slice that contains a jump of the conditional moments would
    depend on where in the slice the jump falls, and could not be extrapolated.
    """
    unused = _WIDTHS[-1] - width
    used = below[..., unused : below.shape[-1] - unused]
    low, high = used[..., :-width], used[..., width:]
    found = _slices(high[:, 0] - low[:, 0], high[:, 1:] - low[:, 1:], blocks)
    return [(value / width, rest / width) for value, rest in found]


def _sum(a: _Products, b: _Products) -> _Products:
    return a[0] + b[0], a[1] + b[1]


def _slices(shares: np.ndarray, sums: np.ndarray, blocks: Sequence[slice]) -> list[_Products]:
    """Cross products of slices from their shares (R, slices) and sums (R, m, slices), in place.

    Products of sums of the same block are enough.

    The edges follow from the same points, which fixes the total of each slice and correlates its
    shares in different replicates; the sums inherit that. What a sum owes to its share is taken
    out, as in the variance of a ratio: the mean of a slice times what the share exceeds its mean.
    Slices that one replicate dominates do not show their noise and are left out.
    """
    mass = shares.mean(axis=0)
    is_shared = (shares**2).sum(axis=0) < 0.5 * (len(shares) * mass) ** 2
    mean = sums.mean(axis=0) / np.where(is_shared, mass, np.inf)
    for own, excess in zip(sums, shares - mass, strict=True):
        own -= mean * excess
    mass = np.where(is_shared, mass, np.inf)
    return [_cross_products(sums[:, block], mass) for block in blocks]


def _unbiased_mass(shares: np.ndarray) -> np.ndarray:
    """Probabilities p_b such that the cross product of the constant 1 is exactly sum_b p_b.

    The mean over all replicates is correlated with the share of each; dividing by the cross product
    of the shares themselves takes that out.
    """
    n = len(shares)
    mean = shares.mean(axis=0)
    cross = ((n * mean) ** 2 - (shares**2).sum(axis=0)) / (n * (n - 1))
    return np.where(cross > 0.1 * mean**2, cross / np.maximum(mean, 1e-300), np.inf)


def _smoothed(
    outputs: list[np.ndarray],
    features: Iterable[np.ndarray],
    noise: float,
    turned: Sequence[Turn],
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
    total = _together(np.concatenate(curves), turned)
    mean = total[:, 0].mean(axis=0)
    # With little noise few points share a value of y.
    mass = _unbiased_mass(total[:, 0])
    seen = (mean > 1e-10 * mean.max()) & np.isfinite(mass)
    return total[:, 1:, seen] * h**0.5, mass[seen]


def _cross_products(sums: np.ndarray, mass: np.ndarray) -> _Products:
    """Mean over pairs i != j of sum_b a_i a_j^T / p_b, and the same with each i left out."""
    n = len(sums)
    inverse = 1 / np.where(mass > 0, mass, np.inf)
    total = sums.sum(axis=0)
    own, mixed = np.empty((2, n, len(total), len(total)))
    for i, part in enumerate(sums):  # one after the other they fit the cache
        scaled = part * inverse
        own[i], mixed[i] = scaled @ part.T, scaled @ total.T
    whole = (total * inverse) @ total.T
    value = (whole - own.sum(axis=0)) / (n * (n - 1))
    without = whole - mixed - np.swapaxes(mixed, 1, 2) + own - (own.sum(axis=0) - own)
    return value, without / ((n - 1) * (n - 2))


def _extrapolated(levels: Sequence[_Products]) -> OutputGram:
    r"""Value for infinitely thin slices.

    Where the moments are smooth the loss is quadratic in the width w. A jump by J at the fraction u
    of a cell of probability c, which edges of slices divide at the fraction v, costs

    .. math:: J^2 \big(w/6 + (u (1 - u) - B_2(v))\, c^2/w\big), \qquad
              B_2(v) = 1/6 - v (1 - v),

    in the mean over all positions of the slices. Nothing is known about u and v: the bracket is 1/6
    in the mean and differs from that by at most 1/3. Three widths determine both losses. The error
    is what slices without the quadratic part would say, and what is not known about the bracket.
    """
    if len(levels) == 1:
        return OutputGram(levels[0][0], 0.0, levels[0][1])
    (fine, fine_rest), (middle, middle_rest), (coarse, coarse_rest) = levels
    value = _RULE[0] * fine + _RULE[1] * middle + _RULE[2] * coarse
    rest = _RULE[0] * fine_rest + _RULE[1] * middle_rest + _RULE[2] * coarse_rest
    first, second = _AT_JUMPS[:2]
    jumps_only = fine + first / (second - first) * (fine - middle)
    loss = np.abs(4 * (value - fine) - (value - middle)) / (4 * first - second)  # J^2 c/6
    unknown = abs(float(_RULE @ (1 / _WIDTHS))) * 6 * loss / 3
    return OutputGram(value, np.abs(value - jumps_only) + unknown, rest)
