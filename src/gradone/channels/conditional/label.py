"""What is seen, and what is asked about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ...targets.language.expression import Expression
from .gram import OutputGram

Grams = dict[int, OutputGram]
POINTS = 1 << 19  # function values of a rule that draws points


class Label(NamedTuple):
    """A function of Gaussian variables with independent noise."""

    f: Expression
    noise: float
    latent: int = 0
    """How many of its last variables are latent noise, about which nothing is asked."""
    points: int = POINTS
    """Function values for a rule that draws points."""
    scramble: int = 0
    """Which points it draws."""


class ConditionalRule(Protocol):
    """A way to compute the matrices T_k of a label [OG-1]."""

    @staticmethod
    def covers(label: Label) -> bool:
        """Whether the rule is meant for such a label."""
        ...

    @staticmethod
    def grams(label: Label, orders: Sequence[int]) -> Grams | None:
        """Matrices T_k by their orders; None if the label turns out to be too much for the rule."""
        ...
