"""What may be spent on the conditions of one query."""

from __future__ import annotations

from dataclasses import dataclass, field

from .branches import RootBudget

_ROOTS = 350_000  # a fifth of a second


@dataclass
class Effort:
    """Roots that may be found for all conditions together, and the error that does not matter.

    Parameters
    ----------
    budget : RootBudget
        What is left. Conditions that are treated otherwise count as the roots that would have
        taken as long.
    tolerance : float
        Error of a condition below which nothing is gained, because the mean over conditions is
        not known as well; zero if that is not known.
    """

    budget: RootBudget = field(default_factory=lambda: RootBudget(_ROOTS))
    tolerance: float = 0.0
