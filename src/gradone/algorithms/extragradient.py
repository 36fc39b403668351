"""Extra-gradient: SGD that looks at each sample twice before it moves on."""

from __future__ import annotations

from ._card import ALGORITHMS, Slider
from ._neurons import OnePassCard


@ALGORITHMS.add("extragradient")
class ExtraGradientCard(OnePassCard):
    """A trial step on each sample, then the gradient from there; a row with reused batches."""

    label, color = "extra-gradient", "#7A4EAB"
    rule = "extragradient"
    sliders = (
        *OnePassCard.sliders,
        Slider("inner_step_size", 0.01, 0.5, "first step times d", 0.1),
    )
