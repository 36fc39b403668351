"""One assumption of a theorem, and whether it is met."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ...base.estimate import Estimate

Verdict = Literal["holds", "fails", "cannot be decided"]


@dataclass(frozen=True)
class Condition:
    """One assumption of the theorem, and whether it is met.

    Parameters
    ----------
    id : str
        ``"E1"`` ... ``"T6"``.
    kind : str
        ``"essential"`` or ``"technical"``.
    statement : str
        The assumption.
    verdict : str
        ``"holds"``, ``"fails"`` or ``"cannot be decided"``.
    value : Estimate, optional
        The number that decides.
    why : str
        The decision in words.
    """

    id: str
    kind: Literal["essential", "technical"]
    statement: str
    verdict: Verdict
    value: Estimate | None
    why: str

    def __repr__(self) -> str:
        return f"{self.id} ({self.kind}) {self.verdict}: {self.why}"


def decided(answer: bool | None) -> Verdict:
    """Verdict of an answer that may be missing."""
    return "cannot be decided" if answer is None else "holds" if answer else "fails"


def degree_name(degree: float) -> str:
    """Degree in words."""
    return "infinity" if math.isinf(degree) else str(int(degree))
