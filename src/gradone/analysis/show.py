"""Views of an analysis: one screen of text, plain data, HTML."""

from __future__ import annotations

import html
import math
import textwrap
from typing import TYPE_CHECKING, Any

from ..base.estimate import Estimate, compact
from ..targets.subspace import Subspace
from .closed_form import closed_form

if TYPE_CHECKING:
    from .analyze import Analysis
    from .queries.stages import Stage

_WIDTH = 80
_PRACTICAL = 100.0  # samples per dimension; more are "practically hard"
_CLASS_SENTENCES = {
    "trivial": "learned from any number of samples proportional to d",
    "easy": "learned above a threshold of n/d",
    "hard": "not learned by efficient algorithms with n = O(d)",
}


def number_text(x: Estimate) -> str:
    """Number as it is shown to people: four digits or as many as are known, and its name.

    Examples
    --------
    >>> number_text(Estimate(2.4674011002723, 2e-13)), number_text(Estimate(0.575181, 1e-4))
    ('π²/4 = 2.467', '0.5752(1)')
    """
    if math.isinf(x.value):
        return "∞" if math.isfinite(x.error) else "unknown"
    name = closed_form(x)
    return f"{name} = {compact(x)}" if name else compact(x)


def _ratio(sign: str, x: Estimate) -> str:
    """Samples per dimension, as ``n/d > 2.467`` or ``n/d about 1e6``."""
    text = number_text(x)
    return f"n/d {text}" if text.startswith("about") else f"n/d {sign} {text}"


def _exponent(value: int | None, note: str) -> str:
    return str(value) if value is not None else (note.split(":")[0] or "undecided")


def _class_sentence(a: Analysis) -> str:
    """What the class means, and what it means in practice."""
    if a.learnability is None:
        return a.queries.undecided
    sentence = _CLASS_SENTENCES[a.learnability]
    if a.learnability == "hard":
        return sentence
    last = max((stage.matters_at for stage in a.grand_staircase), key=float)
    if last.value < _PRACTICAL:
        return sentence
    return f"{sentence}; practically hard: no more than a trace below {_ratio('=', last)}"


def one_pass_samples(k: int) -> str:
    """Samples that one-pass SGD needs for a leap of order k."""
    return {1: "d", 2: "d log d"}.get(k, f"d^{k - 1}")


def verdict_rows(a: Analysis) -> list[tuple[str, str, str]]:
    """Name, value, and the sentence behind each verdict."""
    leap, info, gen = a.leap_exponent, a.information_exponent, a.generative_exponent
    rows = [
        (
            "information exponent",
            _exponent(info, a.leaps.information.note),
            a.leaps.information.note,
        ),
        (
            "leap exponent",
            _exponent(leap, a.leaps.exponent.note),
            f"one-pass SGD needs about {one_pass_samples(leap)} samples" if leap else "",
        ),
        (
            "generative exponent",
            _exponent(gen, a.queries.generative_exponent.note)
            + (f", at most {info}" if gen is None and info else ""),
            a.queries.generative_exponent.note,
        ),
        (
            "class",
            a.learnability or "undecided",
            _class_sentence(a),
        ),
        ("first direction opens at", _ratio("=", a.weak_threshold), ""),
        (
            "last direction opens at",
            _ratio("=", a.full_threshold),
            a.full_threshold.note,
        ),
    ]
    said: set[str] = set()  # one reason may leave several verdicts open
    shown = []
    for name, value, sentence in rows:
        shown.append((name, value, "" if sentence in said else sentence))
        said.add(sentence)
    return shown


def _giant_steps(a: Analysis) -> str:
    if not a.staircase:
        return "nothing: the target has no linear part"
    return " ⊂ ".join(str(u) for u in a.staircase)


def _stage(number: int, stage: Stage) -> str:
    bound = " or more" if stage.is_bound else ""
    where = {
        "trivial": f"at {_ratio('>', stage.threshold)}{_trace(stage)}",
        "easy": f"at {_ratio('>', stage.threshold)}{bound}",
        "hard": f"never at n = O(d) (order {stage.order})",
    }[stage.learnability]
    return f"{number}. {stage.new}: {stage.learnability}, {where}"


def _trace(stage: Stage) -> str:
    """Where a direction that is seen at once begins to matter, if that is far away."""
    at = stage.matters_at
    if at.value < _PRACTICAL:
        return ""
    return f", half of its squared cosine at {_ratio('=', at)}"


def _facts(a: Analysis) -> list[str]:
    facts = []
    if a.unused.dim:
        facts.append(f"not used by the target: {a.unused}")
    if a.never.dim:
        facts.append(f"never learned by efficient algorithms at n = O(d): {a.never}")
    if a.about_inputs:
        facts.append(a.about_inputs)
    return facts


def summary(a: Analysis, *, heading: bool = True) -> str:
    """One screen of text."""
    noise = f"   (noise {a.target.noise:g})" if a.target.noise else ""
    lines = [f"y = {a.target.text}{noise}", f"r = {a.target.r}", ""] if heading else []
    for name, value, sentence in verdict_rows(a):
        lines.append(f"  {name:26s}{value}")
        if sentence:
            lines += textwrap.wrap(
                sentence, _WIDTH, initial_indent=" " * 28, subsequent_indent=" " * 28
            )
    lines += ["", "Giant steps with n ~ d learn", f"  {_giant_steps(a)}"]
    lines += ["", "Efficient algorithms learn, in this order"] if a.grand_staircase else []
    lines += [f"  {_stage(i, stage)}" for i, stage in enumerate(a.grand_staircase, start=1)]
    lines += [""]
    for fact in _facts(a):
        lines += textwrap.wrap(fact, _WIDTH, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines).rstrip()


def _subspace_data(u: Subspace) -> dict[str, Any]:
    return {"dim": u.dim, "text": str(u), "basis": u.basis.tolist()}


def to_dict(a: Analysis) -> dict[str, Any]:
    """Analysis as plain data."""
    return {
        "target": a.target.text,
        "noise": a.target.noise,
        "r": a.target.r,
        "information_exponent": a.information_exponent,
        "leap_exponent": a.leap_exponent,
        "generative_exponent": a.generative_exponent,
        "learnability": a.learnability,
        "classes": list(a.classes),
        "weak_threshold": a.weak_threshold.to_dict(),
        "full_threshold": a.full_threshold.to_dict(),
        "leap_record": [
            {"order": s.order, "new": _subspace_data(s.new), "strength": s.strength.to_dict()}
            for s in a.leaps.steps
        ],
        "staircase": [_subspace_data(u) for u in a.staircase],
        "grand_staircase": [
            {
                "subspace": _subspace_data(s.subspace),
                "new": _subspace_data(s.new),
                "class": s.learnability,
                "order": s.order,
                "threshold": s.threshold.to_dict(),
                "strength": s.strength and s.strength.to_dict(),
                "matters_at": s.matters_at.to_dict(),
                "is_bound": s.is_bound,
            }
            for s in a.grand_staircase
        ],
        "never": _subspace_data(a.never),
        "unused": _subspace_data(a.unused),
        "notes": dict(a.notes),
    }


def to_html(a: Analysis) -> str:
    """Table for notebooks."""
    e = html.escape
    rows = "".join(
        f"<tr><th style='text-align:left'>{e(name)}</th><td>{e(value)}</td>"
        f"<td>{e(sentence)}</td></tr>"
        for name, value, sentence in verdict_rows(a)
    )
    stages = "".join(f"<li>{e(_stage(i, s)[3:])}</li>" for i, s in enumerate(a.grand_staircase, 1))
    order = f"<p>Efficient algorithms learn, in this order</p><ol>{stages}</ol>" if stages else ""
    facts = "".join(f"<p>{e(fact)}</p>" for fact in _facts(a))
    return (
        f"<div><p>$$y = {e(a.target.latex)}$$</p><table>{rows}</table>"
        f"<p>Giant steps with n ~ d learn {e(_giant_steps(a))}</p>"
        f"{order}{facts}</div>"
    )
