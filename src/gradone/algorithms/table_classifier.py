"""Classification on tables with columns of any kind: for data frames."""

from __future__ import annotations

from ._card import ALGORITHMS, Algorithm


@ALGORITHMS.add("table_classifier")
class TableClassifierCard(Algorithm):
    """Classification on tables with columns of any kind."""

    label, color, family = "columns of a table, classifier", "#2F6F4E", "tables"
    learner = "table_classifier"
    prominence = "asked"
    needs_two_labels = True
