"""Choices that both renderers make alike: colors of series without one, places of bars, edges."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from ._palette import CYCLE

if TYPE_CHECKING:
    from ._chart import Chart, Picture

_SHEET = {"one": 85.0, "two": 175.0}  # columns of a paper, in millimeters

PANEL_RATIO = 0.78
"""Height of a panel over its width."""


def width_of(picture: Picture) -> float:
    """Width of a picture in millimeters; several panels take two columns of a paper."""
    asked: Any = picture.width or ("one" if len(picture.panels) == 1 else "two")
    return _SHEET[asked] if isinstance(asked, str) else float(asked)


def colors_of(chart: Chart) -> list[str]:
    """Color of every series: its own, or the next of the cycle."""
    cycle = itertools.cycle(CYCLE)
    return [one.style.color or next(cycle) for one in chart.series]


def listed(chart: Chart) -> list[str]:
    """Names in the legend, in the order of the series."""
    shown = (one for one in chart.series if one.listed and one.kind != "heat")
    return list(dict.fromkeys(one.name for one in shown if one.name))


def bar_places(chart: Chart) -> dict[int, tuple[float, float]]:
    """Offset and width of the bars of each series: bars at the same places stand side by side."""
    bars = {i: one for i, one in enumerate(chart.series) if one.kind == "bar"}
    groups: dict[tuple[float, ...], list[int]] = {}
    for i, one in bars.items():
        groups.setdefault(one.x, []).append(i)
    everywhere = sorted({x for one in bars.values() for x in one.x})
    spacing = min((b - a for a, b in itertools.pairwise(everywhere)), default=1.0)
    places = {}
    for members in groups.values():
        for slot, i in enumerate(members):
            width = bars[i].style.width * spacing / len(members)
            places[i] = ((slot - (len(members) - 1) / 2) * width, width)
    return places


def edges(centers: tuple[float, ...], scale: str) -> np.ndarray:
    """Borders between the cells of a grid given by their centers.

    Examples
    --------
    >>> edges((1.0, 4.0), "log").round(2), edges((1.0,), "log").round(2)
    (array([0.5, 2. , 8. ]), array([0.61, 1.65]))
    """
    values = np.log(centers) if scale == "log" else np.asarray(centers, dtype=float)
    if len(values) == 1:
        borders = values[0] + np.array([-0.5, 0.5])
    else:
        middle = (values[1:] + values[:-1]) / 2
        borders = np.concatenate(
            [[2 * values[0] - middle[0]], middle, [2 * values[-1] - middle[-1]]]
        )
    return np.exp(borders) if scale == "log" else borders


def letter(place: int) -> str:
    """Letter of a panel.

    Examples
    --------
    >>> letter(0), letter(3)
    ('(a)', '(d)')
    """
    return f"({chr(ord('a') + place)})"
