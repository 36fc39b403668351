"""All members of the stack, fitted to one set of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from .effort import Effort
from .kernel_choice import Choice, chosen_kernel
from .linear import RidgeFit, fit_ridge
from .machine import Kernel, KernelMember, metric_path
from .probe import probe_root
from .proposals import Candidate, metric_candidates
from .prune import pruned
from .readouts import rough_readout, smooth_readout
from .rows import Rows
from .screen import Kept, OnColumns, screened
from .search import SearchSettings, on_all_rows, search
from .smoother import SmootherFit
from .trees import TreesMember, averaged, fit_trees
from .watch import Watch

_NAMED_STAGES = 3
_SEEN = 0.3  # of the variance: a kernel that errs less shows the directions itself
_REFIT_STEPS = 6
_FORESTS = 2

Member = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Plan:
    """What to fit.

    Parameters
    ----------
    families : tuple of str
        Families of members.
    search : SearchSettings
        How far to search for directions.
    landmarks : int
        Landmarks of the final smoother.
    effort : Effort
        Sizes of the other parts.
    kernel : (Kernel, float), optional
        Kernel and penalty; chosen anew if None.
    columns : Kept, optional
        Columns that smooth members and trees are functions of. They are looked for when the
        kernel is chosen, or else all.
    """

    families: tuple[str, ...]
    search: SearchSettings
    landmarks: int
    effort: Effort
    kernel: tuple[Kernel, float] | None = None
    columns: Kept | None = None


@dataclass
class Fitted:
    """Members fitted to one set of rows."""

    members: dict[str, Member] = field(default_factory=dict)
    bases: dict[str, np.ndarray] = field(default_factory=dict)
    """Directions (d, k) of the index members, in the columns of smooth members."""
    path: list[dict[str, Any]] = field(default_factory=list)
    """Stages of the search: rank, score and the proposal that won."""
    kernel: tuple[Kernel, float] | None = None
    columns: Kept | None = None
    forest: TreesMember | None = None
    """The member ``trees``, a function of its columns."""
    probe: bool = True
    """Whether a probe may show directions that the kernel does not."""

    def take(self, inner: Fitted) -> None:
        """Add members that are functions of the columns of smooth members."""
        columns = self.columns
        self.members |= {
            name: member if columns is None else OnColumns(member, columns.smooth)
            for name, member in inner.members.items()
        }
        self.bases, self.path = inner.bases, inner.path

    def plant(self, forest: TreesMember) -> None:
        """Add the member ``trees``."""
        columns, self.forest = self.columns, forest
        self.members["trees"] = forest if columns is None else OnColumns(forest, columns.trees)

    @property
    def score(self) -> float:
        """Corrected score of the best directions, infinite if there are none."""
        return min((stage["score"] for stage in self.path), default=np.inf)


def fit_members(
    rows: Rows, plan: Plan, rng: np.random.Generator, watch: Watch, *, label: str
) -> Fitted:
    """Every member of the families of a plan.

    Parameters
    ----------
    rows : Rows
        Training rows.
    plan : Plan
        What to fit.
    rng : Generator
        Draws landmarks.
    watch : Watch
        Asked before each part; may stop after any of them.
    label : str
        Name of these rows, for callbacks.
    """
    sample = rng.permutation(len(rows))
    found = Fitted(kernel=plan.kernel, columns=plan.columns, probe=plan.search.probe)
    linear = fit_ridge(rows)
    if "linear" in plan.families:
        found.members["linear"] = linear.member
    if not set(plan.families) <= {"linear", "index"}:
        if not watch.proceed(f"{label}, kernel"):
            return found
        if found.kernel is None:
            chosen, found.columns = _suited(rows, plan, sample)
            found.kernel = chosen.kernel, chosen.penalty
            found.probe &= float(chosen.errors.mean()) > _SEEN
    if "trees" in plan.families:
        found.plant(fit_trees(_for_trees(rows, found.columns), plan.effort.trees))
    part, inner = _for_smooth(rows, found.columns), Fitted(kernel=found.kernel, probe=found.probe)
    extra: list[Candidate] = []
    if found.kernel is not None and {"kernel", "metric"} & set(plan.families):
        rounds = plan.effort.metrics if "metric" in plan.families else 0
        metrics = fit_metrics(part, found.kernel, sample, rounds)
        inner.members |= metrics
        if rounds:
            extra += metric_candidates("metric", metrics[f"metric{rounds}"].root)
    if "index" in plan.families:
        own = linear if found.columns is None else fit_ridge(part)
        proceed = partial(_next_stage, watch, label)
        _fit_index(part, plan, inner, sample, own, extra, proceed)
    found.take(inner)
    if not found.members:  # nothing was proposed, or the fit was stopped: something must predict
        found.members["linear"] = linear.member
    return found


def _for_trees(rows: Rows, columns: Kept | None) -> Rows:
    return rows if columns is None else rows.columns(columns.trees)


def _for_smooth(rows: Rows, columns: Kept | None) -> Rows:
    return rows if columns is None else rows.columns(columns.smooth)


def _next_stage(watch: Watch, label: str, stage: int) -> bool:
    return watch.proceed(f"{label}, stage {stage}")


def _suited(rows: Rows, plan: Plan, sample: np.ndarray) -> tuple[Choice, Kept | None]:
    """A kernel with its penalty, and the columns to use."""
    some, columns = sample[: plan.effort.choosing], None
    chosen = chosen_kernel(rows, some)
    # Whoever wants no functions of single columns gets the same in all coordinates.
    if plan.effort.screening and "trees" in plan.families:
        columns = screened(rows, chosen, sample, some)
        if columns is not None:
            chosen = chosen_kernel(_for_smooth(rows, columns), some)
    return chosen, columns


def fit_metrics(
    rows: Rows, kernel: tuple[Kernel, float], sample: np.ndarray, rounds: int
) -> dict[str, KernelMember]:
    """The members ``kernel``, ``metric1``, ...: kernel regression in changing metrics."""
    path = metric_path(rows, *kernel, rounds=rounds, sample=sample)
    return {f"metric{t}" if t else "kernel": member for t, member in enumerate(path)}


def _fit_index(
    rows: Rows,
    plan: Plan,
    found: Fitted,
    sample: np.ndarray,
    linear: RidgeFit,
    extra: list[Candidate],
    proceed: Callable[[int], bool],
) -> None:
    """The members ``stage0``, ..., ``best`` and ``rough``."""
    extra = [("ridge", linear.member.coefficients[:, :1]), *extra]
    if found.probe:
        extra += metric_candidates("probe", probe_root(rows, sample))
    some, order, ridge = rows, sample, linear
    if len(rows) > plan.search.subsample:
        chosen = np.sort(sample[: plan.search.subsample])
        some, order = rows.part(chosen), np.argsort(np.argsort(sample[: plan.search.subsample]))
        ridge = fit_ridge(some)
    stages = search(some, ridge, settings=plan.search, extra=extra, sample=order, proceed=proceed)
    B = None
    for number, stage in enumerate(stages):
        if number:
            found.path.append({"rank": stage.rank, "score": stage.score, "origin": stage.origin})
        if number <= _NAMED_STAGES:
            found.members[f"stage{number}"] = stage.fit.smoother()
            found.bases[f"stage{number}"] = stage.fit.B
        B = stage.fit.B
    if B is None:
        return
    if some is not rows:
        B = on_all_rows(rows, B, sample[: plan.search.landmarks]).fit.B
    add_readouts(rows, B, found, plan, sample, ("best", "rough"))


def add_readouts(
    rows: Rows,
    B: np.ndarray,
    found: Fitted,
    plan: Plan,
    sample: np.ndarray,
    names: Iterable[str],
) -> None:
    """The final functions of the coordinates B that are named."""
    smooth = smooth_readout(rows, B, sample[: plan.landmarks])
    if "best" in names:
        found.members["best"] = smooth
    if "rough" in names:
        found.members["rough"] = rough_readout(rows, smooth, sample)
    found.bases["best"] = found.bases["rough"] = B


def refitted(
    rows: Rows,
    names: Iterable[str],
    start: Fitted,
    plan: Plan,
    rng: np.random.Generator,
    *,
    directions: bool,
    forests: Sequence[TreesMember] = (),
) -> Fitted:
    """Members by name, fitted to all rows; directions start from those of a fold.

    Parameters
    ----------
    rows : Rows
        Training rows.
    names : iterable of str
        Members that are used.
    start : Fitted
        Members of the fold whose directions were best.
    plan : Plan
        Sizes.
    rng : Generator
        Draws landmarks.
    directions : bool
        Whether the best directions are wanted even if no member uses them.
    forests : sequence of TreesMember
        Trees of the folds.
    """
    names, sample = list(names), rng.permutation(len(rows))
    found, landmarks = Fitted(columns=start.columns), sample[: plan.search.landmarks]
    if "linear" in names:
        found.members["linear"] = fit_ridge(rows).member
    if "trees" in names:  # those of the folds together predict no worse than trees of all rows
        enough, part = len(forests) >= _FORESTS, _for_trees(rows, start.columns)
        found.plant(averaged(forests) if enough else fit_trees(part, plan.effort.trees))
    rows, inner = _for_smooth(rows, start.columns), Fitted()
    rounds = [
        int(name[6:]) if name != "kernel" else 0
        for name in names
        if name[:6] in ("kernel", "metric")
    ]
    if rounds and start.kernel is not None:
        metrics = fit_metrics(rows, start.kernel, sample, max(rounds))
        inner.members |= {name: m for name, m in metrics.items() if name in names}
    for name in names:
        if name.startswith("stage"):
            fit = SmootherFit(rows, start.bases[name], landmarks)
            if name != "stage0":
                fit = on_all_rows(rows, fit.B, landmarks, iterations=_REFIT_STEPS).fit
            inner.members[name], inner.bases[name] = fit.smoother(), fit.B
    readouts = {"best", "rough"} & set(names)
    if "best" in start.bases and (directions or readouts):
        again = on_all_rows(rows, start.bases["best"], landmarks, iterations=_REFIT_STEPS)
        B = pruned(again).fit.B
        inner.bases["best"] = B
        if readouts:
            add_readouts(rows, B, inner, plan, sample, readouts)
    found.take(inner)
    return found
