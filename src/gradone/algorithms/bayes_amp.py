"""Bayes-AMP: message passing with the link known, the best efficient algorithm."""

from __future__ import annotations

from collections.abc import Iterable

from ..analysis.plan import Case, PlanRow, amp_row
from ..targets.sampled import Sampled
from ..targets.target import Target
from ._card import ALGORITHMS, Algorithm
from ._run import Run


@ALGORITHMS.add("bayes_amp")
class BayesAMPCard(Algorithm):
    """Approximate message passing that knows the link, and its state evolution."""

    label, color, family = "message passing (AMP)", "blue", "bayes"
    theory = learner = "bayes_amp"

    def missing_simulation(self, target: Sampled) -> str | None:
        """What state evolution does not cover, messages do not either."""
        if not isinstance(target, Target):
            return "it must know the link, as a function of a fixed number of directions"
        return self.obstacle(target)

    def learner_arguments(self, run: Run) -> dict[str, object]:
        """A few hundred iterations are enough but very close to a threshold."""
        return {"max_iter": 200, **self.chosen(run)}

    def needs(self, case: Case) -> Iterable[PlanRow]:
        """Every stage whose threshold has passed."""
        return [] if case.is_deep else [amp_row(case)]
