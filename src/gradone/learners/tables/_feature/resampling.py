"""How sure directions are: the angles to those of fits to reweighted rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from ....base.arrays import to_numpy


def bootstrap_angles(
    learner: Any,
    X: Any,
    y: Any,
    weights: np.ndarray,
    n_resamples: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Angles (resamples, k) in degrees to the span of the directions of each resample.

    Every fit has independent exponential weights on the rows (the Bayesian bootstrap), so that no
    row and no class is ever missing. For a direction u and orthonormal directions V of such a fit
    the angle is

    .. math:: \arcsin |u - V^\top V u|,    [FR-10]

    and 90 if it has none.

    Parameters
    ----------
    learner : FeatureRegressor or FeatureClassifier
        Fitted to these rows.
    X, y : array (n, d), (n,) or (n, q)
        The rows.
    weights : ndarray (n,)
        Weights of the rows in the fit.
    n_resamples : int
        Number of fits.
    rng : Generator
        Draws weights and the seeds of the fits.

    Returns
    -------
    angles : ndarray (resamples, k)
        Angles.
    ranks : ndarray of int (resamples,)
        Number of directions of each fit.
    """
    directions = to_numpy(learner.directions_).astype(float)
    unit = to_numpy(learner.scale_).astype(float)
    angles, ranks = np.empty((n_resamples, len(directions))), np.empty(n_resamples, int)
    for turn in range(n_resamples):
        again = clone(learner).set_params(random_state=int(rng.integers(2**31)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit to the rows as they are has said it
            again.fit(X, y, sample_weight=weights * rng.exponential(size=len(weights)))
        # Weights change the standard deviations of columns, and with them the units of directions.
        found = to_numpy(again.directions_) * (unit / to_numpy(again.scale_))
        axes = np.linalg.qr(found.astype(float).T)[0]
        beside = directions - directions @ axes @ axes.T
        angles[turn] = np.degrees(np.arcsin(np.minimum(np.linalg.norm(beside, axis=1), 1.0)))
        ranks[turn] = again.n_directions_
    return angles, ranks
