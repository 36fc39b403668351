"""One gradient of the residual of a linear fit, and a ridge readout."""

from __future__ import annotations

from collections.abc import Iterable

from ..analysis.plan import Case, PlanRow, residual_row
from ._card import ALGORITHMS, Algorithm


@ALGORITHMS.add("residual_step")
class ResidualStepCard(Algorithm):
    """Features from one gradient of what a linear function leaves."""

    label, color, family = "step on the residual", "#A6549D", "giant"
    learner = "residual_step"
    prominence = "asked"

    def needs(self, case: Case) -> Iterable[PlanRow]:
        """The range of the expected Hessian from n of order d^2."""
        row = None if case.is_deep else residual_row(case)
        return [] if row is None else [row]
