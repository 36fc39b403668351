"""Members fitted fold by fold, stacked, and fitted again to all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .linear import fit_ridge
from .members import Fitted, Member, Plan, fit_members, refitted
from .rows import Rows, Splits
from .stack import SIMPLE, Gain, Stack, gain, stacked
from .watch import Watch

_HOPELESS = 1.5  # standard errors by which the index family may lose before it is given up
_DECIDED = 5.0  # standard errors by which it must win for the other folds to be left out
_DECIDING_ROWS = 300
_SOLVED = 0.01  # share of the variance below which no other family is needed


@dataclass(frozen=True)
class Ensemble:
    """A weighted sum of members, and how it came about."""

    members: dict[str, Member]
    stack: Stack
    mean: np.ndarray
    """(q,) prediction without any member."""
    basis: np.ndarray
    """(d, k) directions of the index family, k = 0 if it is of no use."""
    slopes: np.ndarray
    """(d, q) of the ridge regression on all rows."""
    over_linear: Gain | None
    """What the best index member gains over ridge, in units of the variance."""
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
    rows: Rows, plan: Plan, splits: Splits, rng: np.random.Generator, watch: Watch
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
    """
    predictions: dict[str, np.ndarray] = {}
    mean = np.full(rows.Y.shape, np.nan)
    fits: list[Fitted] = []
    for fold, (used, fresh) in enumerate(splits):
        train, test = rows.part(used), rows.part(fresh)
        fitted = fit_members(train, plan, rng, watch, label=f"fold {fold + 1}")
        if watch.stopped and fits:
            break
        fits.append(fitted)
        mean[fresh] = train.mean(train.Y)
        found = {name: member(test.X) for name, member in fitted.members.items()}
        if fold == 0:
            predictions = {name: np.full(rows.Y.shape, np.nan) for name in found}
        predictions = {name: kept for name, kept in predictions.items() if name in found}
        for name, kept in predictions.items():
            kept[fresh] = found[name]
        if watch.stopped:
            break
        plan, decided = _lessened(plan, fitted, found, test)
        if decided:
            break
    return _combined(rows, plan, fits, predictions, mean, rng, watch)


def _lessened(
    plan: Plan, fitted: Fitted, found: dict[str, np.ndarray], test: Rows
) -> tuple[Plan, bool]:
    """What is left to do in the other folds after what one has shown, and whether anything is."""
    families, decided = plan.families, False
    errors = {name: ((test.Y - p) ** 2).mean(axis=1) for name, p in found.items()}
    level = {name: float(test.weights @ e / test.weights.sum()) for name, e in errors.items()}
    simple = min((m for m in level if m in SIMPLE), key=level.__getitem__, default=None)
    index = min((m for m in level if m in fitted.bases), key=level.__getitem__, default=None)
    if simple is not None and index is not None:
        if gain(errors[simple], errors[index], test.weights).beyond(_HOPELESS):
            families = tuple(f for f in families if f != "index")
        elif gain(errors[index], errors[simple], test.weights).beyond(_DECIDED):
            decided = len(test) >= _DECIDING_ROWS
        elif level[index] < _SOLVED and "metric" in families:
            families = tuple(f for f in families if f != "metric")
    stages = max(1, len(fitted.path))
    search = replace(plan.search, most_stages=min(plan.search.most_stages, stages))
    return replace(plan, families=families, search=search), decided


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
    shown = {name: p[seen] for name, p in predictions.items()}
    stack = stacked(shown, Y, mean[seen], weights)
    start = min(fits, key=lambda fitted: fitted.score)
    over = _index_over_linear(shown, start, Y, mean[seen], weights)
    names = set(stack.weights)
    if watch.stopped:
        members, bases = start.members, start.bases
        if not names <= set(members):
            members = next(f.members for f in fits if names <= set(f.members))
    else:
        watch.proceed("all rows")
        useful = over is not None and over.beyond(1.0)
        again = refitted(rows, names, start, plan, rng, directions=useful)
        members, bases = again.members, again.bases
    basis = np.zeros((rows.X.shape[1], 0))
    if over is not None and over.beyond(1.0) and "best" in bases:
        basis = bases["best"]
    out = np.full(rows.Y.shape, np.nan)
    out[seen] = mean[seen]
    for name, weight in stack.weights.items():
        out[seen] += weight * (shown[name] - mean[seen])
    return Ensemble(
        members={name: members[name] for name in names},
        stack=stack,
        mean=rows.mean(rows.Y),
        basis=basis,
        slopes=fit_ridge(rows).member.coefficients,
        over_linear=over,
        path=start.path,
        out_of_fold=out,
        stopped=watch.stopped,
    )


def _index_over_linear(
    shown: dict[str, np.ndarray],
    start: Fitted,
    Y: np.ndarray,
    mean: np.ndarray,
    weights: np.ndarray,
) -> Gain | None:
    """What the best index member gains over ridge (the mean, without it)."""
    errors = {name: ((Y - p) ** 2).mean(axis=1) for name, p in shown.items()}
    base = ((Y - mean) ** 2).mean(axis=1)
    index = [m for m in errors if m in start.bases]
    if not index:
        return None
    variance = weights @ base / weights.sum()
    best = min(index, key=lambda m: float(weights @ errors[m]))
    found = gain(errors[best], errors.get("linear", base), weights)
    beyond_mean = gain(errors[best], base, weights)
    if not beyond_mean.beyond(2.0):
        return None
    return Gain(found.value / variance, found.error / variance)
