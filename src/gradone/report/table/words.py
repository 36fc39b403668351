"""Sentences of a report on a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .peers import label_of

if TYPE_CHECKING:
    from .fit import TableFit

_CLEAR = 2.0  # standard errors from which a difference is called one
_ON_DIRECTIONS = ("stage", "best", "rough", "linear")  # members that see a few directions alone
_FLAT, _STEEP = 0.01, 0.03  # gains by the last doubling of the rows


def finding(fit: TableFit) -> str:
    """What the target depends on, in the words of a practitioner."""
    k, target = fit.learner.n_directions_, fit.data.target
    if not fit.learner.member_weights_:
        return (
            f"Nothing in this table predicts {target} better than a constant does, as far as "
            f"{len(fit.data.y)} rows can show."
        )
    if not k:
        return f"{target} can be predicted, but not from a few combinations of the features."
    few = "one combination" if k == 1 else f"{k} combinations"
    d = len(fit.data.features)
    weights = fit.learner.member_weights_
    carried = sum(weight for name, weight in weights.items() if name.startswith(_ON_DIRECTIONS))
    if carried < sum(weights.values()) / 2:
        return (
            f"{target} can be predicted, but {few} of the {d} features "
            f"{'does' if k == 1 else 'do'} not carry the prediction: methods that see all features "
            "do as well."
        )
    return (
        f"{target} depends on {few} of the {d} features, above all on {leading_features(fit, 0)}."
    )


def headline(fit: TableFit) -> str:
    """How well the target is predicted, and whether another method does it better."""
    comparison, task = fit.comparison, fit.data.task
    own, best = comparison.own, comparison.best_peer
    gain, error = comparison.gain(best.name)
    text = (
        f"On rows that were left out gradone reaches {comparison.measure} = "
        f"{own.mean:.3f} ± {own.error:.3f}; the best of the others, {label_of(best.name, task)}, "
        f"reaches {best.mean:.3f} ± {best.error:.3f}. On the same folds the difference is "
        f"{gain:+.3f} ± {error:.3f}: "
    )
    if abs(gain) <= _CLEAR * error or abs(gain) < 5e-4:
        return text + "there is no clear winner."
    return text + ("gradone is ahead." if gain > 0 else f"{label_of(best.name, task)} is ahead.")


def reading(fit: TableFit) -> str:
    """How to read the directions, or what it means that there are none."""
    k = fit.learner.n_directions_
    if not k:
        return (
            "There are no directions to show: the prediction does not rest on a few combinations "
            "of the features."
        )
    return (
        "Each direction is a weighted sum of the features; the loadings below are the weights, in "
        "units of the standard deviation of a feature, and their squares add up to 1. Blue is "
        "positive and orange is negative; only the signs within one direction can be compared. "
        "± is a standard error, from the fits that left out one fold each (jackknife); it is large "
        "where two directions can be exchanged, or one is not found without some of the rows. The "
        "share of the gradient says how steeply the prediction changes along a direction, not how "
        "much of the target it explains: that is the variance explained, on rows that were left "
        "out, by a smooth function of this direction and those before it."
    )


def leading_features(fit: TableFit, k: int, most: int = 4) -> str:
    """The features with the largest loadings in a direction, with their signs.

    Parameters
    ----------
    fit : TableFit
        The fit.
    k : int
        Number of the direction, from 0.
    most : int
        Features to name; fewer if these hold most of the direction.
    """
    loadings = fit.learner.directions_[k]
    order = np.argsort(-np.abs(loadings))
    share = np.cumsum(loadings[order] ** 2)
    count = min(int(np.searchsorted(share, 0.7)) + 1, most)
    return ", ".join(f"{fit.data.features[j]} ({loadings[j]:+.2f})" for j in order[:count])


def more_rows(fit: TableFit) -> str:
    """What the learning curve says about collecting more rows."""
    assert fit.growth is not None
    curve = fit.growth.scores["gradone"]
    sizes = fit.growth.sizes
    if len(sizes) < 2 or not np.isfinite(curve[-2:]).all():
        return "There are too few rows to see how the score grows with them."
    steps = curve[-1] - curve[-2]
    gain, error = float(steps.mean()), float(steps.std(ddof=1) / np.sqrt(len(steps)))
    start = (
        f"The last doubling, from {sizes[-2]} to {sizes[-1]} rows, changed the score by "
        f"{gain:+.3f} ± {error:.3f}: "
    )
    if gain - error > _STEEP:
        return start + "the curve is still rising, so more rows would help."
    if gain + error < _FLAT:
        return start + "the curve has flattened, so more rows of the same kind would help little."
    return start + "more rows may still help a little."


def predicted(fit: TableFit) -> str:
    """What the predicted curve is, and what it does not cover."""
    assert fit.growth is not None
    prediction = fit.growth.prediction
    linear = "ridge regression" if fit.data.task == "regression" else "logistic regression"
    if not len(prediction.sizes):
        return f"The curve of {linear} is not predicted by theory here: {prediction.remark}."
    return (
        f"The line is the score of {linear} that the theory of Gaussian covariates predicts from "
        "the covariances of the whole table, without a fit; the band is its 99 % interval for "
        f"the sampling of the table. {prediction.remark} Since the covariances are those of this "
        "very table, the last points are a little too good."
    )
