"""Layers of label-weighted spectral filters."""

from __future__ import annotations

from ..targets.hierarchy import HierarchicalTarget
from ..targets.on_inputs import without_inputs
from ..targets.sampled import Sampled
from ._card import ALGORITHMS, Algorithm, Shown


@ALGORITHMS.add("neural_lofi")
class NeuralLoFiCard(Algorithm):
    """Network whose layers keep what correlates with the label at low degree, in closed form."""

    label, color, family = "filtering layers", "#1B7837", "depth"
    learner = "neural_lofi"
    prominence = "asked"

    def shown(self, target: Sampled) -> Shown:
        """Offered in a race where there is something to learn layer by layer."""
        deep = isinstance(without_inputs(target), HierarchicalTarget)
        return "also" if deep else super().shown(target)
