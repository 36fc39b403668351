r"""Errors of the loadings, from the fits of a comparison that left out one fold each.

The direction u of all rows is matched with a direction of each fit, up to its sign. For K folds the
jackknife gives

.. math:: \mathrm{se}(u_j)^2 = \frac{K-1}{K} \sum_{f=1}^K \big(u_j^{(f)} - \bar u_j\big)^2.  [LO-1]

A direction that a fit did not find counts as zero there: its errors are as large as its loadings.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def loading_errors(directions: np.ndarray, others: Sequence[np.ndarray]) -> np.ndarray:
    """Standard errors (k, d) of directions (k, d) by the jackknife [LO-1]; NaN without other fits.

    Parameters
    ----------
    directions : ndarray (k, d)
        Unit vectors, fitted to all rows.
    others : sequence of ndarray (any, d)
        Those of the fits that left out one fold.

    Examples
    --------
    >>> turned = [np.array([[-0.8, -0.6]]), np.array([[0.6, 0.8]])]
    >>> loading_errors(np.array([[0.7, 0.7]]), turned).round(2)
    array([[0.1, 0.1]])
    """
    if len(others) < 2:
        return np.full(directions.shape, np.nan)
    found = np.stack([_matched(directions, np.asarray(other)) for other in others])
    share = (len(found) - 1) / len(found)
    return np.sqrt(share * ((found - found.mean(axis=0)) ** 2).sum(axis=0))


def _matched(directions: np.ndarray, other: np.ndarray) -> np.ndarray:
    """For each direction the one of another fit that is nearest to it, each used once, or zero."""
    from scipy.optimize import linear_sum_assignment

    cosines = directions @ other.T
    own, theirs = linear_sum_assignment(-np.abs(cosines))
    found = np.zeros_like(directions)
    found[own] = np.sign(cosines[own, theirs])[:, None] * other[theirs]
    return found
