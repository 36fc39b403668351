"""How much of the target the first directions explain, on rows that were left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .comparison import Folds, fitted_quietly
from .prepare import Prepared

_MOST_ROWS = 2000


def explained_variance(
    data: Prepared, folds: Folds, directions: Sequence[np.ndarray], most: int
) -> np.ndarray:
    """Share (most,) of the variance that a smooth function of the first 1, 2, ... explains.

    The directions of each fold come from the fit that did not see it, the function is fitted to the
    same rows, and the share is that of the rows of the fold, on average over folds. Where a fit has
    fewer directions, those that it has are used. Classes count as columns of 0 and 1.

    Parameters
    ----------
    data : Prepared
        The table.
    folds : list of (train, test)
        Rows of each fold.
    directions : sequence of ndarray (any, d)
        Of the fit without each fold.
    most : int
        Number of directions.
    """
    labels = data.label_columns
    shares = np.zeros((len(folds), most))
    for fold, ((train, test), found) in enumerate(zip(folds, directions, strict=True)):
        train = np.random.default_rng(fold).permutation(train)[:_MOST_ROWS]
        known, fresh = data.numbers(train, test)
        center, scale = known.mean(axis=0), known.std(axis=0)
        onto = (found / np.where(scale > 0, scale, 1.0)).T
        Z, new = (known - center) @ onto, (fresh - center) @ onto
        error = labels[test] - labels[train].mean(axis=0)
        for count in range(min(most, Z.shape[1])):
            coordinates = Z[:, : count + 1], new[:, : count + 1]
            left = labels[test] - _smoothed(*coordinates, labels[train])
            shares[fold, count:] = 1 - np.sum(left**2) / np.sum(error**2)
    return np.asarray(shares.mean(axis=0))


def _smoothed(Z: np.ndarray, new: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Predictions at new coordinates: a linear function, a kernel, or the mean."""
    from ...learners.tables.feature_regressor import FeatureRegressor

    smooth = FeatureRegressor(cv=2, members=["linear", "kernel"], random_state=0)
    return np.asarray(fitted_quietly(smooth, Z, Y).predict(new))
