"""The pictures of a study, in reading order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .compared_panels import depth, depth_limit, errors, overlaps
from .tasks import cards_with_pictures
from .training_panels import pictured

if TYPE_CHECKING:
    from .panel import Panel
    from .study import Study


def panels(study: Study) -> list[Panel]:
    """All pictures of a study that have a curve."""
    if study.axis == "kappa":
        found = [depth(study), depth_limit(study)]
    else:
        own = (pictured(study, card) for card in cards_with_pictures(study))
        found = [errors(study), overlaps(study), *own]
    return [panel for panel in found if panel is not None]
