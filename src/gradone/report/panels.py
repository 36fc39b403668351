"""The pictures of a study: charts where there are numbers, reasons where there are none."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..charts import Axis, Chart, Series, bar, color_of, hline, line, ordered_colors, points, vline

if TYPE_CHECKING:
    import xarray as xr

    from .study import Study

_NAMES = {
    "theory:bayes_amp": "Bayes-AMP, theory",
    "simulation:bayes_amp": "Bayes-AMP, simulation",
    "theory:bayes_optimal": "Bayes-optimal, theory",
    "theory:random_features": "random features, theory",
    "simulation:random_features": "random features, simulation",
    "theory:one_step": "one giant step, theory",
    "simulation:giant_step": "giant step, simulation",
    "simulation:dot_kernel_ridge": "kernel, simulation",
    "simulation:layerwise": "three layers, simulation",
    "theory:lazy": "kernel, theory",
    "theory:two_layers": "two layers, theory",
    "theory:three_layers": "three layers, theory",
    "theory:depth": "theory of depth",
}
_COLORS = {
    "simulation:layerwise": "blue",
    "theory:three_layers": "blue",
    "theory:two_layers": "vermillion",
    "theory:lazy": "orange",
    "simulation:giant_step": "vermillion",
}
_LAST_KAPPA = 4.0
_ENOUGH = 12  # points of a theory that a line may join
_FIRST_TIME = 0.1  # before it neurons have seen d/10 samples and know nothing
_MARKERS = ("circle", "square", "triangle", "diamond")


@dataclass(frozen=True)
class Panel:
    """One picture of a report.

    Parameters
    ----------
    title : str
        What it is about.
    chart : Chart, optional
        The picture; None if there is nothing to draw.
    text : str
        What to see.
    missing : tuple of (str, str)
        Curves that are not there, and why.
    """

    title: str
    chart: Chart | None
    text: str = ""
    missing: tuple[tuple[str, str], ...] = field(default=())


def panels(study: Study) -> list[Panel]:
    """All pictures of a study, in reading order."""
    if study.axis == "kappa":
        return [_depth(study), _depth_limit(study)]
    return [
        _errors(study),
        _overlaps(study),
        _one_pass(study),
        _reuse(study),
        _giant(study),
        _lazy(study),
    ]


# ---- the target itself


def energies(study: Study) -> Chart | None:
    """Energy per Hermite degree."""
    facts = study.answer("facts")
    if facts is None or not facts.energies:
        return None
    values = [max(energy.value, 0.0) for energy in facts.energies]
    degrees = list(range(len(values)))
    ticks = [(float(k), str(k)) for k in degrees]
    series = [bar("", degrees, values, color="blue")]
    if facts.tail is not None:
        beyond = len(values) + 0.5
        series.append(bar("", [beyond], [max(facts.tail.value, 0.0)], color="gray"))
        ticks.append((beyond, f"$>{degrees[-1]}$"))
    across = Axis("degree $k$", ticks=tuple(ticks))
    up = _from_zero("energy", "y", series)
    return Chart("", across, up, tuple(series), legend="none")


def labels(study: Study) -> Chart | None:
    """Distribution of the labels."""
    facts = study.answer("facts")
    if facts is None:
        return None
    found = facts.labels
    if found.is_discrete:
        places = [value for value, _ in found.atoms]
        heights = [share.value for _, share in found.atoms]
        ticks = tuple((value, f"{value:.3g}") for value in places) if len(places) < 10 else None
        one = bar("", places, heights, color="green", width=0.5)
        up = _from_zero("probability", "y", [one])
        return Chart("", Axis("label $y$", ticks=ticks), up, (one,), legend="none")
    edges = np.asarray(found.edges, float)
    middles, widths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    heights = np.asarray(found.shares, float) / widths
    one = bar("", middles, heights, color="green", width=1.0)
    up = _from_zero("density", "y", [one])
    return Chart("", Axis("label $y$"), up, (one,), legend="none")


# ---- multi-index targets


def _errors(study: Study) -> Panel:
    comparison = study.comparison
    series = _compared(comparison, "test_mse")
    facts = study.answer("facts")
    if series and facts is not None and facts.variance is not None:
        top = facts.variance.value + study.target.noise
        series.append(hline("predicting the mean", [top], color="gray", dash="dot"))
    if series and study.target.noise:
        series.append(hline("label noise", [study.target.noise], color="gray", dash="dash"))
    chart = _chart(comparison, series, r"test error $\mathbb{E}(y-\hat f)^2$", study)
    text = (
        "Mean squared error on fresh samples: lines are theory in the limit of many dimensions, "
        f"points are simulations in d = {study.d} with standard errors. Random features have width "
        "2 d and ridge 1; the giant step uses half of the samples, its readout the others."
    )
    return Panel("Test error", chart, text, _missing(study))


def _overlaps(study: Study) -> Panel:
    comparison = study.comparison
    wanted = [
        str(name)
        for name in comparison.source.values
        if str(name).endswith((":bayes_amp", ":bayes_optimal", ":giant_step"))
    ]
    series = _compared(comparison.sel(source=wanted), "cosine2") if wanted else []
    opened = study.answer("thresholds")
    if series and opened:
        places = [s.threshold.value for s in opened if 0 < s.threshold.value < math.inf]
        if places:
            series.append(vline("thresholds of AMP", places, color="gray", dash="dash"))
    chart = _chart(comparison, series, r"squared cosines $\cos^2\theta_k$", study, top=1.05)
    text = (
        "Squared cosines between the found and the hidden directions, the largest above. A "
        "direction stays at zero until its stage opens; in a finite dimension the step is rounded."
    )
    missing = _missing(study, (*wanted, "theory:bayes_amp", "simulation:bayes_amp"))
    if reason := study.why_not("thresholds"):
        missing = (*missing, ("thresholds of state evolution", reason))
    return Panel("Directions found", chart, text, missing)


def _one_pass(study: Study) -> Panel:
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
        "Two ReLU neurons, each sample seen once: the part of each hidden direction in the span of "
        "the neurons. The simulation is exact in law, the line is the flow in the limit of large "
        f"d; both start from the same overlaps of about 3/√d. {note}"
    )
    return Panel("One pass of SGD", chart, text.strip(), tuple(missing))


def _reuse(study: Study) -> Panel:
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
        "The same n = 4 d samples at every step: from the second one on the network sees functions "
        f"of the labels that it has made itself. Line: dynamical mean field. {note}"
    )
    return Panel("Samples seen again", chart, text.strip(), tuple(missing))


def _giant(study: Study) -> Panel:
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
            marker = _MARKERS[t - 1]
            series.append(points(f"{name}, simulation", x, y, yerr, color=color, marker=marker))
    up = Axis("cosine with the target", range=(0.0, 1.05))
    across = _from_zero("samples of each step, per dimension", "x", series)
    chart = Chart("", across, up, tuple(series), legend="below") if series else None
    text = (
        "How much of the gradient of a neuron lies in the hidden directions, at the first giant "
        "step and at the second: the staircase of the target decides what the second one adds."
    )
    return Panel("Giant gradient steps", chart, text, tuple(missing))


def _lazy(study: Study) -> Panel:
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
    up = _from_zero("error without noise", "y", series)
    chart = Chart("", Axis(r"$\log n/\log d$"), up, tuple(series), legend="below")
    text = (
        "A kernel, or a network whose first layer is frozen, learns one degree after the other: "
        "degree k from n of order d^k. In a dimension as small as 30 the steps are round, and "
        "fluctuations of the norm of the inputs add to the error."
    )
    return Panel("Without feature learning", chart if series else None, text, tuple(missing))


# ---- hierarchical targets


def _depth(study: Study) -> Panel:
    comparison = study.comparison
    series = _compared(comparison, "excess_mse")
    chart = _chart(comparison, series, "error without noise", study)
    text = (
        f"Errors in d = {study.d}: lines are the theory at this dimension, points are simulations. "
        "Three layers are trained one after the other, the giant step is a network of two, the "
        "kernel has a frozen first layer."
    )
    return Panel("What depth brings", chart, text, _missing(study))


def _depth_limit(study: Study) -> Panel:
    analysis = study.analysis
    if analysis is None:
        return Panel("Plateaus in the limit", None, "", (("plateaus", study.why_not("analysis")),))
    kinds = {
        "lazy": ("kernel", "orange", "solid"),
        "two_layer": ("two layers", "vermillion", "solid"),
        "three_layer": ("three layers", "blue", "solid"),
        "deep": ("a layer per level", "green", "dash"),
    }
    series = []
    for key, (name, color, dash) in kinds.items():
        x, y = [0.0], [float("nan")]
        for step in analysis.plateaus[key]:
            place, height = float(step.kappa), float(step.error.value)
            x, y = [*x, place, place], [*y, y[-1] if len(x) > 1 else height, height]
        y[0] = y[1]
        series.append(line(name, [*x, _LAST_KAPPA], [*y, y[-1]], color=color, dash=dash))
    up = _from_zero("error without noise", "y", series)
    across = Axis(r"$\log n/\log d$", range=(0.0, _LAST_KAPPA))
    text = (
        "The limit of large d: the error falls where the samples suffice for the next level. Each "
        "kind of network has a staircase of its own."
    )
    chart = Chart("", across, up, tuple(series), legend="below")
    return Panel("Plateaus in the limit", chart, text)


# ---- parts


def _time_axis(series: list[Series]) -> Axis:
    """Logarithmic axis with a mark at each power of ten."""
    times = [x for one in series for x in one.x]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    ticks = tuple((10.0**k, f"$10^{{{k}}}$") for k in range(low, high + 1))
    return Axis("time = steps / d", "log", (min(times) / 1.2, max(times) * 1.2), ticks)


def _compared(comparison: xr.Dataset, variable: str) -> list[Series]:
    """Lines of theories and points of simulations, in the colors of the algorithms."""
    found: list[Series] = []
    if variable not in comparison:
        return found
    axis = "kappa" if "kappa" in comparison.dims else "alpha"
    for source in map(str, comparison.source.values):
        part = comparison.sel(source=source)
        values, errors = part[variable], part[f"{variable}_err"]
        parts = [(values, errors)]
        if "direction2" in values.dims:
            parts = [
                (values.sel(direction2=k), errors.sel(direction2=k))
                for k in values.direction2.values.tolist()
            ]
        # The largest cosine is the upper one: a single entry of the legend is enough.
        names = [_NAMES.get(source, source.replace("_", " ")), *[""] * len(parts)]
        color = _COLORS.get(source, color_of(source))
        is_whole = str(part.outcome.item()) == "done"
        for place, (name, (value, error)) in enumerate(zip(names, parts, strict=False)):
            y = value.values
            known = np.isfinite(y)
            if not known.any():
                continue
            x, e = part[axis].values[known], np.nan_to_num(error.values[known])
            if not source.startswith("theory:"):
                look = {"color": color, "marker": _MARKERS[place % 4]}
                found.append(points(name, x, y[known], e, **look))
            elif is_whole or known.sum() > _ENOUGH:
                dash = ("solid", "dash", "dot", "dashdot")[place % 4]
                found.append(line(name, x, y[known], color=color, dash=dash))
            else:  # a line through a few points would invent what lies between
                found.append(points(name, x, y[known], color=color, marker="plus", size=6))
    return sorted(found, key=lambda one: one.kind == "points")


def _chart(
    comparison: xr.Dataset,
    series: list[Series],
    label: str,
    study: Study,
    *,
    top: float | None = None,
) -> Chart | None:
    if not series:
        return None
    axis = "kappa" if "kappa" in comparison.dims else "alpha"
    name = {"alpha": r"samples per dimension $n/d$", "kappa": r"$\log n/\log d$"}[axis]
    across = _from_zero(name, "x", series) if axis == "alpha" else Axis(name)
    up = Axis(label, range=(0.0, top)) if top else _from_zero(label, "y", series)
    return Chart("", across, up, tuple(series), legend="below")


def _from_zero(label: str, side: str, series: list[Series]) -> Axis:
    """Axis from zero to a little beyond the largest value."""
    values = [value for one in series for value in getattr(one, side) if math.isfinite(value)]
    return Axis(label, range=(0.0, 1.08 * max(values, default=1.0) or 1.0))


def _missing(study: Study, sources: tuple[str, ...] | None = None) -> tuple[tuple[str, str], ...]:
    """Curves of the comparison that are absent, failed or incomplete, and why."""
    comparison = study.comparison
    ends = zip(comparison.source.values.tolist(), comparison.outcome.values.tolist(), strict=True)
    found = {**study.absent, **{source: end for source, end in ends if end != "done"}}
    if not comparison.source.size and not found:
        found = {"all curves": study.why_not("verdicts") or "not begun within the budget"}
    return tuple(
        (_NAMES.get(source, source.replace("_", " ")), reason)
        for source, reason in found.items()
        if sources is None or source in sources
    )


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
