"""SGD with momentum."""

from __future__ import annotations

from ._card import ALGORITHMS, Slider
from ._neurons import OnePassCard


@ALGORITHMS.add("momentum_sgd")
class MomentumSGDCard(OnePassCard):
    """One pass of SGD whose step is a sum of the gradients that fades by 0.9 in each step."""

    label, color = "SGD with momentum", "#AD1457"
    rule = "plain"
    how = "Each step is the sum of all gradients so far, which fades by 0.9 in each step."
    defaults = {**OnePassCard.defaults, "momentum": 0.9}
    sliders = (
        Slider("step_size", 0.002, 0.1, "step size times d", 0.01),
        *OnePassCard.sliders[1:],
    )
