"""One grammar of charts: curves, the quantity, the axis, and what colors and panels tell apart."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import BadData
from ..base.quantities import available
from ._chart import Chart, Legend, Panels
from ._curves import (
    AXES,
    Ambiguous,
    Entry,
    Part,
    Quantity,
    axis_of,
    common_names,
    entries_of,
    nothing_common,
    parts_of,
    quantity_of,
    ranked,
)
from ._labels import plain_text
from ._looks import DASHES, Looks, series_of
from ._named import CHARTS, NamedChart, Preset
from ._series import Axis, Series, vline

if TYPE_CHECKING:
    import xarray as xr

_LONG = 48  # letters of a title in one column of a paper
_INSIDE = 4  # more names than these would hide the curves
_MARKS = {
    "alpha": ("alpha_it", "alpha_spinodal", "alpha_algorithmic"),
    "step_size": ("threshold",),
    "eigenvalue": ("largest_eigenvalue",),
}
"""Quantities of curves that are places on an axis."""
Thresholds = Mapping[str, float] | Sequence[float] | float


def draw(
    *curves: xr.Dataset | str,
    x: str | None = None,
    y: str | Sequence[str] | None = None,
    color: str | None = None,
    panel: str | None = None,
    log: str | None = None,
    thresholds: Thresholds = (),
    title: str | None = None,
) -> Chart | Panels:
    r"""Chart of curves: theories as lines, simulations as points with error bars.

    All curves show one quantity along one axis. Signs that are arbitrary in a simulation are
    removed before a mean over replicates is taken.

    Parameters
    ----------
    *curves : xarray.Dataset
        Curves of :func:`gradone.predict`, :func:`gradone.simulate`, :func:`gradone.compare` and
        the like, or datasets of one's own; before them there may stand the name of a chart
        (``gradone list`` shows them), which chooses `x`, `y` and `log`.
    x : str, optional
        The horizontal axis; by default the dimension that varies. With the d of a simulation,
        ``alpha``, ``n`` and ``kappa`` are found from each other.
    y : str or sequence of str, optional
        The quantity, which all curves must have: as a variable, or by an exact conversion, which
        the label then shows. By default the most telling one. Several make one panel each.
    color, panel : str, optional
        Dimension told apart by colors or by panels, or ``"source"``.
    log : {"", "x", "y", "xy"}, optional
        Logarithmic axes; by default x if its values grow geometrically.
    thresholds : mapping, sequence or number, optional
        Places on the axis that are marked, with names if it is a mapping; those that a theory
        states are always marked.
    title : str, optional
        By default the target, if all curves have the same.

    Returns
    -------
    Chart or Panels
        It is drawn with ``draw()``, saved with ``save(path)``, interactive with ``to_html()``.

    Examples
    --------
    >>> import gradone as gd
    >>> curve = gd.predict("z1**2", "bayes_amp", alpha=[0.4, 1.0, 2.0])
    >>> chart = draw(curve, y="cosine2")
    >>> chart.title, chart.y.label, chart.series[0].x
    ('$z_{1}^{2}$', 'squared cosines $\\cos^2\\theta = \\lambda(M)$', (0.4, 1.0, 2.0))
    >>> draw("overlap-vs-alpha", curve).series == chart.series
    True
    >>> draw(curve, y="zero_one_error")
    Traceback (most recent call last):
    gradone.base.errors.BadData: 'theory:bayes_amp' has no zero_one_error. It has test_mse, ...
    """
    preset: Preset | None = None
    if curves and isinstance(curves[0], str):
        preset, curves = CHARTS[curves[0].replace("_", "-")](), curves[1:]
    parts = parts_of(curves)
    title = _title(parts) if title is None else title
    if isinstance(preset, NamedChart):
        return preset.chart(parts, title=title).with_origin(**_origin(parts, preset))
    axes = [x] if x else list(preset.x if preset else ())
    if preset is not None:
        log = preset.log if log is None else log
    # Each chart shows the first of some quantities that all curves have.
    choices = [[name] for name in ([y] if isinstance(y, str) else y or ())]
    choices = choices or [list(preset.y) if preset else _default(parts)]
    charts: list[Chart] = []
    drawn: set[str] = set()
    for wanted in choices:
        kept, quantity = quantity_of(parts, wanted)
        charts += _charts(kept, quantity, axes, color, panel, log, thresholds)
        drawn |= {part.source for part in kept}
    notes = list(dict.fromkeys(note for part in parts for note in part.notes))
    if absent := [part.label for part in parts if part.source not in drawn]:
        notes.append(f"Without a number here: {', '.join(dict.fromkeys(absent))}.")
    caption = " ".join([preset.caption if preset else "", *notes]).strip()
    origin = _origin(parts, preset) | ({"notes": notes} if notes else {})
    if len(charts) > 1:
        return Panels(title, tuple(charts), caption, origin=origin)
    heading = ", ".join(filter(None, [title, charts[0].title]))
    return replace(charts[0], title=heading, caption=caption, origin=origin)


def draw_first(curve: xr.Dataset) -> Chart | Panels:
    """Chart of a curve where nobody can be asked: along the dimension with the most values."""
    try:
        return draw(curve)
    except Ambiguous as choice:
        return draw(curve, x=choice.names[0])


def _default(parts: Sequence[Part]) -> list[str]:
    """Quantities to choose from where none was asked for."""
    if any(part.of_many for part in parts):
        return ranked(name for part in parts for name in available(part.data))
    found = common_names(parts)
    if not found:
        raise BadData(nothing_common(parts, ["number"]))
    return found


def _charts(
    parts: Sequence[Part],
    quantity: Quantity,
    axes: Sequence[str],
    color: str | None,
    panel: str | None,
    log: str | None,
    thresholds: Thresholds,
) -> list[Chart]:
    """One chart of a quantity, or one for each value of what panels tell apart."""
    x = axis_of(parts, quantity, axes, {name for name in (color, panel) if name})
    entries = [
        entry
        for part, reading in zip(parts, quantity.readings, strict=True)
        for entry in entries_of(part, reading, quantity, x)
    ]
    if not entries:
        raise BadData(f"there is no number of {quantity.name} along {x}: nothing can be drawn")
    for name in (color, panel):
        if name not in (None, "source") and not any(name in entry.key for entry in entries):
            known = dict.fromkeys(key for entry in entries for key in entry.key)
            raise BadData(
                f"'{name}' does not tell curves apart; what does: {', '.join(['source', *known])}"
            )
    if log is None:
        log = "x" if _is_geometric(entries) else ""
    looks = Looks(entries, color)
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(looks.words(entry, panel) if panel else "", []).append(entry)
    across = Axis(AXES.get(x) or _own_label(parts, x), "log" if "x" in log else "linear")
    found = []
    for title, members in groups.items():
        series = series_of(members, looks, log=log, bars=x == "eigenvalue")
        if not any(value == value for one in series for value in one.y):
            raise BadData(f"no value of {quantity.name} is positive; draw it with log=''")
        marks = _marks([e.part for e in members], x, thresholds, members)
        named = sum(bool(one.name) and one.listed for one in (*series, *marks))
        legend: Legend = "best" if named <= _INSIDE else "below"
        up = Axis(quantity.label, "log" if "y" in log else "linear", _range(series, log))
        found.append(Chart(title, across, up, (*marks, *series), legend=legend))
    return found


def _range(series: Sequence[Series], log: str) -> tuple[float | None, float | None] | None:
    """From zero where nothing is negative; points at zero are seen whole."""
    values = [value for one in series for value in one.y if value == value]
    low, high = min(values), max(values)
    if "y" in log or low < 0 or high == 0 or 0.7 * high < low < 0.99 * high:
        return None
    return (-0.03 * high if low < 0.03 * high else 0.0, None)


def _is_geometric(entries: Sequence[Entry]) -> bool:
    """Whether the places of the longest entry grow by factors, over more than a decade."""
    places = max((np.unique(entry.x) for entry in entries), key=len)
    places = places[places > 0]
    if len(places) < 4 or places[-1] < 10 * places[0]:
        return False
    steps, factors = np.diff(places), np.diff(np.log(places))
    return bool(np.std(factors) / np.mean(factors) < np.std(steps) / np.mean(steps))


def _marks(
    parts: Sequence[Part], x: str, given: Thresholds, entries: Sequence[Entry]
) -> list[Series]:
    """Vertical lines at the thresholds that were given and those that curves state."""
    ends = [value for entry in entries for value in entry.x]
    places: dict[str, list[float]] = {}
    for part in {id(part): part for part in parts}.values():
        for name in _MARKS.get(x, ()):
            if name not in part.data:
                continue
            symbol = part.data[name].attrs.get("symbol") or name
            values = np.unique(np.round(part.data[name].values.reshape(-1), 9))
            inside = (values > min(ends)) & (values < 1.5 * max(ends))
            if 0 < inside.sum() <= 4:  # more would be a curve of their own
                places.setdefault(f"${symbol}$", []).extend(values[inside].tolist())
    if isinstance(given, Mapping):
        for name, value in given.items():
            places.setdefault(name, []).extend(np.atleast_1d(value).tolist())
    elif np.size(given):
        places["thresholds" if np.size(given) > 1 else "threshold"] = np.atleast_1d(given).tolist()
    return [
        vline(name, sorted(set(values)), dash=DASHES[(2 + i) % 4])
        for i, (name, values) in enumerate(places.items())
    ]


def _own_label(parts: Sequence[Part], x: str) -> str:
    attrs = next((part.data[x].attrs for part in parts if x in part.data.coords), {})
    words = str(attrs.get("long_name") or x.replace("_", " "))
    return f"{words} [{attrs['units']}]" if attrs.get("units") else words


def _title(parts: Sequence[Part]) -> str:
    """Formula of the target, or its text, if all curves have the same."""
    texts = {str(part.data.attrs.get("target", "")) for part in parts}
    if len(texts) > 1:
        return ""
    formulas = [f"${part.data.attrs['latex']}$" for part in parts if part.data.attrs.get("latex")]
    with contextlib.suppress(BadData):  # a formula beyond the labels' subset of LaTeX
        if formulas and len(plain_text(formulas[0])) <= _LONG:
            return formulas[0]
    text = texts.pop().replace("$", "").replace("\\", "")
    return text if len(text) <= _LONG else f"{text[:_LONG]} …"


def _origin(parts: Sequence[Part], preset: Preset | None) -> dict[str, Any]:
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
    return {"chart": preset.name if preset else "", "sources": sources}
