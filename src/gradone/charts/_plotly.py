"""Charts as the plain dictionary that plotly.js reads; the plotly package is not needed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ._labels import plain_text, to_html
from ._layout import bar_places, colors_of, letter, listed

if TYPE_CHECKING:
    from ._chart import Chart, Picture
    from ._series import Axis, Series

_MARKERS = {
    "circle": "circle", "square": "square", "diamond": "diamond", "triangle": "triangle-up",
    "down": "triangle-down", "cross": "x-thin", "plus": "cross-thin", "star": "star",
}  # fmt: skip
_PIXELS = 96 / 72  # pixels for each point
_FONT = {"family": "STIXGeneral, STIX Two Text, Times New Roman, serif", "size": 14}
_ROW, _LEGEND_ROW = 330, 22  # pixels
_ENTRY, _LETTER, _WIDTH = 50, 7, 640  # pixels of an entry without its letters, of one, of a chart
_SHORT = 2.0  # decades of a logarithmic axis that has numbers between the powers
_GAP, _SCALE = 0.11, 0.09  # shares of the width: between panels, for a color scale


def plotly_dict(picture: Picture) -> dict[str, Any]:
    """Traces and layout of a picture."""
    panels, columns = picture.panels, picture.columns
    rows = -(-len(panels) // columns)
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {
        "template": "none",
        "font": _FONT,
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "barmode": "overlay",
        "shapes": [],
        "annotations": [],
        "margin": {"l": 65, "r": 20, "t": 60, "b": 60},
    }
    lines = max(_legend_lines(chart, columns) for chart in panels)
    foot = 70 + _LEGEND_ROW * lines  # room for the axis title and the legend of each row
    height = rows * (_ROW + foot) + 60
    layout["height"] = height
    if len(panels) > 1 and picture.title:
        layout["title"] = {"text": to_html(picture.title), "x": 0.5}
    inner = height - 120
    for i, chart in enumerate(panels):
        row, column = divmod(i, columns)
        width = (1 - _GAP * (columns - 1)) / columns
        left = column * (width + _GAP)
        top = 1 - row * (_ROW + foot) / inner
        bottom = top - _ROW / inner
        if row == rows - 1:
            bottom = max(bottom, (foot - 60) / inner)
        right = left + width - (_SCALE if _has_scale(chart) else 0)
        _panel(traces, layout, chart, i, (left, right), (bottom, top), inner)
        if columns == 1:
            layout[f"legend{'' if i == 0 else i + 1}"]["orientation"] = "h"
        title = to_html(chart.title)
        if len(panels) > 1:
            title = f"{letter(i)} {title}"
        layout["annotations"].append(
            {
                "text": title, "showarrow": False, "xref": "paper", "yref": "paper",
                "x": left if len(panels) > 1 else 0.5, "y": top, "yshift": 6,
                "xanchor": "left" if len(panels) > 1 else "center", "yanchor": "bottom",
                "font": {"size": 15},
            }
        )  # fmt: skip
    return {"data": traces, "layout": layout}


def _legend_lines(chart: Chart, columns: int) -> int:
    """Lines of a legend that flows below one column of panels, or has a line for each name."""
    names = listed(chart) if chart.legend != "none" else []
    if columns > 1:
        return len(names)
    return -(-sum(_ENTRY + _LETTER * len(plain_text(name)) for name in names) // _WIDTH)


def _has_scale(chart: Chart) -> bool:
    return any(one.kind == "heat" and not one.style.colors for one in chart.series)


def _panel(
    traces: list[dict[str, Any]],
    layout: dict[str, Any],
    chart: Chart,
    place: int,
    across: tuple[float, float],
    up: tuple[float, float],
    inner: float,
) -> None:
    number = "" if place == 0 else str(place + 1)
    for side, axis, domain in (("x", chart.x, across), ("y", chart.y, up)):
        other = "y" if side == "x" else "x"
        place_of = {"domain": list(domain), "anchor": f"{other}{number}"}
        layout[f"{side}axis{number}"] = _axis(axis, _ends(chart, side)) | place_of
    if chart.square:
        layout[f"yaxis{number}"] |= {"scaleanchor": f"x{number}", "scaleratio": 1}
    layout[f"legend{number}"] = {
        "x": across[0], "xanchor": "left", "y": up[0] - 48 / inner, "yanchor": "top",
        "font": {"size": 12}, "tracegroupgap": 0, "bgcolor": "rgba(255,255,255,0.8)",
        "traceorder": "normal",  # bands would reverse it
    }  # fmt: skip
    where = {"xaxis": f"x{number}", "yaxis": f"y{number}", "legend": f"legend{number}"}
    places = bar_places(chart)
    for i, (one, color) in enumerate(zip(chart.series, colors_of(chart), strict=True)):
        shown = bool(one.name) and one.listed and chart.legend != "none"
        named = {"name": to_html(one.name), "showlegend": shown}
        if one.kind in ("vline", "hline"):
            layout["shapes"] += _lines_across(one, color, number, named, where["legend"])
            continue
        for trace in _traces(one, color, named, places.get(i)):
            # A color map has a scale in place of a legend, at the side of its own panel.
            scale = {"legend"} if trace["type"] == "heatmap" else set()
            traces.append(trace | {key: v for key, v in where.items() if key not in scale})
            if trace.get("showscale"):
                middle = (up[0] + up[1]) / 2
                trace_bar = traces[-1]["colorbar"]
                trace_bar |= {"x": across[1] + 0.005, "y": middle, "len": up[1] - up[0]}


def _ends(chart: Chart, side: str) -> tuple[float, float]:
    """Smallest and largest positive number of an axis."""
    places = [place for one in chart.series for place in getattr(one, side) if place > 0]
    low, high = getattr(chart, side).range or (None, None)
    return low or min(places, default=1.0), high or max(places, default=1.0)


def _logarithmic_marks(low: float, high: float) -> dict[str, Any]:
    """Numbers at 1, 2, 5 on short axes, where powers of ten would be too few."""
    decades = math.log10(high / low)
    if decades > _SHORT:
        return {"dtick": max(1, math.ceil(decades / 6)), "minor": {"ticks": "outside"}}
    first, last = math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1
    places = [part * 10.0**power for power in range(first, last + 1) for part in (1, 2, 5)]
    return {"tickvals": places, "ticktext": [f"{place:g}" for place in places]}


def _axis(axis: Axis, ends: tuple[float, float]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "title": {"text": to_html(axis.label), "standoff": 8, "font": {"size": 14}},
        "tickfont": {"size": 12},
        "type": axis.scale,
        "showline": True,
        "linewidth": 1,
        "ticks": "outside",
        "showgrid": False,
        "zeroline": False,
    }
    if axis.scale == "log":
        found |= {"exponentformat": "power", **_logarithmic_marks(*sorted(ends))}
    if axis.range is not None:
        log = axis.scale == "log"
        found["range"] = [math.log10(end) if log and end is not None else end for end in axis.range]
    if axis.ticks is not None:
        found.pop("dtick", None)
        found["tickvals"] = [place for place, _ in axis.ticks]
        found["ticktext"] = [to_html(name) for _, name in axis.ticks]
    return found


def _traces(
    one: Series, color: str, named: dict[str, Any], bar: tuple[float, float] | None
) -> list[dict[str, Any]]:
    style = one.style
    common = {"type": "scatter", "x": _gaps(one.x), "y": _gaps(one.y), "opacity": style.opacity}
    common |= named | ({} if one.x else {"x": [None], "y": [None]})  # an entry of the legend alone
    match one.kind:
        case "line":
            drawn = common | {
                "mode": "lines",
                "line": {"color": color, "width": style.width * _PIXELS, "dash": style.dash},
            }
            return [*(_band(one, color, 0.2 * style.opacity, {}) if one.yerr else []), drawn]
        case "points":
            return [_points(one, color, common)]
        case "band":
            return _band(one, color, style.opacity, named)
        case "bar":
            offset, width = bar or (0.0, style.width)
            drawn = common | {
                "type": "bar",
                "marker": {"color": color},
                "width": width,
                "offset": offset - width / 2,
            }
            return [drawn | _errors(one, "black")]
        case _:
            return [_heat(one)]


def _points(one: Series, color: str, common: dict[str, Any]) -> dict[str, Any]:
    style = one.style
    mode = "markers" if style.marker != "none" else "text"
    if one.text and mode == "markers":
        mode = "markers+text"
    drawn = common | {"mode": mode}
    if one.text:
        drawn["text"] = [to_html(word) for word in one.text]
        drawn["textposition"] = "middle center" if mode == "text" else "top right"
        ink = (style.color or "#000000") if mode == "text" else color
        drawn["textfont"] = {"size": 11, "color": ink}
    if style.marker != "none":
        thin = style.marker in ("cross", "plus")
        edge = {"color": color, "width": 1.2}
        face = "white" if style.hollow else color
        drawn["marker"] = {
            "symbol": _MARKERS[style.marker],
            "size": 1.3 * style.size * _PIXELS,
            "color": color if thin else face,
            "line": edge,
        }
    return drawn | _errors(one, color)


def _errors(one: Series, color: str) -> dict[str, Any]:
    if not one.yerr:
        return {}
    bars = {"type": "data", "array": _gaps(one.yerr), "color": color, "thickness": 1.2, "width": 3}
    return {"error_y": bars}


def _band(one: Series, color: str, opacity: float, named: dict[str, Any]) -> list[dict[str, Any]]:
    low, high = np.subtract(one.y, one.yerr), np.add(one.y, one.yerr)  # type: ignore[arg-type]
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    edge: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines",
        "x": _gaps(one.x),
        "hoverinfo": "skip",
    }
    edge |= {"line": {"width": 0, "color": color}, "showlegend": False, "name": ""}
    fill = {"fill": "tonexty", "fillcolor": f"rgba({red},{green},{blue},{opacity:g})"}
    return [edge | {"y": _gaps(low)}, edge | {"y": _gaps(high)} | fill | named]


def _heat(one: Series) -> dict[str, Any]:
    drawn: dict[str, Any] = {
        "type": "heatmap",
        "x": list(one.x),
        "y": list(one.y),
        "z": [_gaps(row) for row in one.z or ()],
        "opacity": one.style.opacity,
    }
    colors = one.style.colors
    if not colors:
        title = {"text": to_html(one.name), "side": "right"}
        return drawn | {
            "colorscale": "Viridis",
            "showscale": True,
            "colorbar": {"title": title, "thickness": 14},
        }
    steps = len(colors)
    scale = [[(i + j) / steps, color] for i, color in enumerate(colors) for j in (0, 1)]
    return drawn | {"colorscale": scale, "zmin": -0.5, "zmax": steps - 0.5, "showscale": False}


def _lines_across(
    one: Series, color: str, number: str, named: dict[str, Any], legend: str
) -> list[dict[str, Any]]:
    drawn = []
    for k, place in enumerate(one.x or one.y):
        along, across = ("x", "y") if one.kind == "vline" else ("y", "x")
        shape = {
            "type": "line", "layer": "below", "legend": legend,
            f"{along}ref": f"{along}{number}", f"{across}ref": f"{across}{number} domain",
            f"{along}0": place, f"{along}1": place, f"{across}0": 0, f"{across}1": 1,
            "line": {"color": color, "width": one.style.width * _PIXELS, "dash": one.style.dash},
        }  # fmt: skip
        drawn.append(shape | named | ({} if k == 0 else {"showlegend": False}))
    return drawn


def _gaps(values: Any) -> list[float | None]:
    """Numbers with null where there is none: JSON has no NaN."""
    return [None if math.isnan(value) else float(value) for value in values]
