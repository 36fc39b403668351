"""What the page asks, answered by the public verbs in a process of its own, in plain values."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from typing import Any

from ..base.errors import GradoneError, TargetSyntaxError

Answer = dict[str, Any]
# Small targets of different kinds, which no zoo has: smooth, with breaks, oscillating, noisy.
WARMING = (
    ("z1*z2 + z1/7", None),
    ("relu(z1 + z2**2)/7", None),
    ("sin(9*z1*z2)/7 + z1", None),
    ("tanh(z1*z2)/7 + z1", 0.1),
)


def answer(question: str, arguments: Mapping[str, Any]) -> Answer:
    """Answer to a question, or ``{"error": {"message", "column", "width", "hint"}}``.

    Parameters
    ----------
    question : str
        One of :data:`QUESTIONS`.
    arguments : mapping
        Its arguments.

    Examples
    --------
    >>> answer("analyze", {"target": "z1*zz", "noise": None})["error"]["column"]
    4
    """
    try:
        return QUESTIONS[question](**arguments)
    except GradoneError as error:
        return {"error": mistake(error)}


def mistake(error: GradoneError) -> Answer:
    """An error in parts, so that the page can underline what is wrong."""
    if not isinstance(error, TargetSyntaxError) or error.column is None:
        return {"message": str(error), "column": None, "width": 0, "hint": ""}
    return {
        "message": f"{error.problem}, column {error.column}",
        "column": error.column,
        "width": error.width,
        "hint": error.hint,
    }


def analysis(target: str, noise: float | None) -> Answer:
    """Formula, verdict, exponents, energies and stairs of a target."""
    from ..analysis.analyze import analyze
    from ..report.stairs import staircases
    from ..report.target_charts import energy_bars
    from ..report.words import exponent_cards, verdict
    from ..targets.facts import target_facts
    from ..targets.hierarchy import HierarchicalTarget
    from ..targets.naming import find_target
    from ..targets.summary import hermite_energies
    from ..targets.zoo import zoo

    found = find_target(target, noise)
    is_deep = isinstance(found, HierarchicalTarget)
    energies = hermite_energies(found)
    made = or_reason(analyze, found)
    headline, sentences = verdict(made)
    pictures = [] if isinstance(made, str) else staircases(made)
    stairs = [{"title": title, "svg": svg, "text": text} for title, svg, text in pictures]
    entry, chart = zoo().find(found), energy_bars(energies.values, energies.tail)
    return {
        "target": found.text,
        "noise": found.noise,
        "latex": found.latex if found.latex.startswith("y") else f"y = {found.latex}",
        "axis": "kappa" if is_deep else "alpha",
        "zoo": {"name": entry.name, "shows": entry.shows} if entry else None,
        "kind": getattr(made, "learnability", None) or "open",
        "headline": headline,
        "sentences": sentences,
        "cards": [dict(zip(("name", "value", "why"), card, strict=True))
                  for card in exponent_cards(made)],
        "facts": [] if isinstance(found, HierarchicalTarget) else list(target_facts(found)),
        "energies": [energy.value for energy in energies.values],
        "tail": energies.tail and energies.tail.value,
        "picture": chart and chart.plotly_dict(),
        "stairs": stairs,
        "analysis": made if isinstance(made, str) else made.to_dict(),
    }  # fmt: skip


def or_reason(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """What a function says, or why it says nothing."""
    try:
        return function(*arguments, **named)
    except GradoneError as reason:
        return str(reason)


def sources(target: str, noise: float | None) -> Answer:
    """Which theories and simulations cover a target, and why the others do not."""
    from ..targets.hierarchy import HierarchicalTarget
    from ..targets.naming import find_target
    from .contestants import covered, theories, watched

    found = find_target(target, noise)
    is_deep = isinstance(found, HierarchicalTarget)
    return {
        "axis": "kappa" if is_deep else "alpha",
        "r": getattr(found, "r", None),
        "race": covered(found),
        "watched": watched(found),
        "theories": theories(found),
    }


def prediction(**given: Any) -> Answer:
    """Curves of theories."""
    from . import predictions

    return predictions.prediction(**given)


def plan(target: str, noise: float | None, **given: Any) -> Answer:
    """Ranked table of what each algorithm learns."""
    from ..algorithms.plan import plan as verb
    from ..targets.naming import find_target

    return verb(find_target(target, noise), **given).to_dict()


def plan_with_theory(**given: Any) -> Answer:
    """The same with the errors of theories, which take seconds."""
    return plan(**given, with_theory=True)


def drawn(suffix: str, chart: Mapping[str, Any]) -> Answer:
    """File of a chart: ``svg``, ``png`` or ``csv``."""
    import tempfile
    from pathlib import Path

    from ..charts import Chart

    with tempfile.TemporaryDirectory() as folder:
        kind = "svg" if suffix == "csv" else suffix
        files = Chart.load(dict(chart)).save(Path(folder, f"gradone.{kind}"))
        file = next(one for one in files if one.suffix == f".{suffix}")
        return {"content": file.read_bytes()}


def drawn_prediction(suffix: str, quantity: str, **given: Any) -> Answer:
    """File of the curves of theories."""
    from . import predictions, reports, scripts

    if suffix == "py":
        return {"content": scripts.prediction_script(**given).encode()}
    if suffix == "html":
        return {"content": reports.of_prediction(quantity, **given)}
    has_marks = suffix != "csv"  # a table holds the curves
    chart = predictions.prediction_chart(quantity=quantity, has_marks=has_marks, **given)
    return drawn(suffix, chart.to_dict())


def drawn_run(suffix: str, parameters: Mapping[str, Any], events: list[Any]) -> Answer:
    """File of a run, with what it has found so far."""
    from . import animation, pictures, reports, scripts

    if suffix == "gif":
        return {"content": animation.plane_animation(parameters, events)}
    if suffix == "py":
        return {"content": scripts.run_script(parameters, events).encode()}
    if suffix == "html":
        return {"content": reports.of_run(parameters, events)}
    chart = pictures.run_chart(parameters, events, has_all_points=suffix == "csv")
    return drawn(suffix, chart.to_dict())


def drawn_verdict(suffix: str, target: str, noise: float | None) -> Answer:
    """File of a verdict; its picture and its table are those of the energies."""
    from . import reports, scripts

    if suffix == "py":
        return {"content": scripts.verdict_script(target, noise).encode()}
    if suffix == "html":
        return {"content": reports.of_target(target, noise)}
    return drawn(suffix, reports.energy_chart(target, noise).to_dict())


def drawn_plan(suffix: str, **given: Any) -> Answer:
    """File of a plan."""
    from . import reports, scripts

    if suffix == "py":
        return {"content": scripts.plan_script(**given).encode()}
    if suffix == "html":
        return {"content": reports.of_plan(**given)}
    return {"content": reports.plan_table(**given)}


def warm_up() -> Answer:
    """Import everything that answers need, and compute once what every target uses."""
    for target, noise in WARMING:
        analysis(target, noise)
    sources(WARMING[0][0], None)
    # A full collection takes as long as an analysis: it need not look at what stays for ever.
    gc.collect()
    gc.freeze()
    return {}


QUESTIONS: dict[str, Callable[..., Answer]] = {
    "analyze": analysis,
    "sources": sources,
    "predict": prediction,
    "plan": plan,
    "plan with theory": plan_with_theory,
    "draw prediction": drawn_prediction,
    "draw run": drawn_run,
    "draw verdict": drawn_verdict,
    "draw plan": drawn_plan,
    "warm up": warm_up,
}
"""Questions by name."""
