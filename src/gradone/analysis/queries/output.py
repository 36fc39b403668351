r"""What the output reveals about the hidden directions, given those already known.

For :math:`D_\beta = \mathbb{E}[\mathrm{he}_\beta(z_\perp) \mid y, z_U]` the matrices
:math:`T_k(U) = \mathbb{E}[D_\beta D_{\beta'}]`, :math:`|\beta| = |\beta'| = k`, decide which
directions can be learned next, and at which price. Fixing :math:`z_U` leaves a smaller target, so
one piece of code serves every stage; each smaller target is treated by the most accurate method
that applies to its kind.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...calculus.branches import branch_grams
from ...calculus.noisy_line import noisy_line_grams
from ...calculus.output_gram import OutputGram, average
from ...calculus.slicing import sliced_grams
from ...calculus.sobol import SobolSequence, gaussian_points
from ...targets.channel import OutputChannel
from ...targets.language.expression import Expression
from ...targets.language.transform import given
from ..frame import natural_frame, rewrite
from ..subspace import Subspace
from .embedding import embedding, order_indices
from .relabeling import without_relabeling
from .symmetry import invariant_part

_POINTS = 1 << 19
_REACH = 5.5
_NODES = 64
_MAX_PANELS = 5
# Gauss-Kronrod pair of 7 and 15 nodes on [-1, 1], right half: two rules for the price of one.
_HALF = np.array(
    [  # node, Kronrod weight, Gauss weight
        [0.000000000000000000, 0.209482141084727828, 0.417959183673469388],
        [0.207784955007898468, 0.204432940075298892, 0.0],
        [0.405845151377397167, 0.190350578064785410, 0.381830050505118945],
        [0.586087235467691130, 0.169004726639267903, 0.0],
        [0.741531185599394440, 0.140653259715525919, 0.279705391489276668],
        [0.864864423359769073, 0.104790010322250184, 0.0],
        [0.949107912342758525, 0.063092092629978553, 0.129484966168869693],
        [0.991455371120812639, 0.022935322010529225, 0.0],
    ]
)
_KRONROD = np.concatenate([_HALF[:0:-1] * [-1.0, 1.0, 1.0], _HALF])
Grams = dict[int, OutputGram]


def output_grams(
    expression: Expression,
    noise: float,
    orders: Sequence[int],
    *,
    points: int = _POINTS,
) -> Grams:
    """Matrices T_k of a target, nothing being known yet.

    Parameters
    ----------
    expression : Expression
        The noiseless target.
    noise : float
        Variance of the label noise.
    orders : sequence of int
        Values of k.
    points : int
        Function values for the method of slices.
    """
    if not noise:
        expression = without_relabeling(expression)
    if _is_constant(expression):
        return {k: _zero(expression.r, k) for k in orders}
    framed = natural_frame(expression)
    inner = _grams(framed.expression, noise, orders, points)
    nothing = Subspace.zero(framed.expression.r)
    inner = {k: invariant_part(g, framed.expression, nothing, k) for k, g in inner.items()}
    if np.array_equal(framed.rows, np.eye(expression.r)):
        return inner
    return {k: _embedded(gram, framed.rows, k) for k, gram in inner.items()}


def _is_constant(f: Expression) -> bool:
    """Whether a target varies by no more than the rounding of the numbers in it.

    Fixing known variables often leaves a constant plus terms that should have cancelled; without
    noise these would reveal everything.
    """
    if not f.variables:
        return True
    # Far out as well: a function may be constant except where z is large.
    cloud = np.random.default_rng(41).standard_normal((64, f.r))
    values = np.asarray(f(np.concatenate([cloud, 3 * cloud, 9 * cloud])))
    return bool(np.ptp(values) <= 1e-11 * max(1.0, float(np.abs(values).max())))


def _grams(f: Expression, noise: float, orders: Sequence[int], points: int) -> Grams:
    if not noise and f.is_discrete:
        atoms = _atom_grams(f, orders)
        if atoms is not None:
            return atoms
    if f.r == 1:
        slope = f.derivative()
        if not noise:
            return branch_grams(
                lambda z: f(z[..., None]), lambda z: slope(z[..., None]), f.kinks, orders
            )
        noisy = noisy_line_grams(lambda z: f(z[..., None]), f.kinks, noise, orders)
        if noisy is not None:
            return noisy
    return sliced_grams(f.form, f.r, orders, noise=noise, points=points)


def _zero(r: int, k: int) -> OutputGram:
    m = len(order_indices(r, k))
    return OutputGram(np.zeros((m, m)), 0.0)


def _atom_grams(f: Expression, orders: Sequence[int]) -> Grams | None:
    """Finitely many outputs: T_k = sum over atoms of a a^T / p with Hermite coefficients a."""
    indicators = OutputChannel(f).indicators()
    if indicators is None:
        return None
    expansions = [indicator.hermite(max(orders)) for indicator in indicators]
    if any(e.kind == "monte_carlo" for e in expansions):
        return None  # squared noise would pass for a signal
    result = {}
    for k in orders:
        rows = expansions[0].indices.sum(axis=1) == k
        value: np.ndarray | float = 0.0
        bias = 0.0
        for expansion in expansions:
            a, error = expansion.value[rows], float(expansion.error[rows].max(initial=0.0))
            p = float(expansion.value[0])
            if p > 1e-12:
                value = value + np.outer(a, a) / p
                bias += (2 * float(np.abs(a).max(initial=0.0)) * error + error**2) / p
        result[k] = OutputGram(np.asarray(value), bias + 1e-15)
    return result


def _embedded(gram: OutputGram, rows: np.ndarray, k: int) -> OutputGram:
    """T_k in all variables when the target depends on the coordinates t = B z only."""
    matrix = embedding(rows, k)

    def lift(x: np.ndarray) -> np.ndarray:
        return matrix @ x @ matrix.T

    size = np.abs(matrix)
    bias = size @ np.broadcast_to(gram.bias, gram.value.shape) @ size.T
    replicates = None if gram.replicates is None else lift(gram.replicates)
    return OutputGram(lift(gram.value), bias, replicates)


def conditional_grams(
    expression: Expression,
    noise: float,
    known: Subspace,
    orders: Sequence[int],
    *,
    points: int = _POINTS,
) -> Grams:
    """Matrices T_k(U) on the complement of a known subspace, in its basis."""
    if known.dim == 0:
        return output_grams(expression, noise, orders, points=points)
    f = rewrite(expression, np.vstack([known.basis, known.complement().basis]))

    def at(node: np.ndarray, share: int) -> Grams:
        fixed = {i + 1: float(u) for i, u in enumerate(node)}
        return output_grams(given(f, fixed), noise, orders, points=max(points // share, 1 << 16))

    found = (
        _over_line(at, orders, _mirror(f), f.r - 1)
        if known.dim == 1
        else _over_points(at, orders, known.dim)
    )
    return {k: invariant_part(gram, expression, known, k) for k, gram in found.items()}


def _over_points(at: Callable[[np.ndarray, int], Grams], orders: Sequence[int], dim: int) -> Grams:
    """Mean over several known variables: scrambled Sobol points."""
    nodes = gaussian_points(SobolSequence(dim, np.random.default_rng(271828)).draw(_NODES))
    found = [at(node, _NODES) for node in nodes]
    weights = np.full(_NODES, 1 / _NODES)
    half = np.where(np.arange(_NODES) < _NODES // 2, 2 / _NODES, 0.0)
    return {k: _mean([g[k] for g in found], weights, half) for k in orders}


def _mean(grams: list[OutputGram], weights: np.ndarray, coarse: np.ndarray) -> OutputGram:
    """Mean over conditions; its difference from a coarser rule is added to the error."""
    fine, other = average(grams, weights), average(grams, coarse)
    bias = np.asarray(fine.bias) + np.abs(fine.value - other.value)
    return OutputGram(fine.value, bias, fine.replicates)


def _mirror(f: Expression) -> tuple[int, ...] | None:
    """Unknown variables (from 0) that must change sign with the known one to leave f or -f.

    Then T_k at -u follows from T_k at u. None if there is no such symmetry.
    """
    others = range(2, f.r + 1)
    for size in range(f.r):
        for flipped in itertools.combinations(others, size):
            if f.parity(1, *flipped) is not None:
                return tuple(i - 2 for i in flipped)
    return None


def _symmetrized(gram: OutputGram, k: int, q: int, flipped: tuple[int, ...]) -> OutputGram:
    """Mean of T_k over both signs of the known variable, from one of them."""
    signs = (-1.0) ** order_indices(q, k)[:, list(flipped)].sum(axis=1)
    keep = (1 + np.outer(signs, signs)) / 2
    replicates = None if gram.replicates is None else gram.replicates * keep
    return OutputGram(gram.value * keep, gram.bias * keep, replicates)


def _over_line(
    at: Callable[[np.ndarray, int], Grams],
    orders: Sequence[int],
    mirror: tuple[int, ...] | None,
    q: int,
) -> Grams:
    """Mean over one known variable: panels are halved where two rules disagree.

    Both halves of the line are separate from the start, because many targets break where a known
    variable vanishes; if the target has a mirror symmetry one half is enough.
    """
    panels = [_panel(at, 0.0, _REACH, orders)]
    if mirror is None:
        panels.append(_panel(at, -_REACH, 0.0, orders))
    while True:
        size = max(max(float(np.abs(p.total[k].value).max()) for k in orders) for p in panels)
        worst = max(panels, key=lambda panel: max(panel.gaps.values()))
        # Random errors are not cured by more panels.
        is_random = any(p.total[k].replicates is not None for p in panels for k in orders)
        is_fine = max(worst.gaps.values()) <= 1e-3 * size
        if is_fine or is_random or len(panels) >= _MAX_PANELS:
            break
        panels.remove(worst)
        middle = (worst.low + worst.high) / 2
        for low, high in ((worst.low, middle), (middle, worst.high)):
            panels.append(_no_better_than(_panel(at, low, high, orders), worst))
    mass = sum(p.mass for p in panels)
    weights = np.full(len(panels), 1 / mass)
    result = {k: average([p.total[k] for p in panels], weights) for k in orders}
    if mirror is None:
        return result
    return {k: _symmetrized(gram, k, q, mirror) for k, gram in result.items()}


class _Panel(NamedTuple):
    low: float
    high: float
    mass: float
    total: Grams
    gaps: dict[int, float]  # disagreement of the two rules at each order


def _no_better_than(panel: _Panel, parent: _Panel) -> _Panel:
    """Panel with a hundredth of what its parent missed as least error.

    Next to a kink two rules may agree by accident.
    """
    gaps = {k: max(gap, parent.gaps[k] / 100) for k, gap in panel.gaps.items()}
    total = {
        k: OutputGram(g.value, np.maximum(g.bias, gaps[k]), g.replicates)
        for k, g in panel.total.items()
    }
    return panel._replace(total=total, gaps=gaps)


def _panel(
    at: Callable[[np.ndarray, int], Grams], low: float, high: float, orders: Sequence[int]
) -> _Panel:
    nodes = low + (high - low) * (_KRONROD[:, 0] + 1) / 2
    mass = (math.erf(high / math.sqrt(2)) - math.erf(low / math.sqrt(2))) / 2
    density = np.exp(-0.5 * nodes**2)
    # Both rules are made exact for constants: what does not depend on u has no error from it.
    fine, coarse = (w * density * mass / (w @ density) for w in _KRONROD.T[1:])
    found = [at(np.array([u]), 2 * len(nodes)) for u in nodes]
    total = {k: _mean([g[k] for g in found], fine, coarse) for k in orders}
    gaps = {
        k: float(np.abs(average([g[k] for g in found], fine - coarse).value).max()) for k in orders
    }
    return _Panel(low, high, mass, total, gaps)
