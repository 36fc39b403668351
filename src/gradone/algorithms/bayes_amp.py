"""Bayes-AMP: message passing with the link known, the best efficient algorithm."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.plan import Case, PlanRow, amp_row
from ..base.errors import GradoneError
from ..base.estimate import Estimate
from ..targets.on_inputs import without_inputs
from ..targets.sampled import Sampled
from ..targets.target import Target
from ._card import ALGORITHMS, Algorithm
from ._run import Run

if TYPE_CHECKING:
    import xarray as xr

_HOW_LARGE = "the overlap is below one; gd.predict(target, 'bayes_amp', alpha=n/d) says how large"


@ALGORITHMS.add("bayes_amp")
class BayesAMPCard(Algorithm):
    """Approximate message passing that knows the link, and its state evolution."""

    label, color, family = "message passing (AMP)", "blue", "bayes"
    theory = learner = "bayes_amp"
    test_samples = 2048  # a posterior mean of the label takes long

    def missing_simulation(self, target: Sampled) -> str | None:
        """What state evolution does not cover, messages do not either."""
        if not isinstance(without_inputs(target), Target):
            return "it must know the link, as a function of a fixed number of directions"
        return self.obstacle(target)

    def learner_arguments(self, run: Run) -> dict[str, object]:
        """Close to a threshold all runs wander: a few hundred iterations are enough elsewhere."""
        return {"max_iter": 200, "restarts": 0, **self.chosen(run)}

    def needs(self, case: Case) -> Iterable[PlanRow]:
        """Every stage whose threshold has passed, with the error of state evolution there."""
        if case.is_deep:
            return []
        row = amp_row(case)
        if row.reached is None or not row.reached.dim or row.plateau is not None:
            return [row]
        found = self._measured(case, row) if case.with_theory else row
        if found.here == row.here:  # no overlaps were computed
            note = "; ".join(part for part in (row.note, _HOW_LARGE) if part)
            found = replace(found, note=note)
        return [found]

    def _measured(self, case: Case, row: PlanRow) -> PlanRow:
        """Row with the error and the overlaps that state evolution gives at these sizes."""
        found = self._point(case)
        excess = math.nan if found is None else float(found.test_mse) - case.target.noise
        if found is None or not math.isfinite(excess):
            return row
        error = Estimate(max(excess, 0.0), float(found.test_mse_err), "iteration")
        # A curve that was made to be compared with others has cosines in place of overlaps.
        known = found.cosine2.values if "cosine2" in found else np.diag(found.overlap.values)
        overlaps = ", ".join(f"{q:.2f}" for q in known)
        return replace(row, plateau=error, here=f"{row.here}, squared overlaps {overlaps}")

    def _point(self, case: Case) -> xr.Dataset | None:
        """State evolution at these sizes, if it is known or can be computed."""
        from ..theory.predict import predict

        if isinstance(case.with_theory, Mapping):
            return case.with_theory.get(self.name)
        try:
            return predict(
                case.target, "bayes_amp", alpha=case.sizes.n / case.sizes.d, on_failure="mark"
            ).squeeze("alpha")
        except GradoneError:
            return None
