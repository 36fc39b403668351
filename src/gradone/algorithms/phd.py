"""Directions along which y is curved, on average: for tables of data."""

from __future__ import annotations

from ._card import ALGORITHMS, Algorithm


@ALGORITHMS.add("phd")
class PHDCard(Algorithm):
    """Directions along which y is curved, on average."""

    label, color, family = "principal Hessian directions", "vermillion", "tables"
    learner = "phd"
    prominence = "asked"
