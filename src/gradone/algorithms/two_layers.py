"""Two layers on hierarchical targets: what the theory of depth says about them."""

from __future__ import annotations

from ._card import ALGORITHMS
from ._depth import DepthCard


@ALGORITHMS.add("two_layers")
class TwoLayersCard(DepthCard):
    """Network that finds the directions and must then fit a function of all of them."""

    label, color = "two layers", "#117A8B"
    networks = ("two_layer",)
