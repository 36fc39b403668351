"""Pictures of the comparison: theories as lines, simulations as points, on one axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..charts import Axis, Chart, Series, color_of, hline, line, points, vline
from .panel import MARKERS, Panel, from_zero

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


def errors(study: Study) -> Panel:
    """Test errors against n/d."""
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
        "The mean squared error on fresh samples. Lines are theory in the limit of large "
        "dimension, "
        f"points are simulations in d = {study.d} with standard errors. Random features have width "
        "2 d and ridge 1; the giant step uses half of the samples, and its readout the other half."
    )
    return Panel("Test error", chart, text, _missing(study))


def overlaps(study: Study) -> Panel:
    """Squared cosines with the hidden directions against n/d."""
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
        "The squared cosines between the found and the hidden directions, the largest on top. A "
        "direction stays at zero until its stage opens; in a finite dimension the step is rounded."
    )
    missing = _missing(study, (*wanted, "theory:bayes_amp", "simulation:bayes_amp"))
    if reason := study.why_not("thresholds"):
        missing = (*missing, ("thresholds of state evolution", reason))
    return Panel("Directions found", chart, text, missing)


def depth(study: Study) -> Panel:
    """Errors of kernels and networks against log n / log d, at finite d."""
    comparison = study.comparison
    series = _compared(comparison, "excess_mse")
    chart = _chart(comparison, series, "error without noise", study)
    text = (
        f"Errors in d = {study.d}: lines are the theory at this dimension, points are simulations. "
        "The three layers are trained one after the other, the giant step is a network of two "
        "layers, and the kernel has a frozen first layer."
    )
    return Panel("The effect of depth", chart, text, _missing(study))


def depth_limit(study: Study) -> Panel:
    """Error plateaus against log n / log d, in the limit of large d."""
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
            if step.kappa >= _LAST_KAPPA:
                break
            place, height = float(step.kappa), float(step.error.value)
            x, y = [*x, place, place], [*y, y[-1] if len(x) > 1 else height, height]
        y[0] = y[1]
        series.append(line(name, [*x, _LAST_KAPPA], [*y, y[-1]], color=color, dash=dash))
    up = from_zero("error without noise", "y", series)
    across = Axis(r"$\log n/\log d$", range=(0.0, _LAST_KAPPA))
    text = (
        "In the limit of large d the error falls where the samples suffice for the next level. "
        "Each kind of network has a staircase of its own."
    )
    chart = Chart("", across, up, tuple(series), legend="below")
    return Panel("Plateaus in the limit", chart, text)


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
                look = {"color": color, "marker": MARKERS[place % 4]}
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
    across = from_zero(name, "x", series) if axis == "alpha" else Axis(name)
    up = Axis(label, range=(0.0, top)) if top else from_zero(label, "y", series)
    return Chart("", across, up, tuple(series), legend="below")


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
