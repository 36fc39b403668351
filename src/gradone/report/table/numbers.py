"""All numbers of a report in the types of JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .peers import label_of

if TYPE_CHECKING:
    from .fit import TableFit


def numbers_of(fit: TableFit) -> dict[str, Any]:
    """What was found in a table, with what it rests on.

    Parameters
    ----------
    fit : TableFit
        The fit.
    """
    data, learner, comparison = fit.data, fit.learner, fit.comparison
    n, d = data.X.shape
    others = [name for name in comparison.entries if name != "gradone"]
    return {
        "schema": 1,
        "table": data.source,
        "target": data.target,
        "task": data.task,
        "classes": data.classes,
        "rows": n,
        "features": list(data.features),
        "notes": list(data.notes),
        "warnings": list(data.warnings),
        "diagnosis": learner.diagnosis_,
        "directions": [
            {
                "strength": plain(strength),
                "gradient_share": plain(gradient),
                "explained_variance": plain(explained),
                "loadings": dict(zip(data.features, plain(row), strict=True)),
                "loading_errors": dict(zip(data.features, plain(errors), strict=True)),
            }
            for row, errors, strength, gradient, explained in zip(
                learner.directions_,
                fit.loading_errors,
                learner.eigenvalues_[: learner.n_directions_],
                fit.gradient_shares,
                fit.explained,
                strict=True,
            )
        ],
        "members": {
            name: {"weight": plain(learner.member_weights_.get(name, 0.0)), "r2": plain(value)}
            for name, value in learner.cv_scores_.items()
        },
        "path": plain(learner.path_),
        "measure": comparison.measure,
        "folds": fit.folds,
        "seed": fit.seed,
        "scores": {
            name: {
                "label": label_of(name, data.task),
                "mean": plain(entry.mean),
                "error": plain(entry.error),
                "folds": plain(entry.scores),
                "cpu_seconds": plain(entry.seconds),
                "failure": entry.failure,
            }
            for name, entry in comparison.entries.items()
        },
        "gain": {name: plain(list(comparison.gain(name))) for name in others},
        "learning_curve": _curve(fit),
        "cpu_seconds": plain(fit.seconds),
    }


def _curve(fit: TableFit) -> dict[str, Any] | None:
    growth = fit.growth
    if growth is None:
        return None
    prediction = growth.prediction
    return {
        "rows": plain(growth.sizes),
        "scores": {name: plain(values) for name, values in growth.scores.items()},
        "penalty": growth.penalty,
        "predicted": {
            "rows": plain(prediction.sizes),
            "scores": plain(prediction.scores),
            "errors": plain(prediction.errors),
            "remark": prediction.remark,
        },
    }


def plain(value: Any) -> Any:
    """Numbers and arrays in the types of JSON; None for what is not finite.

    Examples
    --------
    >>> plain(np.array([1.0, np.nan])), plain({"rank": np.int64(2)})
    ([1.0, None], {'rank': 2})
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
