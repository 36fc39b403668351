"""Layers of label-weighted spectral filters."""

from __future__ import annotations

from ._card import ALGORITHMS, Algorithm


@ALGORITHMS.add("neural_lofi")
class NeuralLoFiCard(Algorithm):
    """Network whose layers keep what correlates with the label at low degree, in closed form."""

    label, color, family = "filtering layers", "#1B7837", "depth"
    learner = "neural_lofi"
    prominence = "asked"
