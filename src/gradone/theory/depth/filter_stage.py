r"""A layer of filters at finite n: ends of the bulk, outliers and overlaps, for any covariance.

For features :math:`\phi` with a covariance of eigenvalues :math:`s_j`, n samples and weights t, the
null bulk of :math:`\frac1n\sum_\mu t_\mu \phi_\mu\phi_\mu^\top` ends at the smallest x(w) beyond
the weights,

.. math:: \frac1n \sum_j \frac{s_j}{x - A(w)\,s_j} = \frac1w, \qquad
          A(w) = w\,\mathbb{E}\Big[\frac{t}{w - t}\Big], \qquad w > \max t.              [NL-1]

A feature of variance s, :math:`\phi = \sqrt s\,z`, has an eigenvalue outside where

.. math:: \beta(w) = s\,w\,\mathbb{E}\Big[\frac{t z^2}{w - t}\Big] = x(w),               [NL-2]

w beyond the point of the edge, and its eigenvector has the squared overlap

.. math:: q^2 = \frac{x'(w)}{x'(w) - \beta'(w)}.                                         [NL-3]

These are deterministic equivalents, not theorems for features that depend on the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...base.errors import BadData
from ...targets.sampled import whole_number

_STEP = 1e-4  # of log(w - max t), for slopes


@dataclass(frozen=True)
class FilterStage:
    """Bulk, and the eigenvalue of one feature.

    Parameters
    ----------
    low, high : float
        Ends of the bulk.
    eigenvalue : float
        Of the feature, outside of the bulk; nan if it has none.
    overlap2 : float
        Squared overlap of its eigenvector with the feature; 0 if it has none.
    """

    low: float
    high: float
    eigenvalue: float
    overlap2: float


def filter_stage(
    spectrum: np.ndarray,
    t: np.ndarray,
    *,
    n: int,
    squares: np.ndarray | None = None,
    variance: float = 1.0,
) -> FilterStage:
    r"""Ends of the bulk of label-weighted moments, and what a feature shows [NL-1] to [NL-3].

    Parameters
    ----------
    spectrum : array (p,)
        Eigenvalues of the covariance of the features.
    t : array (N,)
        Weights of the labels, drawn; their mean is taken off.
    n : int
        Samples.
    squares : array (N,), optional
        Of the standardized feature, drawn together with the weights. None: no feature is asked for.
    variance : float
        Of the feature.

    Returns
    -------
    FilterStage
        `low`, `high`, `eigenvalue` and `overlap2`.

    Notes
    -----
    Unbounded weights are those of n samples: give n of them, or clip them at the quantile
    1 - 1/(2n). Equal eigenvalues give [DT-2] and [DT-3].

    References
    ----------
    dandi2026lofi, dandi2025depth

    Examples
    --------
    >>> found = filter_stage(np.ones(500), np.array([-1.0, 1.0]), n=1000)
    >>> round(found.high, 5), round(found.low, 5)
    (1.6651, -1.6651)
    """
    s, t = np.asarray(spectrum, float).ravel(), np.asarray(t, float).ravel()
    n = whole_number("n", n)
    if not len(s) or not np.isfinite(s).all() or (s < 0).any() or not s.any():
        raise BadData("spectrum must hold the eigenvalues of a covariance: numbers >= 0, not all 0")
    if len(t) < 2 or not np.isfinite(t).all() or t.min() == t.max():
        raise BadData("t must hold at least two different finite weights")
    t = t - t.mean()
    edges = [_Side(s, side * t, n) for side in (-1.0, 1.0)]
    low, high = -edges[0].edge, edges[1].edge
    if squares is None:
        return FilterStage(low, high, math.nan, 0.0)
    z2 = np.asarray(squares, float).ravel()
    if z2.shape != t.shape or not np.isfinite(z2).all() or (z2 < 0).any():
        raise BadData(f"squares must be as many numbers >= 0 as there are weights, {len(t)}")
    for side, one in zip((-1.0, 1.0), edges, strict=True):
        found = one.outlier(z2, variance)
        if found is not None:
            return FilterStage(low, high, side * found[0], found[1])
    return FilterStage(low, high, math.nan, 0.0)


class _Side:
    """One side of the spectrum: the upper one of the weights given."""

    def __init__(self, s: np.ndarray, t: np.ndarray, n: int) -> None:
        from scipy.optimize import minimize_scalar

        self.s, self.t, self.n = s[s > 0], t, n
        self.top = max(float(t.max()), 0.0)
        self.unit = math.sqrt(float(np.mean(t**2)))
        best = minimize_scalar(
            self.x, bounds=(-12.0, 12.0), method="bounded", options={"xatol": 1e-9}
        )
        self.at, self.edge = float(best.x), float(best.fun)

    def w(self, u: float) -> float:
        """The parameter, from its logarithmic distance to the largest weight."""
        return self.top + self.unit * math.exp(u)

    def x(self, u: float) -> float:
        """Place x(w) on the axis of eigenvalues [NL-1]."""
        from scipy.optimize import brentq

        w, s = self.w(u), self.s
        A = w * float(np.mean(self.t / (w - self.t)))  # not below 0, since the mean of t is 0
        largest = float(s.max())

        def excess(log_gap: float) -> float:
            return float(np.sum(s / (math.exp(log_gap) + A * (largest - s)))) * w / self.n - 1

        # The largest term alone is 1 at the lower end, and no term exceeds its share at the upper.
        low, high = math.log(w * largest / self.n), math.log(w * float(s.sum()) / self.n)
        if high - low < 1e-12:
            return A * largest + math.exp(low)
        return A * largest + math.exp(brentq(excess, low - 1e-9, high + 1e-9, xtol=1e-13))

    def outlier(self, z2: np.ndarray, variance: float) -> tuple[float, float] | None:
        """Eigenvalue of a feature and its squared overlap [NL-2], [NL-3], or None."""
        from scipy.optimize import brentq

        def beta(u: float) -> float:
            w = self.w(u)
            return variance * w * float(np.mean(self.t * z2 / (w - self.t)))

        def gap(u: float) -> float:
            return self.x(u) - beta(u)

        if gap(self.at) >= 0:
            return None
        far = self.at
        while gap(far) < 0:
            far += 2.0
        u = float(brentq(gap, self.at, far, xtol=1e-12))
        rise = (self.x(u + _STEP) - self.x(u - _STEP)) / (2 * _STEP)
        slope = (beta(u + _STEP) - beta(u - _STEP)) / (2 * _STEP)
        return self.x(u), min(max(rise / (rise - slope), 0.0), 1.0)
