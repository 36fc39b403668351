r"""Conditional moments given a noiseless output of one variable, by its monotone branches.

Given :math:`Y = g(z) = y` the variable sits at the roots :math:`z_b` of :math:`g(z) = y` with
weights :math:`w_b \propto \varphi(z_b)/|g'(z_b)|`. Means over Y are integrals over z,

.. math:: \mathbb{E}\,h(Y) = \int \varphi(z)\,h(g(z))\,dz,

so no density of Y is ever formed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .hermite import hermite_table, normal_density, orthonormal_hermite, tail_energy
from .line import gauss_legendre
from .monotone import Family, MonotonePieces, inverse, monotone_pieces
from .output_gram import OutputGram

_MAX_PAIRS = 1 << 20
_NODES = (6, 10, 16, 24)
_ENOUGH = 1e-11  # difference of two rules on one panel
_NEAR_A_CUT = 0.1  # length of a panel that begins at a cut, in parts of the distance to the next
_SHORT = 0.05  # panels that need no such parts
_SAME = 1e-11  # relative distance of two values that differ by rounding only
Function = Callable[[np.ndarray], np.ndarray]


def branch_grams(
    g: Function,
    slope: Function,
    breaks: Sequence[float],
    orders: Sequence[int],
    reach: float = 11.0,
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

    Examples
    --------
    For :math:`z^2` the sign of z is lost and :math:`\mathbb{E}[(\mathbb{E}[z^2-1|Y])^2]/2 = 1`:

    >>> grams = branch_grams(lambda z: z**2, lambda z: 2 * z, [], [1, 2])
    >>> bool(grams[1].value[0, 0] < 1e-30), bool(abs(grams[2].value[0, 0] - 1) < 1e-8)
    (True, True)
    """
    (found,) = family_grams(lambda _, z: g(z), lambda _, z: slope(z), [breaks], orders, reach=reach)
    return found


def family_grams(
    g: Family,
    slope: Family,
    breaks: Sequence[Sequence[float]],
    orders: Sequence[int],
    *,
    reach: float = 11.0,
) -> list[dict[int, OutputGram]]:
    r"""Matrices :math:`T_k` (1 x 1) of many functions of one variable, each on its own [OG-1].

    Parameters
    ----------
    g, slope : callable
        ``(members, points) -> values`` of the functions and of their derivatives.
    breaks : sequence of sequences of float
        For each function, points where it jumps or has a kink.
    orders : sequence of int
        Values of k.
    reach : float
        The line is cut at ``|z| = reach``.

    Notes
    -----
    Flat pieces are atoms of the output. The error is twice the difference of two rules.

    Examples
    --------
    >>> family = family_grams(lambda i, z: z ** (i + 1), lambda i, z: (i + 1) * z**i, [[], []], [1])
    >>> [round(float(grams[1].value[0, 0]), 9) for grams in family]
    [1.0, 0.0]
    """
    pieces = monotone_pieces(g, breaks, reach)
    degree = max(orders)
    total = np.zeros((len(breaks), degree + 1))
    for member in sorted({member for member, _, _ in pieces.flat}):
        flat = [(a, b) for i, a, b in pieces.flat if i == member]
        values = g(np.full(len(flat), member), np.array([(a + b) / 2 for a, b in flat]))
        total[member] = _atoms(flat, values, degree, reach)
    value, error = _second_moments(g, slope, pieces, orders, total)
    return [
        {
            k: OutputGram(np.array([[v[k]]]), 2 * float(e[k]) + 1e-13 + tail_energy(k, reach))
            for k in orders
        }
        for v, e in zip(value, error, strict=True)
    ]


class _Panels(NamedTuple):
    piece: np.ndarray
    low: np.ndarray
    high: np.ndarray


def _panels(g: Family, slope: Family, pieces: MonotonePieces) -> _Panels:
    """Parts of the pieces on which the number of roots does not change, at most 1.5 long.

    Roots appear and disappear at the values at the ends of pieces: the integral is split there.
    """
    which, y = [], []
    for member in np.unique(pieces.member):
        own = np.flatnonzero(pieces.member == member)
        critical = _different(pieces.values[own])
        bottom, top = pieces.values[own].min(axis=1), pieces.values[own].max(axis=1)
        # Extrema of the same height differ by rounding: nothing is cut off between them.
        slack = _SAME * np.abs(critical).max()
        is_inside = (bottom[:, None] + slack < critical) & (critical < top[:, None] - slack)
        row, column = np.nonzero(is_inside)
        which.append(own[row])
        y.append(critical[column])
    piece = np.concatenate([np.zeros(0, dtype=np.int64), *which])
    cuts = inverse(g, slope, pieces, piece, np.concatenate([np.zeros(0), *y]))
    index, low, high = [], [], []
    for i, (a, b) in enumerate(pieces.ends):
        between = np.linspace(a, b, int(np.ceil((b - a) / 1.5)) + 1)
        edges = _refined(np.unique(between), cuts[piece == i])
        index.append(np.full(len(edges) - 1, i))
        low.append(edges[:-1])
        high.append(edges[1:])
    nothing = np.zeros(0)
    return _Panels(
        np.concatenate([nothing.astype(np.int64), *index]),
        np.concatenate([nothing, *low]),
        np.concatenate([nothing, *high]),
    )


def _refined(edges: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Edges of panels with cuts, and shorter panels on both sides of each cut."""
    edges = np.unique(np.concatenate([edges, cuts]))
    width, is_cut = np.diff(edges), np.isin(edges, cuts)
    is_long = width > _SHORT
    after, before = is_long & is_cut[:-1], is_long & is_cut[1:]
    near = [
        (edges[:-1] + _NEAR_A_CUT * width)[after],
        (edges[1:] - _NEAR_A_CUT * width)[before],
    ]
    return np.unique(np.concatenate([edges, *near]))


def _different(values: np.ndarray) -> np.ndarray:
    """Values in increasing order, those that differ by rounding only once."""
    ordered = np.unique(values)
    apart = np.diff(ordered) > _SAME * np.abs(ordered).max()
    return ordered[np.concatenate([[True], apart])]


def _second_moments(
    g: Family, slope: Family, pieces: MonotonePieces, orders: Sequence[int], atoms: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """E[D_k(Y)^2] of each member for k = 0..degree, and the differences of two rules.

    Each panel takes rules with more and more nodes until two agree.
    """
    total, error = atoms.copy(), np.zeros_like(atoms)
    panels = _panels(g, slope, pieces)
    coarse = _integrals(g, slope, pieces, panels, atoms.shape[1] - 1, _NODES[0])
    for n in _NODES[1:]:
        fine = _integrals(g, slope, pieces, panels, atoms.shape[1] - 1, n)
        gap = np.abs(fine - coarse)
        is_poor = (gap[:, list(orders)].max(axis=1) > _ENOUGH) & (n < _NODES[-1])
        member = pieces.member[panels.piece[~is_poor]]
        np.add.at(total, member, fine[~is_poor])
        np.add.at(error, member, gap[~is_poor])
        panels, coarse = _Panels(*(column[is_poor] for column in panels)), fine[is_poor]
    return total, error


def _integrals(
    g: Family, slope: Family, pieces: MonotonePieces, panels: _Panels, degree: int, n: int
) -> np.ndarray:
    """Integral of phi D_k^2 over each panel for k = 0..degree by n nodes: (panels, degree + 1)."""
    t, w = gauss_legendre(n)
    # Where roots appear the shares behave like square roots: in t they are smooth.
    graded, jacobian = t * t * (3 - 2 * t), 6 * t * (1 - t)
    total = np.zeros((len(panels.piece), degree + 1))
    many = np.bincount(pieces.member).max(initial=1)
    step = max(1, _MAX_PAIRS // (n * int(many)))
    for start in range(0, len(panels.piece), step):
        part = slice(start, start + step)
        width = (panels.high - panels.low)[part, None]
        z = panels.low[part, None] + width * graded
        weight = width * (w * jacobian) * normal_density(z)
        piece = np.repeat(panels.piece[part], n)
        for k, moment in enumerate(_moments(g, slope, pieces, piece, z.ravel(), degree)):
            total[part, k] = (moment.reshape(z.shape) ** 2 * weight).sum(axis=1)
    return total


def _moments(
    g: Family, slope: Family, pieces: MonotonePieces, piece: np.ndarray, z: np.ndarray, degree: int
) -> list[np.ndarray]:
    """E[he_k | Y = g(z)] for k = 0..degree at points z of the given pieces."""
    member = pieces.member[piece]
    y = g(member, z)
    row, other = _partners(pieces, piece, y)
    root = np.concatenate([z, inverse(g, slope, pieces, other, y[row])])
    row = np.concatenate([np.arange(len(z)), row])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        density = normal_density(root) / np.abs(slope(member[row], root))
    # At an extremum the slope vanishes: both roots carry the same, infinite, weight.
    density = np.nan_to_num(density, posinf=1e300)
    largest = np.zeros(len(z))
    np.maximum.at(largest, row, density)
    share = density / np.maximum(largest, 1e-300)[row]
    share /= np.maximum(np.bincount(row, share, len(z)), 1e-300)[row]
    return [np.bincount(row, share * he, len(z)) for he in orthonormal_hermite(root, degree)]


def _partners(
    pieces: MonotonePieces, piece: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Other pieces of the same member on which each value is taken: (index of value, piece)."""
    rows, others = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    bottom, top = pieces.values.min(axis=1), pieces.values.max(axis=1)
    member = pieces.member[piece]
    for one in np.unique(member):
        own, at = np.flatnonzero(pieces.member == one), np.flatnonzero(member == one)
        value = y[at, None]
        exists = (bottom[own] <= value) & (value <= top[own]) & (own != piece[at, None])
        row, column = np.nonzero(exists)
        rows.append(at[row])
        others.append(own[column])
    return np.concatenate(rows), np.concatenate(others)


def _atoms(
    flat: list[tuple[float, float]], values: np.ndarray, degree: int, reach: float
) -> np.ndarray:
    """Contribution of the atoms of Y: flat pieces with the same value are one atom."""
    total = np.zeros(degree + 1)
    for value in sorted(set(np.round(values, 12))):
        mass = np.zeros(degree + 1)
        for (a, b), v in zip(flat, values, strict=True):
            if abs(v - value) < 1e-11 * (1 + abs(value)):
                a, b = (-np.inf if a <= -reach else a), (np.inf if b >= reach else b)
                mass += interval_coefficients(a, b, degree)
        if mass[0] > 0:
            total += mass**2 / mass[0]
    return total


def interval_coefficients(a: float, b: float, degree: int) -> np.ndarray:
    """Orthonormal Hermite coefficients of the indicator of [a, b]."""
    from scipy.special import ndtr

    result = np.zeros(degree + 1)
    result[0] = ndtr(b) - ndtr(a) if a < 0 else ndtr(-a) - ndtr(-b)
    for end, sign in ((b, -1.0), (a, 1.0)):
        if np.isfinite(end):
            he = hermite_table(np.array(end), max(degree - 1, 0))
            orders = np.arange(1, degree + 1)
            result[1:] += sign * he[:degree] * normal_density(np.array(end)) / np.sqrt(orders)
    return result
