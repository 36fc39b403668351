"""Regression on the few directions of a table that matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from ...base.arrays import check_fit, like, to_numpy
from ...base.cost import Cost
from .._registry import LEARNERS
from ._feature.bounds import label_limits, residuals_of
from ._feature.learner import FeatureLearner


@LEARNERS.add("feature_regressor")
class FeatureRegressor(RegressorMixin, FeatureLearner):
    r"""Regression that looks for the few directions of a table that matter.

    Moments of the inputs given the label propose directions. A smoother on the projections,
    beside a linear function of all features,

    .. math:: f(x) = b_0 + \langle b, x\rangle + \sum_j a_j\, e^{-|B^\top x - c_j|^2/2},    [FR-1]

    scores them by leave-one-out errors, and Gauss-Newton steps on B refine them; the score
    accounts for the numbers in B [FR-2]. The residual proposes further directions given those
    known, and axes without use are dropped. Ridge regression, kernel ridge regression and kernels
    in a metric learned from gradients [FR-3] and boosted trees compete: predictions out of fold
    decide how much of each is used, and the mean is predicted where nothing is better.

    Parameters
    ----------
    max_directions : int
        Most directions that are looked for.
    cv : "auto", int, splitter or iterable of splits
        Folds that choose between the members. ``"auto"``: 5 below 300 rows, 3 below 6000, above
        that a fifth of the rows is held out once.
    members : sequence of str, optional
        Families that may take part: ``"linear"``, ``"kernel"``, ``"metric"``, ``"trees"`` (boosted
        trees of single columns), ``"index"`` (the learned directions). None: all.
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
    bounded : bool
        Keep predictions within limits that the labels of training support [FR-7].
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
    mean_, scale_ : array (d,)
        Centre and scale of the features; the scale of a constant column is 1.

    Notes
    -----
    It learns functions of a few linear combinations of the features that show in moments of the
    label, also those that show only when others are known (``He2(z1) + sign(z1*z2*z3)``), and
    some that no low moment shows (``sin(3*z)``), if n is large enough. It does not find a parity
    of three directions. Where labels depend on many features in different ways, a kernel or ridge
    takes over, so that little is lost; where it changes in steps along single columns, trees do.
    Directions and diagnosis are about the smooth part. On discontinuous functions the error falls
    slowly with n.

    Rows are sorted by label and made unique first, so that the order of rows and the scale of
    columns do not matter, and a weight 2 means the same as a row that is there twice. With
    rotations of X the directions rotate if the features have equal variances; otherwise up to the
    standardization.

    Cost: some seconds at n = 2000, d = 30. Each of some hundred least squares takes n (m + d)^2
    operations for m landmarks, a step on k directions n (d k)^2, kernels n^3/3 up to 4000 rows and
    n m^2 with 1500 landmarks beyond. Memory: a few arrays of n (600 + d) numbers; n^2 up to 4000
    rows. Several labels share their directions, at a cost in proportion to their number. More
    features than 800, or than rows, are replaced by as many principal components, and no more than
    800 / d directions are looked for (at least one): hundreds of features cost minutes.

    References
    ----------
    troiani2024limits, damian2025leap, defilippis2025spectral

    Examples
    --------
    >>> import gradone as gd
    >>> s = gd.Target("z1*z2").sample(n=400, d=10, seed=1)
    >>> learner = FeatureRegressor(random_state=0).fit(s.X, s.y)
    >>> print(learner.diagnosis_)
    2 directions are visible only to second order.
    >>> overlaps = np.linalg.svd(learner.directions_ @ s.W_star.T, compute_uv=False)
    >>> bool(overlaps.min() > 0.99)
    True
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
        bounded: bool = True,
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
        self.bounded = bounded

    def _numbers(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        _, X, y = check_fit(self, X, y, labels="exact", multi_output=True)
        Y = to_numpy(y)
        self._flat = Y.ndim == 1
        return X, Y.reshape(len(Y), -1)

    def _calibrate(self, out: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> None:
        self._limits = label_limits(self._unscaled(labels))
        self._residuals = residuals_of(self._limited(out), self._unscaled(labels))

    def predict(self, X: Any, interval: float | None = None) -> Any:
        """Labels of new inputs (n,) or (n, q).

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        interval : float, optional
            Probability, such as 0.9, with which an interval shall hold a new label.

        Returns
        -------
        labels : array (n,) or (n, q)
            Predictions.
        ends : array (n, 2) or (n, q, 2)
            Ends of the intervals [FR-8], if `interval` is given. Their width is the same for all
            rows; they are right on average over rows, not for each row.
        """
        X, found = self._predicted(X, "predict")
        labels = self._limited(found)
        if interval is None:
            return like(X, labels[:, 0] if self._flat else labels)
        ends = np.stack([labels + e for e in self._residuals.interval(interval)], axis=2)
        if self._flat:
            labels, ends = labels[:, 0], ends[:, 0]
        return like(X, labels), like(X, ends)

    def _limited(self, found: np.ndarray) -> np.ndarray:
        """Labels in their own units from standardized ones, within limits if these are wanted."""
        labels = self._unscaled(found)
        return self._limits(labels) if self.bounded else labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
