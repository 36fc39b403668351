"""SGD whose gradients have length one."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..analysis.plan import Case, PlanRow, bounded_row
from ._card import ALGORITHMS, Slider
from ._neurons import OnePassCard


@ALGORITHMS.add("normalized_sgd")
class NormalizedSGDCard(OnePassCard):
    """One pass of SGD in which every gradient is divided by its norm; one sample in each step."""

    label, color = "normalized SGD", "#00897B"
    rule = "plain"
    update = {"optimizer": "normalized"}
    how = "Each gradient is divided by its norm, one sample at a time."
    sliders = (
        Slider("step_size", 0.02, 1.0, "step size times √d", 0.3),
        *OnePassCard.sliders[1:],
    )

    def unit(self, d: int) -> float:
        """Steps have a length: that of a gradient is of the order of the root of d."""
        return 1 / math.sqrt(d)

    def needs(self, case: Case) -> Iterable[PlanRow]:
        """As many samples as if they were reused, at small batches."""
        return [] if case.is_deep else [bounded_row(case)]
