"""Pictures of a run: all its curves on one pair of axes, and the paths of neurons."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ..base.errors import BadData
from ..charts import AXES, DASHES, MARKERS, WORDS, Axis, Chart, Series, legend_of, line, points
from .contestants import source_color

Events = Iterable[Mapping[str, Any]]
Key = tuple[str, str, int]  # source, direction, seed
Rows = list[tuple[float, float, float]]  # place, value, error
_MOST_POINTS = 32  # points that touch each other hide the line; as on the page
_NAMED = 8  # paths that have room in a legend
_EMPTY = "this run has no numbers to draw yet: wait, or choose another quantity"


def run_chart(
    parameters: Mapping[str, Any], events: Events, *, has_all_points: bool = False
) -> Chart:
    """Curves of one quantity of a run: lines are theory, points are simulations.

    Of several seeds all are drawn, or what ``parameters["shown"]`` says: ``"mean"``, or one of
    them, such as ``"s3"``. In time each seed has a start, and a theory, of its own. Of many points
    some are drawn, unless all are asked for.
    """
    quantity, axis = parameters["quantity"], parameters["axis"]
    shown = parameters.get("shown") or "all"
    if quantity == "overlap":
        return plane_chart(parameters, events)
    joined: dict[Key, Rows] = {}
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
    joined = _of_seeds({key: sorted(rows) for key, rows in joined.items() if rows}, shown, axis)
    if not has_all_points:
        joined = {k: r if k[0].startswith("theory:") else _thinned(r) for k, r in joined.items()}
    series = [
        _series(labels[source], source, name, "mean" if shown == "mean" else f"seed {seed}", rows)
        for (source, name, seed), rows in joined.items()
    ]
    if not series:
        raise BadData(_EMPTY)
    series.sort(key=lambda one: one.kind == "points")
    series += _legend(labels, list(joined), quantity)
    top = max(float(np.nanmax(one.y)) for one in series if one.y)
    is_share = quantity in ("recovery", "cosine2")
    up = Axis(WORDS[quantity], range=(0.0, 1.05 if is_share else 1.08 * top or 1.0))
    across = Axis(AXES[axis], "log" if axis == "time" else "linear")
    return Chart("", across, up, tuple(series), legend="below", origin=_origin(parameters))


def _of_seeds(joined: dict[Key, Rows], shown: str, axis: str) -> dict[Key, Rows]:
    """Curves of one seed, or their means with the spread between the seeds."""
    if shown == "all":
        return joined
    found: dict[Key, Rows] = {}
    groups: dict[tuple[str, str], list[Key]] = {}
    for key in joined:
        source, name, seed = key
        if axis != "time" and source.startswith("theory:"):  # it knows of no seed
            found[key] = joined[key]
        elif shown == "mean":
            groups.setdefault((source, name), []).append(key)
        elif shown == f"s{seed}":
            found[key] = joined[key]
    for (source, name), keys in groups.items():
        at: dict[float, list[float]] = {}
        for x, y, _ in itertools.chain.from_iterable(joined[key] for key in keys):
            at.setdefault(x, []).append(y)
        means = [(x, float(np.mean(ys)), _spread(ys)) for x, ys in sorted(at.items())]
        found[source, name, keys[0][2]] = means
    return found


def _thinned(rows: Rows) -> Rows:
    if len(rows) <= _MOST_POINTS:
        return rows
    return [rows[int(i)] for i in np.linspace(0.5, len(rows) - 0.5, _MOST_POINTS)]


def _spread(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _origin(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {"parameters": {key: value for key, value in parameters.items() if key != "client"}}


def _series(label: str, source: str, part: str, which: str, rows: Rows) -> Series:
    x, y, e = (list(column) for column in zip(*rows, strict=True))
    kind, color = source.partition(":")[0], source_color(source)
    place = int(part.removeprefix("z") or 1) - 1  # which direction
    if kind == "theory":
        name = f"{label}, theory{part and ', ' + part}"
        found = line(name, x, y, color=color, dash=DASHES[place % len(DASHES)])
    else:
        name = f"{label}{part and ', ' + part}, {which}"
        marker = MARKERS[place % len(MARKERS)]
        found = points(name, x, y, e, color=color, marker=marker, size=4)
    return replace(found, listed=False)


def _legend(labels: Mapping[str, str], keys: list[Key], quantity: str) -> list[Series]:
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
