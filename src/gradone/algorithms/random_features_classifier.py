"""Random features with a readout that classifies."""

from __future__ import annotations

from ._card import ALGORITHMS, Algorithm


@ALGORITHMS.add("random_features_classifier")
class RandomFeaturesClassifierCard(Algorithm):
    """Logistic or hinge readout of random features, for labels of two values."""

    label, color, family = "random features, classifier", "yellow", "lazy"
    learner = "random_features_classifier"
    prominence = "asked"
    needs_two_labels = True
