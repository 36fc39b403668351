"""What the page asks, answered by the public verbs in a process of its own, in plain values."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..base.errors import GradoneError, TargetSyntaxError

if TYPE_CHECKING:
    from ..charts import Chart

Answer = dict[str, Any]


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
    marker = re.search(r"\^~*", str(error).partition("\n")[2])
    width = len(marker[0]) if marker else 1
    words = f"{error.problem}, column {error.column}"
    return {"message": words, "column": error.column, "width": width, "hint": error.hint}


def analysis(target: str, noise: float | None) -> Answer:
    """Formula, verdict, exponents, energies and stairs of a target."""
    from ..analysis.analyze import analyze
    from ..base.children import Outcome
    from ..report.stairs import draw_stairs, giant_steps, grand_steps, level_steps
    from ..report.study import Study
    from ..report.target_charts import energies
    from ..report.words import exponent_cards, verdict
    from ..targets.hierarchy import HierarchicalTarget
    from ..targets.naming import find_target
    from ..targets.summary import summarize
    from ..targets.zoo import zoo

    found = find_target(target, noise)
    is_deep = isinstance(found, HierarchicalTarget)
    study = Study(found, d=64, budget=1.0, seed=0, axis="kappa" if is_deep else "alpha")
    facts = summarize(found, d=64)
    study.outcomes["facts"] = Outcome(answers={0: facts})
    made: Any = _or_reason(analyze, found)
    study.outcomes["verdicts"] = Outcome(answers={0: {"analysis": made}})
    headline, sentences = verdict(study)
    stairs = []
    if not isinstance(made, str):
        if is_deep:
            pictures = [("A deep network, level by level", level_steps(made))]
        else:
            pictures = [
                ("Efficient algorithms, n of order d", grand_steps(made)),
                ("Giant gradient steps, n of order d", giant_steps(made)),
            ]
        stairs = [{"title": name, "svg": draw_stairs(steps, name)} for name, steps in pictures]
    entry, chart = zoo().find(found), energies(study)
    return {
        "target": found.text,
        "noise": found.noise,
        "latex": found.latex if found.latex.startswith("y") else f"y = {found.latex}",
        "axis": study.axis,
        "zoo": {"name": entry.name, "shows": entry.shows} if entry else None,
        "kind": getattr(study.analysis, "learnability", None) or "open",
        "headline": headline,
        "sentences": sentences,
        "cards": [dict(zip(("name", "value", "why"), card, strict=True))
                  for card in exponent_cards(study.analysis)],
        "facts": list(facts.facts),
        "energies": [energy.value for energy in facts.energies],
        "tail": facts.tail and facts.tail.value,
        "picture": chart and chart.plotly_dict(),
        "stairs": stairs,
        "analysis": made if isinstance(made, str) else made.to_dict(),
    }  # fmt: skip


def _or_reason(function: Callable[..., Any], target: Any) -> Any:
    try:
        return function(target)
    except GradoneError as reason:
        return str(reason)


def sources(target: str, noise: float | None) -> Answer:
    """Which theories and simulations cover a target, and why the others do not."""
    from ..targets.hierarchy import HierarchicalTarget
    from ..targets.naming import find_target
    from .contestants import RULES, covered, theories

    found = find_target(target, noise)
    is_deep = isinstance(found, HierarchicalTarget)
    return {
        "axis": "kappa" if is_deep else "alpha",
        "r": getattr(found, "r", None),
        "race": covered(found),
        "rules": {} if is_deep else RULES,
        "theories": theories(found),
    }


def prediction(
    target: str,
    noise: float | None,
    theory: str,
    top: float,
    sliders: Mapping[str, float],
    points: int,
) -> Answer:
    """Curve of a theory up to a place of its axis, as a picture."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        chart = prediction_chart(target, noise, theory, top, sliders, points)
    return {
        "notes": list(dict.fromkeys(str(warning.message) for warning in caught)),
        "theory": theory,
        "picture": chart.plotly_dict(),
        "series": [{"name": one.name, "x": one.x, "y": finite(one.y)} for one in chart.series],
    }


def prediction_chart(
    target: str,
    noise: float | None,
    theory: str,
    top: float,
    sliders: Mapping[str, float],
    points: int,
) -> Chart:
    """Chart of a theory."""
    from ..targets.naming import find_target
    from .contestants import PREDICTED
    from .pictures import theory_chart

    if theory not in PREDICTED:
        raise UnknownName(f"no curve of '{theory}' here; there are: {', '.join(PREDICTED)}")
    axis, known = PREDICTED[theory]
    names = {slider.name for slider in known}
    if not set(sliders) <= names:
        raise UnknownName(f"'{theory}' has the sliders {sorted(names)}, got {sorted(sliders)}")
    values = {slider.name: slider.value for slider in known} | dict(sliders)
    places = predicted_places(axis, top, points)
    return theory_chart(find_target(target, noise), theory, axis, places, values)


class UnknownName(GradoneError, LookupError):
    """A name that the page does not know."""


def predicted_places(axis: str, top: float, points: int) -> list[float]:
    """Places of the axis at which a theory is evaluated.

    Examples
    --------
    >>> predicted_places("alpha", 6.0, 12)[:2], predicted_places("time", 50.0, 2)
    ([0.5, 1.0], [1.0, 50.0])
    """
    if axis == "time":
        ratio = 50 ** (1 / (points - 1))
        return [top / 50 * ratio**i for i in range(points - 1)] + [top]
    if axis == "kappa":  # plateaus are known at once: enough places to draw their edges
        return [0.6 + (top - 0.6) * i / 60 for i in range(61)]
    return [top * i / points for i in range(1, points + 1)]


def plan(target: str, noise: float | None, d: int, n: int | None, width: int | None) -> Answer:
    """Ranked table of what each algorithm learns."""
    from ..analysis.plan import plan as verb
    from ..targets.naming import find_target

    return verb(find_target(target, noise), d=d, n=n, width=width).to_dict()


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


def drawn_prediction(suffix: str, **arguments: Any) -> Answer:
    """File of the curve of a theory."""
    return drawn(suffix, prediction_chart(**arguments).to_dict())


def drawn_run(suffix: str, parameters: Mapping[str, Any], events: list[Any]) -> Answer:
    """File of the curves of a run."""
    from .pictures import run_chart

    return drawn(suffix, run_chart(parameters, events).to_dict())


def warm_up() -> Answer:
    """Import everything that answers need, and compile what is always used."""
    analysis("z1*z2", None)
    return sources("z1*z2", None)


def finite(values: Any) -> list[float | None]:
    """Numbers in the types of JSON: None where there is none.

    Examples
    --------
    >>> finite([1.0, float("nan")])
    [1.0, None]
    """
    return [float(v) if math.isfinite(v) else None for v in values]


QUESTIONS: dict[str, Callable[..., Answer]] = {
    "analyze": analysis,
    "sources": sources,
    "predict": prediction,
    "plan": plan,
    "draw prediction": drawn_prediction,
    "draw run": drawn_run,
    "warm up": warm_up,
}
"""Questions by name."""
