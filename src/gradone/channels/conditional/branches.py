r"""Conditional moments given a noiseless output of one variable, by its monotone branches.

Given :math:`Y = g(z) = y` the variable sits at the roots :math:`z_b` of :math:`g(z) = y` with
weights :math:`w_b \propto \varphi(z_b)/|g'(z_b)|`. Means over Y are integrals over z,

.. math:: \mathbb{E}\,h(Y) = \int \varphi(z)\,h(g(z))\,dz,

so no density of Y is ever formed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...calculus.hermite import (
    hermite_table,
    line_end,
    normal_density,
    orthonormal_hermite,
    tail_energy,
)
from ...calculus.line import gauss_legendre
from ...calculus.monotone import Family, MonotonePieces, inverse, monotone_pieces
from ...targets.language.rounding import UNDERFLOW, with_rounding
from .gram import OutputGram
from .label import Grams, Label
from .panels import Panels, gaussian_measure, panels_of_values

_MAX_PAIRS = 1 << 20
_NODES = (6, 10, 16, 24)
_ENOUGH = 1e-10  # difference of two rules on one panel
_NOTHING = 1e-8  # importance below which it does not matter any more
_ROOT_OF_EPS = float(np.sqrt(np.finfo(float).eps))
_TOLERABLE = 1e-8  # difference above which a panel is halved
_HALVINGS, _MAX_POOR = 8, 12  # how often, and how many panels of each function at once
_MAX_ROOTS = 4_000_000  # of functions that are not part of anything larger
_SHARE = 4  # at most this part of a budget for one family,
_FEWEST_ROOTS = 8_000  # but for each member as many as other methods cost
_COARSE = 1e-5  # tolerance where all rules are too expensive
_LOST = 1e-2  # mass of the branches that were not followed
_ZERO = OutputGram(np.zeros((1, 1)), 0.0)
Function = Callable[[np.ndarray], np.ndarray]


@dataclass
class RootBudget:
    """Roots that may still be found.

    Their number is nodes times panels times branches, which is known before any is looked for.

    Examples
    --------
    >>> budget = RootBudget(100)
    >>> budget.affords(70), budget.affords(70), budget.left
    (True, False, 30)
    """

    left: int
    is_tight: bool = False  # whether it did not pay for all rules before

    def affords(self, roots: int) -> bool:
        """Whether so many are left; then they are taken."""
        if roots > self.left:
            return False
        self.left -= roots
        return True


class Branches:
    """Exact rule for functions of one variable without noise."""

    @staticmethod
    def covers(label: Label) -> bool:
        """Whether there is one variable, and no noise."""
        return label.f.r == 1 and not label.noise and not label.latent

    @staticmethod
    def grams(label: Label, orders: Sequence[int]) -> Grams | None:
        """Matrices T_k; None if the function has too many branches."""
        f, slope = label.f, label.f.derivative()
        (found,) = family_grams(
            lambda _, z: f(z[..., None]),
            lambda _, z: slope(z[..., None]),
            [f.kinks],
            orders,
            rounding=lambda _, z: with_rounding(f.tree, lambda i: z)[1],
        )
        return found


def branch_grams(
    g: Function,
    slope: Function,
    breaks: Sequence[float],
    orders: Sequence[int],
) -> Grams | None:
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
    *,
    is_even: bool = False,
    tolerance: float = 0.0,
    budget: RootBudget | None = None,
    rounding: Family | None = None,
) -> list[Grams | None]:
    r"""Matrices :math:`T_k` (1 x 1) of many functions of one variable, each on its own [OG-1].

    None for those that have too many branches, or more than the budget allows.

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
    is_even : bool
        Whether all functions are even: then half the line is enough, and odd moments vanish.
    tolerance : float
        Error of a panel that does not matter; at least 1e-10.
    budget : RootBudget, optional
        What may be spent, by this family and by others. If it does not pay for every rule, a
        tolerance of 1e-5 is enough; then it pays for the cheapest members first.
    rounding : callable, optional
        ``(members, points) -> errors`` of the values.

    Notes
    -----
    Flat pieces are atoms of the output. The error is twice the difference of two rules: where the
    budget ends early it is larger.

    Examples
    --------
    >>> family = family_grams(lambda i, z: z ** (i + 1), lambda i, z: (i + 1) * z**i, [[], []], [1])
    >>> [round(float(grams[1].value[0, 0]), 9) for grams in family]
    [1.0, 0.0]
    """
    g = _flushed(g)
    counts = np.ones(len(breaks)) if importance is None else importance
    seen = [0, *(k for k in orders if not (is_even and k % 2))]
    budget = RootBudget(_MAX_ROOTS) if budget is None else budget
    share = max(budget.left // _SHARE, _FEWEST_ROOTS * len(breaks))
    for is_coarse in (True,) if budget.is_tight else (False, True):
        enough = max(tolerance, _COARSE if is_coarse else _ENOUGH)
        weight = np.maximum(counts * (_ENOUGH / enough), _NOTHING)
        decades = [math.ceil(math.log10(w)) for w in weight]
        reach = np.array([line_end(max(seen), _ENOUGH / 100, decade) for decade in decades])
        pieces = monotone_pieces(g, breaks, reach, is_half=is_even)
        panels = panels_of_values(g, slope, pieces, rounding)
        is_whole = len(np.unique(pieces.member[panels.piece])) == len(np.unique(pieces.member))
        if is_whole and sum(_NODES) * int(panels.roots.sum()) <= share:
            break
        budget.is_tight = True
    own = RootBudget(share)
    atoms = _atoms(g, pieces, max(seen), reach)
    panels = _affordable(panels, pieces, own)
    value, error = _second_moments(g, slope, pieces, panels, seen, atoms, weight, own, is_even)
    budget.left -= share - own.left
    return [
        {k: _gram(v[k], e[k] + tail_energy(k, r)) if k in seen else _ZERO for k in orders}
        if abs(v[0] - 1) < _LOST
        else None
        for v, e, r in zip(value, error, reach.tolist(), strict=True)
    ]


def _flushed(g: Family) -> Family:
    """The same functions where their values are zero or have all their digits."""

    def values(members: np.ndarray, z: np.ndarray) -> np.ndarray:
        y = g(members, z)
        return np.where(np.abs(y) < UNDERFLOW, 0.0, y)

    return values


def _gram(value: float, error: float) -> OutputGram:
    return OutputGram(np.array([[value]]), 2 * error + 1e-13)


def _second_moments(
    g: Family,
    slope: Family,
    pieces: MonotonePieces,
    panels: Panels,
    orders: Sequence[int],
    atoms: np.ndarray,
    importance: np.ndarray,
    budget: RootBudget,
    is_even: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """E[D_k(Y)^2] of each member for k = 0..degree, and the differences of two rules.

    Each panel takes rules with more and more nodes until two agree; then it is halved. Gaps that
    are too expensive to close go into the error.
    """
    total, error = atoms.copy(), np.zeros_like(atoms)
    most = _MAX_POOR * len(atoms)
    for halving in range(_HALVINGS + 1):
        rules = _NODES if halving == 0 else _NODES[-2:]
        counts = importance[pieces.member[panels.piece]]
        fine, gap = _agreed(g, slope, pieces, panels, orders, rules, counts, budget)
        is_poor = counts * gap[:, orders].max(axis=1) > _TOLERABLE
        is_poor &= (halving < _HALVINGS) & (np.count_nonzero(is_poor) <= most)
        is_poor &= budget.affords(2 * sum(_NODES[-2:]) * int(panels.roots[is_poor].sum()))
        member = pieces.member[panels.piece[~is_poor]]
        np.add.at(total, member, fine[~is_poor])
        np.add.at(error, member, gap[~is_poor])
        if not is_poor.any():
            break
        panels = panels.part(is_poor).halved()
    if is_even:  # what was seen is half of it
        total, error = 2 * total, 2 * error
    # The mass of all values is one: what is missing was seen by no rule. Next to an extremum a
    # rounding error of the value moves its square root of mass.
    missing = np.abs(total[:, :1] - 1)
    branches = np.bincount(pieces.member, minlength=len(atoms))
    rounding = np.where(branches > 1, _ROOT_OF_EPS, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):  # where slopes are rounding, nothing is said
        return total, error + (missing + rounding[:, None]) * total


def _affordable(panels: Panels, pieces: MonotonePieces, budget: RootBudget) -> Panels:
    """Panels of those members, cheapest first, for which the budget pays two rules."""
    member = pieces.member[panels.piece]
    price = sum(_NODES[:2]) * np.bincount(member, panels.roots).astype(np.int64)
    cheapest = np.argsort(price, kind="stable")
    kept = cheapest[np.cumsum(price[cheapest]) <= budget.left]
    budget.affords(int(price[kept].sum()))
    return panels.part(np.isin(member, kept))


def _agreed(
    g: Family,
    slope: Family,
    pieces: MonotonePieces,
    panels: Panels,
    orders: Sequence[int],
    rules: Sequence[int],
    importance: np.ndarray,
    budget: RootBudget,
) -> tuple[np.ndarray, np.ndarray]:
    """Integrals over panels by the first rules that agree, and the differences of the last two.

    The first two rules are paid for.
    """
    degree = max(orders)
    value = _integrals(g, slope, pieces, panels, degree, rules[0])
    gap = np.full_like(value, np.inf)
    active = np.arange(len(value))
    for n in rules[1:]:
        if n != rules[1] and not budget.affords(n * int(panels.roots[active].sum())):
            break
        fine = _integrals(g, slope, pieces, panels.part(active), degree, n)
        gap[active], value[active] = np.abs(fine - value[active]), fine
        worst = gap[active][:, orders].max(axis=1)
        active = active[importance[active] * worst > _ENOUGH]
    return value, gap


def _integrals(
    g: Family, slope: Family, pieces: MonotonePieces, panels: Panels, degree: int, n: int
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
    np.minimum(density, 1e300, out=density)
    density[np.isnan(density)] = 0.0
    share = density / np.maximum(np.bincount(row, density, len(z)), 1e-300)[row]
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
    result[0] = gaussian_measure(a, b)
    orders = np.arange(1, degree + 1)[:, None]
    for end, sign in ((b, -1.0), (a, 1.0)):
        is_finite = np.isfinite(end)
        z = end[is_finite]
        he = hermite_table(z, max(degree - 1, 0))[:degree]
        result[1:, is_finite] += sign * he * normal_density(z) / np.sqrt(orders)
    return result
