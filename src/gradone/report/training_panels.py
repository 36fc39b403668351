"""Pictures of training: one pass, samples seen again, giant steps, and a frozen first layer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..charts import Axis, Chart, Series, line, ordered_colors, points
from .panel import MARKERS, Panel, from_zero

if TYPE_CHECKING:
    import xarray as xr

    from .study import Study

_FIRST_TIME = 0.1  # before it neurons have seen d/10 samples and know nothing


def one_pass(study: Study) -> Panel:
    """Recovery of the directions while each sample is seen once."""
    run, flow = study.answer("sgd"), study.answer("flow")
    series, missing = [], []
    if run is None:
        missing.append(("SGD, simulation", study.why_not("sgd")))
    if flow is None and run is not None:
        missing.append(("SGD, theory (flow)", study.why_not("flow")))
    for one, is_theory in ((flow, True), (run, False)):
        if one is not None:
            series += _recoveries(one, "time", is_theory)
    note = str(run.attrs.get("notes", "")) if run is not None else ""
    chart = (
        Chart(
            "",
            _time_axis(series),
            Axis("recovery $R_k$", range=(0.0, 1.05)),
            tuple(series),
            legend="below",
        )
        if series
        else None
    )
    text = (
        "Two ReLU neurons see each sample once. The curves show the part of each hidden direction "
        "that lies in the span of the neurons. The simulation is exact in law, and the line is the "
        f"flow in the limit of large d; both start from the same overlaps of about 3/√d. {note}"
    )
    return Panel("One pass of SGD", chart, text.strip(), tuple(missing))


def reuse(study: Study) -> Panel:
    """Recovery of the directions while the same samples are seen at each step."""
    run, theory = study.answer("reuse"), study.answer("reuse theory")
    missing, series = [], []
    if run is None:
        missing.append(("gradient descent, simulation", study.why_not("reuse")))
    if theory is None and run is not None:
        missing.append(("gradient descent, theory", study.why_not("reuse theory")))
    if theory is not None:
        theory = _with_recovery(theory.squeeze("alpha"))
    for one, is_theory in ((theory, True), (run, False)):
        if one is not None:
            series += _recoveries(one, "step", is_theory)
    note = str(run.attrs.get("notes", "")) if run is not None else ""
    up = Axis("recovery $R_k$", range=(0.0, 1.05))
    chart = Chart("", Axis("steps"), up, tuple(series), legend="below") if series else None
    text = (
        "Every step uses the same n = 4 d samples. From the second step on the network sees "
        "functions of the labels that it has made itself. The line is dynamical mean-field theory. "
        f"{note}"
    )
    return Panel("Samples seen again", chart, text.strip(), tuple(missing))


def giant(study: Study) -> Panel:
    """How the gradients of giant steps lie to the hidden directions."""
    theory, runs = study.answer("giant theory"), study.answers("giant")
    series: list[Series] = []
    missing = []
    if theory is None:
        missing.append(("giant steps, theory", study.why_not("giant theory")))
    if reason := study.why_not("giant"):
        missing.append(("giant steps, simulation", reason))
    for t, color in zip((1, 2), ("sky", "vermillion"), strict=True):
        name = "first gradient" if t == 1 else "second gradient"
        if theory is not None:
            one = theory.sel(step=t)
            series.append(line(f"{name}, theory", one.alpha, one.gradient_share, color=color))
        if runs:
            ordered = sorted(runs, key=lambda run: float(run.alpha[0]))
            x = [float(run.alpha[0]) for run in ordered]
            y = [float(run.gradient_share.sel(step=t)[0]) for run in ordered]
            yerr = [float(run.gradient_share_err.sel(step=t)[0]) for run in ordered]
            marker = MARKERS[t - 1]
            series.append(points(f"{name}, simulation", x, y, yerr, color=color, marker=marker))
    up = Axis("cosine with the target", range=(0.0, 1.05))
    across = from_zero("samples of each step, per dimension", "x", series)
    chart = Chart("", across, up, tuple(series), legend="below") if series else None
    text = (
        "The curves show how much of the gradient of a neuron lies in the hidden directions, at "
        "the first giant step and at the second. The staircase of the target decides what the "
        "second step adds."
    )
    return Panel("Giant gradient steps", chart, text, tuple(missing))


def lazy(study: Study) -> Panel:
    """Error of a kernel against log n / log d."""
    limit, runs = study.answer("lazy"), study.answers("kernel")
    series: list[Series] = []
    missing = []
    if limit is None:
        missing.append(("kernel, theory", study.why_not("lazy")))
    else:
        x, y = limit.kappa.values, limit.excess_mse.values
        series.append(line("theory, d → ∞", x, y, color="orange"))
    if reason := study.why_not("kernel"):
        missing.append(("kernel, simulation", reason))
    if runs:
        ordered = sorted(runs, key=lambda run: float(run.kappa))
        mean = [run.excess_mse.mean("replicate").item() for run in ordered]
        error = [run.excess_mse.std("replicate", ddof=1).item() / 2**0.5 for run in ordered]
        x = [float(run.kappa) for run in ordered]
        series.append(points("simulation, d = 30", x, mean, error, color="orange"))
    up = from_zero("error without noise", "y", series)
    chart = Chart("", Axis(r"$\log n/\log d$"), up, tuple(series), legend="below")
    text = (
        "A kernel, or a network whose first layer is frozen, learns one degree after the other, "
        "and degree k takes n of order d^k samples. In a dimension as small as 30 the steps are "
        "rounded, and fluctuations of the norm of the inputs add to the error."
    )
    return Panel("Without feature learning", chart if series else None, text, tuple(missing))


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


def _with_recovery(curve: xr.Dataset) -> Any:
    """Curve with the recovery of each direction, from overlaps and norms."""
    M = curve["overlap"].transpose("step", "neuron", "direction").values
    Q = curve["norm"].transpose("step", "neuron", "neuron2").values
    squares = np.einsum("sjk,sjl,slk->sk", M, np.linalg.pinv(Q, hermitian=True), M)
    value = np.sqrt(np.clip(squares, 0.0, 1.0))
    dims = ("step", "direction")
    return curve.assign(recovery=(dims, value), recovery_err=(dims, np.zeros_like(value)))
