"""The first gradient on data, as an estimator of scikit-learn."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from gradone.base.arrays import check_fit, check_new


class FirstGradientDirection(RegressorMixin, BaseEstimator):
    """Linear regression along the one direction of the first gradient.

    Attributes
    ----------
    directions_ : array (1, d)
        The direction, of length one.
    """

    cites = ("dandi2023giant",)

    def fit(self, X, y):
        """Find the direction, and the slope along it."""
        _, X, y = check_fit(self, X, y)
        self.mean_ = float(np.mean(y))
        gradient = (y - self.mean_) @ X / len(y)
        self.directions_ = (gradient / np.linalg.norm(gradient))[None]
        along = X @ self.directions_[0]
        self.slope_ = float(along @ (y - self.mean_) / (along @ along))
        return self

    def predict(self, X):
        """Predictions (n,)."""
        _, X = check_new(self, X)
        return self.mean_ + self.slope_ * (X @ self.directions_[0])
