"""What a chart shows: axes, and series of numbers with the way they are drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

import numpy as np

from ..base.errors import BadData, did_you_mean
from ._labels import check_label
from ._palette import check_color

Kind = Literal["line", "points", "band", "bar", "heat", "vline", "hline"]
Dash = Literal["solid", "dash", "dot", "dashdot"]
Marker = Literal["circle", "square", "diamond", "triangle", "down", "cross", "plus", "star", "none"]
Numbers = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Style:
    """How a series looks; both renderers know all of it.

    Parameters
    ----------
    color : str, optional
        Name in the palette, or ``#rrggbb``. None takes the next color of the chart.
    dash : {"solid", "dash", "dot", "dashdot"}
        Pattern of a line.
    marker : str
        ``"circle"``, ``"square"``, ``"diamond"``, ``"triangle"``, ``"down"``, ``"cross"``,
        ``"plus"``, ``"star"`` or ``"none"``.
    width, size : float
        Width of a line, diameter of a marker, in points.
    opacity : float
        Between 0 and 1.
    hollow : bool
        Markers without filling.
    colors : tuple of str
        For ``heat``: colors of the values 0, 1, 2, ...; without it the values have a color scale.

    Examples
    --------
    >>> Style(color="blue").color
    '#0072B2'
    """

    color: str | None = None
    dash: Dash = "solid"
    marker: Marker = "circle"
    width: float = 1.4
    size: float = 4.0
    opacity: float = 1.0
    hollow: bool = False
    colors: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.color is not None:
            object.__setattr__(self, "color", check_color(self.color))
        object.__setattr__(self, "colors", tuple(check_color(color) for color in self.colors))
        for name, kinds in (("dash", Dash), ("marker", Marker)):
            if getattr(self, name) not in get_args(kinds):
                known = ", ".join(get_args(kinds))
                raise BadData(f"unknown {name} {getattr(self, name)!r}. Known: {known}.")
        for name in ("width", "size", "opacity"):
            value = float(getattr(self, name))
            if not (0 <= value < math.inf) or (name == "opacity" and value > 1):
                raise BadData(f"the {name} of a style cannot be {value}")
            object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True)
class Axis:
    r"""One axis of a chart.

    Parameters
    ----------
    label : str
        What is measured, with formulas between dollars.
    scale : {"linear", "log"}
        Spacing of the numbers.
    range : tuple of two numbers, optional
        First and last value; None in place of a number leaves that end to the renderer.
    ticks : tuple of (number, str), optional
        Marks with names, for axes that count things.

    Examples
    --------
    >>> Axis(r"$\alpha = n/d$", "log", (0.1, 10)).range
    (0.1, 10.0)
    """

    label: str
    scale: Literal["linear", "log"] = "linear"
    range: tuple[float | None, float | None] | None = None
    ticks: tuple[tuple[float, str], ...] | None = None

    def __post_init__(self) -> None:
        check_label(self.label)
        if self.scale not in ("linear", "log"):
            raise BadData(f"the scale of an axis is 'linear' or 'log', got {self.scale!r}")
        if self.range is not None:
            low, high = (None if end is None else float(end) for end in self.range)
            if any(end is not None and not math.isfinite(end) for end in (low, high)):
                raise BadData(f"the range of an axis must be finite, got {self.range}")
            if self.scale == "log" and any(end is not None and end <= 0 for end in (low, high)):
                raise BadData(f"a logarithmic axis needs a positive range, got {self.range}")
            object.__setattr__(self, "range", (low, high))
        if self.ticks is not None:
            ticks = tuple((float(place), check_label(name)) for place, name in self.ticks)
            object.__setattr__(self, "ticks", ticks)


@dataclass(frozen=True, slots=True)
class Series:
    """Numbers that are drawn in one way.

    Parameters
    ----------
    name : str
        Its entry in the legend, with formulas between dollars; empty for none.
    x, y : sequence of float
        Places; NaN is a gap. ``vline`` has no y, ``hline`` no x.
    yerr : sequence of float, optional
        Error bars of points and bars, half-width of a band, shaded around a line.
    kind : {"line", "points", "band", "bar", "heat", "vline", "hline"}
        Theory is a line, simulation is points with error bars.
    style : Style
        How it looks.
    z : sequence of rows, optional
        Values of a ``heat`` map: one row for each y, one column for each x.
    text : sequence of str, optional
        Words beside points.
    listed : bool
        Whether the legend has its name.

    Examples
    --------
    >>> Series("theory", [1, 2], [0.5, float("nan")]).y
    (0.5, nan)
    >>> Series("theory", [1, 2], [0.5])
    Traceback (most recent call last):
    gradone.base.errors.BadData: the series 'theory' has 2 values of x and 1 of y
    """

    name: str
    x: Numbers
    y: Numbers
    yerr: Numbers | None = None
    kind: Kind = "line"
    style: Style = field(default_factory=Style)
    z: tuple[Numbers, ...] | None = None
    text: tuple[str, ...] | None = None
    listed: bool = True

    def __post_init__(self) -> None:
        check_label(self.name)
        if self.kind not in get_args(Kind):
            known = get_args(Kind)
            raise BadData(
                f"unknown kind {self.kind!r} of a series.{did_you_mean(str(self.kind), known)}"
                f" Known: {', '.join(known)}."
            )
        for name in ("x", "y"):
            object.__setattr__(self, name, _numbers(getattr(self, name), f"{self.name}.{name}"))
        if self.yerr is not None:
            object.__setattr__(self, "yerr", _numbers(self.yerr, f"{self.name}.yerr"))
        if self.z is not None:
            rows = tuple(_numbers(row, f"{self.name}.z") for row in self.z)
            object.__setattr__(self, "z", rows)
        if self.text is not None:
            object.__setattr__(self, "text", tuple(check_label(word) for word in self.text))
        self._check_shapes()

    def _check_shapes(self) -> None:
        count = len(self.y if self.kind == "hline" else self.x)
        other = {"vline": len(self.y), "hline": len(self.x)}.get(self.kind, 0)
        if other or (self.kind not in ("vline", "hline", "heat") and len(self.y) != count):
            raise BadData(
                f"the series '{self.name}' has {len(self.x)} values of x and {len(self.y)} of y"
            )
        for name in ("yerr", "text"):
            part = getattr(self, name)
            if part is not None and len(part) != count:
                raise BadData(f"the series '{self.name}' has {count} places and {len(part)} {name}")
        if any(error < 0 for error in self.yerr or ()):
            raise BadData(f"an error of the series '{self.name}' is negative")
        if self.kind == "band" and self.yerr is None:
            raise BadData(f"the band '{self.name}' needs yerr, its half-width")
        if self.kind == "heat" and [len(row) for row in self.z or ()] != [count] * len(self.y):
            raise BadData(
                f"the heat map '{self.name}' needs z with one row for each y and one column for "
                "each x"
            )

    def styled(self, **changes: Any) -> Series:
        """The series with changes to its style."""
        return replace(self, style=replace(self.style, **changes))


def _numbers(values: Iterable[Any], owner: str) -> Numbers:
    try:
        array = np.asarray(values, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        raise BadData(f"{owner} must be numbers, got {values!r}") from None
    if np.isinf(array).any():
        raise BadData(f"{owner} holds an infinity; leave it out, or use NaN for a gap")
    # One and the same NaN: tuples with it compare equal after a round trip through a file.
    return tuple(float(value) if value == value else math.nan for value in array)


def line(name: str, x: Any, y: Any, yerr: Any = None, **style: Any) -> Series:
    """Line: what a theory predicts. `style` are fields of :class:`Style`.

    Examples
    --------
    >>> line("theory", [0, 1], [0, 1], color="blue", dash="dash").style.dash
    'dash'
    """
    return Series(name, x, y, yerr, "line", Style(**style))


def points(
    name: str, x: Any, y: Any, yerr: Any = None, *, text: Any = None, **style: Any
) -> Series:
    """Points with error bars: what a simulation measured. `style` are fields of :class:`Style`."""
    return Series(name, x, y, yerr, "points", Style(**style), text=text)


def band(name: str, x: Any, low: Any, high: Any, **style: Any) -> Series:
    """Area between two curves. `style` are fields of :class:`Style`.

    Examples
    --------
    >>> strip = band("", [0, 1], [0, 0], [1, 2])
    >>> strip.y, strip.yerr
    ((0.5, 1.0), (0.5, 1.0))
    """
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    style = {"opacity": 0.2, **style}
    return Series(name, x, (low + high) / 2, (high - low) / 2, "band", Style(**style))


def bar(name: str, x: Any, y: Any, yerr: Any = None, **style: Any) -> Series:
    """Bars from zero. `style` are fields of :class:`Style`; ``width`` is a share of the spacing."""
    style = {"width": 0.8, **style}
    return Series(name, x, y, yerr, "bar", Style(**style))


def heat(name: str, x: Any, y: Any, z: Any, **style: Any) -> Series:
    """Map of colors over a grid; the name is the label of the color scale."""
    return Series(name, x, y, None, "heat", Style(**style), z=z)


def vline(name: str, x: Any, **style: Any) -> Series:
    """Vertical lines: thresholds. `style` are fields of :class:`Style`."""
    style = {"color": "gray", "dash": "dot", "width": 1.0, **style}
    places: Any = np.atleast_1d(x)
    return Series(name, places, (), None, "vline", Style(**style))


def hline(name: str, y: Any, **style: Any) -> Series:
    """Horizontal lines: levels. `style` are fields of :class:`Style`."""
    style = {"color": "gray", "dash": "dot", "width": 1.0, **style}
    places: Any = np.atleast_1d(y)
    return Series(name, (), places, None, "hline", Style(**style))


def plain(thing: Style | Axis | Series) -> dict[str, Any]:
    """Fields of a part of a chart in the types of JSON; a gap is null."""
    return {one.name: _plain(getattr(thing, one.name)) for one in fields(thing)}


def _plain(value: Any) -> Any:
    if isinstance(value, Style):
        return plain(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def series_from(stored: dict[str, Any]) -> Series:
    """The series that :func:`plain` wrote."""
    style = Style(**stored["style"])

    def gaps(row: list[float | None]) -> list[float]:
        return [math.nan if value is None else value for value in row]

    numbers = {key: gaps(stored[key]) for key in ("x", "y", "yerr") if stored[key] is not None}
    z = None if stored["z"] is None else [gaps(row) for row in stored["z"]]
    return Series(**{**stored, **numbers, "style": style, "z": z})


def axis_from(stored: dict[str, Any]) -> Axis:
    """The axis that :func:`plain` wrote."""
    ticks = stored["ticks"]
    return Axis(**{**stored, "ticks": ticks and tuple(tuple(tick) for tick in ticks)})
