r"""What the learners have in common whose features move by a few large gradient steps.

Rows are read in one order: first the batches of the steps, then fresh ones for the readout, which
must not see the samples that moved the features.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from ...base.arrays import check_fit, check_new, like, to_numpy
from ...base.errors import BadData, NotConverged, did_you_mean, number_of
from ...targets.activation import Activation
from ...targets.sampled import whole_number
from .._callbacks import CallbackSupportMixin, fit_steps, with_callbacks
from .._feature_map import FeatureMap
from .._standardize import check_spread, chunk_rows, row_blocks
from ..lazy._frozen_features import check_number
from ._agreement import confirmed_directions
from ._gradient import FirstLayer, GradientSum
from ._input_moments import InputMoments
from ._readout_moments import ReadoutMoments, chosen_ridge
from ._row_stream import Block, Reader, Rows, array_rows, stream_rows

if TYPE_CHECKING:
    import xarray as xr

_VALIDATION = 5  # every fifth row of the readout chooses the ridge
_READOUT_SHARE = 0.5  # of the rows, unless batch_size says how many the steps take
_STREAM_ROWS = 1024


@dataclass
class _Record:
    """What is kept of one step."""

    train_mse: float
    gradient_norm: float
    weights: np.ndarray | None


class MovedFeatures(CallbackSupportMixin, RegressorMixin, BaseEstimator):
    r"""Base of the learners :math:`f(x) = \langle a, \sigma(W x + b)\rangle/\sqrt p + \ldots`.

    A learner has `width`, `activation`, `steps`, `batch_size`, `reuse`, `preprocess`,
    `linear_part`, `ridge`, `fit_intercept`, `standardize`, `shuffle`, `keep_weights`, `chunk_size`
    and `random_state`, as parameters or fixed, and says the rest below.
    """

    weights_: Any
    _rng: np.random.Generator
    loss = "square"

    # ---- what a learner says

    def _first_layer(self, d: int, dtype: Any) -> FirstLayer:
        """The network before the first step."""
        raise NotImplementedError

    def _moved(self, layer: FirstLayer, downhill: np.ndarray) -> FirstLayer:
        """The network after a step, from minus the gradient of its batch times p."""
        raise NotImplementedError

    def _change(self, start: FirstLayer, end: FirstLayer) -> np.ndarray:
        """What the steps have brought into the weights (p, d)."""
        return end.weights - start.weights.astype(np.float64)

    def _finished(self, layer: FirstLayer) -> tuple[np.ndarray, np.ndarray]:
        """Weights and biases of the features that the readout sees."""
        return layer.weights, layer.bias

    # ---- fit

    @with_callbacks
    def fit(self, X: Any, y: Any) -> Self:
        """Make the steps and fit the readout.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        y : array-like (n,)
            Labels, numbers.

        Returns
        -------
        estimator
            Itself.
        """
        self._check_parameters()
        units = "" if self.standardize else "Xy"
        _, X, y = check_fit(self, X, y, labels="exact", fixed_units=units)
        rows, labels = to_numpy(X), to_numpy(y)
        self._rng = np.random.default_rng(self.random_state)
        order = self._rng.permutation(len(labels)) if self.shuffle else None
        source = array_rows(rows, labels, rows=self._chunk(rows), order=order)
        self._learn(source, self._batch(len(labels)), template=X)
        return self

    def fit_stream(self, chunks: Any) -> Any:
        """Learn from a stream of chunks, of which one is in memory at a time.

        Parameters
        ----------
        chunks : iterable or callable
            Chunks with ``X`` and ``y`` or pairs (X, y), for instance ``target.stream(...)``. Where
            they are read more than once (to standardize, to remove the linear part, to use them
            again) give a function that returns them, or a list. `batch_size` must be given,
            because the length is not known.

        Returns
        -------
        estimator
            Itself.
        """
        self._check_parameters()
        if self.batch_size is None:
            raise BadData(
                "a stream does not say how long it is: give batch_size, the rows of each step; "
                "the rows after the steps fit the readout"
            )
        self._rng = np.random.default_rng(self.random_state)
        passes = 1 + (self.standardize or self.preprocess) + (self.reuse and self.steps > 1)
        source = stream_rows(chunks, rows=self.chunk_size or _STREAM_ROWS, passes=passes)
        self.n_features_in_, self._namespace = source.d, np.__name__
        self._learn(source, self.batch_size, template=np.empty(0, source.dtype))
        return self

    def _learn(self, source: Rows, batch: int, template: Any) -> None:
        used = batch if self.reuse else batch * self.steps
        self._find_scales(source, used, template)
        start = before = layer = self._first_layer(source.d, source.dtype)
        self._records: list[_Record] = []
        reader = source.reader()
        with closing(fit_steps(self, self.steps)) as steps:
            for step in steps:
                if self.reuse:
                    reader = source.reader()
                gradient = GradientSum(layer)
                for X, y in self._scaled(reader.take(batch)):
                    gradient.add(X, y)
                downhill = gradient.mean
                before, layer = layer, self._moved(layer, downhill)
                if not np.isfinite(layer.weights).all():
                    raise NotConverged(
                        f"the weights of {type(self).__name__} are infinite after step "
                        f"{step.index + 1}: use a smaller step_size, or standardize=True"
                    )
                mse = self.label_scale_ * self.label_scale_ * gradient.mean_square
                step.metadata["train_mse"] = mse
                kept = layer.weights.copy() if self.keep_weights else None
                norm = float(np.linalg.norm(downhill)) / math.sqrt(self.width)
                self._records.append(_Record(mse, norm, kept))
        self.n_iter_ = len(self._records)
        weights, bias = self._finished(layer)
        self.weights_, self.bias_ = like(template, weights), like(template, bias)
        self.initial_readout_ = like(template, layer.readout)
        # The last step must be one that fresh samples would have made too. Their labels still hold
        # the error of the linear part that was taken off, which also moved the weights.
        fresh = GradientSum(before, with_output=False, with_linear=not self.preprocess)
        self._fit_readout(reader, template, fresh)
        moved = confirmed_directions(
            self._change(start, layer), fresh.mean, start=start.weights, last=before.weights
        )
        self.directions_ = like(template, moved)

    def _find_scales(self, source: Rows, used: int, template: Any) -> None:
        """Centre and scale of inputs and labels, and the linear part of the rows of the steps."""
        d = source.d
        mean, scale, self._slope = np.zeros(d), np.ones(d), np.zeros(d)
        self.label_mean_, self.label_scale_ = 0.0, 1.0
        if self.standardize or self.preprocess:
            reader, moments = source.reader(), InputMoments(d)
            moments.add(reader.take(used))
            label_mean, seen = moments.label_mean, deepcopy(moments)
            moments.add(reader.take())
            if moments.label_scale == 0:
                raise BadData(
                    f"all {moments.n} labels are equal to {label_mean:g}: there is nothing to learn"
                )
            if self.standardize:
                check_spread(moments.scale, type(self).__name__)
                mean, scale = moments.mean, np.where(moments.scale > 0, moments.scale, 1.0)
            if self.loss == "square":  # other losses know their labels
                self.label_scale_ = moments.label_scale if self.standardize else 1.0
                self.label_mean_ = label_mean
            if self.preprocess:
                self._slope = seen.slope(scale, self.label_scale_)
        self.mean_, self.scale_ = like(template, mean), like(template, scale)

    def _scaled(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """Rows as the network sees them: standardized, labels without their linear part."""
        mean, scale = to_numpy(self.mean_), to_numpy(self.scale_)
        bare = not mean.any() and bool((scale == 1).all())
        slope = self._slope.astype(mean.dtype) if self._slope.any() else None
        for X, y in blocks:
            if self.loss == "logistic" and not (np.abs(y) == 1).all():
                raise BadData("logistic loss needs labels -1 and 1")
            X = X if bare else (X - mean) / scale
            labels = (y - self.label_mean_) / self.label_scale_
            yield X, labels if slope is None else labels - X @ slope

    # ---- readout

    def _fit_readout(self, reader: Reader, template: Any, fresh: GradientSum | None = None) -> None:
        """Readout of the features on the rest of the rows; `fresh` is told them as well."""
        weights, bias = to_numpy(self.weights_), to_numpy(self.bias_)
        p, d = weights.shape
        extra = d if self.linear_part else 0
        features = FeatureMap(Activation(self.activation), weights, bias, np.zeros(d), np.ones(d))
        sizes: dict[str, Any] = {"scale": 1 / math.sqrt(p), "fit_intercept": self.fit_intercept}
        used, held_out = (ReadoutMoments(p + extra, **sizes) for _ in range(2))
        n = 0
        for X, y in self._scaled(reader.take()):
            block = np.empty((len(y), p + extra + 2), weights.dtype)
            features.of_inputs(X, out=block[:, :p])
            block[:, p : p + extra] = X[:, :extra]
            block[:, -2], block[:, -1] = 1.0, y
            kept_out = (n + np.arange(len(y))) % _VALIDATION == _VALIDATION - 1
            if self.ridge is None:
                used.add(block[~kept_out])
                held_out.add(block[kept_out])
            else:
                used.add(block)
            if fresh is not None:
                fresh.add(X, y)
            n += len(y)
        if not n:
            raise BadData(
                "no row is left for the readout: use a smaller batch_size or more samples"
            )
        ridge = chosen_ridge(used, held_out) if self.ridge is None else float(self.ridge)
        both = used + held_out
        coefficients, intercept = both.fitted([ridge])[0]
        self.ridge_ = ridge
        mse = both.mean_square(coefficients, intercept)
        self.train_mse_ = self.label_scale_ * self.label_scale_ * mse
        linear = self._slope + (coefficients[p:] / math.sqrt(p) if extra else 0.0)
        self.readout_ = like(template, coefficients[:p])
        self.linear_, self.intercept_ = like(template, linear), intercept
        del self._slope  # from here on it is part of linear_

    def refit_readout(self, X: Any, y: Any) -> Any:
        """Fit the readout anew on other labels, with the features as they are.

        No linear part is taken off these labels: to estimate it takes more samples than d.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        y : array-like (n,)
            Labels of the other task.

        Returns
        -------
        estimator
            Itself.
        """
        units = "" if self.standardize else "Xy"
        _, X, y = check_fit(self, X, y, labels="exact", reset=False, fixed_units=units)
        rows, labels = to_numpy(X), to_numpy(y)
        source = array_rows(rows, labels, rows=self._chunk(rows))
        moments = InputMoments(source.d)
        moments.add(source.reader().take())
        if moments.label_scale == 0:
            raise BadData(f"all {len(labels)} labels are equal: there is nothing to learn")
        if self.loss == "square" and (self.standardize or self.preprocess):
            self.label_mean_ = moments.label_mean
            self.label_scale_ = moments.label_scale if self.standardize else 1.0
        # The few samples of another task are too few for d coefficients; the features serve for it.
        self._slope = np.zeros(source.d)
        self._fit_readout(source.reader(), X)
        return self

    # ---- what was learned

    def predict(self, X: Any) -> Any:
        """Labels of new inputs (n,).

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        """
        _, X = check_new(self, X)
        rows = to_numpy(X)
        parts = (self.weights_, self.bias_, self.mean_, self.scale_)
        features = FeatureMap(Activation(self.activation), *(to_numpy(part) for part in parts))
        readout = to_numpy(self.readout_) / math.sqrt(self.width)
        linear = to_numpy(self.linear_)
        out = np.empty(len(rows))
        for part in row_blocks(len(rows), self._chunk(rows)):
            inputs = features.inputs(rows[part])
            out[part] = features.of_inputs(inputs) @ readout + inputs @ linear
        return like(X, self.label_mean_ + self.label_scale_ * (out + self.intercept_))

    @property
    def history_(self) -> xr.Dataset:
        """What happened at every step: error before it, size of the gradient."""
        import xarray as xr

        records = self._records
        return xr.Dataset(
            {
                "train_mse": ("step", np.array([record.train_mse for record in records])),
                "gradient_norm": ("step", np.array([record.gradient_norm for record in records])),
            },
            coords={"step": np.arange(1, len(records) + 1)},
        )

    @property
    def weights_history_(self) -> np.ndarray | None:
        """Weights (steps, width, d) after every step, if they were kept."""
        kept = [record.weights for record in self._records if record.weights is not None]
        return np.array(kept) if kept else None

    # ---- parameters

    def _chunk(self, rows: np.ndarray) -> int:
        d, p = rows.shape[1], self.width
        return self.chunk_size or min(chunk_rows(d + p, rows.itemsize), max(1, len(rows)))

    def _batch(self, n: int) -> int:
        """Rows of a step."""
        passes = 1 if self.reuse else self.steps
        if self.batch_size is None:
            batch = int((1 - _READOUT_SHARE) * n / passes)
            if not batch:
                raise BadData(
                    f"{n} samples are too few for {number_of(passes, 'step')} and a readout; "
                    f"use at least {2 * passes}"
                )
            return batch
        if passes * self.batch_size >= n:
            raise BadData(
                f"batch_size = {self.batch_size} leaves none of the {n} samples for the readout "
                f"after {number_of(passes, 'step')}: use a smaller batch_size or more samples"
            )
        return int(self.batch_size)

    def _check_parameters(self) -> None:
        whole_number("width", self.width)
        for name in ("batch_size", "chunk_size"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name))
        if not isinstance(self.activation, str):
            raise BadData(
                f"activation must be the text of a function of z such as 'relu(z)', got "
                f"{self.activation!r}"
            )
        Activation(self.activation)
        for name in ("fit_intercept", "standardize", "shuffle"):
            check_flag(name, getattr(self, name))
        if self.ridge is not None:
            check_number("ridge", self.ridge, zero=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags


def check_flag(name: str, value: Any) -> None:
    """Raise unless the value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise BadData(f"{name} must be True or False, got {value!r}")


def one_of(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    """Raise unless the value is one of those allowed."""
    if value not in allowed:
        raise BadData(
            f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}."
            f"{did_you_mean(str(value), [str(a) for a in allowed])}"
        )
