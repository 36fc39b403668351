"""Everything that can be said about a hierarchical target before learning it."""

from __future__ import annotations

import html
import math
import textwrap
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..base.budget import BudgetSpent, processor_budget
from ..base.errors import TooLarge
from ..targets.hierarchical import HierarchicalTarget
from .depth import (
    LEARNERS,
    Condition,
    LevelExponents,
    PlateauStep,
    checklist,
    level_exponents,
    plateau_steps,
    required_exponent,
)


@dataclass(frozen=True)
class HierarchicalAnalysis:
    """Exponents per level, assumptions of the depth theorem, and error plateaus.

    Parameters
    ----------
    target : hierarchical target
        What was analyzed.
    levels : LevelExponents
        Information exponents of the outer and inner functions, and compositional ones.
    budget : float
        Seconds of processor time for the plateaus; what is not known by then is left out.

    Examples
    --------
    >>> from gradone import Sight
    >>> a = analyze_hierarchical(Sight(outer="tanh(3*h)", inner="He2(z)/2 + He3(z)/6"))
    >>> a.information_exponent, a.data_exponents["three_layer"]
    (2, 1.5)
    """

    target: HierarchicalTarget
    levels: LevelExponents
    budget: float = math.inf

    @property
    def information_exponent(self) -> int | None:
        """Compositional information exponent of the directions."""
        return self.levels.compositional[0].value

    @cached_property
    def checklist(self) -> tuple[Condition, ...]:
        """Assumptions of the theorem on layerwise training, for a ReLU network."""
        return checklist(self.target)

    @cached_property
    def data_exponents(self) -> dict[str, float]:
        """Power of d in the number of samples each kind of learner needs."""
        return {learner: required_exponent(self.target, learner) for learner in LEARNERS}

    @cached_property
    def plateaus(self) -> dict[str, tuple[PlateauStep, ...]]:
        """Error that is left against log n / log d, for each kind of learner.

        Empty where the budget did not pay for it.
        """
        found: dict[str, tuple[PlateauStep, ...]] = dict.fromkeys(LEARNERS, ())
        with suppress(BudgetSpent), processor_budget(self.budget):
            for learner in LEARNERS:
                found[learner] = plateau_steps(self.target, learner)
        return found

    def summary(self, *, heading: bool = True) -> str:
        """One screen of text, with or without the target itself."""
        title = textwrap.wrap(repr(self.target), _WIDTH, subsequent_indent="  ")
        lines = [*title, ""] if heading else []
        lines += ["Information exponents"]
        for name, value in self._exponents():
            lines += _row(name, 30, value)
        lines += ["", "Samples needed to learn everything"]
        lines += [f"  {_name(k):30s}{_power(v)}" for k, v in self.data_exponents.items()]
        lines += ["", "Error left when n passes d^kappa"]
        for learner, steps in self.plateaus.items():
            path = "  ".join(f"{s.kappa:.3g}:{_TIE}{s.error.value:.4g}" for s in steps)
            path = path or f"undecided: {self.budget:.3g} seconds of processor time were spent"
            lines += _row(_name(learner), 30, path)
        lines += ["", "Assumptions of the theorem (ReLU network)"]
        for c in self.checklist:
            words = f"{c.statement}; {c.why}".replace(" = ", f"{_TIE}={_TIE}")
            lines += _row(f"{c.id:4s}{c.verdict}", 22, words)
        return "\n".join(lines)

    def _exponents(self) -> list[tuple[str, str]]:
        rows = [("outer function g", repr(self.levels.outer))]
        rows += [(f"inner function P_{i}", repr(e)) for i, e in enumerate(self.levels.inner, 1)]
        names = ["directions z", *(f"features h_{i}" for i in range(1, len(self.levels.inner) + 1))]
        return rows + [
            (f"label seen from {name}", str(e.value if e.value is not None else e.note))
            for name, e in zip(names, self.levels.compositional, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, ready for JSON."""
        return {
            "target": repr(self.target),
            "outer": {"value": self.levels.outer.value, "note": self.levels.outer.note},
            "inner": [{"value": e.value, "note": e.note} for e in self.levels.inner],
            "compositional": [
                {"value": e.value, "note": e.note} for e in self.levels.compositional
            ],
            "data_exponents": {
                k: v if math.isfinite(v) else None for k, v in self.data_exponents.items()
            },
            "plateaus": {
                k: [{"kappa": s.kappa, "error": s.error.to_dict()} for s in steps]
                for k, steps in self.plateaus.items()
            },
            "checklist": [
                {
                    "id": c.id,
                    "kind": c.kind,
                    "statement": c.statement,
                    "verdict": c.verdict,
                    "value": None if c.value is None else c.value.to_dict(),
                    "why": c.why,
                }
                for c in self.checklist
            ],
        }

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(c.id)}</th><td>{html.escape(c.verdict)}"
            f"</td><td>{html.escape(c.statement)}</td><td>{html.escape(c.why)}</td></tr>"
            for c in self.checklist
        )
        exponents = "".join(
            f"<tr><th style='text-align:left'>{html.escape(a)}</th><td>{html.escape(b)}</td></tr>"
            for a, b in self._exponents()
        )
        return f"<p>$${self.target.latex}$$</p><table>{exponents}</table><table>{rows}</table>"


_WIDTH = 80
_TIE = "\N{NO-BREAK SPACE}"  # no line is broken there
_NAMES = {
    "lazy": "kernel, random features",
    "two_layer": "two layers",
    "three_layer": "three layers, layerwise",
    "deep": "one layer per level",
}


def _name(learner: str) -> str:
    return _NAMES[learner]


def _row(name: str, width: int, text: str) -> list[str]:
    """Lines of a name and a text beside it, broken between words."""
    lines = textwrap.wrap(text, _WIDTH - 2 - width, break_long_words=False) or [""]
    names = [name, *[""] * (len(lines) - 1)]
    return [
        f"  {one:{width}s}{line.replace(_TIE, ' ')}".rstrip()
        for one, line in zip(names, lines, strict=True)
    ]


def _power(exponent: float) -> str:
    return f"d^{exponent:.4g}" if math.isfinite(exponent) else "no power of d is enough"


def analyze_hierarchical(
    target: HierarchicalTarget, budget: float = math.inf
) -> HierarchicalAnalysis:
    """Analysis of a hierarchical target; :func:`gradone.analyze` calls it.

    Half of the budget may be spent on the exponents, without which nothing else can be said.
    """
    try:
        with processor_budget(budget / 2):
            levels = level_exponents(target)
    except BudgetSpent:
        raise TooLarge(
            f"the exponents of {target!r} take more than {budget / 2:.3g} seconds of processor "
            "time. Use simpler outer and inner functions, or analyze(..., budget=...)"
        ) from None
    return HierarchicalAnalysis(target, levels, budget / 2)
