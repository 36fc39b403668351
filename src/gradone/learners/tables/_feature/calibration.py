r"""Probabilities of classes from scores, fitted to scores out of fold.

.. math:: P(c \mid x) \propto \max(s_c(x), 0.01)^u\, e^{t\, s_c(x) + b_c}    [FR-6]

Scores estimate probabilities: where they are right u = 1, t = 0 and b = 0; the rest is for those
that are not. Few rows cannot tell much else: before they are seen, t, u - 1 and all b are standard
normal. Nor can n rows without an error promise that there is none: by the rule of succession one
is expected of n + 2. With this probability a label is taken for one drawn from the shares of the
classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

_LEAST = 0.01  # scores may be negative


@dataclass(frozen=True)
class Calibration:
    """Map from scores to logits.

    Parameters
    ----------
    slope, power : float
        t and u of [FR-6], at least 0: the order of scores is kept.
    offsets : ndarray (k,)
        b.
    """

    slope: float
    power: float
    offsets: np.ndarray

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Logarithms of the probabilities (n, k)."""
        logits = self.slope * scores + self.power * _logarithms(scores) + self.offsets
        return np.asarray(log_softmax(logits, axis=1))


def _logarithms(scores: np.ndarray) -> np.ndarray:
    return np.asarray(np.log(np.maximum(scores, _LEAST)))


def calibrated(scores: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> Calibration:
    """Slope, power and offsets with the largest probability given the scores.

    Parameters
    ----------
    scores : ndarray (n, k)
        Scores of the classes at rows that were not fitted.
    classes : ndarray of int (n,)
        Class of each row.
    weights : ndarray (n,)
        Weights of the rows.

    Examples
    --------
    Scores that say nothing leave the shares of the classes, if there are many rows:

    >>> many = np.array([0, 0, 0, 1] * 1000)
    >>> found = calibrated(np.zeros((4000, 2)), many, np.ones(4000))
    >>> np.exp(found(np.zeros((1, 2)))).round(3)
    array([[0.75, 0.25]])
    """
    n, k = scores.shape
    hot = classes[:, None] == np.arange(k)
    shares, columns = weights / weights.sum(), np.stack([scores, _logarithms(scores)])
    wrong = 1 / (n + 2)
    truth = (1 - wrong) * hot + wrong * (shares @ hot)
    center = np.concatenate([[0.0, 1.0], np.zeros(k)])
    pull = 1 / max(n, 1)

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        logs = log_softmax(np.tensordot(parameters[:2], columns, 1) + parameters[2:], axis=1)
        excess, away = shares[:, None] * (np.exp(logs) - truth), parameters - center
        value = -float(shares @ (truth * logs).sum(axis=1)) + 0.5 * pull * float(away @ away)
        slopes = np.concatenate([np.tensordot(columns, excess, 2), excess.sum(axis=0)])
        return value, slopes + pull * away

    bounds = [(0.0, None)] * 2 + [(None, None)] * k
    found = minimize(loss, center, jac=True, method="L-BFGS-B", bounds=bounds, tol=1e-12)
    return Calibration(float(found.x[0]), float(found.x[1]), found.x[2:])
