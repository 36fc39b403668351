"""One picture of a report, and what all of them share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..charts import Axis

if TYPE_CHECKING:
    from ..charts import Chart, Series

MARKERS = ("circle", "square", "triangle", "diamond")


@dataclass(frozen=True)
class Panel:
    """One picture of a report.

    Parameters
    ----------
    title : str
        What it is about.
    chart : Chart
        The picture.
    text : str
        What to see.
    missing : tuple of (str, str)
        Curves that are not there, and why.
    section : str
        Part of the story in which it stands.
    """

    title: str
    chart: Chart
    text: str = ""
    missing: tuple[tuple[str, str], ...] = field(default=())
    section: str = "Who learns what with how many samples"


def from_zero(label: str, side: str, series: Sequence[Series]) -> Axis:
    """Axis from zero to a little beyond the largest value."""
    values = [value for one in series for value in getattr(one, side) if math.isfinite(value)]
    return Axis(label, range=(0.0, 1.08 * max(values, default=1.0) or 1.0))
