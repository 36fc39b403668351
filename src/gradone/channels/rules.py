"""Which rule averages over the labels of a target: an exact one where one covers it."""

from __future__ import annotations

from ..targets.target import Target
from .averages.boxes import Boxes
from .averages.exact import ExactAverages
from .averages.known import KnownAverages
from .averages.latent import MOST, JointAverages, ProbabilityAverages
from .samples.probabilities import label_probabilities

Rule = KnownAverages | ExactAverages | JointAverages | ProbabilityAverages


def channel_averages(target: Target) -> Rule:
    """Averages over the labels of a target.

    Examples
    --------
    >>> [type(channel_averages(Target(text))).__name__ for text in ("sign(z1*z2)", "z1*z2")]
    ['ExactAverages', 'KnownAverages']
    """
    if Boxes.covers(target):
        return ExactAverages(target, Boxes(target))
    if not target.q:
        return KnownAverages(target)
    if target.r <= MOST and label_probabilities(target) is not None:
        return ProbabilityAverages(target)
    return JointAverages(target)
