"""Charts of the lab: the curve of a theory, and all curves of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import BadData
from ..charts import Axis, Chart, Series, color_of, line, points
from .contestants import source_color

if TYPE_CHECKING:
    import xarray as xr

AXES = {
    "alpha": r"samples per dimension $n/d$",
    "time": r"time = samples / $d$",
    "kappa": r"$\log n/\log d$",
}
QUANTITIES = {
    "test_mse": "test error",
    "excess_mse": "error without noise",
    "cosine2": r"squared cosines $\cos^2\theta_k$",
    "recovery": "recovery $R_k$",
}
_DEPTHS = {
    "lazy_excess_mse": ("kernel", "orange"),
    "two_layer_excess_mse": ("two layers", "vermillion"),
    "three_layer_excess_mse": ("three layers", "blue"),
}


def theory_chart(
    target: Any, theory: str, axis: str, places: list[float], values: Mapping[str, float]
) -> Chart:
    """Curve of a theory: its error and what it has found of the target, on one pair of axes."""
    from ..experiments.giant_pair import limit_of_giant_steps
    from ..theory.predict import predict

    if theory == "giant_steps":
        curve = limit_of_giant_steps(target, np.asarray(places))
    else:
        curve = predict(target, theory, on_failure="mark", **{axis: places}, **values)
    series = _theory_series(theory, curve, axis)
    names = {axis: places, **values}
    origin = {"target": repr(target), "theory": theory, "arguments": names}
    highest = max((v for one in series for v in one.y if math.isfinite(v)), default=1.0)
    label, least = "test error", 0.0
    if theory == "giant_steps":
        label, least = "cosine of gradient and target", 1.05
    elif len(series) > 1 and theory != "depth":
        label, least = "error, squared cosines", 1.05
    elif axis == "kappa":
        label = "error without noise"
    up = Axis(label, range=(0.0, max(least, 1.1 * highest) or 1.0))
    return Chart("", Axis(AXES[axis]), up, tuple(series), legend="below", origin=origin)


def _theory_series(theory: str, curve: xr.Dataset, axis: str) -> list[Series]:
    from ..experiments._common_quantities import common_quantities

    x, color = curve[axis].values, color_of(theory)
    if theory == "depth":
        return [
            line(name, x, curve[variable].values, color=hue)
            for variable, (name, hue) in _DEPTHS.items()
            if variable in curve
        ]
    if theory == "giant_steps":
        return [
            line(f"{name} gradient", x, curve.gradient_share.sel(step=t).values, color=hue)
            for t, name, hue in ((1, "first", "sky"), (2, "second", "vermillion"))
        ]
    if theory == "lazy":
        return [line(QUANTITIES["excess_mse"], x, curve.excess_mse.values, color=color)]
    common = common_quantities(curve, axis)
    found = []
    if "test_mse" in common:
        found.append(line(QUANTITIES["test_mse"], x, common.test_mse.values, color=color))
    if "cosine2" in common:
        for place, k in enumerate(common.direction2.values.tolist()):
            dash = ("dash", "dot", "dashdot", "solid")[place % 4]
            y = common.cosine2.sel(direction2=k).values
            found.append(line(rf"$\cos^2\theta_{{{k}}}$", x, y, color="gray", dash=dash))
    return found


def run_chart(parameters: Mapping[str, Any], events: Iterable[Mapping[str, Any]]) -> Chart:
    """All curves of a run: lines are theory, points are simulations."""
    quantity, axis = parameters["quantity"], parameters["axis"]
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
        raise BadData("this run has no numbers to draw yet")
    series.sort(key=lambda one: one.kind == "points")
    top = max(float(np.nanmax(one.y)) for one in series)
    up = Axis(QUANTITIES[quantity], range=(0.0, max(1.05, 1.08 * top)))
    across = Axis(AXES[axis], "log" if axis == "time" else "linear")
    origin = {"parameters": {k: v for k, v in parameters.items() if k != "client"}}
    return Chart("", across, up, tuple(series), legend="below", origin=origin)


def _series(
    label: str, source: str, part: str, seed: int, rows: list[tuple[float, float, float]]
) -> Series:
    x, y, e = (list(column) for column in zip(*rows, strict=True))
    kind, color = source.partition(":")[0], source_color(source)
    if kind == "theory":
        return line(f"{label}, theory{part and ', ' + part}", x, y, color=color)
    return points(f"{label}{part and ', ' + part}, seed {seed}", x, y, e, color=color)
