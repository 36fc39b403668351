"""Pictures of a run: all its curves on one pair of axes, and the paths of neurons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ..base.errors import BadData
from ..charts import AXES, DASHES, MARKERS, WORDS, Axis, Chart, Series, legend_of, line, points
from .contestants import source_color

Events = Iterable[Mapping[str, Any]]
_MANY = 40
_NAMED = 8  # paths that have room in a legend
_EMPTY = "this run has no numbers to draw yet: wait, or choose another quantity"


def run_chart(parameters: Mapping[str, Any], events: Events) -> Chart:
    """All curves of one quantity of a run: lines are theory, points are simulations."""
    quantity, axis = parameters["quantity"], parameters["axis"]
    if quantity == "overlap":
        return plane_chart(parameters, events)
    joined: dict[tuple[str, str, int], list[tuple[float, float, float]]] = {}
    labels: dict[str, str] = {}
    for event in events:
        if event["kind"] != "curve":
            continue
        labels[event["source"]] = event["label"]
        for part in event["parts"]:
            if part["quantity"] == quantity:
                key = (event["source"], part["name"], event["seed"])
                rows = zip(part["x"], part["y"], part["error"], strict=True)
                known = [(x, y, e or 0.0) for x, y, e in rows if y is not None]
                joined.setdefault(key, []).extend(known)
    series = [
        _series(labels[source], source, name, seed, sorted(rows))
        for (source, name, seed), rows in joined.items()
        if rows
    ]
    if not series:
        raise BadData(_EMPTY)
    series.sort(key=lambda one: one.kind == "points")
    series += _legend(labels, [key for key, rows in joined.items() if rows], quantity)
    top = max(float(np.nanmax(one.y)) for one in series if one.y)
    is_share = quantity in ("recovery", "cosine2")
    up = Axis(WORDS[quantity], range=(0.0, 1.05 if is_share else 1.08 * top or 1.0))
    across = Axis(AXES[axis], "log" if axis == "time" else "linear")
    return Chart("", across, up, tuple(series), legend="below", origin=_origin(parameters))


def _origin(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {"parameters": {key: value for key, value in parameters.items() if key != "client"}}


def _series(
    label: str, source: str, part: str, seed: int, rows: list[tuple[float, float, float]]
) -> Series:
    x, y, e = (list(column) for column in zip(*rows, strict=True))
    kind, color = source.partition(":")[0], source_color(source)
    place = int(part.removeprefix("z") or 1) - 1  # which direction
    if kind == "theory":
        name = f"{label}, theory{part and ', ' + part}"
        found = line(name, x, y, color=color, dash=DASHES[place % len(DASHES)])
    else:
        # Many points, as those of a training, would hide the line if they were large.
        look: Any = {"marker": MARKERS[place % len(MARKERS)], "size": 2 if len(x) > _MANY else 4}
        name = f"{label}{part and ', ' + part}, seed {seed}"
        found = points(name, x, y, e, color=color, **look)
    return replace(found, listed=False)


def _legend(
    labels: Mapping[str, str], keys: list[tuple[str, str, int]], quantity: str
) -> list[Series]:
    """What the page names: algorithms by their colors, directions in gray, theory and runs."""
    colors = {labels[source]: source_color(source) for source, _, _ in keys}
    sign = r"\cos^2\theta" if quantity == "cosine2" else "z"
    numbers = sorted({int(part.removeprefix("z")) for _, part, _ in keys if part})
    shapes = {f"${sign}_{{{k}}}$": k - 1 for k in numbers}
    faces = {source.startswith("theory:") for source, _, _ in keys}
    if len(colors) == 1:  # alone, its name is all that the legend says
        return [line(name, (), (), color=color) for name, color in colors.items()] + legend_of(
            {}, shapes, faces
        )
    return legend_of(colors, shapes, faces)


def plane_chart(parameters: Mapping[str, Any], events: Events) -> Chart:
    """Paths of the neurons of a run in the plane of the first two hidden directions.

    With one direction, the other axis is the length of the part outside the target.
    """
    series = []
    is_flat = True
    for event in events:
        if event["kind"] != "curve" or "neurons" not in event:
            continue
        kind, color = event["source"].partition(":")[0], source_color(event["source"])
        found = event["neurons"]
        for number, path in enumerate(found["overlap"], start=1):
            is_flat = len(path[0]) > 1
            x = [row[0] for row in path]
            y = [row[1] for row in path] if is_flat else found["outside"][number - 1]
            name = f"{event['label']}, {kind}, seed {event['seed']}, neuron {number}"
            dash = "dot" if kind == "theory" else "solid"
            series.append(line(name, x, y, color=color, dash=dash))
    if not series:
        raise BadData(_EMPTY)
    other = "overlap with the second direction" if is_flat else "length outside the target"
    across, up = Axis("overlap with the first direction"), Axis(other)
    legend: Literal["below", "none"] = "below" if len(series) <= _NAMED else "none"
    return Chart("", across, up, tuple(series), legend=legend, origin=_origin(parameters))
