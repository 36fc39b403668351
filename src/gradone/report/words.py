"""The verdict of a study in words, and the command that makes it again."""

from __future__ import annotations

import math
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from ..analysis.analyze_hierarchical import HierarchicalAnalysis
from ..analysis.show import number_text, one_pass_samples
from ..targets.zoo import zoo

if TYPE_CHECKING:
    from ..analysis.analyze import Analysis
    from ..base.children import Outcome
    from .study import Study


def command(study: Study) -> str:
    """Command line of a study.

    Examples
    --------
    >>> from gradone import Target
    >>> from gradone.report.study import Study
    >>> command(Study(Target("z1*z2", noise=0.2), d=400, budget=60, seed=0))
    "gradone study 'z1*z2' --noise 0.2 --d 400 --budget 60"
    """
    entry = zoo().find(study.target)
    words = ["gradone", "study", entry.name if entry else study.target.text]
    if not entry and study.target.noise:
        words += ["--noise", f"{study.target.noise:g}"]
    words += ["--d", str(study.d), "--budget", f"{study.budget:g}"]
    if study.seed:
        words += ["--seed", str(study.seed)]
    return shlex.join(words)


def how_to_get(study: Study, name: str, outcome: Outcome) -> str:
    """Why a curve, or a part of it, was left out of a study, and the command that computes it."""
    longer = f"{command(replace(study, budget=max(60.0, 4 * study.budget)))} --resume"
    if outcome.too_slow:
        what = "another point" if study.answers(name) else "a point"
        seconds = f"{outcome.too_slow:.0f} s"
        return f"{what} of it takes more than {seconds} of computing; with more time: {longer}"
    return f"it takes long and is left out of a quick report; with more time: {longer}"


def summary(study: Study) -> str:
    """The verdict and the curves of a study, as text for a terminal."""
    headline, sentences = verdict(study.analysis or study.why_not("analysis"))
    rows = curve_rows(study)
    width = max((len(name) for name, _ in rows), default=0)
    lines = [study.target.text, headline, *sentences, ""]
    return "\n".join([*lines, *(f"{name:<{width}}  {text}" for name, text in rows)])


def curve_rows(study: Study) -> list[tuple[str, str]]:
    """Name of every curve of a comparison and its last error, or why it is not there."""
    comparison = study.comparison
    axis, words = study.axis, {"alpha": "n/d", "kappa": "log n/log d"}[study.axis]
    rows = [(name, reason) for name in study.outcomes if (reason := study.why_not(name))]
    for source in comparison.source.values.tolist():
        part = comparison.sel(source=source)
        names = (name for name in ("test_mse", "excess_mse") if name in part)
        variable = next((name for name in names if part[name].notnull().any()), "")
        if variable:
            last = part.dropna(axis, subset=[variable]).isel({axis: -1})
            number, error = float(last[variable]), float(last[f"{variable}_err"])
            spread = f" ± {error:.1g}" if error > 1e-3 * abs(number) else ""
            text = f"error {number:.4g}{spread} at {words} = {float(last[axis]):.3g}"
            rows.append((source, text))
    return rows


def verdict(analysis: Analysis | HierarchicalAnalysis | str) -> tuple[str, list[str]]:
    """Headline and sentences of an analysis; a text in its place says why there is none.

    Examples
    --------
    >>> from gradone import Target, analyze
    >>> verdict(analyze(Target("sign(z1*z2*z3)")))[0]
    'Hard: no efficient algorithm finds span(z1, z2, z3) with n = O(d) samples'
    >>> verdict("too many directions")
    ('No verdict', ['The analysis is missing: too many directions.'])
    """
    if isinstance(analysis, str):
        return "No verdict", [f"The analysis is missing: {analysis}."]
    if isinstance(analysis, HierarchicalAnalysis):
        return _of_levels(analysis)
    return _headline(analysis), [*_thresholds(analysis), _one_pass(analysis), _giant(analysis)]


def _headline(a: Analysis) -> str:
    if a.learnability == "trivial":
        return "Trivial: all directions are visible with any number of samples proportional to d"
    if a.learnability == "easy":
        bound = " or more" if a.full_threshold.note else ""
        return f"Easy: all directions are found above n/d = {number_text(a.full_threshold)}{bound}"
    if a.learnability == "hard":
        never = str(a.never) if a.never.dim else "some direction"
        return f"Hard: no efficient algorithm finds {never} with n = O(d) samples"
    return "Undecided"


def _thresholds(a: Analysis) -> list[str]:
    if not a.queries.is_complete:
        return [f"The order of the directions could not be decided: {a.queries.undecided}."]
    opened = [stage for stage in a.grand_staircase if stage.learnability != "hard"]
    if not opened:
        return ["No direction can be found with n = O(d) samples, however the labels are used."]
    parts = []
    for stage in opened:
        at_once = stage.learnability == "trivial"
        bound = " or more" if stage.is_bound else ""
        where = "at once" if at_once else f"above n/d = {number_text(stage.threshold)}{bound}"
        parts.append(f"{stage.new} {where}")
    return [f"The best efficient algorithms find {', then '.join(parts)}."]


def _one_pass(a: Analysis) -> str:
    leap, generative = a.leap_exponent, a.generative_exponent
    if leap is None:
        return f"It is open how many samples one pass of SGD needs: {a.leaps.exponent.note}."
    text = f"One pass of SGD needs about {one_pass_samples(leap)} samples (leap exponent {leap})"
    if generative is not None and generative < leap and generative <= 2:
        reuse = "d" if generative == 1 else "d log d"
        return (
            f"{text}; if SGD sees each sample twice, about {reuse} are enough "
            f"(generative exponent {generative})."
        )
    return f"{text}."


def _giant(a: Analysis) -> str:
    if not a.staircase:
        return (
            "Giant gradient steps with n of order d learn nothing, because the target has no "
            "linear part."
        )
    count = len(a.staircase)
    steps = "one giant step learns" if count == 1 else f"{count} giant steps learn"
    rest = a.target.r - a.unused.dim - a.staircase[-1].dim
    more = "1 further direction stays" if rest == 1 else f"{rest} further directions stay"
    end = "" if rest == 0 else f"; {more} hidden from giant steps"
    return f"With n of order d, {steps} {' ⊂ '.join(map(str, a.staircase))}{end}."


def _of_levels(a: HierarchicalAnalysis) -> tuple[str, list[str]]:
    need = a.data_exponents
    # Of equals the shallower network is named.
    best, name = min((need["three_layer"], "three layers"), (need["deep"], "a layer per level"))
    if need["three_layer"] == need["deep"]:
        name = "three layers"
    others = [(need["two_layer"], "two layers"), (need["lazy"], "kernels")]
    headline = (
        "Depth helps" if best < min(power for power, _ in others) else "Depth does not save samples"
    )
    parts = [f"{who} need {_samples(power)}" for power, who in others]
    sentences = [
        f"{_samples(best)} samples are enough for {name} to learn everything; "
        f"{' and '.join(parts)}."
    ]
    failed = [c for c in a.checklist if c.verdict == "fails"]
    if essential := [c.statement for c in failed if c.kind == "essential"]:
        broken = "; ".join(essential)
        sentences.append(
            f"An essential assumption of the theorem fails for ReLU networks: {broken}."
        )
    if proof := len(failed) - len(essential):
        what = "1 assumption" if proof == 1 else f"{proof} assumptions"
        fails = "does" if proof == 1 else "do"
        sentences.append(f"{what} that only the proof of the theorem uses {fails} not hold.")
    return headline, sentences


def _samples(exponent: float) -> str:
    return f"d^{exponent:.3g}" if math.isfinite(exponent) else "more than any power of d"


def exponent_cards(
    analysis: Analysis | HierarchicalAnalysis | str,
) -> list[tuple[str, str, str]]:
    """Name, value and reason of the numbers that come first; none of an analysis that is missing.

    Examples
    --------
    >>> exponent_cards("too many directions")
    []
    """
    from ..analysis.show import verdict_rows

    if isinstance(analysis, str):
        return []
    if isinstance(analysis, HierarchicalAnalysis):
        names = {
            "lazy": "kernels",
            "two_layer": "two layers",
            "three_layer": "three layers",
            "deep": "a layer per level",
        }
        cards = [
            (f"samples for {names[k]}", _samples(v), "")
            if math.isfinite(v)
            else (f"samples for {names[k]}", "∞", "no power of d is enough to learn everything")
            for k, v in analysis.data_exponents.items()
        ]
        info = analysis.information_exponent
        text = "open" if info is None else str(info)
        return [
            (
                "information exponent",
                text,
                "the exponent of the directions, seen through all levels",
            ),
            *cards,
        ]
    return [_card(*row) for row in verdict_rows(analysis)]


def _card(name: str, value: str, why: str) -> tuple[str, str, str]:
    """Row of an analysis with its unit in the name.

    Examples
    --------
    >>> _card("first direction opens at", "n/d = 0.5752(1)", "")
    ('first direction opens at n/d', '0.5752(1)', '')
    """
    if value.startswith("n/d = "):
        name, value = f"{name} n/d", value.removeprefix("n/d = ")
    return name, value, why
