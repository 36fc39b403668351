"""Classification that looks for the few directions of a table that matter: for tables of data."""

from __future__ import annotations

from ._card import ALGORITHMS, Algorithm


@ALGORITHMS.add("feature_classifier")
class FeatureClassifierCard(Algorithm):
    """Classification that looks for the few directions of a table that matter."""

    label, color, family = "features of a table, classifier", "#1B6B5A", "tables"
    learner = "feature_classifier"
    prominence = "asked"
    needs_two_labels = True
