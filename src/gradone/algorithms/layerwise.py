"""Three layers, trained one after the other."""

from __future__ import annotations

from ._card import ALGORITHMS
from ._depth import DepthCard


@ALGORITHMS.add("layerwise")
class LayerwiseCard(DepthCard):
    """Network that finds the directions, then what they are combined to, then the label."""

    label, color = "three layers", "#5E3C99"
    learner = "layerwise"
    how = "The three layers are trained one after the other."
    networks = ("three_layer", "deep")
