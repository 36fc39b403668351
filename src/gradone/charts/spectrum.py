"""Density of eigenvalues, and those that leave it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._chart import Chart
from ._curves import AXES, Part, average, variable_of
from ._named import CHARTS, NamedChart
from ._series import Axis, Series, bar, line, vline


@CHARTS.add("spectrum")
class Spectrum(NamedChart):
    """Density of eigenvalues: theory as a line, simulation as a histogram, outliers marked."""

    variables = ("density",)
    along = ("eigenvalue",)
    caption = "The bulk is noise; eigenvalues outside it are directions that were learned."

    def chart(self, parts: Sequence[Part], *, title: str) -> Chart:
        """Histograms behind, densities in front."""
        series: list[Series] = []
        for part in sorted(parts, key=lambda part: part.is_theory):
            data = part.data.sortby("eigenvalue")
            mean, _ = average(data, variable_of(part, self.variables))
            places, color = data.eigenvalue.values, part.color
            if part.is_theory:
                series.append(line("theory", places, mean.values, color=color))
            else:
                name = "simulation"
                series.append(bar(name, places, mean.values, color=color, width=1.0, opacity=0.4))
            outliers = np.atleast_1d(data.attrs.get("outliers", ()))
            if outliers.size:
                series.append(vline("outliers", outliers))
        across, up = Axis(AXES["eigenvalue"]), Axis("density", range=(0.0, None))
        return Chart(title, across, up, tuple(series), self.caption)
