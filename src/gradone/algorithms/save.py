"""Directions whose variance changes with y: for tables of data."""

from __future__ import annotations

from ._card import ALGORITHMS, Algorithm


@ALGORITHMS.add("save")
class SAVECard(Algorithm):
    """Directions whose variance changes with y."""

    label, color, family = "sliced average variance", "purple", "tables"
    learner = "save"
    prominence = "asked"
