"""What the feature regressor and classifier share."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from contextlib import closing
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from ....base.arrays import check_new, like, to_numpy
from ....base.errors import BadData
from ....targets.sampled import whole_number
from ..._callbacks import CallbackSupportMixin, fit_steps, with_callbacks
from ..._copies import distinct_rows
from ..._found import Found
from ..._sliced_spectrum import sliced_directions
from ..._standardize import Standardization, check_spread, row_blocks
from ..._whitening import whitened
from .checks import FEW_ROWS, refuse_text, warn_of_columns, warn_of_few_rows
from .diagnosis import diagnosis
from .directions import index_directions, linear_directions, rank_of
from .effort import EFFORTS, FAMILIES
from .ensemble import Ensemble, fit_ensemble
from .importances import importances, some_rows
from .linear import fit_ridge
from .members import Plan
from .resampling import bootstrap_angles
from .rows import (
    Rows,
    Scaling,
    Splits,
    balanced_splits,
    in_own_order,
    moved_splits,
    scaling,
)
from .search import SearchSettings
from .stack import Stack
from .watch import Watch

_BLOCK = 4096
_PERMUTATIONS = 39
_TEST_ROWS = 4000
_STAGES = 8
_FEWEST_LANDMARKS = 60
_MOST_FORESTS = 12  # labels that have boosted trees of their own
_MOST_FEATURES = 800  # of a step of the search: features times directions


class FeatureLearner(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Parameters, fit to numbers, ``transform`` and ``loadings`` of the feature learners."""

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
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.max_directions = max_directions
        self.cv = cv
        self.members = members
        self.effort = effort
        self.n_landmarks = n_landmarks
        self.n_landmarks_final = n_landmarks_final
        self.subsample = subsample
        self.min_gain = min_gain
        self.energy = energy
        self.n_jobs = n_jobs
        self.random_state = random_state

    # ---- fit

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the directions and fit the members.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        y : array-like (n,) or (n, q)
            Labels: numbers for a regressor, classes (n,), numbers or text, for a classifier.
        sample_weight : array-like (n,), optional
            Weights of the rows: 2 means the same as a row that is there twice.

        Returns
        -------
        object
            Itself.
        """
        self._check_parameters()
        refuse_text(X, type(self).__name__)
        X, Y = self._numbers(X, y)
        self._calibrate(*self._fit_numbers(X, Y, self._row_weights(sample_weight, Y)))
        return self

    def _numbers(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Checked inputs, and labels (n, q) that are numbers."""
        raise NotImplementedError

    def _row_weights(self, sample_weight: Any, Y: np.ndarray) -> np.ndarray:
        """Weights (n,) of the rows with labels (n, q)."""
        return _checked_weights(sample_weight, len(Y))

    def _calibrate(self, out: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> None:
        """Learn from predictions out of fold, their labels and weights how far to trust them."""

    def _fit_numbers(
        self, X: Any, Y: np.ndarray, given_weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Fit to labels (n, q); predictions out of fold, their labels and weights."""
        owner, rng = type(self).__name__, np.random.default_rng(self.random_state)
        inputs, labels, weights, places = in_own_order(
            to_numpy(X).astype(np.float64, copy=False),
            Y.astype(np.float64, copy=False),
            given_weights,
        )
        weights = weights / weights.mean()
        self._columns, self._labels = scaling(inputs, weights), scaling(labels, weights)
        check_spread(self._columns.scale, owner)
        warn_of_few_rows(len(inputs), owner)
        rows = Rows(self._columns(inputs), self._labels(labels), weights)
        if rows.X.shape[1] and rows.Y.shape[1]:
            names = getattr(self, "feature_names_in_", np.arange(inputs.shape[1]))
            warn_of_columns(rows, [names[c] for c in self._columns.kept], owner)
        self._axes = _leading_axes(rows)
        used = rows if self._axes is None else Rows(rows.X @ self._axes, rows.Y, weights)
        self._ensemble = self._learned(used, places, rng, X, Y)
        self._store(X, rows, used, _moment_test(used, places, given_weights, rng), rng)
        self._typical = some_rows(rows, rng)
        return self._ensemble.out_of_fold, rows.Y, weights

    def _learned(
        self, rows: Rows, places: np.ndarray, rng: np.random.Generator, X: Any, Y: np.ndarray
    ) -> Ensemble:
        if len(rows) < FEW_ROWS or not rows.X.shape[1] or not rows.Y.shape[1]:
            return _ridge_alone(rows)
        d = rows.X.shape[1]
        search = SearchSettings(
            max_directions=min(self.max_directions, d, max(1, _MOST_FEATURES // d)),
            min_gain=float(self.min_gain),
            landmarks=min(self.n_landmarks, max(_FEWEST_LANDMARKS, len(rows) // 6)),
            subsample=self.subsample,
            most_stages=_STAGES,
        )
        # Principal components have no columns for trees to cut, and every label costs a forest.
        trees = self._axes is None and rows.Y.shape[1] <= _MOST_FORESTS
        families = tuple(f for f in self._families if f != "trees" or trees)
        plan = Plan(families, search, self.n_landmarks_final, EFFORTS[self.effort])
        splits = self._splits(len(rows), places, rng, X, Y)
        total = len(splits) * (_STAGES + 2) + 1
        with closing(fit_steps(self, total, X=X, y=Y)) as steps:
            return fit_ensemble(rows, plan, splits, rng, Watch(steps), self.n_jobs)

    def _splits(
        self, n: int, places: np.ndarray, rng: np.random.Generator, X: Any, Y: np.ndarray
    ) -> Splits:
        if self.cv == "auto":
            folds = 5 if n < 300 else 3 if n < 6000 else 1
            return balanced_splits(n, min(folds, EFFORTS[self.effort].folds), rng)
        if isinstance(self.cv, numbers.Integral):
            return balanced_splits(n, int(self.cv), rng)
        return moved_splits(check_cv(self.cv).split(to_numpy(X), Y), places)

    @property
    def _families(self) -> tuple[str, ...]:
        given = EFFORTS[self.effort].families if self.members is None else self.members
        return tuple(f for f in FAMILIES if f in given)

    def _store(self, X: Any, rows: Rows, used: Rows, test: Found, rng: np.random.Generator) -> None:
        ensemble, d = self._ensemble, X.shape[1]
        if ensemble.basis.shape[1]:
            landmarks = rng.permutation(len(rows))[: self.n_landmarks]
            found, values = index_directions(used, ensemble.basis, landmarks)
        elif "linear" in ensemble.stack.weights:
            found, values = linear_directions(ensemble.slopes)
        else:
            found, values = np.zeros((0, used.X.shape[1])), np.zeros(0)
        found = found[: rank_of(values, self.energy)]
        if self._axes is not None:
            found = found @ self._axes.T
        directions = np.zeros((len(found), d))
        directions[:, self._columns.kept] = found
        self.directions_, self.eigenvalues_ = like(X, directions), like(X, values)
        self.n_directions_ = self._n_features_out = len(directions)
        self.p_values_ = test.p_values
        self.diagnosis_ = diagnosis(ensemble, len(found), test, rows.X.shape, values)
        self.member_weights_ = dict(
            sorted(ensemble.stack.weights.items(), key=lambda item: -item[1])
        )
        self.cv_scores_ = dict(ensemble.stack.scores)
        self.path_ = list(ensemble.path)
        self.mean_ = like(X, self._columns.mean)
        self.scale_ = like(X, np.where(self._columns.scale > 0, self._columns.scale, 1.0))
        self._correlations = like(X, _correlations(rows, found, self._columns, d))

    # ---- use

    def transform(self, X: Any) -> Any:
        """Coordinates of new inputs along the k directions, (n, k).

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        """
        xp, X = check_new(self, X, method="transform")
        if not self.n_directions_:
            warnings.warn(
                f"transform returns no columns: {self.diagnosis_}", UserWarning, stacklevel=3
            )
        onto = xp.matrix_transpose(self.directions_ / self.scale_)
        return (X - self.mean_) @ onto

    def loadings(self) -> Any:
        """How the features enter the directions, as a labeled table.

        Returns
        -------
        xarray.Dataset
            Over ``feature`` and ``direction``: ``loading``, the entries of ``directions_`` (in
            units of the standardized features), and ``correlation`` of each feature with each
            coordinate. ``to_dataframe()`` makes a data frame of it.
        """
        import xarray as xr

        check_is_fitted(self)
        names = [str(n) for n in getattr(self, "feature_names_in_", range(self.n_features_in_))]
        dims = ("feature", "direction")
        return xr.Dataset(
            {
                "loading": (dims, to_numpy(self.directions_).T.astype(float)),
                "correlation": (dims, to_numpy(self._correlations)),
            },
            coords={"feature": names, "direction": np.arange(1, self.n_directions_ + 1)},
        )

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share (d,) of each feature in the prediction [FR-9]; they add up to 1."""
        return self._importances([[j] for j in range(self.n_features_in_)])

    def _importances(self, groups: Sequence[Sequence[int]]) -> np.ndarray:
        """The same for features that belong together."""
        check_is_fitted(self)
        place = {feature: column for column, feature in enumerate(self._columns.kept)}
        kept = [np.array([place[j] for j in group if j in place], int) for group in groups]
        if self._axes is None:
            return importances(self._ensemble, self._typical, kept)
        axes = self._axes
        return importances(lambda X: self._ensemble(X @ axes), self._typical, kept)

    def direction_angles(
        self, X: Any, y: Any, sample_weight: Any = None, *, n_resamples: int = 20
    ) -> Any:
        """How far the directions of fits to reweighted rows lie from ``directions_``.

        Parameters
        ----------
        X, y, sample_weight : array-like
            The rows that were fitted to.
        n_resamples : int
            Number of fits, each of which takes as long as the first one.

        Returns
        -------
        xarray.Dataset
            Over ``resample`` and ``direction``: ``angle`` in degrees between a direction and the
            span of those of a resample [FR-10], 90 where it has none; and ``n_directions`` of each
            resample. The root mean square over resamples estimates the standard error.

        Examples
        --------
        >>> import gradone as gd
        >>> s = gd.Target("z1").sample(n=200, d=3, seed=0)
        >>> learner = gd.learners.FeatureRegressor(members=["linear"], random_state=0)
        >>> found = learner.fit(s.X, s.y).direction_angles(s.X, s.y, n_resamples=5)
        >>> bool(found.angle.max() < 0.1)  # no noise: degrees
        True
        """
        import xarray as xr

        check_is_fitted(self)
        whole_number("n_resamples", n_resamples)
        weights = _checked_weights(sample_weight, len(X))
        rng = np.random.default_rng(self.random_state)
        angles, ranks = bootstrap_angles(self, X, y, weights, n_resamples, rng)
        return xr.Dataset(
            {"angle": (("resample", "direction"), angles), "n_directions": ("resample", ranks)},
            coords={"direction": np.arange(1, self.n_directions_ + 1)},
        )

    def _predicted(self, X: Any, method: str) -> tuple[Any, np.ndarray]:
        """Inputs, checked, and predictions (n, q) in units of the standardized labels."""
        _, X = check_new(self, X, method=method)
        inputs = to_numpy(X)
        found = np.empty((len(inputs), len(self._ensemble.mean)))
        for part in row_blocks(len(inputs), _BLOCK):
            block = self._columns(inputs[part].astype(np.float64))
            found[part] = self._ensemble(block if self._axes is None else block @ self._axes)
        return X, found

    def _unscaled(self, found: np.ndarray) -> np.ndarray:
        """Labels (n, q) in their own units from standardized ones; constant ones stay so."""
        kept = self._labels.kept
        labels = np.tile(self._labels.mean, (len(found), 1))
        labels[:, kept] += found * self._labels.scale[kept]
        return labels

    # ---- checks

    def _check_parameters(self) -> None:
        for name in ("max_directions", "n_landmarks", "n_landmarks_final", "subsample"):
            whole_number(name, getattr(self, name))
        given = FAMILIES if self.members is None else tuple(self.members)
        if isinstance(self.members, str) or not given or not set(given) <= set(FAMILIES):
            raise BadData(
                f"members must be some of {', '.join(map(repr, FAMILIES))}, got {self.members!r}"
            )
        if self.effort not in EFFORTS:
            raise BadData(f"effort must be 'full' or 'fast', got {self.effort!r}")
        if isinstance(self.cv, numbers.Integral) and (isinstance(self.cv, bool) or self.cv < 1):
            raise BadData(f"cv must be 'auto' or a number of folds >= 1, got {self.cv!r}")
        if isinstance(self.cv, str) and self.cv != "auto":
            raise BadData(f"cv must be 'auto', a number of folds or splits, got {self.cv!r}")
        if not (isinstance(self.min_gain, numbers.Real) and 0 <= self.min_gain < 1):
            raise BadData(f"min_gain must be a number from 0 to 1, got {self.min_gain!r}")
        if not (isinstance(self.energy, numbers.Real) and 0 < self.energy <= 1):
            raise BadData(f"energy must be a share above 0, at most 1, got {self.energy!r}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.array_api_support = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _checked_weights(sample_weight: Any, n: int) -> np.ndarray:
    if sample_weight is None:
        return np.ones(n)
    weights = np.asarray(to_numpy(sample_weight), dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise BadData(
            f"sample_weight must be {n} finite numbers >= 0, one for each row, got an array of "
            f"shape {weights.shape}"
        )
    if not weights.sum():
        raise BadData("every sample weight is zero: there is nothing to learn from")
    return weights


def _leading_axes(rows: Rows) -> np.ndarray | None:
    """Leading principal axes (d, m) if there are more features than rows or than can be borne."""
    most = min(_MOST_FEATURES, len(rows) - 1)
    if rows.X.shape[1] <= most:
        return None
    right = np.linalg.svd(rows.X * rows.root, full_matrices=False)[2]
    return np.asarray(right[:most].T)


def _ridge_alone(rows: Rows) -> Ensemble:
    """Ridge regression, for tables that are too small for more; the mean if it does not help."""
    d, q = rows.X.shape[1], rows.Y.shape[1]
    mean, none = rows.mean(rows.Y) if q else np.zeros(0), np.zeros((d, 0))
    empty = np.full(rows.Y.shape, np.nan)
    if not d or not q:
        stack = Stack({}, {"linear": 0.0}, {"linear": 0.0}, "linear")
        return Ensemble({}, stack, mean, none, None, np.zeros((d, q)), None, [], empty, False)
    fit = fit_ridge(rows)
    helps = fit.score < 1
    stack = Stack(
        {"linear": 1.0} if helps else {},
        {"linear": 1 - fit.score},
        {"linear": np.nan},
        "linear",
    )
    slopes = fit.member.coefficients
    out = rows.mean(rows.Y) + 0 * empty if not helps else fit.left_out(rows)
    return Ensemble({"linear": fit.member}, stack, mean, none, None, slopes, None, [], out, False)


def _moment_test(
    rows: Rows, places: np.ndarray, given_weights: np.ndarray, rng: np.random.Generator
) -> Found:
    """What label-conditional moments show, tested by permutations of the rows that were given."""
    d, Y = rows.X.shape[1], rows.Y
    if not d or not Y.shape[1] or len(rows) < FEW_ROWS:
        return Found(np.zeros((0, d)), np.zeros(0), 0, 0, None, "no direction was looked for.")
    label = Y[:, 0] if Y.shape[1] == 1 else (Y @ np.linalg.svd(Y, full_matrices=False)[2][0])
    given = np.argsort(places, kind="stable")[np.sum(places < 0) :]
    weights = given_weights[given]
    X, label = rows.X[places[given]], label[places[given]]
    if (copies := distinct_rows(X, label, weights)) is not None:
        X, label, weights = X[copies[0]], label[copies[0]], copies[1]
    if len(X) > _TEST_ROWS:
        some = np.sort(rng.permutation(len(X))[:_TEST_ROWS])
        X, label, weights = X[some], label[some], weights[some]
    plain = Standardization(np.zeros(d), np.ones(d))
    inputs = whitened(
        X,
        plain,
        shrinkage=0.2 * min(0.5, d / len(X)) + 0.001,
        chunk_size=None,
        row_weights=None if (weights == weights[0]).all() else weights / weights.mean(),
    )
    return sliced_directions(inputs, label, n_components=None, permutations=_PERMUTATIONS, rng=rng)


def _correlations(rows: Rows, found: np.ndarray, columns: Scaling, d: int) -> np.ndarray:
    """Of every feature with every coordinate, (d, k)."""
    table = np.zeros((d, len(found)))
    if len(found):
        Z = rows.X @ found.T
        spread = np.sqrt(rows.weights @ Z**2 / rows.weights.sum())
        table[columns.kept] = (rows.X * rows.weights[:, None]).T @ Z / rows.weights.sum() / spread
    return table
