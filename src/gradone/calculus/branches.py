r"""Conditional moments given a noiseless output of one variable, by its monotone branches.

Given :math:`Y = g(z) = y` the variable sits at the roots :math:`z_b` of :math:`g(z) = y` with
weights :math:`w_b \propto \varphi(z_b)/|g'(z_b)|`. Means over Y are integrals over z,

.. math:: \mathbb{E}\,h(Y) = \int \varphi(z)\,h(g(z))\,dz,

so no density of Y is ever formed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from .hermite import hermite_table, normal_density
from .line import gauss_legendre
from .output_gram import OutputGram

_GRID = 4001
_BISECTIONS = 60
Function = Callable[[np.ndarray], np.ndarray]


def branch_grams(
    g: Function, slope: Function, breaks: Sequence[float], orders: Sequence[int], reach: float = 9.0
) -> dict[int, OutputGram]:
    r"""Matrices :math:`T_k` (1 x 1) of a function of one variable without noise [OG-1].

    Parameters
    ----------
    g, slope : callable
        The function and its derivative, on arrays.
    breaks : sequence of float
        Points where it jumps or has a kink.
    orders : sequence of int
        Values of k.
    reach : float
        The line is cut at ``|z| = reach``.

    Notes
    -----
    Local extrema are located first and roots are bracketed by them: scanning for changes of sign
    alone loses pairs of roots next to an extremum. Flat pieces are atoms of the output.

    Examples
    --------
    For :math:`z^2` the sign of z is lost and :math:`\mathbb{E}[(\mathbb{E}[z^2-1|Y])^2]/2 = 1`:

    >>> grams = branch_grams(lambda z: z**2, lambda z: 2 * z, [], [1, 2])
    >>> bool(grams[1].value[0, 0] < 1e-30), bool(abs(grams[2].value[0, 0] - 1) < 1e-8)
    (True, True)
    """
    pieces, flat = _pieces(g, breaks, reach)
    fine = _second_moments(g, slope, pieces, flat, max(orders), 24)
    coarse = _second_moments(g, slope, pieces, flat, max(orders), 16)
    return {
        k: OutputGram(np.array([[fine[k]]]), float(abs(fine[k] - coarse[k])) + 1e-13)
        for k in orders
    }


def _pieces(
    g: Function, breaks: Sequence[float], reach: float
) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Intervals on which g is strictly monotone, and intervals on which it is constant."""
    inner = [b for b in sorted(breaks) if -reach < b < reach]
    edges = [-reach, *inner, reach]
    monotone, flat = [], []
    for low, high in itertools.pairwise(edges):
        margin = 1e-12 * (1 + abs(low) + abs(high))
        n = max(64, int(_GRID * (high - low) / (2 * reach)))
        z = np.linspace(low + margin, high - margin, n)
        y = g(z)
        scale = np.abs(y).max() + 1e-300
        if np.ptp(y) <= 1e-12 * scale:
            flat.append((low, high))
            continue
        rise = np.sign(np.where(np.abs(np.diff(y)) <= 1e-14 * scale, 0.0, np.diff(y)))
        moving = np.flatnonzero(rise)
        turns = moving[:-1][rise[moving[:-1]] != rise[moving[1:]]] + 1
        cuts = [low, *_extrema(g, z, turns), high]
        monotone += [(a, b) for a, b in itertools.pairwise(cuts) if b - a > 1e-12]
    return monotone, flat


def _extrema(g: Function, z: np.ndarray, turns: np.ndarray) -> list[float]:
    """Positions of the extrema next to the grid points `turns`, by golden section."""
    if not len(turns):
        return []
    low, high = z[np.maximum(turns - 1, 0)], z[np.minimum(turns + 1, len(z) - 1)]
    up = np.where(g(z[turns]) > (g(low) + g(high)) / 2, 1.0, -1.0)
    for _ in range(80):
        a, b = high - 0.6180339887 * (high - low), low + 0.6180339887 * (high - low)
        left = up * g(a) > up * g(b)
        low, high = np.where(left, low, a), np.where(left, b, high)
    return list((low + high) / 2)


def _second_moments(
    g: Function,
    slope: Function,
    pieces: list[tuple[float, float]],
    flat: list[tuple[float, float]],
    degree: int,
    n: int,
) -> np.ndarray:
    """E[D_k(Y)^2] for k = 0..degree with n nodes in each panel."""
    total = _atoms(g, flat, degree)
    if not pieces:
        return total
    ends = np.array(pieces)
    inset = 1e-13 * (1 + np.abs(ends))
    low, high = g(ends[:, 0] + inset[:, 0]), g(ends[:, 1] - inset[:, 1])
    # Roots appear and disappear at the values at the ends of pieces: split the integral there.
    critical = _different(np.concatenate([low, high]))
    cuts = _roots(g, ends, low, high, critical)
    t, w = gauss_legendre(n)
    graded, jacobian = t**3 * (10 - 15 * t + 6 * t * t), 30 * t**2 * (1 - t) ** 2
    nodes, weights = [], []
    for (a, b), roots in zip(pieces, cuts.T, strict=True):
        between = np.linspace(a, b, int(np.ceil((b - a) / 1.5)) + 1)
        edges = np.unique([*between, *roots[np.isfinite(roots)]])
        width = np.diff(edges)[:, None]
        nodes.append((edges[:-1, None] + width * graded).ravel())
        weights.append((width * (w * jacobian)).ravel())
    z = np.concatenate(nodes)
    weight = np.concatenate(weights) * normal_density(z)
    branch = _roots(g, ends, low, high, g(z))  # (nodes, pieces)
    with np.errstate(divide="ignore", invalid="ignore"):
        density = normal_density(branch) / np.abs(slope(np.where(np.isfinite(branch), branch, 0.0)))
    density = np.where(np.isfinite(branch), density, 0.0)
    # At an extremum the slope vanishes: both roots carry the same, infinite, weight.
    density = np.nan_to_num(density, posinf=1e300)
    density = density / np.maximum(density.max(axis=1, keepdims=True), 1e-300)
    share = density / np.maximum(density.sum(axis=1, keepdims=True), 1e-300)
    tables = hermite_table(np.where(np.isfinite(branch), branch, 0.0), degree)
    moments = np.einsum("np,knp->kn", share, tables)
    return total + (moments**2) @ weight


def _different(values: np.ndarray) -> np.ndarray:
    """Values in increasing order, those that differ by rounding only once."""
    ordered = np.unique(values)
    apart = np.diff(ordered) > 1e-11 * (1 + np.abs(ordered[1:]))
    return ordered[np.concatenate([[True], apart])]


def _roots(
    g: Function, ends: np.ndarray, low: np.ndarray, high: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """Root of g = y on each piece, (values, pieces); NaN where there is none."""
    y = np.asarray(y)[:, None]
    exists = (np.minimum(low, high) <= y) & (y <= np.maximum(low, high))
    rising = high > low
    a, b = (np.broadcast_to(ends[:, i], exists.shape).copy() for i in (0, 1))
    for _ in range(_BISECTIONS):
        middle = (a + b) / 2
        below = (g(middle) < y) == rising
        a, b = np.where(below, middle, a), np.where(below, b, middle)
    return np.where(exists, (a + b) / 2, np.nan)


def _atoms(g: Function, flat: list[tuple[float, float]], degree: int) -> np.ndarray:
    """Contribution of the atoms of Y: flat pieces with the same value are one atom."""
    from scipy.special import ndtr

    total = np.zeros(degree + 1)
    values = [float(g(np.array([(a + b) / 2]))[0]) for a, b in flat]
    for value in sorted(set(np.round(values, 12))):
        mass = np.zeros(degree + 1)
        for (a, b), v in zip(flat, values, strict=True):
            if abs(v - value) < 1e-11 * (1 + abs(value)):
                a, b = (-np.inf if a <= -9 else a), (np.inf if b >= 9 else b)
                mass += _interval_coefficients(a, b, degree, ndtr)
        if mass[0] > 0:
            total += mass**2 / mass[0]
    return total


def _interval_coefficients(
    a: float, b: float, degree: int, ndtr: Callable[[float], float]
) -> np.ndarray:
    """Orthonormal Hermite coefficients of the indicator of [a, b]."""
    result = np.zeros(degree + 1)
    result[0] = ndtr(b) - ndtr(a) if a < 0 else ndtr(-a) - ndtr(-b)
    for end, sign in ((b, -1.0), (a, 1.0)):
        if np.isfinite(end):
            he = hermite_table(np.array(end), max(degree - 1, 0))
            orders = np.arange(1, degree + 1)
            result[1:] += sign * he[:degree] * normal_density(np.array(end)) / np.sqrt(orders)
    return result
