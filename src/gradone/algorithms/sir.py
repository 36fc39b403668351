"""Directions in which the mean of X moves with y: for tables of data."""

from __future__ import annotations

from ._card import ALGORITHMS, Algorithm


@ALGORITHMS.add("sir")
class SIRCard(Algorithm):
    """Directions in which the mean of X moves with y."""

    label, color, family = "sliced inverse regression", "green", "tables"
    learner = "sir"
    prominence = "asked"
