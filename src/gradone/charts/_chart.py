"""Charts: one description of a picture, drawn by matplotlib and by plotly."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

from ..base.errors import BadData
from ._labels import check_label
from ._series import Axis, Series, axis_from, plain, series_from

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure
    import plotly.graph_objects

SCHEMA = 1
"""Version of the stored form of charts."""

Legend = Literal[
    "best", "upper left", "upper right", "lower left", "lower right", "below", "right", "none"
]
Width = Literal["one", "two"] | float | None


class Picture(ABC):
    """What charts and panels of charts have in common: they are drawn, saved and read back."""

    if TYPE_CHECKING:
        title: str
        caption: str
        width: Width
        height: float | None
        origin: dict[str, Any]
        __dataclass_fields__: ClassVar[dict[str, Any]]

    def __post_init__(self) -> None:
        check_label(self.title)
        check_label(self.caption)
        object.__setattr__(self, "origin", _json_types(self.origin))
        _check_size(self.width, self.height)

    @property
    @abstractmethod
    def panels(self) -> tuple[Chart, ...]:
        """The charts of the picture, in reading order."""

    @property
    @abstractmethod
    def columns(self) -> int:
        """Number of panels side by side."""

    def to_dict(self) -> dict[str, Any]:
        """The picture in the types of JSON, with the number of its schema."""
        return {"schema": SCHEMA} | {
            one.name: _plain(getattr(self, one.name)) for one in fields(self)
        }

    def with_origin(self, **origin: Any) -> Self:
        """The picture with more said about what made it."""
        return replace(self, origin={**self.origin, **origin})

    def figure(self) -> matplotlib.figure.Figure:
        """Matplotlib figure of the picture, in the size that it states."""
        from ._matplotlib import figure_of

        return figure_of(self)

    def save(self, path: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write the picture, its numbers and its description.

        The description holds the exact parameters and the command that made the picture;
        :func:`load` reads it back and draws the identical picture.

        Parameters
        ----------
        path : str or path
            Ends in ``.pdf``, ``.svg``, ``.png``, ``.html`` or ``.tex`` (pgfplots). The numbers go
            to ``.csv``, the description to ``.json`` beside it.

        Returns
        -------
        tuple of Path
            The files written.
        """
        from ._save import save

        return save(self, Path(path))

    def plotly_dict(self) -> dict[str, Any]:
        """``{"data": [...], "layout": {...}}`` in plain types, as plotly.js reads it."""
        from ._plotly import plotly_dict

        return plotly_dict(self)

    def plotly(self) -> plotly.graph_objects.Figure:
        """Interactive figure of the plotly package (``pip install 'gradone[lab]'``)."""
        try:
            from plotly.graph_objects import Figure
        except ImportError:
            raise BadData(
                "the plotly package is not installed. Install it with: pip install 'gradone[lab]'. "
                "to_html() and save('chart.html') work without it."
            ) from None
        return Figure(self.plotly_dict())

    def to_html(self, *, full: bool = True) -> str:
        """Interactive picture as HTML that asks nothing of the network.

        Parameters
        ----------
        full : bool
            True gives a complete page with the script in it (1.5 MB). False gives the element
            alone, for a page that has :func:`gradone.charts.script` once.
        """
        from ._page import element, page

        return page(self) if full else element(self)

    def to_tex(self) -> str:
        r"""Picture for ``\input`` in a LaTeX document, which draws it with pgfplots."""
        from ._pgfplots import tikzpicture

        return tikzpicture(self)

    def to_svg(self) -> str:
        """Static picture as an SVG element."""
        from ._save import svg

        return svg(self)

    def _repr_html_(self) -> str:
        """Static picture for notebooks, which also works where scripts are not run."""
        return self.to_svg()


@dataclass(frozen=True)
class Chart(Picture):
    r"""One pair of axes with series on it.

    Parameters
    ----------
    title : str
        Short; formulas stand between dollars, in a small subset of LaTeX.
    x, y : Axis
        The axes.
    series : tuple of Series
        What is shown, from back to front.
    caption : str
        What to see, in one or two sentences.
    legend : str
        Where the names of the series stand: in a corner (``"upper left"``), ``"best"`` of them,
        ``"below"`` or ``"right"`` of the axes, ``"none"``.
    square : bool
        One unit is equally long on both axes.
    width : {"one", "two"} or float, optional
        Columns of a paper (85 and 175 mm), or millimeters; by default one column.
    height : float, optional
        Millimeters; by default in proportion.
    origin : dict
        Parameters and command that made the numbers, in the types of JSON.

    Examples
    --------
    >>> from gradone.charts import Axis, Chart, line, points
    >>> chart = Chart("weak recovery", Axis(r"$\alpha = n/d$"), Axis(r"overlap $q_{11}$"),
    ...               (line("theory", [0, 1, 2], [0.0, 0.0, 0.4], color="blue"),
    ...                points("simulation", [1, 2], [0.1, 0.4], [0.05, 0.02], color="blue")))
    >>> chart == Chart.load(chart.to_dict())
    True
    >>> [trace["mode"] for trace in chart.plotly_dict()["data"]]
    ['lines', 'markers']
    """

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    caption: str = ""
    legend: Legend = "best"
    square: bool = False
    width: Width = None
    height: float | None = None
    origin: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "series", tuple(self.series))
        if self.legend not in get_args(Legend):
            known = ", ".join(get_args(Legend))
            raise BadData(f"a legend cannot stand {self.legend!r}. Known places: {known}.")
        for axis, values in (("x", self.x), ("y", self.y)):
            if values.scale == "log":
                self._check_positive(axis)

    def _check_positive(self, axis: str) -> None:
        for one in self.series:
            if any(value <= 0 for value in getattr(one, axis)):
                raise BadData(
                    f"the series '{one.name}' has {axis} <= 0 on a logarithmic axis; "
                    "put NaN where nothing can be drawn"
                )

    @property
    def panels(self) -> tuple[Chart, ...]:
        """The chart itself."""
        return (self,)

    @property
    def columns(self) -> int:
        """One."""
        return 1

    def draw(self, ax: matplotlib.axes.Axes | None = None) -> matplotlib.axes.Axes:
        """Draw on given axes, or on those of a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.
        """
        from ._matplotlib import draw_chart

        if ax is None:
            return self.figure().axes[0]
        draw_chart(self, ax)
        return ax

    @classmethod
    def load(cls, stored: str | os.PathLike[str] | dict[str, Any]) -> Chart:
        """The chart of a ``.json`` file that :meth:`save` wrote, or of :meth:`to_dict`."""
        found = load(stored)
        if not isinstance(found, cls):
            raise BadData("the file holds several panels: read it with Panels.load")
        return found


@dataclass(frozen=True)
class Panels(Picture):
    """Several charts in one picture, lettered (a), (b), ...

    Parameters
    ----------
    title : str
        Of the whole; may be empty.
    charts : tuple of Chart
        In reading order.
    caption : str
        What to see.
    across : int, optional
        Panels side by side; by default up to three in one row, four as two by two.
    width : {"one", "two"} or float, optional
        Columns of a paper (85 and 175 mm), or millimeters; by default two columns.
    height : float, optional
        Millimeters; by default in proportion.
    origin : dict
        Parameters and command that made the numbers, in the types of JSON.

    Examples
    --------
    >>> from gradone.charts import Axis, Chart, Panels, line
    >>> one = Chart("", Axis("x"), Axis("y"), (line("", [0, 1], [0, 1]),))
    >>> Panels("two views", (one, one)).columns
    2
    """

    title: str
    charts: tuple[Chart, ...]
    caption: str = ""
    across: int | None = None
    width: Width = None
    height: float | None = None
    origin: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "charts", tuple(self.charts))
        if not self.charts:
            raise BadData("panels need at least one chart")

    @property
    def panels(self) -> tuple[Chart, ...]:
        """The charts, in reading order."""
        return self.charts

    @property
    def columns(self) -> int:
        """Number of panels side by side."""
        count = len(self.charts)
        return min(count, self.across or (2 if count == 4 else 3))

    @classmethod
    def load(cls, stored: str | os.PathLike[str] | dict[str, Any]) -> Panels:
        """The panels of a ``.json`` file that :meth:`save` wrote, or of :meth:`to_dict`."""
        found = load(stored)
        return found if isinstance(found, cls) else cls("", (found,))  # type: ignore[arg-type]


def load(stored: str | os.PathLike[str] | dict[str, Any]) -> Chart | Panels:
    """Chart or panels of a ``.json`` file that ``save`` wrote, or of ``to_dict``.

    Examples
    --------
    >>> load({"schema": 99})
    Traceback (most recent call last):
    gradone.base.errors.BadData: a stored picture of schema 99 cannot be read; this version ...
    """
    found = stored if isinstance(stored, dict) else json.loads(Path(stored).read_text("utf-8"))
    if found.get("schema") != SCHEMA:
        raise BadData(
            f"a stored picture of schema {found.get('schema')} cannot be read; this version of "
            f"gradone reads {SCHEMA}"
        )
    values = {key: value for key, value in found.items() if key != "schema"}
    if "charts" in values:
        charts = tuple(Chart.load(chart) for chart in values.pop("charts"))
        return Panels(charts=charts, **values)
    x, y = axis_from(values.pop("x")), axis_from(values.pop("y"))
    series = tuple(series_from(one) for one in values.pop("series"))
    return Chart(x=x, y=y, series=series, **values)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Chart):
        return value.to_dict()
    return plain(value) if isinstance(value, Axis | Series) else value


def _json_types(origin: dict[str, Any]) -> dict[str, Any]:
    """A copy in the types of JSON, so that a stored chart equals the one it came from."""
    try:
        copy: dict[str, Any] = json.loads(json.dumps(origin, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise BadData(f"the origin of a chart must be made of plain values: {error}") from None
    return copy


def _check_size(width: Width, height: float | None) -> None:
    for name, value in (("width", width), ("height", height)):
        if isinstance(value, str) and name == "width" and value in ("one", "two"):
            continue
        if value is not None and not (isinstance(value, int | float) and 20 <= value <= 2000):
            words = "'one', 'two' or " if name == "width" else ""
            raise BadData(f"the {name} of a picture is {words}20 to 2000 mm, got {value!r}")
