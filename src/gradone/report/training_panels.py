"""Pictures that algorithms have of their own: recoveries, gradients, plateaus."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..charts import Axis, Chart, Series, legend_of, line, ordered_colors, points
from ..experiments.places import merged
from .panel import MARKERS, Panel, from_zero

if TYPE_CHECKING:
    import xarray as xr

    from ..algorithms import Algorithm
    from .study import Study

_FIRST_TIME = 0.1  # before it neurons have seen d/10 samples and know nothing


def pictured(study: Study, card: Algorithm) -> Panel | None:
    """The picture of its own that an algorithm has; None without a curve."""
    picture = card.picture
    assert picture is not None
    theory, runs = study.answer(f"{card.name} theory"), study.answers(f"{card.name} run")
    missing = [
        (f"{card.label}, {face}", reason)
        for face, task in (("simulation", "run"), ("theory", "theory"))
        if (reason := study.why_not(f"{card.name} {task}"))
    ]
    if theory is None and not runs:
        return None
    chart = _CHARTS[picture.kind](card, theory, runs)
    notes = [str(run.attrs["notes"]) for run in runs[:1] if run.attrs.get("notes")]
    section = _SECTIONS.get(picture.kind, "Training in time")
    text = " ".join([picture.text, *notes])
    return Panel(picture.title, chart, text, tuple(missing), section)


_SECTIONS = {"plateau": "Without feature learning"}


def _recovery(axis: str, theory: Any, runs: list[xr.Dataset]) -> Chart:
    """Recovery of the directions along time or steps."""
    series: list[Series] = []
    for one, is_theory in ((theory, True), *((run, False) for run in runs)):
        if one is not None:
            along = one.squeeze("alpha") if "alpha" in one.dims else one
            series += _recoveries(along, axis, is_theory)
    across = _time_axis(series) if axis == "time" else Axis("steps")
    return Chart(
        "", across, Axis("recovery $R_k$", range=(0.0, 1.05)), tuple(series), legend="below"
    )


def _gradients(card: Any, theory: Any, runs: list[xr.Dataset]) -> Chart:
    """How the gradients of steps lie to the hidden directions."""
    series: list[Series] = []
    shares = None if theory is None else card.shares(theory)
    run = merged(runs, "batch_ratio") if runs else None
    colors = {"first gradient": "sky", "second gradient": card.color}
    for t, (name, color) in enumerate(colors.items(), start=1):
        if shares is not None:
            one = shares.sel(step=t)
            share = one.gradient_share
            series.append(line(f"{name}, theory", one.batch_ratio, share, color=color))
        if run is not None:
            one, look = run.sel(step=t), {"color": color, "marker": MARKERS[t - 1]}
            found = (one.batch_ratio, one.gradient_share, one.gradient_share_err)
            series.append(points(f"{name}, simulation", *found, **look))
    across = from_zero("samples of each step, per dimension", "x", series)
    series = [replace(one, listed=False) for one in series]
    faces = [True] * (shares is not None) + [False] * (run is not None)
    series += legend_of(colors, {}, set(faces))
    up = Axis("cosine with the target", range=(0.0, 1.05))
    return Chart("", across, up, tuple(series), legend="below")


def _plateaus(card: Algorithm, theory: Any, runs: list[xr.Dataset]) -> Chart:
    """Error against log n / log d."""
    series: list[Series] = []
    if theory is not None:
        x, y = theory.kappa.values, theory.excess_mse.values
        series.append(line("theory, d → ∞", x, y, color=card.color))
    if runs:
        run = merged(runs, "kappa")
        name = f"simulation, d = {json.loads(run.attrs['params'])['d']}"
        found = (run.kappa, run.excess_mse, run.excess_mse_err)
        series.append(points(name, *found, color=card.color))
    up = from_zero("error without noise", "y", series)
    return Chart("", Axis(r"$\log n/\log d$"), up, tuple(series), legend="below")


_CHARTS: dict[str, Callable[[Any, Any, list[xr.Dataset]], Chart]] = {
    "time": lambda card, theory, runs: _recovery("time", theory, runs),
    "step": lambda card, theory, runs: _recovery("step", theory, runs),
    "gradient": _gradients,
    "plateau": _plateaus,
}


def _time_axis(series: list[Series]) -> Axis:
    """Logarithmic axis with a mark at each power of ten."""
    times = [x for one in series for x in one.x]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    ticks = tuple((10.0**k, f"$10^{{{k}}}$") for k in range(low, high + 1))
    return Axis("time = steps / d", "log", (min(times) / 1.2, max(times) * 1.2), ticks)


def _recoveries(curve: xr.Dataset, axis: str, is_theory: bool) -> list[Series]:
    """Recovery of each direction along the time of training."""
    from ..base.replicates import mean_over_replicates

    mean = mean_over_replicates(curve)
    x = np.asarray(mean[axis].values, float)
    keep = x >= _FIRST_TIME if axis == "time" else x >= 0
    if not is_theory and keep.sum() > 24:  # points that touch each other hide the line
        keep &= np.isin(np.arange(len(x)), np.linspace(0, len(x) - 1, 24).round().astype(int))
    count = mean.sizes["direction"]
    colors = ("#0072B2",) if count == 1 else ordered_colors(count + 1)[:count]
    found = []
    for color, k in zip(colors, mean.direction.values.tolist(), strict=True):
        y = mean.recovery.sel(direction=k).values[keep]
        e = np.nan_to_num(mean.recovery_err.sel(direction=k).values[keep])
        if is_theory:
            found.append(line(f"$z_{{{k}}}$, theory", x[keep], y, color=color))
        else:
            found.append(points(f"$z_{{{k}}}$, simulation", x[keep], y, e, color=color))
    return found
