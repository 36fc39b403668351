r"""Conditional moments given a noiseless output of one variable, by its monotone branches.

Given :math:`Y = g(z) = y` the variable sits at the roots :math:`z_b` of :math:`g(z) = y` with
weights :math:`w_b \propto \varphi(z_b)/|g'(z_b)|`. Means over Y are integrals over z,

.. math:: \mathbb{E}\,h(Y) = \int \varphi(z)\,h(g(z))\,dz,

so no density of Y is ever formed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .hermite import hermite_table, normal_density, orthonormal_hermite, tail_energy
from .line import gauss_legendre
from .monotone import Family, MonotonePieces, inverse, monotone_pieces
from .output_gram import OutputGram

_MAX_PAIRS = 1 << 20
_NODES = (6, 10, 16, 24)
_ENOUGH = 1e-10  # difference of two rules on one panel
_NOTHING = 1e-8  # importance below which it does not matter any more
_ROOT_OF_EPS = float(np.sqrt(np.finfo(float).eps))
_TOLERABLE = 1e-8  # difference above which a panel is halved
_HALVINGS, _MAX_POOR = 8, 12  # how often, and how many panels of each function at once
_MAX_ROOTS = 500_000  # roots that are worth finding for halved panels
_LONG = 1.5  # longest panel
_NEAR_AN_END = 0.1  # length of the panel at the end of a band, in parts of the next
_SHORT = 0.05  # panels that need no such parts
_MAX_PARTS, _FEWEST_PARTS = 30_000, 1_000  # of branches: in all, and of one member
_LOST = 1e-2  # mass of the branches that were not followed
_SAME = 1e-11  # relative distance of two values that differ by rounding only
Function = Callable[[np.ndarray], np.ndarray]


def branch_grams(
    g: Function,
    slope: Function,
    breaks: Sequence[float],
    orders: Sequence[int],
) -> dict[int, OutputGram] | None:
    r"""Matrices :math:`T_k` (1 x 1) of a function of one variable without noise [OG-1].

    None if the function has too many branches.

    Parameters
    ----------
    g, slope : callable
        The function and its derivative, on arrays.
    breaks : sequence of float
        Points where it jumps or has a kink.
    orders : sequence of int
        Values of k.

    Examples
    --------
    For :math:`z^2` the sign of z is lost and :math:`\mathbb{E}[(\mathbb{E}[z^2-1|Y])^2]/2 = 1`:

    >>> grams = branch_grams(lambda z: z**2, lambda z: 2 * z, [], [1, 2])
    >>> bool(grams[1].value[0, 0] < 1e-30), bool(abs(grams[2].value[0, 0] - 1) < 1e-8)
    (True, True)
    """
    (found,) = family_grams(lambda _, z: g(z), lambda _, z: slope(z), [breaks], orders)
    return found


def family_grams(
    g: Family,
    slope: Family,
    breaks: Sequence[Sequence[float]],
    orders: Sequence[int],
    importance: np.ndarray | None = None,
) -> list[dict[int, OutputGram] | None]:
    r"""Matrices :math:`T_k` (1 x 1) of many functions of one variable, each on its own [OG-1].

    None for those that have too many branches.

    Parameters
    ----------
    g, slope : callable
        ``(members, points) -> values`` of the functions and of their derivatives.
    breaks : sequence of sequences of float
        For each function, points where it jumps or has a kink.
    orders : sequence of int
        Values of k.
    importance : ndarray, optional
        How much each function counts in the end, at most 1: smaller ones may have larger errors.

    Notes
    -----
    Flat pieces are atoms of the output. The error is twice the difference of two rules.

    Examples
    --------
    >>> family = family_grams(lambda i, z: z ** (i + 1), lambda i, z: (i + 1) * z**i, [[], []], [1])
    >>> [round(float(grams[1].value[0, 0]), 9) for grams in family]
    [1.0, 0.0]
    """
    degree = max(orders)
    weight = np.ones(len(breaks)) if importance is None else np.maximum(importance, _NOTHING)
    reach = np.array([_reach(degree, math.ceil(math.log10(w))) for w in weight])
    pieces = monotone_pieces(g, breaks, reach)
    atoms = _atoms(g, pieces, degree, reach)
    value, error = _second_moments(g, slope, pieces, orders, atoms, weight)
    return [
        {k: OutputGram(np.array([[v[k]]]), 2 * e[k] + 1e-13 + tail_energy(k, r)) for k in orders}
        if abs(v[0] - 1) < _LOST
        else None
        for v, e, r in zip(value, error, reach.tolist(), strict=True)
    ]


@lru_cache
def _reach(degree: int, decade: int) -> float:
    """Where the line may be cut for orders up to the degree and an importance of 10^decade."""
    enough = _ENOUGH / 100 / 10.0**decade
    return next(r for r in itertools.count(4.0, 0.5) if tail_energy(degree, r) < enough)


class _Panels(NamedTuple):
    piece: np.ndarray
    low: np.ndarray
    high: np.ndarray


def _panels(g: Family, slope: Family, pieces: MonotonePieces) -> _Panels:
    """Bands of values, each followed along the piece that carries most of its mass.

    Roots appear and disappear at the values at the ends of pieces: between two such values their
    number does not change. As one piece of each band is enough, the work grows with the number of
    pieces times that of different extrema. Panels are at most 1.5 long.
    """
    piece, low, high, band = _segments(g, slope, pieces)
    order = np.lexsort((-_mass(low, high), band))
    heaviest = order[np.unique(band[order], return_index=True)[1]]
    index, edges = [np.zeros(0, dtype=np.int64)], [np.zeros((2, 0))]
    for i in heaviest:
        points = _edges(low[i], high[i])
        index.append(np.full(len(points) - 1, piece[i]))
        edges.append(np.array([points[:-1], points[1:]]))
    return _Panels(np.concatenate(index), *np.concatenate(edges, axis=1))


def _segments(
    g: Family, slope: Family, pieces: MonotonePieces
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Parts of all pieces between critical values: piece, low and high end, number of the band.

    Members with too many of them are left out.
    """
    tables, offset = [np.zeros((5, 0))], 0
    members = int(pieces.member.max(initial=0)) + 1
    for member in np.unique(pieces.member):
        own = np.flatnonzero(pieces.member == member)
        critical = _different(pieces.values[own], _rounding(pieces, own))
        ends = np.searchsorted((critical[1:] + critical[:-1]) / 2, pieces.values[own])
        levels = np.arange(len(critical))
        bottom, top = ends.min(axis=1)[:, None], ends.max(axis=1)[:, None]
        row, level = np.nonzero((bottom <= levels) & (levels <= top))
        if len(row) > max(_MAX_PARTS // members, _FEWEST_PARTS):
            continue
        is_first, is_last = level == ends[row, 0], level == ends[row, 1]
        tables.append(np.array([own[row], critical[level], level + offset, is_first, is_last]))
        offset += len(critical)
    table = np.concatenate(tables, axis=1)
    piece, band = table[0].astype(np.int64), table[2].astype(np.int64)
    z = inverse(g, slope, pieces, piece, table[1])
    # Extrema of the same height differ by rounding: nothing is cut off between them.
    z = np.where(table[3], pieces.ends[piece, 0], np.where(table[4], pieces.ends[piece, 1], z))
    inner = np.flatnonzero(piece[1:] == piece[:-1])
    low, high = np.minimum(z[inner], z[inner + 1]), np.maximum(z[inner], z[inner + 1])
    return piece[inner], low, high, band[inner]


def _rounding(pieces: MonotonePieces, own: np.ndarray) -> float:
    """Difference of two values of a function that rounding explains, however small they are."""
    part = slice(pieces.first[own[0]], pieces.first[own[-1] + 1])
    is_likely = np.abs(pieces.z[part]) < 1
    return 1e-2 * _SAME * float(np.abs(pieces.y[part][is_likely]).max(initial=0.0))


def _different(values: np.ndarray, rounding: float) -> np.ndarray:
    """Values in increasing order, those that differ by rounding only once."""
    ordered = np.unique(values)
    apart = np.diff(ordered) > _SAME * np.abs(ordered[1:]) + rounding
    return ordered[np.concatenate([[True], apart])]


def _mass(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Gaussian measure of intervals, without cancellation far out."""
    from scipy.special import ndtr

    is_right = low > 0
    return ndtr(np.where(is_right, -low, high)) - ndtr(np.where(is_right, -high, low))


def _edges(low: float, high: float) -> np.ndarray:
    """Edges of panels, with shorter ones where other roots appear: at both ends."""
    edges = np.linspace(low, high, int(np.ceil((high - low) / _LONG)) + 1)
    near = _NEAR_AN_END * (edges[1] - edges[0])
    if near < _NEAR_AN_END * _SHORT:
        return edges
    return np.concatenate([edges[:1], [low + near], edges[1:-1], [high - near], edges[-1:]])


def _second_moments(
    g: Family,
    slope: Family,
    pieces: MonotonePieces,
    orders: Sequence[int],
    atoms: np.ndarray,
    importance: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """E[D_k(Y)^2] of each member for k = 0..degree, and the differences of two rules.

    Each panel takes rules with more and more nodes until two agree; then it is halved.
    """
    total, error = atoms.copy(), np.zeros_like(atoms)
    panels = _panels(g, slope, pieces)
    most, roots = _MAX_POOR * len(atoms), _MAX_ROOTS
    branches = np.bincount(pieces.member, minlength=len(atoms))
    for halving in range(_HALVINGS + 1):
        rules = _NODES if halving == 0 else _NODES[-2:]
        counts = importance[pieces.member[panels.piece]]
        fine, gap = _agreed(g, slope, pieces, panels, orders, rules, counts)
        is_poor = counts * gap[:, [0, *orders]].max(axis=1) > _TOLERABLE
        is_poor &= (halving < _HALVINGS) & (np.count_nonzero(is_poor) <= most)
        member = pieces.member[panels.piece]
        roots -= 2 * sum(_NODES[-2:]) * int(branches[member[is_poor]].sum())
        is_poor &= roots >= 0  # the gaps that remain go into the error
        member = member[~is_poor]
        np.add.at(total, member, fine[~is_poor])
        np.add.at(error, member, gap[~is_poor])
        if not is_poor.any():
            break
        piece, low, high = (column[is_poor] for column in panels)
        middle = (low + high) / 2
        panels = _Panels(np.tile(piece, 2), np.append(low, middle), np.append(middle, high))
    # The mass of all values is one: what is missing was seen by no rule. Next to an extremum a
    # rounding error of the value moves its square root of mass.
    missing = np.abs(total[:, :1] - 1)
    rounding = np.where(branches > 1, _ROOT_OF_EPS, 0.0)
    return total, error + (missing + rounding[:, None]) * total


def _agreed(
    g: Family,
    slope: Family,
    pieces: MonotonePieces,
    panels: _Panels,
    orders: Sequence[int],
    rules: Sequence[int],
    importance: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Integrals over panels by the first rules that agree, and the differences of the last two."""
    degree = max(orders)
    value = _integrals(g, slope, pieces, panels, degree, rules[0])
    gap = np.full_like(value, np.inf)
    active = np.arange(len(value))
    for n in rules[1:]:
        fine = _integrals(
            g, slope, pieces, _Panels(*(column[active] for column in panels)), degree, n
        )
        gap[active], value[active] = np.abs(fine - value[active]), fine
        worst = gap[active][:, [0, *orders]].max(axis=1)
        active = active[importance[active] * worst > _ENOUGH]
    return value, gap


def _integrals(
    g: Family, slope: Family, pieces: MonotonePieces, panels: _Panels, degree: int, n: int
) -> np.ndarray:
    """Integral of p D_k^2 dy over each panel for k = 0..degree by n nodes: (panels, degree + 1).

    With y = g(z) along the piece of the panel, p dy is the Gaussian measure of dz divided by the
    share of this root among all.
    """
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
        piece = np.repeat(panels.piece[part], n)
        share, moments = _moments(g, slope, pieces, piece, z.ravel(), degree)
        weight = width * (w * jacobian) * normal_density(z) / share.reshape(z.shape)
        for k, moment in enumerate(moments):
            total[part, k] = (moment.reshape(z.shape) ** 2 * weight).sum(axis=1)
    return total


def _moments(
    g: Family, slope: Family, pieces: MonotonePieces, piece: np.ndarray, z: np.ndarray, degree: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Share of z among the roots of Y = g(z), and E[he_k | Y = g(z)] for k = 0..degree."""
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
    moments = [np.bincount(row, share * he, len(z)) for he in orthonormal_hermite(root, degree)]
    return np.maximum(share[: len(z)], 1e-300), moments


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


def _atoms(g: Family, pieces: MonotonePieces, degree: int, reach: np.ndarray) -> np.ndarray:
    """Contribution of the atoms of Y: flat pieces of a member with the same value are one atom."""
    total = np.zeros((len(reach), degree + 1))
    if not pieces.flat:
        return total
    member, low, high = (np.array(column) for column in zip(*pieces.flat, strict=True))
    values = g(member, (low + high) / 2)
    order = np.lexsort((values, member))
    member, low, high, values = member[order], low[order], high[order], values[order]
    is_new = np.diff(values) > 1e-11 * (1 + np.abs(values[1:]))
    first = np.flatnonzero(np.append(True, is_new | (np.diff(member) > 0)))
    low = np.where(low <= -reach[member], -np.inf, low)
    high = np.where(high >= reach[member], np.inf, high)
    mass = np.add.reduceat(interval_coefficients(low, high, degree), first, axis=1)
    seen = mass[0] > 0
    np.add.at(total, member[first[seen]], (mass[:, seen] ** 2 / mass[0, seen]).T)
    return total


def interval_coefficients(a: np.ndarray, b: np.ndarray, degree: int) -> np.ndarray:
    """Orthonormal Hermite coefficients of the indicators of [a, b]: (degree + 1, intervals)."""
    result = np.zeros((degree + 1, len(a)))
    result[0] = _mass(a, b)
    orders = np.arange(1, degree + 1)[:, None]
    for end, sign in ((b, -1.0), (a, 1.0)):
        is_finite = np.isfinite(end)
        z = end[is_finite]
        he = hermite_table(z, max(degree - 1, 0))[:degree]
        result[1:, is_finite] += sign * he * normal_density(z) / np.sqrt(orders)
    return result
