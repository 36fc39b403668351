r"""Error plateaus and sample exponents of lazy, two-layer, three-layer and deep learners.

With :math:`\kappa = \log n / \log d`, widths :math:`d^{e_1}, d^{e_2}, \dots` and
:math:`E_\mathrm{null}, \Phi_q, \mu_m, w_j` of :mod:`gradone.analysis.depth.compositional`, the
excess errors at large d are

.. math::
    \text{lazy} &: E_\mathrm{null} - \sum_{q \le \kappa} \Phi_q \qquad [DE-4]\\
    \text{two layers} &: \text{the same with } q \le \kappa/e_1 \text{ once } \kappa > 1 + e_1
    \qquad [DE-5]\\
    \text{three layers} &: E_\mathrm{null} - \sum_m \mu_m^2 \rho^m, \qquad
    \rho = \sum_{j \le \kappa/e_1} w_j \text{ once } \kappa > 1 + e_1, \text{ before that }
    \sum_{j \le \kappa} w_j \qquad [DE-6]\\
    \text{deep} &: \text{the same with } \rho_0 = 1, \quad
    \rho_l = \sum_{j e_l + e_{l+1} \le \kappa} w^{(l)}_j \rho_{l-1}^j \qquad [DE-7]

Two layers fit a polynomial of the directions they have found; three layers learn the part of the
feature h that n samples determine, a share :math:`\rho` of its variance, and any function of it.
A deeper network can do what a shallower one does, so the smaller error counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ...base.errors import BadData
from ...base.estimate import Estimate, roughest
from ...targets.hierarchical import HierarchicalTarget
from .chain import Chain, chain
from .compositional import energies
from .exponents import DepthLearner, checked_learner, obstacles
from .weights import Number

_EDGE = 1e-9  # 0.3 / 0.1 must count as 3
_HIGHEST = 120  # degrees beyond which nothing is resolved
_HIGHEST_OF_SEVERAL = {2: 20, 3: 12}  # of the outer function, by its number of variables

_BRANCHES = (
    "if the branches are separated by a second stage with vector output; "
    "one step from zero second-layer weights sees only their sum"
)
_CONJECTURE = "the cost of intermediate levels is a spectral argument, not a theorem"


def plateau(
    target: HierarchicalTarget, kappa: float, learner: DepthLearner = "three_layer"
) -> Estimate:
    r"""Excess error of a learner with :math:`n = d^\kappa` samples, at large d [DE-4] - [DE-7].

    Parameters
    ----------
    target : HierarchicalTarget
        The target; its label noise is not part of the excess error.
    kappa : float
        :math:`\log n / \log d`, at least 0. At a threshold itself the step is happening: a degree
        counts as learned, the first layer not yet.
    learner : str
        ``"lazy"`` (kernels, random features), ``"two_layer"``, ``"three_layer"``, or ``"deep"``:
        a network with a layer for each level of the target.

    Notes
    -----
    The features h are taken as Gaussian; see :func:`.non_gaussianity` for the sizes at which
    they are not. The error never increases with kappa. Directions that the first layer does not
    find (compositional information exponent above 2) count as unknown at every kappa, and so do
    features whose outer function has an information exponent other than 1; ``note`` says so.

    References
    ----------
    dandi2025depth, nichani2023three

    Examples
    --------
    >>> from gradone.targets.hierarchical import Sight
    >>> t = Sight("tanh(3*h)", "He2(z)/2 + He3(z)/6", exponent=0.7)
    >>> [round(float(plateau(t, 1.8, name)), 6) for name in ("lazy", "two_layer", "three_layer")]
    [0.693922, 0.272346, 0.232636]
    """
    found = chain(target)
    kappa = _checked_kappa(kappa)
    return _plateau(target, found, kappa, checked_learner(learner))


def _plateau(target: HierarchicalTarget, found: Chain, kappa: float, learner: str) -> Estimate:
    e1, against = found.exponents[1], obstacles(target)
    has_directions = kappa > 1 + e1 + _EDGE and not against.directions
    if learner == "lazy":
        return _polynomial_residual(target, found, _floor(kappa))  # [DE-4]
    notes = [against.directions] * bool(against.directions)
    if learner == "two_layer":  # [DE-5]
        degree = _floor(kappa / (e1 if has_directions else 1))
        return _noted(_polynomial_residual(target, found, degree), notes)
    shallower = _plateau(
        target, found, kappa, "two_layer" if learner == "three_layer" else "three_layer"
    )
    if against.features:
        return _noted(shallower, [*notes, against.features])
    if learner == "three_layer":
        rho = _share(found, kappa, e1 if has_directions else 1.0)  # [DE-6]
    else:
        rho = _deep_share(found, kappa, has_directions)  # [DE-7]
    notes += [_BRANCHES] * (found.branches != 1)
    notes += [_CONJECTURE] * (learner == "deep" and len(found.inners) > 1 or not found.branches)
    result = min(_stability_residual(found, *rho), shallower, key=lambda e: e.value)
    return _noted(result, notes)


def _noted(error: Estimate, notes: list[str]) -> Estimate:
    return replace(error, note="; ".join(notes)) if notes else error


def _polynomial_residual(target: HierarchicalTarget, found: Chain, degree: int) -> Estimate:
    """Energy above a degree; beyond what can be resolved, an interval that contains it."""
    highest = _HIGHEST
    if not found.outer.is_exact and found.outer.r > 1:
        highest = _HIGHEST_OF_SEVERAL.get(found.outer.r, 8)
    if degree >= found.degree:
        return Estimate(0.0)
    if degree <= highest:
        return energies(target, degree).residual(degree)
    left = energies(target, highest).residual(highest)
    half = left.value / 2
    return Estimate(half, half + left.error, left.kind, f"only degrees up to {highest} resolved")


def _share(found: Chain, kappa: float, e1: float) -> tuple[Number, Number]:
    """Share of the top feature that is learned, and an upper bound of it."""
    degree = _floor((kappa - found.exponents[-1]) / e1)
    if degree >= found.feature_degree:
        return Fraction(1), Fraction(1)
    shares = found.composed(min(max(degree, 0), _HIGHEST))
    upper = sum(shares.upper, Fraction(0)) if degree <= _HIGHEST else Fraction(1)
    return sum(shares.value, Fraction(0)), upper


def _deep_share(found: Chain, kappa: float, has_directions: bool) -> tuple[Number, Number]:
    """Share of the top feature that is learned level by level, and an upper bound of it."""
    known: list[Number] = [Fraction(1), Fraction(1)]
    for level, P in enumerate(found.inners):
        below, above = found.exponents[level + 1], found.exponents[level + 2]
        if level == 0 and not has_directions:
            below = 1.0  # the first layer is random: features of x itself
        degree = min(max(_floor((kappa - above) / below), 0), _HIGHEST)
        complete = degree >= P.degree
        shares = found.shares(level, int(P.degree) if complete else degree)
        if complete and known == [1, 1]:
            continue
        known = [
            sum((w * share**j for j, w in enumerate(weights)), Fraction(0))
            for weights, share in zip((shares.value, shares.upper), known, strict=True)
        ]
    return known[0], known[1]


def _stability_residual(found: Chain, rho: Number, upper: Number) -> Estimate:
    """Error of the best function of a feature known up to a share rho of its variance."""
    if rho >= 1:
        return Estimate(0.0)
    null, known = found.outer.null, found.outer.stability(rho)
    value = max(null.value - known.value, 0.0)
    error = null.error + known.error
    if upper > rho:
        error += found.outer.stability(min(upper, Fraction(1))).value - known.value
        error += known.error
    return Estimate(value, max(error, 0.0), roughest(null.kind, known.kind))


@dataclass(frozen=True)
class PlateauStep:
    r"""Fall of the error when the number of samples passes a power of d.

    Parameters
    ----------
    kappa : float
        The power :math:`\log n / \log d`.
    error : Estimate
        Excess error above it, up to the next step.
    """

    kappa: float
    error: Estimate


def plateau_steps(
    target: HierarchicalTarget, learner: DepthLearner = "three_layer", limit: float = 4.0
) -> tuple[PlateauStep, ...]:
    """Staircase of the excess error: where it falls and to what, for kappa up to a limit.

    The first step is at kappa = 0, where nothing is learned.

    Examples
    --------
    >>> from gradone.targets.hierarchical import Sight
    >>> t = Sight("h + He2(h)/2", "He2(z)/2", exponent=0.6)
    >>> [(s.kappa, s.error.value) for s in plateau_steps(t, "two_layer")]
    [(0.0, 0.625), (1.6, 0.125), (2.4, 0.0)]
    """
    found, name = chain(target), checked_learner(learner)
    limit = _checked_kappa(limit)
    steps = [PlateauStep(0.0, _plateau(target, found, 0.0, name))]
    for kappa in sorted(_candidates(found, limit)):
        error = _plateau(target, found, kappa + 10 * _EDGE, name)
        if error.value < steps[-1].error.value - error.error - steps[-1].error.error:
            steps.append(PlateauStep(kappa, error))
    return tuple(steps)


def _candidates(found: Chain, limit: float) -> set[float]:
    """Every kappa up to a limit at which some layer may learn something more."""
    e1, top = found.exponents[1], found.exponents[-1]
    pairs = [(1.0, 0.0), (e1, 0.0), (1.0, top), (e1, top)]
    pairs += zip(found.exponents[1:-1], found.exponents[2:], strict=True)
    values: Iterable[float] = (
        q * below + above for below, above in pairs for q in range(1, _HIGHEST + 1)
    )
    return {round(kappa, 12) for kappa in (1 + e1, *values) if kappa <= limit + _EDGE}


def _floor(x: float) -> int:
    return math.floor(x + _EDGE)


def _checked_kappa(kappa: Any) -> float:
    if isinstance(kappa, bool | str) or not (math.isfinite(kappa) and kappa >= 0):
        raise BadData(f"kappa = log n / log d must be a number >= 0, got {kappa!r}")
    return float(kappa)
