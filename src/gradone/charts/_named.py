"""Charts by name: each states what it needs of a curve and how it draws it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ..base.registry import Registry
from ._chart import Chart, Legend
from ._curves import AXES, Part, axis_of, parts_of, series_along
from ._series import Axis

if TYPE_CHECKING:
    import xarray as xr

CHARTS = Registry("chart", "gradone.charts")
_INSIDE = 4  # more names than these would hide the curves


class NamedChart(ABC):
    """One way to draw curves. A file of this room with a class under ``@CHARTS.add("name")``."""

    name: ClassVar[str]
    """Name in the table; set by ``CHARTS.add``."""
    variables: ClassVar[tuple[str, ...]]
    """Quantities that it can show; a curve needs one of them."""
    along: ClassVar[tuple[str, ...]]
    """Dimensions or coordinates that can be its horizontal axis; a curve needs one of them."""
    caption: ClassVar[str]
    """What to see."""

    @abstractmethod
    def chart(self, parts: Sequence[Part], *, title: str) -> Chart:
        """Chart of one or several sources."""


class CurveChart(NamedChart):
    """Named chart of one quantity along one axis."""

    label: ClassVar[str]
    """Label of the vertical axis."""
    scales: ClassVar[tuple[str, str]] = ("linear", "linear")
    """Scales of the horizontal and of the vertical axis."""
    low: ClassVar[float | None] = None
    """Lower end of the vertical axis."""

    def chart(self, parts: Sequence[Part], *, title: str) -> Chart:
        """Lines of theories and points of simulations."""
        positive = [axis for axis, scale in zip("xy", self.scales, strict=True) if scale == "log"]
        series = series_along(parts, self.along, self.variables, positive=positive)
        across: Any = Axis(AXES[axis_of(parts[0], self.along)], self.scales[0])  # type: ignore[arg-type]
        limits = None if self.low is None else (self.low, None)
        up = Axis(self.label, self.scales[1], limits)  # type: ignore[arg-type]
        legend: Legend = "best" if len(series) <= _INSIDE else "below"
        return Chart(title, across, up, series, self.caption, legend)


def draw(name: str, *curves: xr.Dataset, title: str | None = None) -> Chart:
    """Chart of curves by its name: theories as lines, simulations as points with error bars.

    Parameters
    ----------
    name : str
        Name of the chart, with hyphens or underscores; ``gradone list`` shows them.
    *curves : xarray.Dataset
        Curves of :func:`gradone.predict`, :func:`gradone.simulate` and the like, one or several.
        Error bars are standard errors over replicates.
    title : str, optional
        By default the target, if all curves have the same.

    Returns
    -------
    Chart
        It is drawn with ``draw()``, saved with ``save(path)``, interactive with ``to_html()``.

    Examples
    --------
    >>> import gradone as gd
    >>> curve = gd.predict("z1**2", "bayes_amp", alpha=[0.4, 1.0, 2.0])
    >>> chart = draw("overlap-vs-alpha", curve)
    >>> chart.title, chart.series[0].kind, chart.series[0].x
    ('z1**2', 'line', (0.4, 1.0, 2.0))
    """
    kind: NamedChart = CHARTS[name.replace("_", "-")]()
    parts = parts_of(curves)
    texts = {str(part.data.attrs.get("target", "")) for part in parts}
    shown = (texts.pop() if len(texts) == 1 else "") if title is None else title
    sources = [
        {
            "source": part.source,
            "target": str(part.data.attrs.get("target", "")),
            "params": part.params,
            "seed": int(part.data.attrs.get("seed", -1)),
            "gradone_version": str(part.data.attrs.get("gradone_version", "")),
        }
        for part in parts
    ]
    return kind.chart(parts, title=shown).with_origin(chart=kind.name, sources=sources)
