"""Layers of label-weighted spectral filters, for classes."""

from __future__ import annotations

from ._card import ALGORITHMS, Algorithm


@ALGORITHMS.add("neural_lofi_classifier")
class NeuralLoFiClassifierCard(Algorithm):
    """Filtering layers with a readout that classifies, for labels of a few values."""

    label, color, family = "filtering layers, classifier", "#7FBF7B", "depth"
    learner = "neural_lofi_classifier"
    prominence = "asked"
    needs_two_labels = True
