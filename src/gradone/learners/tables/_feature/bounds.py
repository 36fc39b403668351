"""How far predictions may go: limits that the labels support, and intervals for new labels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ....base.errors import BadData

_NEIGHBOR = 4  # the distance of an extreme label to the fifth one says how far the next may lie
_SHARE = 0.2  # of the range, at least


@dataclass(frozen=True)
class Limits:
    r"""Range of the labels of training, and as much beyond its ends as they are apart there.

    .. math:: y_{(1)} - \max(y_{(5)} - y_{(1)}, 0.2 R) \le f(x) \le
              y_{(n)} + \max(y_{(n)} - y_{(n-4)}, 0.2 R), \qquad R = y_{(n)} - y_{(1)}    [FR-7]

    Parameters
    ----------
    low, high : ndarray (q,)
        Ends of the range.
    """

    low: np.ndarray
    high: np.ndarray

    def __call__(self, labels: np.ndarray) -> np.ndarray:
        """Predictions (n, q) within the limits."""
        return np.clip(labels, self.low, self.high)


def label_limits(Y: np.ndarray) -> Limits:
    """Limits from labels (n, q).

    Examples
    --------
    >>> found = label_limits(np.arange(10.0)[:, None])
    >>> found.low, found.high
    (array([-4.]), array([13.]))
    """
    ordered, k = np.sort(Y, axis=0), min(_NEIGHBOR, len(Y) - 1)
    low, high = ordered[0], ordered[-1]
    least = _SHARE * (high - low)
    below, above = ordered[k] - low, high - ordered[-1 - k]
    return Limits(low - np.maximum(below, least), high + np.maximum(above, least))


@dataclass(frozen=True)
class Residuals:
    """Errors of predictions out of fold, for intervals that hold new labels with a probability.

    Parameters
    ----------
    values : ndarray (n, q)
        Label minus prediction, each column sorted.
    """

    values: np.ndarray

    def interval(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        r"""Distances (q,) to add to a prediction.

        .. math:: [e_{(\lfloor (n+1)(1-p)/2 \rfloor)},\ e_{(\lceil (n+1)(1+p)/2 \rceil)}]    [FR-8]

        of the n errors out of fold. A new label lies in it with probability p if its error is
        exchangeable with these; the final fit has seen more rows, which errs on the safe side.

        Parameters
        ----------
        level : float
            p, between 0 and 1.
        """
        if not 0 < level < 1:
            raise BadData(f"interval must be a probability between 0 and 1, got {level!r}")
        n = len(self.values)
        low = math.floor((n + 1) * (1 - level) / 2)
        if low < 1:
            least = math.ceil(2 / (1 - level)) - 1
            raise BadData(
                f"an interval of probability {level:g} needs at least {least} rows that were "
                f"predicted out of fold, there are {n}: ask for a smaller one"
            )
        return self.values[low - 1], self.values[n - low]


def residuals_of(out: np.ndarray, labels: np.ndarray) -> Residuals:
    """Sorted errors of the rows that were predicted out of fold (the others are NaN)."""
    known = ~np.isnan(out).any(axis=1)
    return Residuals(np.sort(labels[known] - out[known], axis=0))
