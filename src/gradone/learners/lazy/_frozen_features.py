r"""What the learners with frozen random features have in common: only the readout is trained."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

from ...base.arrays import array_namespace, check_new, like, to_numpy
from ...base.errors import BadData, did_you_mean
from ...base.units import units
from ...targets.activation import Activation
from ...targets.sampled import whole_number
from .._feature_map import FeatureMap, random_rows
from .._standardize import standardization
from ._convex_losses import Hinge, Huber, Logistic
from ._convex_readouts import Loss, convex_readouts
from ._feature_ridge import Readout, ridge_readouts
from ._validation import held_out_rows, ridge_candidates

_PER_DECADE, _PER_DECADE_CONVEX = 2, 1  # values of the ridge to choose from
_SAMPLED = 1000  # rows that tell the size of the features


class FrozenFeatures(BaseEstimator):
    r"""Base of the learners :math:`f(x) = \langle a, \sigma(W x + b)\rangle/\sqrt p + a_0`."""

    losses: tuple[str, ...]
    weights_: Any

    # ---- fit

    def _checked(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Inputs and labels (n,) or (n, k), checked."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any) -> Any:
        """Draw the features and fit the readout.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        y : array-like (n,), or (n, k) for regression
            Labels.

        Returns
        -------
        estimator
            Itself.
        """
        self._check_parameters()
        X, y = self._checked(X, y)
        rng = np.random.default_rng(self.random_state)
        rows, (Y, unit) = to_numpy(X), self._in_units(y)
        features = self._begin(X, rng)
        ridge = self.ridge
        if ridge is None:
            ridge = self._chosen_ridge(features, rows, Y, rng)
        readout = self._readouts(features, rows, Y, [ridge])[0]
        self._store(X, ridge, readout, unit, single=y.ndim == 1)
        return self

    def fit_path(self, X: Any, y: Any, ridge: Sequence[float]) -> list[Any]:
        """Learners for many values of the ridge, from one pass and one decomposition.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        y : array-like (n,), or (n, k) for regression
            Labels.
        ridge : sequence of float
            Values that take the place of the parameter.

        Returns
        -------
        list of estimators
            Fitted, one for each value, with the same features; this one is left as it is.
        """
        ridges = [float(value) for value in ridge]
        learners = [clone(self).set_params(ridge=value) for value in ridges]
        if not learners:
            raise BadData("fit_path needs at least one value of the ridge")
        for learner in learners:
            learner._check_parameters()
        first = learners[0]
        X, y = first._checked(X, y)
        rng = np.random.default_rng(first.random_state)
        features = first._begin(X, rng)
        common = {k: v for k, v in vars(first).items() if k not in first.get_params(deep=False)}
        Y, unit = first._in_units(y)
        readouts = first._readouts(features, to_numpy(X), Y, ridges)
        for learner, value, readout in zip(learners, ridges, readouts, strict=True):
            vars(learner).update(common)
            learner._store(X, value, readout, unit, single=y.ndim == 1)
        return learners

    def _begin(self, X: Any, rng: np.random.Generator) -> FeatureMap:
        """Scales of the inputs and random weights."""
        rows = to_numpy(X)
        d, p = rows.shape[1], self.width
        mean, scale = np.zeros(d), np.ones(d)
        if self.standardize:
            columns = standardization(rows, owner=type(self).__name__, rows=self.chunk_size)
            mean, scale = columns.mean, np.where(columns.scale > 0, columns.scale, 1.0)
        weights = random_rows(self.init, p, d, rng)
        bias = self.bias_scale * rng.standard_normal(p) if self.bias_scale else np.zeros(p)
        self.mean_, self.scale_ = like(X, mean), like(X, scale)
        self.weights_, self.bias_ = like(X, weights), like(X, bias)
        return self._features()

    def _features(self) -> FeatureMap:
        parts = (self.weights_, self.bias_, self.mean_, self.scale_)
        return FeatureMap(Activation(self.activation), *(to_numpy(part) for part in parts))

    def _loss(self) -> Loss | None:
        """The loss, None for squares."""
        kinds: dict[str, Loss] = {"logistic": Logistic(), "hinge": Hinge()}
        if self.loss == "huber":
            return Huber(float(self.delta))
        return kinds.get(self.loss)

    def _readouts(
        self, features: FeatureMap, X: np.ndarray, Y: np.ndarray, ridges: Sequence[float]
    ) -> list[Readout]:
        loss = self._loss()
        shared: dict[str, Any] = {
            "fit_intercept": self.fit_intercept,
            "chunk_size": self.chunk_size,
        }
        if loss is None:
            return ridge_readouts(features, X, Y, ridges, **shared)
        shared |= {"loss": loss, "tol": self.tol, "max_iter": self.max_iter}
        return convex_readouts(features, X, Y, ridges, **shared)

    def _chosen_ridge(
        self, features: FeatureMap, X: np.ndarray, Y: np.ndarray, rng: np.random.Generator
    ) -> float:
        """The ridge with the smallest loss on rows that were held out."""
        used, fresh = held_out_rows(len(X), rng)
        if (Y[used] == Y[used[0]]).all():
            return 1.0  # too few rows to choose by
        some = features(X[used[:_SAMPLED]]).astype(np.float64)
        unit = float(np.mean(some**2)) * max(1.0, len(used) / features.width)
        loss = self._loss()
        per_decade = _PER_DECADE if loss is None else _PER_DECADE_CONVEX
        ridges = ridge_candidates(unit, per_decade=per_decade)
        losses = []
        for readout in self._readouts(features, X[used], Y[used], ridges):
            outputs = self._outputs_of(features, *readout[:2], X[fresh])
            value = (Y[fresh] - outputs) ** 2 if loss is None else loss.value(Y[fresh], outputs)
            losses.append(float(value.mean()))
        return ridges[int(np.argmin(losses))]

    def _in_units(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Labels (n, k) in units of theirs, in which least squares are linear, and the units."""
        Y = y[:, None] if y.ndim == 1 else y
        if self.loss != "square":
            return Y, None
        unit = units(Y)
        return Y / unit, unit

    def _store(
        self, X: Any, ridge: float, readout: Readout, unit: np.ndarray | None, *, single: bool
    ) -> None:
        """Keep what was learned, from labels in a unit."""
        readout = readout if unit is None else readout.times(unit)
        double, coefficients = array_namespace(X).float64, readout.coefficients
        self.ridge_ = ridge
        self.readout_ = like(X, coefficients[:, 0] if single else coefficients.T, dtype=double)
        self.intercept_ = (
            float(readout.intercept[0]) if single else like(X, readout.intercept, dtype=double)
        )
        self.train_mse_ = float(readout.train_mse.mean())
        self.train_loss_ = float(readout.train_loss.mean())
        self.gap_, self.n_iter_ = readout.gap, readout.n_iter
        self.converged_, self.status_ = readout.converged, ""
        if not readout.converged:
            self.status_ = (
                f"{type(self).__name__} stopped after {readout.n_iter} steps with a gap of "
                f"{readout.gap:.1e} > tol = {self.tol:g}: raise max_iter or tol, or the ridge"
            )
            warnings.warn(self.status_, ConvergenceWarning, stacklevel=3)

    # ---- predictions

    def _outputs(self, X: Any, method: str) -> tuple[Any, np.ndarray]:
        """New inputs, checked, and the outputs (n, k) for them."""
        _, X = check_new(self, X, method=method)
        rows = np.atleast_2d(to_numpy(self.readout_))
        intercept = to_numpy(self.intercept_)
        return X, self._outputs_of(self._features(), rows.T, intercept, to_numpy(X))

    def _outputs_of(
        self, features: FeatureMap, coefficients: np.ndarray, intercept: Any, X: np.ndarray
    ) -> np.ndarray:
        scaled = (coefficients / math.sqrt(features.width)).astype(features.weights.dtype)
        out = np.empty((len(X), scaled.shape[1]))
        for part, block in features.blocks(X, chunk_size=self.chunk_size):
            out[part] = block @ scaled
        return out + intercept

    # ---- parameters

    def _check_parameters(self) -> None:
        whole_number("width", self.width)
        whole_number("max_iter", self.max_iter)
        if self.chunk_size is not None:
            whole_number("chunk_size", self.chunk_size)
        if not isinstance(self.activation, str):
            raise BadData(
                f"activation must be the text of a function of z such as 'tanh(z)', got "
                f"{self.activation!r}"
            )
        Activation(self.activation)
        if self.loss not in self.losses:
            raise BadData(
                f"loss must be one of {', '.join(map(repr, self.losses))}, got {self.loss!r}."
                f"{did_you_mean(str(self.loss), self.losses)}"
            )
        for name in ("fit_intercept", "standardize"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise BadData(f"{name} must be True or False, got {getattr(self, name)!r}")
        check_number("bias_scale", self.bias_scale, zero=True)
        check_number("tol", self.tol)
        if self.ridge is not None:
            check_number("ridge", self.ridge, zero=self.loss == "square", loss=self.loss)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags


def check_number(name: str, value: Any, *, zero: bool = False, loss: str = "") -> None:
    """Raise unless the value is a finite number > 0, or >= 0."""
    bound = ">= 0" if zero else "> 0"
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if real and math.isfinite(value) and (value > 0 or (zero and value == 0)):
        return
    where = f" for loss={loss!r}" if loss else ""
    hint = "; None chooses it on held-out rows" if name == "ridge" else ""
    raise BadData(f"{name} must be a number {bound}{where}, got {value!r}{hint}")
