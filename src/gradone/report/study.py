"""The verb ``study``: all that theory and quick simulations say about a target, in a given time."""

from __future__ import annotations

import importlib
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.children import Outcome, run_within
from ..base.errors import BadData
from ..targets.hierarchy import HierarchicalTarget
from ..targets.sampled import Sampled, whole_number
from ..targets.target import Target, as_target
from .tasks import tasks_of

if TYPE_CHECKING:
    import xarray as xr

    from .panel import Panel

Say = Callable[[int, int, str], object]

_PRELOAD = ("gradone.report._work", "gradone.experiments._warm")
_WRITING = 4.0  # seconds kept for the pictures and the page


@dataclass
class Study:
    """Everything that was found about a target.

    Parameters
    ----------
    target : Target or hierarchical target
        What was studied.
    d : int
        Dimension of the simulations.
    budget : float
        Seconds that were given.
    seed : int
        Of everything random.
    outcomes : dict of str to Outcome
        What became of each piece of work, by name.
    axis : {"alpha", "kappa"}
        Axis of the comparison.
    absent : dict of str to str
        Theories and learners without a curve, and why.
    seconds : float
        Wall time of the work.
    """

    target: Any
    d: int
    budget: float
    seed: int
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    axis: str = "alpha"
    absent: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    _compared: list[str] = field(default_factory=list)

    def answer(self, name: str) -> Any:
        """First answer of a piece of work, or None."""
        outcome = self.outcomes.get(name)
        return next(iter(outcome.answers.values()), None) if outcome else None

    def answers(self, name: str) -> list[Any]:
        """All answers of a piece of work."""
        outcome = self.outcomes.get(name)
        return list(outcome.answers.values()) if outcome else []

    @property
    def analysis(self) -> Any:
        """Analysis of the target, or None."""
        return self._verdict("analysis")

    @property
    def analysis_or_reason(self) -> Any:
        """Analysis of the target, or why there is none."""
        return self.analysis or self.why_not("analysis")

    @property
    def plan(self) -> Any:
        """Plan for n = 5 d samples (d^1.8 for hierarchical targets), or None."""
        return self._verdict("plan")

    def _verdict(self, name: str) -> Any:
        found = (self.answer("verdicts") or {}).get(name)
        return None if isinstance(found, str) else found

    def why_not(self, name: str) -> str:
        """Why a piece of work has no answer, in words; empty if it has."""
        from ..experiments.compare import outcome_text

        if name in ("analysis", "plan"):
            found = (self.answer("verdicts") or {}).get(name)
            return found if isinstance(found, str) else self.why_not("verdicts")
        outcome = self.outcomes.get(name)
        if outcome is None:
            return "not finished within the budget"
        text = outcome_text(outcome)
        return "" if text == "done" else text

    @property
    def comparison(self) -> xr.Dataset:
        """Theories and simulations on one axis, as :func:`gradone.compare` gives them."""
        from ..experiments.compare import gathered
        from ..experiments.entrants import Field

        outcomes = {name: self.outcomes[name] for name in self._compared if name in self.outcomes}
        params = {"d": self.d, "budget": self.budget, "noise": self.target.noise}
        field = Field(self.axis, (), self.absent)
        return gathered(outcomes, field, self.target, params=params, seed=self.seed)

    @property
    def command(self) -> str:
        """Command line that makes this study again."""
        from .words import command

        return command(self)

    @property
    def panels(self) -> list[Panel]:
        """Pictures of curves, in reading order."""
        from .panels import panels

        return panels(self)

    @property
    def footnote(self) -> str:
        """How this study was made."""
        return (
            f"seed {self.seed}, simulations in d = {self.d}, {self.seconds:.0f} s of work in a "
            f"budget of {self.budget:g} s. Error bars are standard errors over replicates."
        )

    def to_html(self, *, until: float = math.inf) -> str:
        """The report, as one page that needs nothing else.

        Parameters
        ----------
        until : float
            Time (``time.monotonic``) after which no more still pictures, for paper and for browsers
            without scripts, are drawn; the interactive ones are always there.
        """
        from .page import page

        return page(self, until=until)

    def save(self, path: str | Path, *, until: float = math.inf) -> Path:
        """Write the report; returns the file."""
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.to_html(until=until), encoding="utf-8")
        return file


def study(
    target: Sampled | str,
    *,
    d: int | None = None,
    budget: float = 60.0,
    seed: int = 0,
    began: float | None = None,
    workers: int | None = None,
    progress: Say | None = None,
) -> Study:
    """Analysis, plan, theories that cover a target, and quick simulations, in a given time.

    Parameters
    ----------
    target : Target, hierarchical target, or str
        A text is read as a noiseless target.
    d : int, optional
        Dimension of the simulations: 400 by default, 64 for hierarchical targets.
    budget : float
        Seconds of wall time. What is not finished then is stopped, and the report says so.
    seed : int
        Seed of everything random.
    began : float, optional
        Time (``time.monotonic``) from which the budget counts; now by default.
    workers : int, optional
        Processes; one for each processor by default.
    progress : callable, optional
        Told (pieces done, pieces known, name) after each piece of work.

    Returns
    -------
    Study
        With ``save(path)``, which writes the report.

    Examples
    --------
    >>> from gradone.report import study
    >>> found = study("z1*z2", d=50, budget=1e-3)
    >>> found.why_not("analysis")
    'not finished within the budget'
    """
    began = time.monotonic() if began is None else began
    target = as_target(target)
    if not (isinstance(budget, int | float) and 0 < budget < math.inf):
        raise BadData(f"budget is a positive number of seconds, got {budget!r}")
    is_deep = isinstance(target, HierarchicalTarget)
    d = whole_number("d", (64 if is_deep else 400) if d is None else d, least=_least(target))
    found = Study(target, d, budget, whole_number("seed", seed, least=0))
    found.axis = "kappa" if is_deep else "alpha"
    threading.Thread(target=_load_ahead, daemon=True).start()
    left = budget - min(_WRITING, budget / 4) - (time.monotonic() - began)
    found.outcomes = run_within(
        tasks_of(found),
        left,
        piece_seconds=0.6 * budget,
        workers=workers,
        preload=_PRELOAD,
        progress=progress,
    )
    found.seconds = time.monotonic() - began
    return found


def _load_ahead() -> None:
    """Import, while children work, what the next tasks and then the report are made with."""
    for name in ("..experiments._warm", ".page", "..charts._matplotlib"):
        importlib.import_module(name, __package__)


def _least(target: Sampled) -> int:
    return max(8, 2 * target.r + 4) if isinstance(target, Target) else 16
