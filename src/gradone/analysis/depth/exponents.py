r"""Samples that lazy, two-layer, three-layer and deep learners of hierarchical targets need.

With k the degree of the inner function and m that of the outer one, a target whose directions are
:math:`d^{e_1}` and whose features of level l are :math:`d^{e_l}`:

===========  =================================================================================
lazy         the part of degree q at :math:`d^q`, everything at :math:`d^{km}`
two layers   the directions at :math:`d^{1+e_1}`, the part of degree q at :math:`d^{q e_1}`
three        the directions at :math:`d^{1+e_1}`, the part of degree q of h at :math:`d^{q e_1}`
deep         the directions, then level after level at :math:`d^{k_l e_l + e_{l+1}}`
===========  =================================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

from ...base.errors import BadData, did_you_mean
from ...base.estimate import Estimate
from ...targets.hierarchical import HierarchicalTarget
from ...targets.language.expression import Expression
from ...targets.language.tree import power
from .chain import Chain, chain
from .compositional import level_exponents

DepthLearner = Literal["lazy", "two_layer", "three_layer", "deep"]
LEARNERS: tuple[DepthLearner, ...] = get_args(DepthLearner)


def required_exponent(
    target: HierarchicalTarget, learner: DepthLearner = "three_layer", degree: int | None = None
) -> float:
    r"""Exponent :math:`\kappa` of the samples :math:`n = d^\kappa` that a learner needs.

    Parameters
    ----------
    target : HierarchicalTarget
        The target.
    learner : str
        ``"lazy"``, ``"two_layer"``, ``"three_layer"`` or ``"deep"``.
    degree : int, optional
        For lazy and two-layer learners, the part of this degree of the label; for three layers,
        the part of this degree of the feature h. By default everything.

    Returns
    -------
    float
        Infinite if no power of d is enough, as for a lazy learner of a target that is no
        polynomial. Where :func:`obstacles` names one, this is the exponent without the directions
        or features that are not found.

    Examples
    --------
    >>> from gradone.targets.hierarchical import Sight
    >>> t = Sight("tanh(3*h)", "He2(z)/2 + He3(z)/6", exponent=0.5)
    >>> [required_exponent(t, name) for name in ("lazy", "two_layer", "three_layer")]
    [inf, inf, 1.5]
    """
    found, name = chain(target), checked_learner(learner)
    if degree is not None and (isinstance(degree, bool) or int(degree) != degree or degree < 1):
        raise BadData(f"degree must be a whole number >= 1, got {degree!r}")
    if degree is not None and name == "deep" and len(found.inners) > 1:
        raise BadData(
            "a degree has a meaning for the learners 'lazy', 'two_layer' and 'three_layer'; "
            "a deep learner learns a degree at every level"
        )
    e1, top = found.exponents[1], found.exponents[-1]
    q = found.degree if degree is None else degree
    against = obstacles(target)
    directions = math.inf if against.directions else 1 + e1
    lazy, two = q, min(q, max(directions, q * e1))
    if name in ("lazy", "two_layer"):
        return float(lazy if name == "lazy" else two)
    k = found.feature_degree if degree is None else degree
    three = min(k + top, max(directions, k * e1 + top))
    if degree is not None:
        return math.inf if against.features else float(three)
    if against.features:
        return float(two)
    deep = max(directions, *_level_costs(found))
    return float(min(two, three) if name == "three_layer" else min(two, three, deep))


def _level_costs(found: Chain) -> list[float]:
    """Exponent of the samples that the features of each level need [DE-9]."""
    widths = zip(found.inners, found.exponents[1:-1], found.exponents[2:], strict=True)
    return [P.degree * below + above for P, below, above in widths]


class Obstacles(NamedTuple):
    """Why layerwise learning finds no directions, or no features; empty if it does."""

    directions: str = ""
    features: str = ""


@lru_cache(maxsize=64)
def obstacles(target: HierarchicalTarget) -> Obstacles:
    """What stands against layerwise learning at the exponents of this module.

    The directions come out of second moments of the input weighted by the label, the features out
    of its correlation with polynomials: the compositional information exponent must be at most 2,
    the information exponent of the outer function 1.

    Examples
    --------
    >>> from gradone.targets.hierarchical import Sight
    >>> obstacles(Sight("He2(h)", "He2(z)/sqrt(2)")).directions
    'CIE(1) = 4 is above 2: no exponent is known at which the first layer finds the directions'
    """
    found, e1 = level_exponents(target), chain(target).exponents[1]
    lowest, outer = found.compositional[0], found.outer
    directions = features = ""
    if (lowest.value is None or lowest.value > 2) and e1 < 1:  # with e1 = 1 none are needed
        directions = (
            f"CIE(1) = {lowest.value or lowest.note} is above 2: no exponent is known at which "
            "the first layer finds the directions"
        )
    if outer.value != 1:
        features = (
            f"IE(g) = {outer.value or outer.note} is not 1: the label does not correlate with "
            "the features"
        )
    return Obstacles(directions, features)


@dataclass(frozen=True)
class LearningStage:
    """What one layer learns, and the exponent of the samples it needs.

    Parameters
    ----------
    layer, learns : str
        The layer; what it learns.
    exponent : float
        Samples are this power of d; 0 for a number that does not grow with d.
    """

    layer: str
    learns: str
    exponent: float


def learning_stages(
    target: HierarchicalTarget, learner: DepthLearner = "three_layer"
) -> tuple[LearningStage, ...]:
    """Stages of a layerwise learner that learns everything, first layer first.

    Examples
    --------
    >>> from gradone.targets.hierarchical import Tree
    >>> t = Tree("tanh(h)", ["He2(z)/2", "z + He2(z)/2"], [0.75, 0.5])
    >>> [(stage.layer, stage.exponent) for stage in learning_stages(t, "deep")]
    [('layer 1', 1.75), ('layer 2', 2.0), ('layer 3', 1.0), ('readout', 0.0)]
    """
    found, name = chain(target), checked_learner(learner)
    e1, top = found.exponents[1], found.exponents[-1]
    first = LearningStage("layer 1", "the directions", 1 + e1)
    last = LearningStage("readout", "the outer function", 0.0)
    if name == "lazy":
        return (LearningStage("readout", "the label, degree by degree", float(found.degree)),)
    if name == "two_layer":
        polynomial = "the label as a polynomial of the directions"
        return (first, LearningStage("readout", polynomial, float(found.degree * e1)))
    if name == "three_layer":
        feature = "the top features as polynomials of the directions"
        return (first, LearningStage("layer 2", feature, found.feature_degree * e1 + top), last)
    levels = [
        LearningStage(f"layer {level + 1}", f"the features of level {level}", cost)
        for level, cost in enumerate(_level_costs(found), 1)
    ]
    return (first, *levels, last)


def non_gaussianity(target: HierarchicalTarget, d: int) -> tuple[Estimate, ...]:
    r"""How far the features of each level are from Gaussian in dimension d.

    .. math:: \frac{\mathrm{Var}(\xi^2)}{2 B}, \qquad \xi = P/\sqrt{\mathrm{Var}\,P} \qquad [DE-8]

    is the variance of what is not a product of different terms in :math:`\mathrm{He}_2` of a sum
    of B of them, relative to :math:`\mathrm{Var}\,\mathrm{He}_2 = 2`. The plateaus hold when it
    is small.

    Parameters
    ----------
    target : HierarchicalTarget
        The target; sizes that do not fit into dimension d are refused.
    d : int
        Input dimension.

    Examples
    --------
    >>> from gradone.targets.hierarchical import Sight
    >>> non_gaussianity(Sight("tanh(3*h)", "He2(z)/2 + He3(z)/6"), 64)
    (3.0078125 (exact),)
    """
    found, widths = chain(target), target.widths(d)
    if found.branches != 1:  # every branch has its own directions, every form all of them
        widths = (widths[0] // found.branches if found.branches else d, 1)
        widths = (d, 1) if found.exponents[1] == 1 else widths
    result = []
    for P, low, high in zip(found.inners, widths, widths[1:], strict=False):
        fourth = Expression.from_tree(power(P.expression.tree, 4)).mean()
        ratio = fourth.value / P.null.value**2
        error = fourth.error / P.null.value**2 + 2 * ratio * P.null.error / P.null.value
        scale = 2 * (low // high)
        result.append(Estimate((ratio - 1) / scale, error / scale, fourth.kind))
    return tuple(result)


def checked_learner(learner: Any) -> str:
    """Name of a learner, checked."""
    if learner not in LEARNERS:
        hint = did_you_mean(str(learner), LEARNERS)
        raise BadData(f"learner must be one of {', '.join(LEARNERS)}, got {learner!r}.{hint}")
    return str(learner)
