"""How much of each member to use: a gate, and weights from predictions out of fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

SIMPLE = ("linear", "kernel", "metric1")
"""Smooth members that need not prove themselves against others."""
_UNGATED = (*SIMPLE, "trees")  # trees err elsewhere than smooth functions: weights decide
_SHRINKAGE = 0.02
_LEAST_WEIGHT = 0.03
_GATE, _BEYOND_MEAN = 1.0, 2.0  # standard errors


@dataclass(frozen=True)
class Gain:
    """Mean difference of squared errors of two predictors, with its standard error."""

    value: float
    error: float

    def beyond(self, standard_errors: float) -> bool:
        """Whether it is positive by more than that."""
        return self.value > standard_errors * self.error


@dataclass(frozen=True)
class Stack:
    """Weights of the members, and the numbers that they rest on."""

    weights: dict[str, float]
    """Of the members that are used; none if the mean is predicted."""
    scores: dict[str, float]
    """Share of the variance that each member explains out of fold."""
    score_errors: dict[str, float]
    """Standard errors of these."""
    best: str
    """The member with the smallest error among those that may be used."""


def gain(errors: np.ndarray, others: np.ndarray, weights: np.ndarray) -> Gain:
    """How much smaller errors are than others, row by row.

    Parameters
    ----------
    errors, others : ndarray (n,)
        Squared errors at the same rows.
    weights : ndarray (n,)
        Weights of the rows.
    """
    differences, total = others - errors, weights.sum()
    value = float(weights @ differences / total)
    noise = np.sqrt(np.sum((weights * (differences - value)) ** 2)) / total
    return Gain(value, float(noise))


def stacked(
    predictions: dict[str, np.ndarray], Y: np.ndarray, mean: np.ndarray, weights: np.ndarray
) -> Stack:
    """Weights of members whose predictions out of fold are known.

    Parameters
    ----------
    predictions : dict of ndarray (n, q)
        Predictions of each member at rows that it was not fitted to.
    Y, mean : ndarray (n, q)
        Labels, and the prediction of the mean.
    weights : ndarray (n,)
        Weights of the rows.
    """
    base = ((Y - mean) ** 2).mean(axis=1)
    errors = {name: ((Y - found) ** 2).mean(axis=1) for name, found in predictions.items()}
    variance = float(weights @ base / weights.sum())
    gains = {name: gain(error, base, weights) for name, error in errors.items()}
    scores = {name: g.value / variance for name, g in gains.items()}
    noise = {name: g.error / variance for name, g in gains.items()}
    simple = max((m for m in scores if m in SIMPLE), key=scores.__getitem__, default=None)
    bar = base if simple is None else errors[simple]
    passed = [m for m in scores if m in _UNGATED or gain(errors[m], bar, weights).beyond(_GATE)]
    best = max(passed or list(scores), key=scores.__getitem__)
    if not passed or not gains[best].beyond(_BEYOND_MEAN):
        return Stack({}, scores, noise, best)
    share = 1 - scores[best]
    found = _shrunk_weights({m: predictions[m] for m in passed}, Y, mean, weights, best, share)
    return Stack(found, scores, noise, best)


def _shrunk_weights(
    predictions: dict[str, np.ndarray],
    Y: np.ndarray,
    mean: np.ndarray,
    weights: np.ndarray,
    best: str,
    share: float,
) -> dict[str, float]:
    """Non-negative least squares, drawn towards the best member alone."""
    root, names = np.sqrt(weights)[:, None], list(predictions)
    columns = np.stack([(root * (predictions[m] - mean)).ravel() for m in names], axis=1)
    pull = np.sqrt(_SHRINKAGE * weights.sum() * Y.shape[1] * max(share, 1e-6))
    target = pull * (np.array(names) == best)
    system = np.concatenate([columns, pull * np.eye(len(names))])
    found = nnls(system, np.concatenate([(root * (Y - mean)).ravel(), target]))[0]
    return {m: float(w) for m, w in zip(names, found, strict=True) if w >= _LEAST_WEIGHT}
