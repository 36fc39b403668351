"""How the entries of a chart are told apart: color, dash and marker, and a short legend."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ._curves import SYMBOLS, Entry, Part
from ._palette import CYCLE, ordered_colors
from ._series import Series, Style, bar, line, points

DASHES = ("solid", "dash", "dot", "dashdot")
MARKERS = ("circle", "square", "triangle", "diamond", "down", "star")
_NAMED = 4  # more entries than these are named by their color, their shape and their kind
_SAMPLES_OF_ORDER = 5  # entries of a long ordered family that the legend names
_FEW = 12  # points of an unfinished curve that a line does not join
_MANY = 40  # points that would hide a line if they were large
_ALIKE = 0.01  # of the height of the chart: lines nearer than this hide each other


class Looks:
    """Looks of entries: one factor has the color, the others the dash or the marker.

    Parameters
    ----------
    entries : sequence of Entry
        All that is drawn in one picture, so that panels agree.
    color : str, optional
        Dimension told apart by color, or ``"source"``; by default the algorithms if there are
        several, else the first dimension that varies.
    """

    def __init__(self, entries: Sequence[Entry], color: str | None = None) -> None:
        parts = list({id(entry.part): entry.part for entry in entries}.values())
        self.names = _names(parts)
        self.sources = list(dict.fromkeys(self.names[id(part)] for part in parts))
        dims = dict.fromkeys(dim for entry in entries for dim in entry.key)
        several = len(self.sources) > 1
        self.color = color or ("source" if several else next(iter(dims), "source"))
        rest = ["source"] if several and self.color != "source" else []
        self.shape = rest + [dim for dim in dims if dim != self.color]
        self.values = list(dict.fromkeys(self._value(e, self.color) for e in entries))
        self.values = [value for value in self.values if value != ""]
        self.shapes = list(dict.fromkeys(self._shape(e) for e in entries))
        if _is_ordered(self.values):
            self.values.sort()
        self.colors = self._colors(parts)

    def _value(self, entry: Entry, dim: str) -> Any:
        """Value of a factor; empty for what has none, as a simulation beside a family of lines."""
        if dim == "source":
            return self.names[id(entry.part)]
        return entry.key.get(dim, entry.part.stated(dim))

    def _shape(self, entry: Entry) -> tuple[tuple[str, Any], ...]:
        return tuple((dim, self._value(entry, dim)) for dim in self.shape)

    def _colors(self, parts: Sequence[Part]) -> dict[Any, str]:
        if self.color != "source":
            many = len(self.values) > len(CYCLE) or _is_ordered(self.values)
            colors = ordered_colors(len(self.values)) if many else CYCLE
            return {**dict(zip(self.values, colors, strict=False)), "": "gray"}
        found: dict[Any, str] = {}
        for part in parts:
            name = self.names[id(part)]
            if name in found:
                continue
            free = [color for color in CYCLE if color not in found.values()]
            # Two algorithms that carry the same color still differ in one picture.
            taken = part.color in found.values()
            found[name] = (free[0] if free else part.color) if taken else part.color
        return found

    def of(self, entry: Entry) -> dict[str, Any]:
        """Style of an entry."""
        value, shape = self._value(entry, self.color), self.shapes.index(self._shape(entry))
        dash = DASHES[shape % len(DASHES)]
        if not self.shape and self.color == "source":
            shape = self.values.index(value)
        marker = MARKERS[shape % len(MARKERS)]
        look: dict[str, Any] = {"color": self.colors[value]}
        if not entry.part.is_theory:
            return look | {"marker": marker, "size": 2.5 if len(entry.x) > _MANY else 4.0}
        # A line through one point is nothing to see; through a few of an unfinished curve it would
        # invent what lies between.
        if len(entry.x) == 1 or (entry.part.is_unfinished and len(entry.x) <= _FEW):
            return look | {"marker": marker, "hollow": True, "size": 6.0}
        return look | {"dash": dash}

    def name(self, entry: Entry) -> str:
        """Whole name of an entry."""
        kind = "theory" if entry.part.is_theory else "simulation"
        d = entry.part.params.get("d")
        if d is not None and not entry.part.is_theory:
            kind += f" $d={d}$"
        source = self.names[id(entry.part)]
        head = [kind] if len(self.sources) == 1 else [f"{source}, {kind}"]
        return ", ".join([*head, *(_words(dim, value) for dim, value in entry.key.items())])

    def words(self, entry: Entry, dim: str) -> str:
        """What an entry is called by one of its factors."""
        value = self._value(entry, dim)
        return str(value) if dim == "source" else _words(dim, value)

    def legend(self, entries: Sequence[Entry]) -> list[Series]:
        """Entries of the legend by factors: colors, shapes, theory and simulation."""
        values = [v for v in self.values if any(self._value(e, self.color) == v for e in entries)]
        if len(values) > _SAMPLES_OF_ORDER + 1 and self.color != "source":
            places = np.linspace(0, len(values) - 1, _SAMPLES_OF_ORDER).round().astype(int)
            values = [values[i] for i in places]
        colors = {
            (str(v) if self.color == "source" else _words(self.color, v)): self.colors[v]
            for v in values
        }
        shapes = [s for s in self.shapes if any(self._shape(e) == s for e in entries)]
        words = {
            ", ".join(
                str(v) if dim == "source" else _words(dim, v) for dim, v in shape if v != ""
            ): self.shapes.index(shape)
            for shape in shapes
        }
        return legend_of(colors, words, {entry.part.is_theory for entry in entries})


def legend_of(
    colors: Mapping[str, str], shapes: Mapping[str, int], faces: Collection[bool]
) -> list[Series]:
    """Entries of a legend by factors, each of which has an entry only if it tells things apart.

    Parameters
    ----------
    colors : mapping
        Name to color.
    shapes : mapping
        Name to the place of its dash or marker in the lists of these.
    faces : collection of bool
        Whether there is theory (True), and simulation (False).

    Examples
    --------
    >>> [one.name for one in legend_of({"AMP": "blue"}, {"$z_1$": 0, "$z_2$": 1}, {True, False})]
    ['$z_1$', '$z_2$', 'theory', 'simulation']
    """
    found: list[Series] = []
    if len(colors) > 1:
        found += [_sample(name, "line", color=c, width=2.5) for name, c in colors.items()]
    if len(shapes) > 1 and True in faces:
        found += [_sample(n, "line", dash=DASHES[k % len(DASHES)]) for n, k in shapes.items()]
    elif len(shapes) > 1:
        found += [_sample(n, "points", marker=MARKERS[k % len(MARKERS)]) for n, k in shapes.items()]
    if len(faces) > 1:
        found += [_sample("theory", "line"), _sample("simulation", "points")]
    return found


def series_of(
    entries: Sequence[Entry], looks: Looks, *, log: str, bars: bool = False
) -> tuple[Series, ...]:
    """Series of entries: lines behind, points in front, and a short legend.

    Parameters
    ----------
    entries : sequence of Entry
        Of one panel.
    looks : Looks
        Of the whole picture.
    log : str
        Axes that are logarithmic, of ``"xy"``: what is not positive becomes a gap.
    bars : bool
        Whether simulations are histograms.
    """
    found = []
    for entry in entries:
        x, y = entry.x, entry.y
        if "x" in log:
            x = np.where(x > 0, x, np.nan)
        if "y" in log:
            y = np.where(y > 0, y, np.nan)
        look, name = looks.of(entry), looks.name(entry)
        if bars and not entry.part.is_theory:
            found.append(bar(name, x, y, color=look["color"], width=1.0, opacity=0.4))
            continue
        make = points if "marker" in look else line
        yerr = entry.yerr if entry.yerr.any() or make is points else None
        found.append(make(name, x, y, yerr, **look))
    order = {"bar": 0, "line": 1, "points": 2}
    found.sort(key=lambda one: order[one.kind])
    found = _visible(found)
    if len(found) <= _NAMED:
        return tuple(found)
    return (*(replace(one, listed=False) for one in found), *looks.legend(entries))


def _visible(series: list[Series]) -> list[Series]:
    """Lines that coincide with a later one are wide and pale, so that both are seen."""
    heights = [abs(value) for one in series for value in one.y if value == value]
    near = _ALIKE * max(heights, default=0.0)
    lines = [i for i, one in enumerate(series) if one.kind == "line"]
    for place, i in enumerate(lines):
        hidden = sum(_coincide(series[i], series[j], near) for j in lines[place + 1 :])
        if hidden:
            width = series[i].style.width * (1 + 1.3 * min(hidden, 3))
            series[i] = series[i].styled(width=width, opacity=0.45)
    return series


def _coincide(one: Series, other: Series, near: float) -> bool:
    """Whether a line lies on another over most of its length."""
    x, y = np.array(one.x), np.array(one.y)
    known = np.isfinite(x) & np.isfinite(y)
    a, b = np.array(other.x), np.array(other.y)
    fine = np.isfinite(a) & np.isfinite(b)
    if known.sum() < 2 or fine.sum() < 2:
        return False
    inside = known & (x >= a[fine].min()) & (x <= a[fine].max())
    if inside.sum() < 2:
        return False
    gap = np.abs(np.interp(x[inside], a[fine], b[fine]) - y[inside])
    return bool((gap <= near).mean() > 0.6)


def _sample(name: str, kind: str, **style: Any) -> Series:
    """An entry of the legend alone."""
    style = {"color": "gray", **style}
    return Series(name, (), (), None, kind, Style(**style))  # type: ignore[arg-type]


def _names(parts: Sequence[Part]) -> dict[int, str]:
    """Names of the sources: of those with the same label, what differs between them is said."""
    found = {}
    for part in parts:
        alike = [o for o in parts if o.label == part.label and o.is_theory == part.is_theory]
        words = [part.label]
        if len(alike) > 1:
            fixed = [other.fixed() for other in alike]
            keys = [
                key
                for key in dict.fromkeys(key for each in fixed for key in each)
                if len({str(each.get(key)) for each in fixed}) > 1
            ]
            own = part.fixed()
            words += [_words(key, own[key]) for key in keys[:3] if key in own and key != "d"]
        found[id(part)] = ", ".join(words)
    return found


def _is_ordered(values: Sequence[Any]) -> bool:
    """Whether a factor is a number of its own, not the number of a direction."""
    return len(values) > 1 and all(isinstance(v, float) for v in values)


def _words(dim: str, value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    if dim == "direction":
        return f"$z_{{{text}}}$"
    if dim in SYMBOLS and not isinstance(value, str):
        return f"${SYMBOLS[dim]}={text}$"
    if isinstance(value, str):
        return text.replace("$", "").replace("\\", "")
    return f"{dim.replace('_', ' ')} {text}"
