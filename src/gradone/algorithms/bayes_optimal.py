"""The Bayes-optimal estimator, with any computing time."""

from __future__ import annotations

from ._card import ALGORITHMS, Algorithm


@ALGORITHMS.add("bayes_optimal")
class BayesOptimalCard(Algorithm):
    """What the posterior mean would attain, however long it takes."""

    label, color, family = "Bayes-optimal", "black", "bayes"
    theory = "bayes_optimal"
    with_time_to_spare = True
