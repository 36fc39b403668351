"""Reports of what the page shows: the target, its plan, and the pictures of theories and runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..base.csv_text import csv_text
from ..base.errors import BadData
from ..report.page import page
from ..report.panel import Panel
from ..report.study import Study
from ..targets.hierarchy import HierarchicalTarget
from ..targets.naming import find_target
from . import scripts
from .answers import or_reason
from .contestants import predicted
from .pictures import run_chart
from .predictions import prediction_chart

if TYPE_CHECKING:
    from ..charts import Chart

_TITLES = {
    "test_mse": "Test error",
    "excess_mse": "Error without noise",
    "cosine2": "Squared cosines with the hidden directions",
    "recovery": "Recovery of each direction in time",
    "overlap": "Paths of the neurons",
}


@dataclass
class PageStudy(Study):
    """A study with the pictures of a page.

    Parameters
    ----------
    pictures : sequence of Panel
        What the page shows.
    script : str
        Script that makes it again.
    made : str
        How it was made.
    predicted_by : tuple of str
        Names of the algorithms whose theory is shown.
    """

    pictures: Sequence[Panel] = ()
    script: str = ""
    made: str = ""
    predicted_by: tuple[str, ...] = ()

    @property
    def theories(self) -> tuple[str, ...]:
        """Algorithms whose theory the page shows."""
        return self.predicted_by

    @property
    def panels(self) -> list[Panel]:
        """Pictures of the page."""
        return list(self.pictures)

    @property
    def command(self) -> str:
        """Script instead of a command."""
        return self.script

    @property
    def footnote(self) -> str:
        """How the numbers were made."""
        return self.made


def of_target(target: str, noise: float | None) -> bytes:
    """Report of a verdict."""
    return _page(find_target(target, noise), script=scripts.verdict_script(target, noise))


def of_plan(target: str, noise: float | None, **sizes: Any) -> bytes:
    """Report of a plan."""
    script = scripts.plan_script(target, noise, **sizes)
    return _page(find_target(target, noise), script=script, sizes=sizes)


def of_prediction(quantity: str, **given: Any) -> bytes:
    """Report of the curves of theories."""
    chart = prediction_chart(quantity=quantity, **given)
    names = given["theory"].split(",")
    words = ", ".join(predicted()[name].label for name in names)
    text = f"The curves show the limit of large dimension: {words}."
    pictures = [Panel("Curves of theories", one, text) for one in chart.panels]
    return _page(
        find_target(given["target"], given["noise"]),
        pictures=pictures,
        script=scripts.prediction_script(**given),
        theories=names,
    )


def of_run(parameters: Mapping[str, Any], events: Iterable[Mapping[str, Any]]) -> bytes:
    """Report of a run with what it has found so far."""
    told, given = list(events), parameters
    missing = tuple(
        (f"{event['label']} ({event['source'].partition(':')[0]})", event["why"])
        for event in told
        if event["kind"] in ("absent", "failed")
    )
    end = next((event["status"] for event in told if event["kind"] == "end"), "running")
    pictures = []
    for quantity, title in _TITLES.items():
        try:
            chart = run_chart({**given, "quantity": quantity}, told)
        except BadData:  # a run has one or two of the quantities
            continue
        pictures.append(Panel(title, chart, _TEXTS[given["axis"]]))
    if not pictures:
        raise BadData("this run has found nothing yet: a report has no pictures to show")
    pictures[0] = Panel(pictures[0].title, pictures[0].chart, pictures[0].text, missing)
    sources = [event["source"] for event in told if event["kind"] == "curve"]
    names = [one.partition(":")[2] for one in dict.fromkeys(sources) if one.startswith("theory:")]
    first, last = given["seed"], given["seed"] + given["seeds"] - 1
    seeds = f"seed {first}" if first == last else f"seeds {first} to {last}"
    state = "" if end == "done" else f"The run was not complete ({end}): curves may be short. "
    return _page(
        find_target(given["target"], given["noise"]),
        pictures=pictures,
        script=scripts.run_script(given, told),
        theories=names,
        sizes={"d": given["d"]},
        made=f"simulations in d = {given['d']}, {seeds}. {state}",
    )


_TEXTS = {
    "alpha": "Lines are theory in the limit of large dimension, points are simulations.",
    "kappa": "Lines are theory at this dimension, points are simulations.",
    "time": "Lines are the flow in the limit of large dimension, points are one run for each seed. "
    "The simulation is exact in law.",
}


def _page(
    target: Any,
    *,
    pictures: Sequence[Panel] = (),
    script: str,
    theories: Iterable[str] = (),
    sizes: Mapping[str, Any] | None = None,
    made: str = "made by the lab.",
) -> bytes:
    """Report as a file."""
    from ..algorithms.plan import plan
    from ..analysis.analyze import analyze
    from ..targets.summary import summarize

    is_deep = isinstance(target, HierarchicalTarget)
    d = (sizes or {}).get("d") or (64 if is_deep else 400)
    planned: dict[str, Any] = {"d": d}
    if sizes and "n" in sizes:
        planned = {**sizes, "with_theory": True}
    study = PageStudy(
        target,
        d,
        facts=summarize(target, d=min(d, 256)),
        verdicts={
            "analysis": or_reason(analyze, target),
            "plan": or_reason(plan, target, **planned),
        },
        predicted_by=tuple(theories),
        pictures=pictures,
        script=script,
        made=made,
    )
    return page(study, stills=False).encode()  # still pictures take long, and are for paper


def energy_chart(target: str, noise: float | None) -> Chart:
    """Hermite energies of a target."""
    from ..report.target_charts import energy_bars
    from ..targets.summary import hermite_energies

    found = hermite_energies(find_target(target, noise))
    chart = energy_bars(found.values, found.tail)
    if chart is None:
        raise BadData("this target has no Hermite energies: its directions grow with d")
    return chart


def plan_table(target: str, noise: float | None, **sizes: Any) -> bytes:
    """Plan as a table of comma-separated values.

    Examples
    --------
    >>> print(plan_table("z1", None, d=100, n=500, width=100).decode().splitlines()[0])
    algorithm,data it needs,margin,error left,its error,learns here,note
    """
    from ..algorithms.plan import plan

    table: list[tuple[Any, ...]] = [
        ("algorithm", "data it needs", "margin", "error left", "its error", "learns here", "note")
    ]
    for row in plan(find_target(target, noise), **sizes, with_theory=True).rows:
        left = ("", "") if row.plateau is None else (row.plateau.value, row.plateau.error)
        table.append((row.algorithm, row.needs, row.margin, *left, row.here, row.note))
    return csv_text(table).encode()
