"""Members fitted fold by fold, stacked, and fitted again to all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from .linear import fit_ridge
from .members import Fitted, Member, Plan, fit_members, refitted
from .rows import Rows, Splits
from .screen import Kept
from .stack import SIMPLE, Gain, Stack, gain, stacked
from .watch import Watch

_DECIDED = 5.0  # standard errors by which it must win for the other folds to be left out
_DECIDING_ROWS = 300
_WORTH_A_LOOK = 0.5  # standard errors by which directions must win for other folds to look for them
_BEYOND_MEAN, _BEYOND_LINEAR = 2.0, 1.0  # standard errors that make directions worth telling
_ALWAYS = ("stage0", "best", "rough")  # index members that every search gives
_SOLVED = 0.01  # share of the variance below which no other family is needed
_FAR = 2.0  # times the error of the best: trees that err more have no weight


@dataclass(frozen=True)
class Ensemble:
    """A weighted sum of members, and how it came about."""

    members: dict[str, Member]
    stack: Stack
    mean: np.ndarray
    """(q,) prediction without any member."""
    basis: np.ndarray
    """(d, k) directions of the index family, k = 0 if it is of no use."""
    columns: Kept | None
    """Columns that members but the linear one are functions of; None stands for all."""
    slopes: np.ndarray
    """(d, q) of the ridge regression on all rows."""
    over_simple: Gain | None
    """What the best index member gains over the best simple one, in units of the variance."""
    path: list[dict[str, Any]]
    out_of_fold: np.ndarray
    """(n, q) predictions of the stack at rows that were left out, NaN where there are none."""
    stopped: bool

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Predictions (n, q)."""
        total = np.tile(self.mean, (len(X), 1))
        for name, weight in self.stack.weights.items():
            total += weight * (self.members[name](X) - self.mean)
        return total


def fit_ensemble(
    rows: Rows,
    plan: Plan,
    splits: Splits,
    rng: np.random.Generator,
    watch: Watch,
    n_jobs: int | None = None,
) -> Ensemble:
    """The stack of all members.

    Parameters
    ----------
    rows : Rows
        Training rows in their own order.
    plan : Plan
        What to fit.
    splits : list of (ndarray, ndarray)
        Rows to fit to and rows to predict, fold by fold.
    rng : Generator
        Draws folds and landmarks.
    watch : Watch
        May stop the fit; then what was fitted until then is used as it is.
    n_jobs : int, optional
        Folds that are fitted at a time, as in joblib. The first one comes before the others,
        which leave out what it shows to be of no use.
    """
    fits, decided = [_fold(rows, plan, splits[0], rng, watch, 0)], False
    if not watch.stopped:
        plan, decided = _lessened(plan, fits[0])
    if not decided and not watch.stopped:
        others = [
            (split, random, number)
            for number, (split, random) in enumerate(
                zip(splits[1:], rng.spawn(len(splits) - 1), strict=True), start=1
            )
        ]
        run = Parallel(n_jobs=n_jobs, prefer="threads")
        fits += run(delayed(_fold)(rows, plan, s, r, watch, i) for s, r, i in others)
        # Folds that a callback has cut short lack members.
        fits = [fit for fit in fits if fit.whole] or fits[:1]
    predictions: dict[str, np.ndarray] = {}
    mean = np.full(rows.Y.shape, np.nan)
    for fit in fits:
        mean[fit.fresh] = fit.mean
        for name, values in fit.predictions.items():
            predictions.setdefault(name, np.full(rows.Y.shape, np.nan))[fit.fresh] = values
    return _combined(rows, plan, [fit.fitted for fit in fits], predictions, mean, rng, watch)


@dataclass(frozen=True)
class _Fold:
    """Members fitted to the rows of one fold, and their predictions of the others."""

    fitted: Fitted
    test: Rows
    fresh: np.ndarray
    mean: np.ndarray
    predictions: dict[str, np.ndarray]
    whole: bool
    """Whether no callback has stopped it."""


def _fold(
    rows: Rows,
    plan: Plan,
    split: tuple[np.ndarray, np.ndarray],
    rng: np.random.Generator,
    watch: Watch,
    number: int,
) -> _Fold:
    used, fresh = split
    train, test = rows.part(used), rows.part(fresh)
    fitted = fit_members(train, plan, rng, watch, label=f"fold {number + 1}")
    found = {name: member(test.X) for name, member in fitted.members.items()}
    return _Fold(fitted, test, fresh, train.mean(train.Y), found, not watch.stopped)


def _lessened(plan: Plan, fold: _Fold) -> tuple[Plan, bool]:
    """What is left to do in the other folds after what one has shown, and whether anything is."""
    families, decided = plan.families, False
    fitted, found, test = fold.fitted, fold.predictions, fold.test
    errors = {name: ((test.Y - p) ** 2).mean(axis=1) for name, p in found.items()}
    level = {name: float(test.weights @ e / test.weights.sum()) for name, e in errors.items()}
    simple = min((m for m in level if m in SIMPLE), key=level.__getitem__, default=None)
    index = min((m for m in level if m in fitted.bases), key=level.__getitem__, default=None)
    if simple is not None and index is not None:
        won = gain(errors[index], errors[simple], test.weights)
        decided = len(test) >= _DECIDING_ROWS and won.beyond(_DECIDED)
        rival = min((m for m in level if m not in fitted.bases), key=level.__getitem__)
        if level[index] < _SOLVED:
            families = tuple(f for f in families if f != "metric")
        elif not gain(errors[index], errors[rival], test.weights).beyond(_WORTH_A_LOOK):
            families = tuple(f for f in families if f != "index")
    if level.get("trees", 0.0) > _FAR * min(level.values()):
        families = tuple(f for f in families if f != "trees")
    stages = max(1, len(fitted.path))
    search = replace(
        plan.search,
        most_stages=min(plan.search.most_stages, stages),
        probe=fitted.probe and not _shown_by_moments(fitted),
    )
    metrics = [level.get(f"metric{t}", np.inf) for t in range(1, plan.effort.metrics + 1)]
    lessened = replace(
        plan,
        families=families,
        search=search,
        effort=replace(plan.effort, metrics=int(np.argmin(metrics)) + 1),
        kernel=fitted.kernel,
        columns=fitted.columns,
    )
    return lessened, decided


def _shown_by_moments(fitted: Fitted) -> bool:
    """Whether no kernel was needed to find the directions."""
    kernels = ("metric", "probe")
    return bool(fitted.path) and not any(s["origin"].startswith(kernels) for s in fitted.path)


def _combined(
    rows: Rows,
    plan: Plan,
    fits: list[Fitted],
    predictions: dict[str, np.ndarray],
    mean: np.ndarray,
    rng: np.random.Generator,
    watch: Watch,
) -> Ensemble:
    seen = ~np.isnan(mean[:, 0])
    Y, weights = rows.Y[seen], rows.weights[seen]
    shown = {name: p[seen] for name, p in predictions.items() if not np.isnan(p[seen]).any()}
    stack = stacked(shown, Y, mean[seen], weights)
    start = min(fits, key=lambda fitted: fitted.score)
    useful, over = _use_of_directions(rows, predictions, mean)
    names = set(stack.weights)
    if watch.stopped:
        members, bases = start.members, start.bases
        if not names <= set(members):
            members = next(f.members for f in fits if names <= set(f.members))
    else:
        watch.proceed("all rows")
        forests = [f.forest for f in fits if f.forest is not None]
        again = refitted(rows, names, start, plan, rng, directions=useful, forests=forests)
        members, bases = again.members, again.bases
    basis = np.zeros((rows.X.shape[1], 0))
    if useful and "best" in bases:
        basis = bases["best"]
        if start.columns is not None:
            basis = np.zeros((rows.X.shape[1], basis.shape[1]))
            basis[start.columns.smooth] = bases["best"]
    out = np.full(rows.Y.shape, np.nan)
    out[seen] = mean[seen]
    for name, weight in stack.weights.items():
        out[seen] += weight * (shown[name] - mean[seen])
    return Ensemble(
        members={name: members[name] for name in names},
        stack=stack,
        mean=rows.mean(rows.Y),
        basis=basis,
        columns=start.columns,
        slopes=fit_ridge(rows).member.coefficients,
        over_simple=over,
        path=start.path,
        out_of_fold=out,
        stopped=watch.stopped,
    )


def _use_of_directions(
    rows: Rows, predictions: dict[str, np.ndarray], mean: np.ndarray
) -> tuple[bool, Gain | None]:
    """Whether directions tell more than a linear function, and their gain over simple members.

    The family may have been given up after a fold, for a kernel that predicts better: directions
    are of interest all the same.
    """
    index = [name for name in _ALWAYS if name in predictions]
    if not index:
        return False, None
    seen = ~np.isnan(predictions[index[0]]).any(axis=1)
    weights, Y = rows.weights[seen], rows.Y[seen]
    base = ((Y - mean[seen]) ** 2).mean(axis=1)
    errors = {
        name: ((Y - predictions[name][seen]) ** 2).mean(axis=1)
        for name in (*index, *SIMPLE)
        if name in predictions
    }
    level = {name: float(weights @ error) for name, error in errors.items()}
    best = errors[min(index, key=level.__getitem__)]
    simple = min((name for name in SIMPLE if name in errors), key=level.__getitem__, default=None)
    found = gain(best, base if simple is None else errors[simple], weights)
    variance = float(weights @ base / weights.sum())
    useful = (
        gain(best, base, weights).beyond(_BEYOND_MEAN)
        and gain(best, errors.get("linear", base), weights).beyond(_BEYOND_LINEAR)
    )  # fmt: skip
    return useful, Gain(found.value / variance, found.error / variance)
