"""Classification on the few directions of a table that matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from ...base.arrays import in_our_words, like
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

    .. math:: P(c \mid x) \propto \max(s_c(x), 0.01)^u\, e^{t\, s_c(x) + b_c},    [FR-6]

    with t, u and b fitted to scores out of fold; few rows move them little from u = 1 and t = 0,
    and n rows without an error count as one error in n + 2.

    Parameters
    ----------
    max_directions : int
        Most directions that are looked for.
    cv : "auto", int, splitter or iterable of splits
        Folds that choose between the members. ``"auto"``: 5 below 300 rows, 3 below 6000, above
        that a fifth of the rows is held out once.
    members : sequence of str, optional
        Families that may take part: ``"linear"``, ``"kernel"``, ``"metric"``, ``"trees"`` (boosted
        trees of single columns, up to 12 classes), ``"index"`` (the learned directions). None:
        all, but for more than 3 classes no ``"index"``, which costs in proportion to their number.
    effort : "full" or "fast"
        ``"fast"``: at most two folds, and no directions are looked for unless `members` asks for
        them; it costs about a fifth and predicts a little worse.
    n_landmarks, n_landmarks_final : int
        Most landmarks of the smoother in the search (a sixth of the rows of smaller tables, but
        60), and of the final one.
    subsample : int
        Rows that the search is made on if there are more; its result is refined on all.
    min_gain : float
        Share of the error that another stage of the search must take away.
    energy : float
        Share of the mean square gradient of the prediction that ``directions_`` must hold: as many
        are given as are needed, the strongest first. 1 gives all that were found. The prediction
        does not depend on it.
    class_weight : dict, "balanced" or None
        Weights of the classes, which multiply those of the rows: by class (1 where one is not
        named), or so that all classes weigh the same.
    n_jobs : int, optional
        Folds that are fitted at a time; the result does not depend on it.
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
    eigenvalues_ : array (m,)
        Mean square derivative of the prediction along each direction that was found, standardized
        labels; the first k are those of ``directions_``.
    p_values_ : tuple of float, or None
        Of label-conditional moments of first and second order under permutation, as in
        :class:`SpectralDirections`; None below 20 rows.
    feature_importances_ : array (d,)
        How much the prediction changes, in the mean square, if a feature is replaced by that of
        another row [FR-9]; they add up to 1, and trees count as well.
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
    numerics = 7
    cost = Cost(
        "some hundred least squares of n (n_landmarks + d)^2 operations in each fold",
        lambda s: 1000 * s.n * (s.n_landmarks + s.d) ** 2,
    )

    def __init__(
        self,
        max_directions: int = 5,
        *,
        cv: Any = "auto",
        members: Sequence[str] | None = None,
        effort: str = "full",
        n_landmarks: int = 200,
        n_landmarks_final: int = 600,
        subsample: int = 4000,
        min_gain: float = 0.005,
        energy: float = 0.95,
        class_weight: Mapping[Any, float] | str | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(
            max_directions,
            cv=cv,
            members=members,
            effort=effort,
            n_landmarks=n_landmarks,
            n_landmarks_final=n_landmarks_final,
            subsample=subsample,
            min_gain=min_gain,
            energy=energy,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.class_weight = class_weight

    def _row_weights(self, sample_weight: Any, Y: np.ndarray) -> np.ndarray:
        weights = super()._row_weights(sample_weight, Y)
        if self.class_weight is None:
            return weights
        which = (Y[:, 0] if len(self.classes_) == 2 else Y.argmax(axis=1)).astype(int)
        by_class = in_our_words(
            lambda: compute_class_weight(
                self.class_weight,
                classes=self.classes_,
                y=self.classes_[which],
                sample_weight=weights,
            )
        )
        return np.asarray(weights * by_class[which])

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
