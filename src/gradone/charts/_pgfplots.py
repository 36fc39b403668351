r"""Charts as LaTeX: a ``tikzpicture`` of pgfplots that a paper takes in with ``\input``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ._labels import to_latex
from ._layout import PANEL_RATIO, bar_places, colors_of, edges, letter, width_of

if TYPE_CHECKING:
    from ._chart import Chart, Picture
    from ._series import Axis, Series

_HEAD = r"""% Written by gradone. The document needs, before \begin{document}:
%   \usepackage{amsmath,amssymb,pgfplots} \pgfplotsset{compat=1.16}
%   \usepgfplotslibrary{groupplots}
"""
_DASHES = {"solid": "solid", "dash": "dashed", "dot": "dotted", "dashdot": "dash dot"}
_MARKERS = {
    "circle": "*", "square": "square*", "diamond": "diamond*", "triangle": "triangle*",
    "down": "triangle*, mark options={rotate=180}", "cross": "x", "plus": "+", "star": "star",
}  # fmt: skip
_CORNERS = {
    "best": "north east", "upper right": "north east", "upper left": "north west",
    "lower left": "south west", "lower right": "south east", "right": "outer north east",
}  # fmt: skip


def tikzpicture(picture: Picture) -> str:
    """The picture as LaTeX."""
    panels, columns = picture.panels, picture.columns
    one = width_of(picture) / columns - (0 if len(panels) == 1 else 4)
    size = f"width={one:g}mm, height={(picture.height or PANEL_RATIO * one):g}mm"
    colors = {c: f"gd{i}" for i, c in enumerate(dict.fromkeys(_all_colors(panels)))}
    lines = [_HEAD + r"\begin{tikzpicture}[font=\footnotesize]"]
    lines += [rf"\definecolor{{{n}}}{{HTML}}{{{c[1:].upper()}}}" for c, n in colors.items()]
    if len(panels) == 1:
        lines += [rf"\begin{{axis}}[{size}, {_options(panels[0], picture.title)}]"]
        lines += [*_content(panels[0], colors), r"\end{axis}"]
    else:
        rows = -(-len(panels) // columns)
        gaps = "horizontal sep=18mm, vertical sep=20mm"
        lines += [rf"\begin{{groupplot}}[group style={{group size={columns} by {rows}, {gaps}}},"]
        lines += [f"  {size}]"]
        for i, chart in enumerate(panels):
            title = f"{letter(i)} {chart.title}"
            lines += [rf"\nextgroupplot[{_options(chart, title)}]", *_content(chart, colors)]
        lines += [r"\end{groupplot}"]
    return "\n".join([*lines, r"\end{tikzpicture}", ""])


def _all_colors(panels: Iterable[Chart]) -> list[str]:
    return [
        color
        for chart in panels
        for one, own in zip(chart.series, colors_of(chart), strict=True)
        for color in (own, *one.style.colors)
    ]


def _options(chart: Chart, title: str) -> str:
    """Options of an axis; what holds braces or commas stands in braces."""
    found = [
        f"title={{{to_latex(title)}}}",
        "axis lines=left, axis on top, unbounded coords=jump, tick align=outside",
        "clip mode=individual",  # marks on the ends of the axes are whole
        r"legend style={draw=none, fill opacity=0.8, text opacity=1, font=\scriptsize}",
        "legend cell align=left",
        *_axis("x", chart.x),
        *_axis("y", chart.y),
    ]
    if chart.legend == "below":
        found += ["legend columns=2, legend style={at={(0.5,-0.28)}, anchor=north}"]
    elif chart.legend in _CORNERS:
        found += [f"legend pos={_CORNERS[chart.legend]}"]
    if chart.square:
        found += ["axis equal"]
    if any(one.kind == "heat" and not one.style.colors for one in chart.series):
        found += ["colorbar, colormap name=viridis"]
    return ",\n  ".join(found)


def _axis(side: str, axis: Axis) -> list[str]:
    found = [f"{side}label={{{to_latex(axis.label)}}}", f"{side}mode={axis.scale}"]
    for end, value in zip(("min", "max"), axis.range or (None, None), strict=True):
        if value is not None:
            found.append(f"{side}{end}={value:g}")
    if axis.ticks is not None:
        places = ",".join(f"{place:g}" for place, _ in axis.ticks)
        names = ",".join(f"{{{to_latex(name)}}}" for _, name in axis.ticks)
        found.append(f"{side}tick={{{places}}}, {side}ticklabels={{{names}}}")
    return found


def _content(chart: Chart, colors: dict[str, str]) -> list[str]:
    places, lines = bar_places(chart), []
    for i, (one, color) in enumerate(zip(chart.series, colors_of(chart), strict=True)):
        is_named = bool(one.name) and one.listed and chart.legend != "none" and one.kind != "heat"
        look = f"{colors[color]}, opacity={one.style.opacity:g}"
        drawn = _series(chart, one, look, places.get(i), colors)
        if is_named:
            image = rf"\addlegendimage{{{_image(one, look)}}}"
            lines += [image, rf"\addlegendentry{{{to_latex(one.name)}}}"]
        lines += drawn
    return lines


def _image(one: Series, look: str) -> str:
    """The sample of a series in the legend."""
    if one.kind == "points":
        return f"only marks, {look}, {_mark(one)}"
    if one.kind in ("band", "bar"):
        return f"area legend, draw=none, fill={look}"
    return f"{look}, {_stroke(one)}"


def _stroke(one: Series) -> str:
    return f"{_DASHES[one.style.dash]}, line width={one.style.width:g}pt"


def _mark(one: Series) -> str:
    if one.style.marker == "none":
        return "mark=none"
    hollow = ", mark options={fill=white}" if one.style.hollow else ""
    return f"mark={_MARKERS[one.style.marker]}, mark size={one.style.size / 2:g}pt{hollow}"


def _series(
    chart: Chart, one: Series, look: str, bar: tuple[float, float] | None, colors: dict[str, str]
) -> list[str]:
    """Plots of one series; none of them is an entry of the legend."""
    plot = r"\addplot[forget plot, "
    if one.kind in ("vline", "hline"):
        return [_across(chart, one, value, look) for value in one.x or one.y]
    if one.kind == "heat":
        return [_heat(chart, one, colors)]
    if not one.x:
        return []
    if one.kind == "bar":
        offset, width = bar or (0.0, one.style.width)
        options = f"ybar, bar width={width:g}, bar shift=0pt, draw=none, fill={look}{_errors(one)}"
        rows = zip((x + offset for x in one.x), one.y, one.yerr or one.y, strict=True)
        return [f"{plot}{options}] {_table(rows, bool(one.yerr))}"]
    rows = zip(one.x, one.y, one.yerr or one.y, strict=True)
    if one.kind == "points":
        # With "only marks" the mark "none" would be a dot.
        bare = one.style.marker == "none"
        shape = "draw=none, mark=none" if bare else f"only marks, {look}, {_mark(one)}"
        marks = f"{plot}{shape}{_errors(one)}]"
        anchor = "center" if bare else "south west"
        words = [
            rf"\node[{look}, font=\scriptsize, anchor={anchor}] at (axis cs:{x:g},{y:g}) "
            rf"{{{to_latex(word)}}};"
            for x, y, word in zip(one.x, one.y, one.text or (), strict=False)
            if y == y
        ]
        return [f"{marks} {_table(rows, bool(one.yerr))}", *words]
    shade = [_band(one, look, 1.0 if one.kind == "band" else 0.2)] if one.yerr else []
    if one.kind == "band":
        return shade
    return [*shade, f"{plot}no marks, {look}, {_stroke(one)}] {_table(rows, False)}"]


def _errors(one: Series) -> str:
    return ", error bars/.cd, y dir=both, y explicit" if one.yerr else ""


def _table(rows: Iterable[tuple[float, ...]], with_errors: bool) -> str:
    head = "table[y error index=2]" if with_errors else "table"
    lines = [" ".join(_number(v) for v in (row if with_errors else row[:2])) for row in rows]
    return head + " {\nx y" + (" e" if with_errors else "") + "\n" + "\n".join(lines) + "\n};"


def _number(value: float) -> str:
    return "nan" if math.isnan(value) else f"{value:.8g}"


def _band(one: Series, look: str, share: float) -> str:
    """Area between two curves: up along one edge, back along the other."""
    known = [
        (x, y, e)
        for x, y, e in zip(one.x, one.y, one.yerr or (), strict=True)
        if y == y == e + y - e
    ]
    there = [f"({x:.8g},{y + e:.8g})" for x, y, e in known]
    back = [f"({x:.8g},{y - e:.8g})" for x, y, e in reversed(known)]
    opacity = share * one.style.opacity
    color = look.partition(",")[0]
    options = f"forget plot, draw=none, no marks, fill={color}, fill opacity={opacity:g}"
    return rf"\addplot[{options}] coordinates {{{' '.join([*there, *back])}}} \closedcycle;"


def _across(chart: Chart, one: Series, value: float, look: str) -> str:
    """A line from end to end: across relative to the axes, which may be logarithmic."""
    if one.kind == "vline":
        level, ends = f"{{axis cs:{value:g},{_inside(chart, 'y'):g}}}", ("0,0", "0,1")
        a, b = (f"({level} |- {{rel axis cs:{end}}})" for end in ends)
    else:
        level, ends = f"{{axis cs:{_inside(chart, 'x'):g},{value:g}}}", ("0,0", "1,0")
        a, b = (f"({level} -| {{rel axis cs:{end}}})" for end in ends)
    return rf"\draw[{look}, {_stroke(one)}] {a} -- {b};"


def _inside(chart: Chart, side: str) -> float:
    """A place on an axis: an end of its range, or a number that is drawn."""
    axis: Axis = getattr(chart, side)
    known = [value for value in axis.range or () if value is not None]
    drawn = [value for one in chart.series for value in getattr(one, side) if math.isfinite(value)]
    places = [value for value in (*known, *drawn) if value > 0 or axis.scale == "linear"]
    return float(places[0]) if places else 1.0


def _heat(chart: Chart, one: Series, colors: dict[str, str]) -> str:
    """Cells of a map, each a rectangle in its color; a map of numbers has a color scale."""
    if not one.style.colors:
        rows = [
            f"{x:.8g} {y:.8g} {_number(z)}"
            for y, line in zip(one.y, one.z or (), strict=True)
            for x, z in zip(one.x, line, strict=True)
        ]
        options = f"matrix plot*, mesh/cols={len(one.x)}, point meta=explicit"
        body = "\n".join(rows)
        return rf"\addplot[forget plot, {options}] table[meta index=2] {{" + f"\nx y z\n{body}\n}};"
    x, y = edges(one.x, chart.x.scale), edges(one.y, chart.y.scale)
    cells = []
    for j, line in enumerate(one.z or ()):
        for i, z in enumerate(line):
            if z == z:
                color = colors[one.style.colors[int(z)]]
                corners = (
                    f"(axis cs:{x[i]:g},{y[j]:g}) rectangle (axis cs:{x[i + 1]:g},{y[j + 1]:g})"
                )
                cells.append(rf"\fill[{color}] {corners};")
    box = f"({x[0]:g},{y[0]:g}) ({x[-1]:g},{y[-1]:g})"
    return "\n".join([rf"\addplot[forget plot, draw=none] coordinates {{{box}}};", *cells])
