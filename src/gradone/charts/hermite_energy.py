"""Energy of a target in each Hermite degree."""

from __future__ import annotations

from collections.abc import Sequence

from ._chart import Chart
from ._curves import AXES, Part, average
from ._named import CHARTS, NamedChart
from ._palette import CYCLE
from ._series import Axis, Series, bar


@CHARTS.add("hermite-energy")
class HermiteEnergy(NamedChart):
    """Energy of the target in each Hermite degree, and of all higher degrees."""

    y = ("energy",)
    x = ("degree",)
    caption = "The energy of the target in each Hermite degree."

    def chart(self, parts: Sequence[Part], *, title: str) -> Chart:
        """Bars over the degrees, with the rest beyond the last one in gray."""
        series: list[Series] = []
        ticks: dict[float, str] = {}
        for part, color in zip(parts, CYCLE, strict=False):
            mean, error = average(part.data, "energy")
            degrees = [int(k) for k in part.data.degree.values]
            name = "" if len(parts) == 1 else str(part.data.attrs.get("target", part.source))
            series.append(bar(name, degrees, mean.values, error.values, color=color))
            ticks |= {float(k): str(k) for k in degrees if k % 2 == 0 or len(degrees) < 8}
            if "tail" in part.data.attrs:
                beyond = degrees[-1] + 1.5
                series.append(bar("", [beyond], [float(part.data.attrs["tail"])], color="gray"))
                ticks[beyond] = f"$>{degrees[-1]}$"
        across = Axis(AXES["degree"], ticks=tuple(sorted(ticks.items())))
        return Chart(title, across, Axis("energy", range=(0.0, None)), tuple(series), self.caption)
