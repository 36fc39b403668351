r"""Where each stage really opens for Bayes-AMP.

A stage opens at the smallest alpha at which the state-evolution fixed point :math:`M_\star` of the
directions learned so far becomes unstable in the others,

.. math:: \alpha\,\lambda_{\max}\big(K \mapsto \mathbb{E}_{\omega, y}[G K G]\big) = 1, \qquad
          G = \mathbb{E}[z_\perp z_\perp^\top - I \mid y, \omega],
          \quad \omega \sim N(0, M_\star(\alpha)).                                          [SE-3]

Perfect conditioning on the learned directions (:math:`M_\star = I` on them) gives the lower bound
of :attr:`gradone.Analysis.grand_staircase`; the two agree where those directions are recovered
perfectly.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...analysis.queries.learnability import learnability
from ...analysis.queries.stages import Stage
from ...base.errors import OutOfRegime
from ...base.estimate import Estimate
from ...calculus.solvers import root
from ...channels.averages.moments import PERFECT, total
from ...targets.subspace import Subspace
from ...targets.target import Target, as_target
from ._fixed_points import StateEvolution
from ._framed import FramedEvolution
from .bayes_amp import posterior_obstacle

_LARGEST = 1e3
_TOLERANCE = 1e-6  # relative, of the root
_PARTLY, _ALMOST = 0.5, 1 - 1e-4  # overlaps of learned directions at which others are looked at
_ZERO = 1e-6  # of the information on a direction that counts as some
_SAME = 1e-6  # difference of the projectors of equal subspaces
_DEGENERATE = 1e-2  # relative distance of growth rates that counts as equal


def amp_thresholds(target: Target | str) -> tuple[Stage, ...]:
    r"""Stages in which Bayes-AMP learns the directions of a target, with their true thresholds.

    Parameters
    ----------
    target : Target or str
        Target of up to four directions.

    Returns
    -------
    tuple of Stage
        In the order in which they open; ``stage.subspace`` is all that is learned above
        ``stage.threshold``. Trivial directions open at 0; directions that no amount of data of
        order d opens come last, with an infinite threshold.

    Notes
    -----
    Each threshold is a root of [SE-3], found with the fixed point of state evolution recomputed at
    every trial value of alpha. The error is the difference between two resolutions of all
    integrals plus the tolerance of the root.

    References
    ----------
    Troiani et al. 2024, arXiv:2405.15480; Aubin et al. 2018, arXiv:1806.05451.

    Examples
    --------
    >>> [round(float(stage.threshold), 2) for stage in amp_thresholds("sign(z1) + sign(z2)")]
    [0.0, 2.05]
    """
    known_target = as_target(target)
    if not isinstance(known_target, Target):
        kind = type(known_target).__name__
        raise OutOfRegime(f"thresholds of AMP cover the class Target, and this one is a {kind}")
    if reason := posterior_obstacle(known_target):
        raise OutOfRegime(f"thresholds of AMP do not cover this target: {reason}")
    evolution = FramedEvolution(known_target)
    inner = evolution.inner
    bounds = _bounds(inner.target)
    stages: list[Stage] = []
    known, threshold = Subspace.zero(inner.r), Estimate(0.0)
    after, order = _closure(inner, known), 1
    while True:
        if after.dim > known.dim:
            stages.append(_stage(evolution, after, known, order, threshold))
        known = after
        if known.dim == inner.r:
            return tuple(stages)
        opened = _next_opening(inner, known, threshold, bounds)
        if opened is None:
            after, order, threshold = Subspace.full(inner.r), 3, Estimate(math.inf)
        else:
            threshold, new = opened
            after, order = _closure(inner, known + new), 2


def _bounds(target: Target) -> tuple[Stage, ...]:
    """Stages with perfect knowledge of the earlier ones, where the analysis knows them."""
    return learnability(target.joint, target.noise, target.q).stages


def _closure(evolution: StateEvolution, known: Subspace) -> Subspace:
    """Directions that come without a threshold once `known` is learned in part."""
    while known.dim < evolution.r:
        found, sources = evolution.channel.estimate(_PARTLY * known.projector)
        unknown = known.complement().basis
        values, vectors = np.linalg.eigh(unknown @ found.information @ unknown.T)
        doubt = np.abs(unknown @ total(sources).information @ unknown.T).max()
        new = vectors[:, values > max(_ZERO, 3 * doubt)].T @ unknown
        if not len(new):
            break
        known = known + Subspace.span(new, evolution.r)
    return known


def _next_opening(
    evolution: StateEvolution, known: Subspace, last: Estimate, bounds: tuple[Stage, ...]
) -> tuple[Estimate, Subspace] | None:
    """Smallest alpha from `last` on at which something unknown grows, and what; None if never.

    If what is known is known perfectly there, one of the stages `bounds` says it exactly.
    """
    unknown = known.complement().basis

    def growth(alpha: float) -> float:
        M = evolution.within(alpha, known.basis)
        return alpha * float(evolution.growth_modes(M, unknown)[0][-1])

    # Perfect knowledge of the learned directions gives the fastest growth there is.
    fastest = evolution.growth_modes(_ALMOST * known.projector, unknown)[0][-1]
    if fastest * _LARGEST < 1:
        return None
    low = max(last.value, (1 - 0.01) / fastest)
    if growth(low) >= 1 and low == last.value:
        threshold = last
    else:
        high = low * 1.1
        while growth(high) < 1:
            low, high = high, 1.5 * high
            if high > _LARGEST:
                return None
        threshold = root(lambda a: growth(a) - 1, low, high, tolerance=_TOLERANCE * high)
        overlaps = np.linalg.eigvalsh(evolution.within(threshold.value, known.basis))
        is_perfect = (overlaps[evolution.r - known.dim :] > PERFECT).all()
        if is_perfect and (exact := _after(known, bounds)):
            threshold = exact
        else:
            error = _error(evolution, threshold.value, known, growth)
            threshold = Estimate(threshold.value, error, "iteration")
    M = evolution.within(threshold.value, known.basis)
    rates, modes = evolution.growth_modes(M, unknown)
    block = np.tensordot(
        (rates > (1 - _DEGENERATE) * rates[-1]) * np.einsum("kii->k", modes), modes, axes=1
    )
    values, vectors = np.linalg.eigh(block)
    rows = vectors[:, values > _DEGENERATE * values[-1]].T
    return threshold, Subspace.span(rows, evolution.r)


def _after(known: Subspace, bounds: tuple[Stage, ...]) -> Estimate | None:
    """Threshold of the stage that opens if exactly `known` is known perfectly, if there is one."""
    for stage in bounds:
        earlier = stage.subspace.projector - stage.new.projector
        is_next = np.abs(earlier - known.projector).max() < _SAME
        if is_next and math.isfinite(stage.threshold.value):
            return stage.threshold
    return None


def _error(
    evolution: StateEvolution, alpha: float, known: Subspace, growth: Callable[[float], float]
) -> float:
    """Error of a threshold: of the growth rate, of the overlaps where it is taken, of the root."""
    step = 1e-2 * alpha
    slope = (growth(alpha + step) - growth(alpha - step)) / (2 * step)
    M = evolution.within(alpha, known.basis)
    by_rate = alpha * evolution.growth_error(M, known.complement().basis) / slope
    change = np.abs(evolution.within(alpha + step, known.basis) - M).max() / step
    by_overlap = evolution.within_error(alpha, known.basis) / change if change else 0.0
    return float(by_rate + by_overlap + 2 * _TOLERANCE * alpha)


def _stage(
    evolution: FramedEvolution, after: Subspace, before: Subspace, order: int, threshold: Estimate
) -> Stage:
    """Stage in the variables as typed."""
    new = Subspace.span(after.basis - after.basis @ before.projector, evolution.inner.r)
    reason = {
        1: "the label moves the estimate in the first iteration, at any alpha",
        2: "state evolution becomes unstable in these directions",
        3: f"state evolution is stable in these directions up to alpha = {_LARGEST:g}",
    }[order]
    r = evolution.target.r
    return Stage(
        subspace=Subspace.span(after.basis @ evolution.rows, r),
        new=Subspace.span(new.basis @ evolution.rows, r),
        order=order,
        threshold=threshold,
        is_bound=False,
        reason=reason,
    )
