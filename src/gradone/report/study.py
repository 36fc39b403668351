"""The verb ``study``: all that theory and quick simulations say about a target."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..base.children import Outcome
from ..base.errors import BadData, GradoneError
from ..targets.hierarchy import HierarchicalTarget
from ..targets.sampled import Sampled, whole_number
from ..targets.target import Target, as_target

if TYPE_CHECKING:
    import xarray as xr

    from ..charts import Chart
    from .panel import Panel

_LINE = 5  # points of a line that a reader takes for the curve
PRELOAD = ("gradone.report._work", "gradone.experiments._warm")


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
        Seconds of work of each process that were given.
    seed : int
        Of everything random.
    facts : Summary, optional
        Moments, structure, energies and labels.
    verdicts : dict
        ``"analysis"`` and ``"plan"``, or as text why there is none.
    outcomes : dict of str to Outcome
        What became of each piece of work, by name.
    absent : dict of str to str
        Theories and learners without a curve, and why.

    Examples
    --------
    >>> import gradone as gd
    >>> found = gd.study("z1*z2", d=50, budget=0)                              # doctest: +SKIP
    >>> found.save("report.html")                                              # doctest: +SKIP
    """

    target: Any
    d: int
    budget: float = 0.0
    seed: int = 0
    facts: Any = None
    verdicts: dict[str, Any] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    @property
    def axis(self) -> str:
        """Axis of the comparison: ``"alpha"``, or ``"kappa"`` for hierarchical targets."""
        return "kappa" if isinstance(self.target, HierarchicalTarget) else "alpha"

    def answer(self, name: str) -> Any:
        """First answer of a piece of work, or None."""
        return next(iter(self.answers(name)), None)

    def answers(self, name: str) -> list[Any]:
        """All answers of a piece of work; none while they are too few for a line."""
        outcome = self.outcomes.get(name)
        found = list(outcome.answers.values()) if outcome else []
        return [] if len(found) < _least_points(name) else found

    @property
    def analysis(self) -> Any:
        """Analysis of the target, or None."""
        found = self.verdicts.get("analysis")
        return None if isinstance(found, str) else found

    @property
    def plan(self) -> Any:
        """Plan for n = 5 d samples (d^1.8 for hierarchical targets), or None."""
        found = self.verdicts.get("plan")
        return None if isinstance(found, str) else found

    def why_not(self, name: str) -> str:
        """Why a piece of work has no answer, and how to get it; empty if it has."""
        if name in ("analysis", "plan"):
            found = self.verdicts.get(name, "")
            return found if isinstance(found, str) else ""
        outcome = self.outcomes.get(name)
        if outcome is None or self.answers(name):
            return ""
        if outcome.failures:
            return f"failed: {next(iter(outcome.failures.values()))}"
        from .words import how_to_get

        return how_to_get(self, name, outcome)

    @property
    def comparison(self) -> xr.Dataset:
        """Theories and simulations on one axis, as :func:`gradone.compare` gives them."""
        from ..experiments.compare import gathered
        from ..experiments.entrants import Field

        outcomes = {
            name: one for name, one in self.outcomes.items() if ":" in name and self.answers(name)
        }
        params = {"d": self.d, "budget": self.budget, "noise": self.target.noise}
        field = Field(self.axis, (), self.absent)
        return gathered(outcomes, field, self.target, params=params, seed=self.seed)

    @property
    def curves(self) -> dict[str, xr.Dataset]:
        """Every curve by its name: ``"comparison"``, and those of the other pictures."""
        from .curves import curves

        return curves(self)

    @property
    def charts(self) -> dict[str, Chart]:
        """Every picture of curves by its title; each has ``save(path)``."""
        return {panel.title: panel.chart for panel in self.panels}

    @property
    def panels(self) -> list[Panel]:
        """Pictures of curves, in reading order."""
        from .panels import panels

        return panels(self)

    @property
    def theories(self) -> tuple[str, ...]:
        """Names of the algorithms whose theory has a curve."""
        found = (name.removeprefix("theory:").removesuffix(" theory") for name in self.outcomes
                 if "theory" in name and self.answers(name))  # fmt: skip
        return tuple(found)

    @property
    def command(self) -> str:
        """Command line that makes this study again."""
        from .words import command

        return command(self)

    @property
    def seconds(self) -> float:
        """Processor time of the curves."""
        return sum(outcome.seconds for outcome in self.outcomes.values())

    @property
    def footnote(self) -> str:
        """How this study was made."""
        return (
            f"seed {self.seed}, simulations in d = {self.d}, {self.seconds:.0f} s of computing. "
            "Error bars are standard errors over replicates, where there are several."
        )

    def summary(self) -> str:
        """The verdict, and the last point of every curve, as text."""
        from .words import summary

        return summary(self)

    def to_html(self) -> str:
        """The report, as one page that needs nothing else."""
        from .page import page

        return page(self)

    def _repr_html_(self) -> str:
        from .notebook import in_notebook

        return in_notebook(self)

    def save(self, path: str | Path) -> Path:
        """Write the report, and the curves beside it for those who refine it; returns the file."""
        from .memory import remember

        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.to_html(), encoding="utf-8")
        remember(self, file.with_suffix(".json"))
        return file


def study(
    target: Sampled | str,
    *,
    d: int | None = None,
    budget: float = 30.0,
    seed: int = 0,
    workers: int | None = None,
    resume: str | Path | None = None,
    progress: Callable[[Study, int, int | str], object] | bool = True,
) -> Study:
    """Analysis, plan, theories that cover a target, and quick simulations.

    Every curve is first computed coarsely, whatever the budget: its ends, both sides of each
    threshold and three points between, one replicate of simulations. Then all curves become finer
    in turn, where they bend and where errors are large.

    Parameters
    ----------
    target : Target, hierarchical target, or str
        A text is read as a noiseless target.
    d : int, optional
        Dimension of the simulations: 400 by default, 64 for hierarchical targets.
    budget : float
        Seconds of work of each process, whatever else the machine does; 0 is the coarse minimum.
    seed : int
        Seed of everything random; replicate k has the seed ``seed + k``.
    workers : int, optional
        Processes; one for each processor by default.
    resume : str or path, optional
        A report of the same target, dimension and seed, whose curves become finer.
    progress : bool or callable
        True shows a bar in a terminal and fills a page in a notebook. A callable is told (study,
        pieces done, pieces known): once when the verdict is known, then after each piece; while
        nothing is done yet, a line about what is compiled may stand in the place of the last.

    Returns
    -------
    Study
        With ``summary()``, ``curves``, ``charts`` and ``save(path)``, which writes the report.

    Examples
    --------
    >>> import gradone as gd
    >>> gd.study("z1", d=50, budget=0, progress=False).analysis.learnability   # doctest: +SKIP
    'trivial'
    """
    target = as_target(target)
    if not (isinstance(budget, int | float) and 0 <= budget < math.inf):
        raise BadData(f"budget is a number of seconds, zero or more, got {budget!r}")
    is_deep = isinstance(target, HierarchicalTarget)
    d = whole_number("d", (64 if is_deep else 400) if d is None else d, least=_least(target))
    found = Study(target, d, float(budget), whole_number("seed", seed, least=0))
    if progress is True:
        from .notebook import watcher

        tell, close = watcher()
    else:
        tell, close = progress or (lambda *_: None), lambda: None
    try:
        _carry_out(found, workers, resume, tell)
    finally:
        close()
    return found


def _carry_out(
    found: Study, workers: int | None, resume: str | Path | None, tell: Callable[..., object]
) -> None:
    from ..algorithms._warm import compile_ahead
    from ..base.children import run_within
    from ..base.pool import prepare
    from ..experiments.compare import PATIENCE

    prepare(PRELOAD)  # imports while this process analyzes
    first_words(found)
    tell(found, 0, 0)
    plan_ahead(found)
    compile_ahead(found.target, lambda line: tell(found, 0, line))
    from .memory import recollection
    from .tasks import tasks_of

    recall = recollection(found, Path(resume)) if resume is not None else None

    def after_piece(board: Any, _: str) -> None:
        found.outcomes = board.outcomes
        tell(found, board.done, board.known)

    found.outcomes = run_within(
        tasks_of(found),
        found.budget,
        piece_seconds=max(PATIENCE, found.budget),
        workers=workers,
        preload=PRELOAD,
        recall=recall,
        progress=after_piece,
    )
    plan_ahead(found, theories_at_plan(found))


def first_words(found: Study) -> None:
    """What is known at once: analysis and facts."""
    from ..analysis.analyze import analyze
    from ..targets.summary import summarize

    found.verdicts["analysis"] = _or_reason(analyze, found.target)
    found.facts = summarize(found.target, d=min(found.d, 256))


def plan_ahead(found: Study, known: Mapping[str, xr.Dataset] = MappingProxyType({})) -> None:
    """The plan for n = 5 d samples, d^1.8 for hierarchical targets; with answers of theories."""
    from ..algorithms.plan import plan

    n = round(found.d**1.8) if found.axis == "kappa" else 5 * found.d
    found.verdicts["plan"] = _or_reason(plan, found.target, d=found.d, n=n, with_theory=known)


def theories_at_plan(found: Study) -> dict[str, xr.Dataset]:
    """What theories say at the sizes of the plan, by algorithm."""
    if found.plan is None or found.axis != "alpha":
        return {}
    at = found.plan.sizes.n / found.plan.sizes.d
    return {
        name: curve.sel(alpha=at)
        for name in found.theories
        for curve in found.answers(f"theory:{name}")
        if "test_mse" in curve and at in curve["alpha"].values
    }


def _or_reason(function: Any, *arguments: Any, **more: Any) -> Any:
    try:
        return function(*arguments, **more)
    except GradoneError as reason:
        return str(reason)


def _least_points(name: str) -> int:
    """A line that is computed point by point with time to spare is drawn when it has five."""
    from ..algorithms import ALGORITHMS

    face, _, algorithm = name.partition(":")
    is_spare = face == "theory" and ALGORITHMS[algorithm].with_time_to_spare
    return _LINE if is_spare else 1


def _least(target: Sampled) -> int:
    return max(8, 2 * target.r + 4) if isinstance(target, Target) else 16
