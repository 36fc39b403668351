r"""Probabilities of classes from scores, fitted to scores out of fold.

.. math:: P(c \mid x) \propto e^{t\, s_c(x) + b_c}    [FL-6]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

_PULL = 1e-3  # of t^2 in the mean loss: classes that are separated would make it infinite


@dataclass(frozen=True)
class Calibration:
    """Map from scores to logits.

    Parameters
    ----------
    slope : float
        t of [FL-6], at least 0: the order of scores is kept.
    offsets : ndarray (k,)
        b.
    """

    slope: float
    offsets: np.ndarray

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Logarithms of the probabilities (n, k)."""
        return np.asarray(log_softmax(self.slope * scores + self.offsets, axis=1))


def calibrated(scores: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> Calibration:
    """Slope and offsets with the largest likelihood.

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
    Scores that say nothing leave the shares of the classes:

    >>> found = calibrated(np.zeros((4, 2)), np.array([0, 0, 0, 1]), np.ones(4))
    >>> np.exp(found(np.zeros((1, 2)))).round(3)
    array([[0.75, 0.25]])
    """
    k = scores.shape[1]
    hot = classes[:, None] == np.arange(k)
    shares = weights / weights.sum()

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        slope, offsets = parameters[0], parameters[1:]
        logs = log_softmax(slope * scores + offsets, axis=1)
        excess = shares[:, None] * (np.exp(logs) - hot)
        value = -float(shares @ logs[hot]) + 0.5 * _PULL * slope**2 + 0.5e-9 * offsets @ offsets
        slopes = np.concatenate([[np.sum(excess * scores) + _PULL * slope], excess.sum(axis=0)])
        slopes[1:] += 1e-9 * offsets
        return value, slopes

    start = np.concatenate([[1.0], np.log(np.maximum(shares @ hot, 1e-12))])
    bounds = [(0.0, None)] + [(None, None)] * k
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, tol=1e-12)
    return Calibration(float(found.x[0]), found.x[1:])
