"""The pictures of a study, in reading order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .compared_panels import depth, depth_limit, errors, overlaps
from .training_panels import giant, lazy, one_pass, reuse

if TYPE_CHECKING:
    from .panel import Panel
    from .study import Study


def panels(study: Study) -> list[Panel]:
    """All pictures of a study: charts where there are numbers, reasons where there are none."""
    if study.axis == "kappa":
        return [depth(study), depth_limit(study)]
    parts = (errors, overlaps, one_pass, reuse, giant, lazy)
    return [part(study) for part in parts]
