"""Pictures of the comparison: theories as lines, simulations as points, on one axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..algorithms import ALGORITHMS, all_cards, look_of
from ..base.curves import joined
from ..base.errors import BadData
from ..charts import DASHES, Axis, Chart, Series, draw, hline, line, vline
from ..experiments.places import known_places, openings
from .panel import Panel, from_zero
from .words import how_to_get

if TYPE_CHECKING:
    import xarray as xr

    from .study import Study

_LAST_KAPPA = 4.0  # at least; the first step is seen


def errors(study: Study) -> Panel | None:
    """Test errors against n/d."""
    comparison = study.comparison
    series = _compared(comparison, "test_mse")
    facts = study.facts
    if series and facts is not None and facts.variance is not None:
        top = facts.variance.value + study.target.noise
        series.append(hline("predicting the mean", [top], color="gray", dash="dot"))
    if series and study.target.noise:
        series.append(hline("label noise", [study.target.noise], color="gray", dash="dash"))
    chart = _chart(comparison, series, r"test error $\mathbb{E}(y-\hat f)^2$", study)
    text = (
        "The mean squared error on fresh samples. Lines are theory in the limit of large "
        "dimension, "
        f"points are simulations in d = {study.d} with standard errors. {_how(comparison)}"
    )
    return None if chart is None else Panel("Test error", chart, text, _missing(study))


def overlaps(study: Study) -> Panel | None:
    """Squared cosines with the hidden directions against n/d."""
    comparison = study.comparison
    series = _compared(comparison, "cosine2")
    stages = openings(study.analysis).items() if series else ()
    for (words, places), dash in zip(stages, (DASHES[3], DASHES[2]), strict=False):
        series.append(vline(words, places, color="gray", dash=dash))
    chart = _chart(comparison, series, r"squared cosines $\cos^2\theta_k$", study, top=1.05)
    text = (
        "The squared cosines between the found and the hidden directions, the largest on top. A "
        "direction stays at zero until its stage opens; in a finite dimension the step is rounded."
    )
    return (
        None
        if chart is None
        else Panel("Directions found", chart, text, _missing(study, "cosine2"))
    )


def depth(study: Study) -> Panel | None:
    """Errors of kernels and networks against log n / log d, at finite d."""
    comparison = study.comparison
    series = _compared(comparison, "excess_mse")
    chart = _chart(comparison, series, "error without noise", study)
    text = (
        f"Errors in d = {study.d}: lines are the theory at this dimension, points are simulations. "
        + _how(comparison)
    )
    return None if chart is None else Panel("The effect of depth", chart, text, _missing(study))


def depth_limit(study: Study) -> Panel | None:
    """Error plateaus against log n / log d, in the limit of large d."""
    analysis = study.analysis
    if analysis is None:
        return None
    cards = {network: card for card in all_cards() for network in getattr(card, "networks", ())}
    kappas = [step.kappa for steps in analysis.plateaus.values() for step in steps]
    first = min((kappa for kappa in kappas if kappa > 0), default=math.inf)
    last = max(_LAST_KAPPA, 1.0 + first) if math.isfinite(first) else _LAST_KAPPA
    series = []
    for key in analysis.plateaus:
        card = cards[key]
        is_main = key == card.networks[0]
        name, dash = (card.label, "solid") if is_main else (f"{card.label} and more", "dash")
        color = card.color
        x, y = [0.0], [float("nan")]
        for step in analysis.plateaus[key]:
            if step.kappa >= last:
                break
            place, height = float(step.kappa), float(step.error.value)
            x, y = [*x, place, place], [*y, y[-1] if len(x) > 1 else height, height]
        y[0] = y[1]
        series.append(line(name, [*x, last], [*y, y[-1]], color=color, dash=dash))
    up = from_zero("error without noise", "y", series)
    across = Axis(r"$\log n/\log d$", range=(0.0, last))
    text = (
        "In the limit of large d the error falls where the samples suffice for the next level. "
        "Each kind of network has a staircase of its own."
    )
    chart = Chart("", across, up, tuple(series), legend="below")
    return Panel("Plateaus in the limit", chart, text)


def _compared(comparison: xr.Dataset, variable: str) -> list[Series]:
    """Lines of theories and points of simulations, in the colors of the algorithms."""
    whole = comparison.drop_vars("outcome", errors="ignore")  # coarse curves are lines here
    try:
        return list(draw(whole, y=variable, title="").panels[0].series)
    except BadData:  # no source has a number of it yet
        return []


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


def _missing(study: Study, variable: str = "") -> tuple[tuple[str, str], ...]:
    """Curves of the comparison, or those of one variable, that are not whole, and why."""
    reasons = {
        name: _where_unknown(study, name)
        or (how_to_get(study, name, outcome) if outcome.too_slow else study.why_not(name))
        for name, outcome in study.outcomes.items()
        if ":" in name
    }
    found = {**study.absent, **{source: reason for source, reason in reasons.items() if reason}}
    return tuple(
        (_name(source), reason)
        for source, reason in found.items()
        if not variable or _can_show(source, variable, study)
    )


def _where_unknown(study: Study, name: str) -> str:
    """First place where the curve of a theory has no number, and why; empty if it has all."""
    answers = study.answers(name) if name.startswith("theory:") else []
    if not answers or "status" not in answers[0]:
        return ""
    curve, words = joined(answers, study.axis), {"alpha": "n/d", "kappa": "log n/log d"}[study.axis]
    known = known_places(curve, study.axis)
    for place, why in zip(curve[study.axis].values, curve.status.values, strict=True):
        if place not in known:
            return f"it has no number at {words} = {place:.3g}: {why}"
    return ""


def _can_show(source: str, variable: str, study: Study) -> bool:
    """Whether the theory of the algorithm of a source speaks of a quantity."""
    from ..theory import THEORIES

    name = source.partition(":")[2]
    theory = ALGORITHMS[name]().theory_for(study.target) if name else ""
    return bool(theory) and bool({variable, "overlap"} & set(THEORIES[theory].answers))


def _name(source: str) -> str:
    """Name for people of a source of the comparison."""
    face, _, name = source.partition(":")
    return f"{look_of(name).label}, {face}" if name else source


def _how(comparison: xr.Dataset) -> str:
    """Sentences about the settings of the algorithms that are shown."""
    names = dict.fromkeys(str(source).partition(":")[2] for source in comparison.source.values)
    return " ".join(how for name in names if (how := ALGORITHMS[name].how))
