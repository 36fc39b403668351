"""Regression on tables with columns of any kind: for data frames."""

from __future__ import annotations

from ._card import ALGORITHMS, Algorithm


@ALGORITHMS.add("table_regressor")
class TableRegressorCard(Algorithm):
    """Regression on tables with columns of any kind."""

    label, color, family = "columns of a table", "#2F6F4E", "tables"
    learner = "table_regressor"
    prominence = "asked"
