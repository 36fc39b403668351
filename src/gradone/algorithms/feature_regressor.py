"""Regression that looks for the few directions of a table that matter: for tables of data."""

from __future__ import annotations

from ._card import ALGORITHMS, Algorithm


@ALGORITHMS.add("feature_regressor")
class FeatureRegressorCard(Algorithm):
    """Regression that looks for the few directions of a table that matter."""

    label, color, family = "features of a table", "#1B6B5A", "tables"
    learner = "feature_regressor"
    prominence = "asked"
