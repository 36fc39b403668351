"""One pass of SGD."""

from __future__ import annotations

from collections.abc import Iterable

from ..analysis.plan import Case, PlanRow, sgd_row
from ._card import ALGORITHMS, Picture
from ._neurons import OnePassCard


@ALGORITHMS.add("sgd")
class SGDCard(OnePassCard):
    """Stochastic gradient descent that uses each sample once."""

    label, color = "one pass of SGD", "green"
    rule = "plain"
    how = "SGD has two ReLU neurons and starts from overlaps of about 3/√d."
    picture = Picture(
        "time",
        "One pass of SGD",
        "Two ReLU neurons see each sample once. The curves show the part of each hidden direction "
        "that lies in the span of the neurons. The simulation is exact in law, and the line is the "
        "flow in the limit of large d; both start from the same overlaps of about 3/√d.",
    )

    def needs(self, case: Case) -> Iterable[PlanRow]:
        """d, d log d or d^(k-1) samples for a leap of order 1, 2 or k."""
        return [] if case.is_deep else [sgd_row(case)]
