"""Cross-validated comparison: every method on the same folds."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .prepare import Prepared, Task

Say = Callable[[str], None]
Folds = list[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Entry:
    """One method: its score on each fold, and what it cost.

    Parameters
    ----------
    name : str
        Name of the method.
    scores : ndarray (folds,)
        R² for numbers, accuracy for classes, on the rows of each fold.
    seconds : float
        CPU time of one fit, on average.
    predictions : ndarray (n,)
        Of every row by a fit that did not see it.
    failure : str
        Why there are no scores, if so; they are NaN then.
    directions : tuple of ndarray
        Of the fit without each fold, if the method finds directions.
    """

    name: str
    scores: np.ndarray
    seconds: float
    predictions: np.ndarray | None = None
    failure: str = ""
    directions: tuple[np.ndarray, ...] = ()

    @property
    def mean(self) -> float:
        """Mean score over folds."""
        return float(self.scores.mean())

    @property
    def error(self) -> float:
        """Standard error of the mean over folds."""
        return float(self.scores.std(ddof=1) / np.sqrt(len(self.scores)))


@dataclass(frozen=True)
class Comparison:
    """Entries by name, the best first."""

    entries: dict[str, Entry]
    measure: str
    """``"R²"`` or ``"accuracy"``."""

    @property
    def own(self) -> Entry:
        """The entry of gradone."""
        return self.entries["gradone"]

    @property
    def best_peer(self) -> Entry:
        """The best of the others."""
        others = (entry for name, entry in self.entries.items() if name != "gradone")
        return max(others, key=lambda entry: -np.inf if entry.failure else entry.mean)

    def gain(self, other: str) -> tuple[float, float]:
        """Mean difference of gradone's score and another one over folds, and its error."""
        differences = self.own.scores - self.entries[other].scores
        return float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(len(differences)))


def folds_of(data: Prepared, count: int, seed: int) -> Folds:
    """Folds that all methods share; with equal shares of the classes."""
    from sklearn.model_selection import KFold, StratifiedKFold

    if data.task == "classification":
        count = min(count, int(np.unique(data.y, return_counts=True)[1].min()))
        return list(StratifiedKFold(count, shuffle=True, random_state=seed).split(data.X, data.y))
    return list(KFold(count, shuffle=True, random_state=seed).split(data.X))


def compare(data: Prepared, methods: dict[str, Any], folds: Folds, say: Say) -> Comparison:
    """Score every method on every fold.

    Parameters
    ----------
    data : Prepared
        The table.
    methods : dict of estimators
        By name, not fitted.
    folds : list of (train, test)
        Rows of each fold.
    say : callable
        Told what is being done.
    """
    entries = [_entry(name, method, data, folds, say) for name, method in methods.items()]
    entries.sort(key=lambda entry: np.inf if entry.failure else -entry.mean)
    measure = "accuracy" if data.task == "classification" else "R²"
    return Comparison({entry.name: entry for entry in entries}, measure)


def _entry(name: str, method: Any, data: Prepared, folds: Folds, say: Say) -> Entry:
    scores, directions, start = [], [], time.process_time()
    predictions = np.empty_like(data.y)
    try:
        for number, (train, test) in enumerate(folds):
            say(f"{name}, fold {number + 1} of {len(folds)}")
            known, fresh = data.numbers(train, test)
            fitted = fitted_quietly(method, known, data.y[train])
            predictions[test] = fitted.predict(fresh)
            scores.append(score(data.task, data.y[test], predictions[test]))
            if name == "gradone":
                directions.append(np.asarray(fitted.directions_, float))
    except (ValueError, RuntimeError, MemoryError, np.linalg.LinAlgError) as error:
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        return Entry(name, np.full(len(folds), np.nan), np.nan, failure=reason)
    seconds = (time.process_time() - start) / len(folds)
    return Entry(name, np.array(scores), seconds, predictions, directions=tuple(directions))


def fitted_quietly(method: Any, X: np.ndarray, y: np.ndarray) -> Any:
    """A fitted clone of a method, without its remarks on convergence and constant columns."""
    from sklearn.base import clone

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(method).fit(X, y)


def score(task: Task, y: np.ndarray, predicted: np.ndarray) -> float:
    """R² of numbers, share of the right classes.

    Examples
    --------
    >>> score("regression", np.array([0.0, 2.0]), np.array([1.0, 1.0]))
    0.0
    """
    if task == "classification":
        return float(np.mean(y == predicted))
    return float(1 - np.sum((y - predicted) ** 2) / np.sum((y - y.mean()) ** 2))
