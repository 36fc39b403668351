"""Classification on the few directions of a table that matter."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.arrays import like
from ...base.cost import Cost
from .._classes import ClassLearner
from .._registry import LEARNERS
from ._feature.calibration import calibrated
from ._feature.learner import FeatureLearner

_MOST_CLASSES = 3  # beyond these the search for directions is left out unless it is asked for


@LEARNERS.add("feature_classifier")
class FeatureClassifier(ClassLearner, FeatureLearner):
    r"""Classification that looks for the few directions of a table that matter.

    The classes as numbers 0 and 1 are fitted like the labels of :class:`FeatureRegressor`, one
    column for two classes, otherwise one for each. The scores :math:`s_c` are turned into

    .. math:: P(c \mid x) \propto e^{t\, s_c(x) + b_c},    [FL-6]

    with t and b fitted to scores out of fold.

    Parameters
    ----------
    max_directions : int
        Most directions that are looked for.
    cv : "auto", int, splitter or iterable of splits
        Folds that choose between the members. ``"auto"``: 5 below 600 rows, 3 below 6000, above
        that a fifth of the rows is held out once.
    members : sequence of str, optional
        Families that may take part: ``"linear"``, ``"kernel"``, ``"metric"``, ``"index"`` (the
        learned directions). None: all, but for more than 3 classes no ``"index"``,
        which costs in proportion to their number.
    n_landmarks, n_landmarks_final : int
        Landmarks of the smoother in the search, and of the final one.
    subsample : int
        Rows that the search is made on if there are more; its result is refined on all.
    min_gain : float
        Share of the error that another stage of the search must take away.
    random_state : int, numpy.random.Generator or None
        Of folds and landmarks. With a number the result depends on neither the order of the rows
        nor the scale of the columns.

    Attributes
    ----------
    directions_ : array (k, d)
        Orthonormal rows in units of the standardized features: ``transform`` returns
        ``((X - mean_) / scale_) @ directions_.T``. The prediction changes most along the first.
    n_directions_ : int
        Number of directions; 0 if none is of use.
    eigenvalues_ : array (k,)
        Mean square derivative of the prediction along each direction, standardized labels.
    p_values_ : tuple of float, or None
        Of label-conditional moments of first and second order under permutation, as in
        :class:`SpectralDirections`; None below 20 rows.
    diagnosis_ : str
        What was found, in words.
    member_weights_ : dict
        Weight of each member that is used; empty if the mean is predicted.
    cv_scores_ : dict
        Share of the variance that each member explains out of fold.
    path_ : list of dict
        Stages of the search in the best fold: ``rank``, corrected ``score`` (share of the
        variance that is left), and ``origin`` of the proposal that won.
    classes_ : array
        The classes, sorted.
    mean_, scale_ : array (d,)
        Centre and scale of the features; the scale of a constant column is 1.

    Notes
    -----
    What it can and cannot find, cost and memory: see :class:`FeatureRegressor`. The square loss
    makes no difference between a row that is right by far and one that is wrong by far; where
    classes are nearly separated by a plane, logistic regression may be a little better.

    References
    ----------
    troiani2024limits, damian2025leap, defilippis2025spectral

    Examples
    --------
    >>> import gradone as gd
    >>> s = gd.Target("sign(z1*z2)").sample(n=800, d=10, seed=0)
    >>> learner = FeatureClassifier(random_state=0).fit(s.X[:600], s.y[:600])
    >>> learner.n_directions_, bool(learner.score(s.X[600:], s.y[600:]) > 0.9)
    (2, True)
    """

    cites = ("troiani2024limits", "damian2025leap", "defilippis2025spectral")
    numerics = 2
    cost = Cost(
        "some hundred least squares of n (n_landmarks + d)^2 operations in each fold",
        lambda s: 1000 * s.n * (s.n_landmarks + s.d) ** 2,
    )

    def _numbers(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        X, which = self._class_numbers(X, y)
        k = len(self.classes_)
        hot = (which[:, None] == np.arange(k)).astype(float)
        return X, hot[:, 1:] if k == 2 else hot

    def _calibrate(self, out: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> None:
        known = ~np.isnan(out).any(axis=1)
        scores = self._scores(out[known])
        truth = self._scores(labels[known]).argmax(axis=1)
        self._calibration = calibrated(scores, truth, weights[known])

    def decision_function(self, X: Any) -> Any:
        """Logits of new inputs: (n,) for two classes (positive: the second), else (n, k).

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        """
        X, logs = self._logs(X, "decision_function")
        return like(X, logs[:, 1] - logs[:, 0] if len(self.classes_) == 2 else logs)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities (n, k) of the classes.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        """
        X, logs = self._logs(X, "predict_proba")
        return like(X, np.exp(logs))

    def predict(self, X: Any) -> Any:
        """Classes of new inputs (n,).

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        """
        X, logs = self._logs(X, "predict")
        return self._of_numbers(X, logs.argmax(axis=1))

    def _logs(self, X: Any, method: str) -> tuple[Any, np.ndarray]:
        X, found = self._predicted(X, method)
        return X, self._calibration(self._scores(found))

    def _scores(self, found: np.ndarray) -> np.ndarray:
        """Scores (n, k) of all classes from predictions of standardized labels."""
        shares = self._unscaled(found)
        return np.hstack([1 - shares, shares]) if len(self.classes_) == 2 else shares

    @property
    def _families(self) -> tuple[str, ...]:
        families = super()._families
        if len(self.classes_) > _MOST_CLASSES and self.members is None:
            return tuple(f for f in families if f != "index")
        return families
