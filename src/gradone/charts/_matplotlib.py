"""Charts drawn by matplotlib: vector pictures in the style of a paper.

Figures are made as objects; pyplot, which keeps a global list of them, is not used. Settings of
the user do not reach a saved picture: the same chart is the same file everywhere.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ._labels import plain_text, to_mathtext
from ._layout import PANEL_RATIO, bar_places, colors_of, edges, letter, listed, width_of

if TYPE_CHECKING:
    from ._chart import Chart, Picture
    from ._series import Axis, Series

_MM = 1 / 25.4
_LINE_OF_LEGEND = 4.2  # millimeters
_CHARACTERS = 72  # of a legend side by side
_SHORT = 150.0  # ratio of the ends of a logarithmic axis that has numbers between the powers
_DASHES = {"solid": "-", "dash": (0, (4, 2)), "dot": (0, (1, 1.6)), "dashdot": (0, (5, 2, 1, 2))}
_MARKERS = {
    "circle": "o", "square": "s", "diamond": "D", "triangle": "^", "down": "v", "cross": "x",
    "plus": "+", "star": "*", "none": "",
}  # fmt: skip
_STYLE: dict[str, Any] = {
    "font.family": "STIXGeneral",  # comes with matplotlib: the same on every machine
    "mathtext.fontset": "stix",
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 7.5,
    "figure.titlesize": 10,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "xtick.minor.size": 1.7,
    "ytick.minor.size": 1.7,
    "legend.frameon": True,
    "legend.framealpha": 0.8,
    "legend.edgecolor": "none",
    "legend.handlelength": 1.7,
    "legend.labelspacing": 0.3,
    "legend.borderpad": 0.2,
    "pdf.fonttype": 42,  # journals refuse type 3
    "svg.hashsalt": "gradone",
    "savefig.dpi": 220,
    "figure.dpi": 110,
}
_GROUPS = (
    "axes", "errorbar", "figure", "font", "grid", "hatch", "image", "legend", "lines", "markers",
    "mathtext", "patch", "path", "pcolor", "pdf", "savefig", "svg", "text", "xaxis", "xtick",
    "yaxis", "ytick",
)  # fmt: skip
_LOCK = threading.RLock()


@contextlib.contextmanager
def paper_style() -> Iterator[None]:
    """Settings of matplotlib for our pictures, whatever the user's are."""
    defaults = {
        key: value for key, value in mpl.rcParamsDefault.items() if key.split(".")[0] in _GROUPS
    }
    # Settings are global to matplotlib: two threads must not change them at once.
    settings: dict[Any, Any] = {**defaults, **_STYLE}
    with _LOCK, mpl.rc_context(settings):
        yield


def figure_of(picture: Picture) -> Figure:
    """Figure with one pair of axes for each panel."""
    panels, columns = picture.panels, picture.columns
    rows = -(-len(panels) // columns)
    width = width_of(picture)
    height = picture.height or _height(panels, width / columns, rows, columns)
    with paper_style():
        figure = Figure(figsize=(width * _MM, height * _MM), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03, wspace=0.04, hspace=0.05)  # type: ignore[union-attr, call-arg]
        grid = figure.subplots(rows, columns, squeeze=False)
        for i, ax in enumerate(grid.flat):
            if i < len(panels):
                draw_chart(panels[i], ax, letter=letter(i) if len(panels) > 1 else "")
            else:
                ax.set_axis_off()
        if len(panels) > 1 and picture.title:
            figure.suptitle(to_mathtext(picture.title))
    return figure


def _height(panels: tuple[Chart, ...], width: float, rows: int, columns: int) -> float:
    """Height in millimeters: proportional, and room for the legends that stand below."""
    total = 0.0
    for row in range(rows):
        members = panels[row * columns : (row + 1) * columns]
        below = max((_legend_lines(one) for one in members if one.legend == "below"), default=0)
        total += PANEL_RATIO * width + _LINE_OF_LEGEND * below
    return total + (6.0 if len(panels) > 1 else 2.0)


def _legend_lines(chart: Chart) -> int:
    return -(-len(listed(chart)) // _legend_columns(chart))


def _legend_columns(chart: Chart) -> int:
    """As many columns as have room in one column of a paper."""
    longest = max((len(plain_text(name)) for name in listed(chart)), default=0)
    return max(1, min(4, _CHARACTERS // (longest + 7)))


def draw_chart(chart: Chart, ax: Axes, letter: str = "") -> None:
    """Draw a chart on given axes."""
    for axis, side in ((chart.x, "x"), (chart.y, "y")):
        getattr(ax, f"set_{side}scale")(axis.scale)
    places = bar_places(chart)
    for i, (one, color) in enumerate(zip(chart.series, colors_of(chart), strict=True)):
        label = to_mathtext(one.name) if one.name and one.listed else None
        common: dict[str, Any] = {"color": color, "zorder": 2 + i / 100, "alpha": one.style.opacity}
        match one.kind:
            case "line":
                _line(ax, one, label, common)
            case "points":
                _points(ax, one, label, common)
            case "band":
                low, high = np.subtract(one.y, one.yerr), np.add(one.y, one.yerr)  # type: ignore[arg-type]
                ax.fill_between(one.x, low, high, label=label, linewidth=0, **common)
            case "bar":
                offset, width = places[i]
                bars: dict[str, Any] = (
                    {"yerr": one.yerr, "error_kw": {"elinewidth": 0.8}} if one.yerr else {}
                )
                ax.bar(np.add(one.x, offset), one.y, width, label=label, **bars, **common)
            case "heat":
                _heat(ax, chart, one)
            case "vline" | "hline":
                draw = ax.axvline if one.kind == "vline" else ax.axhline
                dash: Any = _DASHES[one.style.dash]
                for k, place in enumerate(one.x or one.y):
                    words = label if k == 0 else None
                    draw(place, ls=dash, lw=one.style.width, label=words, **common)
    _axes(ax, chart)
    title = f"{letter} {to_mathtext(chart.title)}".strip()
    ax.set_title(title, loc="left" if letter else "center")
    _legend(ax, chart)


def _line(ax: Axes, one: Series, label: str | None, common: dict[str, Any]) -> None:
    dash: Any = _DASHES[one.style.dash]
    ax.plot(one.x, one.y, linestyle=dash, linewidth=one.style.width, label=label, **common)
    if one.yerr:
        low, high = np.subtract(one.y, one.yerr), np.add(one.y, one.yerr)
        shade = {**common, "alpha": 0.2 * one.style.opacity}
        ax.fill_between(one.x, low, high, linewidth=0, **shade)


def _points(ax: Axes, one: Series, label: str | None, common: dict[str, Any]) -> None:
    style = one.style
    face: dict[str, Any] = {"markerfacecolor": "white"} if style.hollow else {}
    if style.marker != "none":
        ax.errorbar(
            one.x,
            one.y,
            one.yerr,
            linestyle="none",
            marker=_MARKERS[style.marker],
            markersize=style.size,
            markeredgewidth=0.9,
            elinewidth=0.9,
            capsize=1.5,
            capthick=0.9,
            label=label,
            **face,
            **common,
        )
    for x, y, word in zip(one.x, one.y, one.text or (), strict=False):
        inside = style.marker == "none"
        ax.annotate(
            to_mathtext(word),
            (x, y),
            xytext=(0, 0) if inside else (0.7 * style.size + 1, 0.4 * style.size),
            textcoords="offset points",
            ha="center" if inside else "left",
            va="center" if inside else "bottom",
            fontsize="small",
            color=(style.color or "black") if inside else common["color"],
            zorder=5,
        )


def _heat(ax: Axes, chart: Chart, one: Series) -> None:
    colors = one.style.colors
    z = np.ma.masked_invalid(np.asarray(one.z, dtype=float))
    cmap: Any = ListedColormap(list(colors)) if colors else "viridis"
    limits: dict[str, Any] = {"vmin": -0.5, "vmax": len(colors) - 0.5} if colors else {}
    x, y = edges(one.x, chart.x.scale), edges(one.y, chart.y.scale)
    mesh = ax.pcolormesh(
        x, y, z, cmap=cmap, rasterized=True, alpha=one.style.opacity, zorder=1, **limits
    )
    if not colors:
        bar = ax.figure.colorbar(mesh, ax=ax, pad=0.02)
        bar.set_label(to_mathtext(one.name))
        bar.outline.set_linewidth(0.4)


def _axes(ax: Axes, chart: Chart) -> None:
    ax.set_xlabel(to_mathtext(chart.x.label))
    ax.set_ylabel(to_mathtext(chart.y.label))
    for axis, side in ((chart.x, "x"), (chart.y, "y")):
        _marks(ax, axis, side)
    if chart.square:
        ax.set_aspect("equal")


def _marks(ax: Axes, axis: Axis, side: str) -> None:
    if axis.ticks is not None:
        places, names = [place for place, _ in axis.ticks], [name for _, name in axis.ticks]
        getattr(ax, f"set_{side}ticks")(places, [to_mathtext(name) for name in names])
        getattr(ax, f"set_{side}ticks")([], minor=True)
    if axis.range is not None:
        getattr(ax, f"set_{side}lim")(*axis.range)
    if axis.scale == "log" and axis.ticks is None:
        _logarithmic_marks(ax, side)


def _logarithmic_marks(ax: Axes, side: str) -> None:
    """Numbers at 1, 2, 5 on short axes, where powers of ten would be too few."""
    low, high = sorted(getattr(ax, f"get_{side}lim")())
    which = ax.xaxis if side == "x" else ax.yaxis
    if high / low < _SHORT:
        which.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        which.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    which.set_minor_formatter(NullFormatter())


def _legend(ax: Axes, chart: Chart) -> None:
    if chart.legend == "none" or not listed(chart):
        return
    # Matplotlib puts points after lines; ours keeps the order of the series.
    drawn = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    handles = [drawn[name] for name in map(to_mathtext, listed(chart)) if name in drawn]
    match chart.legend:
        case "right":
            legend = ax.legend(
                handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0
            )
        case "below":
            columns = _legend_columns(chart)
            legend = ax.legend(
                handles=handles,
                loc="upper center",
                bbox_to_anchor=(0.5, -0.22),
                ncols=columns,
                borderaxespad=0,
            )
        case corner:
            legend = ax.legend(handles=handles, loc=corner)
    legend.set_zorder(6)
