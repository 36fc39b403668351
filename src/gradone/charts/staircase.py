"""Directions learned, stage by stage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base.errors import BadData
from ._chart import Chart
from ._curves import AXES, Part
from ._named import CHARTS, NamedChart
from ._palette import CYCLE
from ._series import Axis, Series, line


@CHARTS.add("staircase")
class Staircase(NamedChart):
    """Number of directions learned: against n/d where stages have thresholds, else step by step."""

    y = ("dimension",)
    x = ("step",)
    caption = "Each stage opens the next: the directions that are learned make new ones visible."

    def chart(self, parts: Sequence[Part], *, title: str) -> Chart:
        """A staircase for each source; ``threshold`` over the stages puts it on the axis of n/d."""
        by_alpha = ["threshold" in part.data for part in parts]
        if len(set(by_alpha)) > 1:
            raise BadData("draw stages with thresholds and stages without them in two charts")
        ends = [_end(part) for part in parts]
        series = [
            _stairs(part, max(ends), color) for part, color in zip(parts, CYCLE, strict=False)
        ]
        highest = max(max(one.y) for one in series)
        ticks = tuple((float(k), str(k)) for k in range(int(highest) + 1))
        across = Axis(AXES["alpha"] if by_alpha[0] else "giant steps", range=(0.0, max(ends)))
        up = Axis("directions learned", range=(-0.1, highest + 0.3), ticks=ticks)
        return Chart(title, across, up, tuple(series), self.caption)


def _places(part: Part) -> np.ndarray:
    name = "threshold" if "threshold" in part.data else "step"
    return np.asarray(part.data[name].values, dtype=float)


def _end(part: Part) -> float:
    finite = _places(part)[np.isfinite(_places(part))]
    if "threshold" in part.data:
        return 1.3 * float(finite.max(initial=0.0)) or 1.0
    return float(finite.max(initial=0.0)) + 1.0


def _stairs(part: Part, end: float, color: str) -> Series:
    """Corners of the staircase; a stage with an infinite threshold never opens."""
    places = _places(part)
    heights = np.asarray(part.data["dimension"].values, dtype=float)
    x, y = [0.0], [0.0]
    for place, height in zip(places, heights, strict=True):
        if np.isfinite(place):
            x += [float(place), float(place)]
            y += [y[-1], float(height)]
    name = str(part.data.attrs.get("name", "")) or part.algorithm.replace("_", " ")
    return line(name, [*x, end], [*y, y[-1]], color=color)
