"""Learning curves of a table: scores on fewer rows, measured, and for a linear fit predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.errors import BadData, NotConverged, OutOfRegime
from .comparison import Comparison, Folds, Say, fitted_quietly, score
from .prepare import LEAST_ROWS, Prepared

_SHARES = (1 / 8, 1 / 4, 1 / 2)
_POINTS = 25  # of the predicted curve


@dataclass(frozen=True)
class Prediction:
    """Score of a linear fit as theory has it.

    Parameters
    ----------
    sizes, scores, errors : ndarray
        Rows, scores and half-widths of their intervals; empty if there is no prediction.
    remark : str
        What the prediction does not cover, or why there is none.
    """

    sizes: np.ndarray
    scores: np.ndarray
    errors: np.ndarray
    remark: str


@dataclass(frozen=True)
class Growth:
    """Scores against the number of rows.

    Parameters
    ----------
    sizes : ndarray (k,)
        Rows that were learned from.
    scores : dict of ndarray (k, repeats)
        By method: ``"gradone"`` and ``"linear"``, a linear fit with a fixed penalty; NaN where a
        fit was not possible.
    penalty : float
        That penalty, for standardized features.
    prediction : Prediction
        The linear fit by theory.
    """

    sizes: np.ndarray
    scores: dict[str, np.ndarray]
    penalty: float
    prediction: Prediction


def measure_growth(
    data: Prepared, learner: Any, comparison: Comparison, folds: Folds, say: Say
) -> Growth:
    """Measure scores on parts of the training rows, and predict those of a linear fit.

    Parameters
    ----------
    data : Prepared
        The table.
    learner : estimator
        The feature learner, not fitted.
    comparison : Comparison
        Its scores with all training rows.
    folds : list of (train, test)
        The folds of the comparison.
    say : callable
        Told what is being done.
    """
    whole = min(len(train) for train, _ in folds)
    sizes = np.array([*(s for s in (int(whole * p) for p in _SHARES) if s >= LEAST_ROWS), whole])
    linear, penalty = _linear_fit(data)
    shape = len(sizes), len(folds)
    scores = {"gradone": np.full(shape, np.nan), "linear": np.full(shape, np.nan)}
    for column, (train, test) in enumerate(folds):
        order = np.random.default_rng(column).permutation(train)
        for row, size in enumerate(sizes):
            part = order[:size]
            say(f"learning curve, {size} rows, fold {column + 1} of {len(folds)}")
            scores["linear"][row, column] = _score(data, linear, part, test)
            scores["gradone"][row, column] = (
                comparison.own.scores[column]
                if row == len(sizes) - 1
                else _score(data, learner, part, test)
            )
    return Growth(sizes, scores, penalty, _prediction(data, sizes, penalty))


def _score(data: Prepared, method: Any, rows: np.ndarray, test: np.ndarray) -> float:
    known, fresh = data.numbers(rows, test)
    try:
        fitted = fitted_quietly(method, known, data.y[rows])
    except ValueError:  # too few rows of some class
        return float("nan")
    return score(data.task, data.y[test], fitted.predict(fresh))


def _linear_fit(data: Prepared) -> tuple[Any, float]:
    """Linear fit with the penalty that suits the whole table, the same for every size."""
    from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if data.task == "classification":
        return make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=2000)), 1.0
    X = StandardScaler().fit_transform(data.X)
    penalty = float(RidgeCV(np.logspace(-1, 4, 11)).fit(X, data.y).alpha_)
    return make_pipeline(StandardScaler(), Ridge(alpha=penalty)), penalty


def _prediction(data: Prepared, sizes: np.ndarray, penalty: float) -> Prediction:
    """The theory of Gaussian covariates for the linear fit, or the reason why it does not apply."""
    from ...theory.lazy.learning_curve import learning_curve

    classes = len(data.classes)
    if classes > 2:
        return _none(f"the theory covers two classes, and the target has {classes}")
    n, d = data.X.shape
    if n < 2 * d:
        return _none(
            f"it takes the covariances of all {d} features from the table, and {n} rows do not "
            "suffice for that"
        )
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    grid = np.unique(np.geomspace(sizes[0], sizes[-1], _POINTS).round())
    loss = "logistic" if classes else "square"
    try:
        found = learning_curve(X, data.y, n=grid, ridge=penalty, loss=loss)
    except (OutOfRegime, NotConverged, BadData) as reason:
        # What the theory advises to try instead is for those who call it themselves.
        return _none(str(reason).partition(". Use ")[0])
    if classes:
        values, errors = 1 - found.zero_one_error.values, found.zero_one_error_err.values
    else:
        variance = float(data.y.var())
        values, errors = 1 - found.test_mse.values / variance, found.test_mse_err.values / variance
    return Prediction(grid, values[:, 0], errors[:, 0], str(found.attrs.get("caveat", "")))


def _none(reason: str) -> Prediction:
    empty = np.zeros(0)
    return Prediction(empty, empty, empty, reason)
