"""One pass of SGD on the cross-entropy."""

from __future__ import annotations

from ._card import ALGORITHMS, Algorithm


@ALGORITHMS.add("online_sgd_classifier")
class OnlineSGDClassifierCard(Algorithm):
    """One pass of SGD of a few neurons on the cross-entropy, for labels of two values."""

    label, color, family = "SGD, classifier", "#B0BEC5", "sgd"
    learner = "online_sgd_classifier"
    prominence = "asked"
    needs_two_labels = True
