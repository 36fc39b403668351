"""Which rule answers: an exact one where one covers the target, else the general one.

Every rule says with `covers` which targets or labels it is meant for; here they stand in the order
in which they are asked. The tables in ``benchmarks/`` show what each exact rule is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..targets.target import Target
    from .averages.moments import AverageRule
    from .conditional.label import ConditionalRule, Grams, Label
    from .samples.label import FormulaLabel, SampleRule

# Rooms above ask one of these questions, seldom all: each loads its own rules.


def channel_averages(target: Target) -> AverageRule:
    """Averages over the labels of a target.

    Examples
    --------
    >>> from gradone import Target
    >>> [type(channel_averages(Target(text))).__name__ for text in ("sign(z1*z2)", "z1*z2")]
    ['BoxAverages', 'KnownAverages']
    """
    from .averages.boxes import BoxAverages
    from .averages.embedded import JointAverages
    from .averages.known import KnownAverages

    rules: tuple[type[AverageRule], ...] = (JointAverages, BoxAverages, KnownAverages)
    return next(rule for rule in rules if rule.covers(target))(target)


def sample_rules(label: FormulaLabel) -> list[SampleRule]:
    """Rules for the posteriors of a label that is no atom, in the order in which they are tried.

    Examples
    --------
    >>> from gradone.channels.samples.label import FormulaLabel
    >>> from gradone.targets.language.expression import Expression
    >>> label = FormulaLabel(Expression("z1*z2"), 0.1)
    >>> [type(rule).__name__ for rule in sample_rules(label)]
    ['QuadraticRule', 'Smooth', 'Crossings']
    """
    from .samples.affine import Affine
    from .samples.crossings import Crossings
    from .samples.monomial import MonomialRule
    from .samples.nodes import Smooth
    from .samples.profiles import NoisyProfile, Roots
    from .samples.quadratic import QuadraticRule

    rules: tuple[type[SampleRule], ...] = (
        Affine,
        Roots,
        QuadraticRule,
        MonomialRule,
        NoisyProfile,
        Smooth,
        Crossings,
    )
    found: list[SampleRule] = []
    for rule in rules:
        if rule.covers(label):
            found.append(rule(label))
            if found[-1].is_enough:
                break
    return found


def conditional_moments(label: Label, orders: Sequence[int]) -> Grams | None:
    """Matrices T_k of a label, nothing being known; None if no rule can keep variables latent.

    Examples
    --------
    >>> from gradone.channels.conditional.label import Label
    >>> from gradone.targets.language.expression import Expression
    >>> found = conditional_moments(Label(Expression("z**2"), 0.0), [1, 2])
    >>> [round(float(found[k].value[0, 0]), 6) for k in (1, 2)]
    [0.0, 1.0]
    """
    from .conditional.atoms import BetweenPlanes, Indicators
    from .conditional.branches import Branches
    from .conditional.noisy_line import NoisyLine
    from .conditional.slicing import Slices

    rules: tuple[type[ConditionalRule], ...] = (
        BetweenPlanes,
        Indicators,
        Branches,
        NoisyLine,
        Slices,
    )
    for rule in rules:
        if rule.covers(label) and (found := rule.grams(label, orders)) is not None:
            return found
    return None
