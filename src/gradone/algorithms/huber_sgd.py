"""SGD on the Huber loss."""

from __future__ import annotations

from ._card import ALGORITHMS
from ._neurons import OnePassCard


@ALGORITHMS.add("huber_sgd")
class HuberSGDCard(OnePassCard):
    """One pass of SGD on the Huber loss; a row with normalized SGD."""

    label, color = "SGD, Huber loss", "#8D6E63"
    rule = "plain"
    update = {"loss": "huber"}
    how = "The residual of a sample is cut at 1."
