"""What finders of directions share: checked data, standardized features, coordinates of rows."""

from __future__ import annotations

import numbers
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from ..base.arrays import Labels, array_namespace, check_fit, check_new, like, to_numpy
from ..base.errors import BadData
from ..targets.sampled import whole_number
from ._copies import distinct_rows
from ._found import orthonormal_rows
from ._standardize import Standardization, chunk_rows, row_blocks, standardization
from ._whitening import WhitenedInputs, whitened


class Training(NamedTuple):
    """Checked data of a fit."""

    X: Any
    y: np.ndarray
    columns: Standardization
    row_weights: np.ndarray | None
    """With mean 1, or None if all rows count the same."""
    seen: float
    """Number of rows; with weights that say how often rows were seen, of those seen."""


class DirectionFinder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Transformer onto directions that are found among the standardized features.

    A finder has the parameters ``n_components``, ``n_permutations``, ``shrinkage``,
    ``chunk_size`` and ``random_state``; its ``fit`` calls :meth:`_checked` and :meth:`_keep`.
    """

    def transform(self, X: Any) -> Any:
        """Coordinates of new inputs along the k directions, (n, k)."""
        xp, X = check_new(self, X, method="transform")
        if not self.n_directions_:
            warnings.warn(
                f"transform returns no columns: {self.diagnosis_}", UserWarning, stacklevel=3
            )
        onto = xp.matrix_transpose(self.directions_ / self.scale_)
        blocks = row_blocks(X.shape[0], self.chunk_size or chunk_rows(X.shape[1]))
        return xp.concat([(X[part, :] - self.mean_) @ onto for part in blocks], axis=0)

    def _checked(
        self,
        X: Any,
        y: Any,
        *,
        labels: Labels,
        sample_weight: Any = None,
        merge_copies: bool = True,
    ) -> Training:
        """Data with the centre and scale of the columns and the weights of the rows."""
        self._check_parameters()
        _, X, y = check_fit(self, X, y, labels=labels)
        y, weights = to_numpy(y), None
        if sample_weight is not None:
            X, y, weights = _rows_that_count(X, y, sample_weight)
        row_weights, count = None, float(len(y))
        if merge_copies and (copies := distinct_rows(to_numpy(X), y, weights)) is not None:
            places, weights = copies
            X, y = _rows_of(X, places), y[places]
            count = max(len(weights), weights.sum())
            row_weights = None if (weights == weights[0]).all() else weights / weights.mean()
        if (y == y[0]).all():
            raise BadData(
                f"all {len(y)} labels are equal to {y[0].item()!r}: nothing depends on X. "
                f"{type(self).__name__} needs at least two different labels."
            )
        columns = standardization(
            X, owner=type(self).__name__, rows=self.chunk_size, row_weights=row_weights
        )
        if not len(columns.kept):
            raise BadData("every column of X is constant: there is no direction to be found")
        return Training(X, y, columns, row_weights, count)

    def _whitened(self, data: Training) -> WhitenedInputs:
        s, d = self.shrinkage, len(data.columns.kept)
        inputs = whitened(
            data.X,
            data.columns,
            shrinkage=0.2 * min(0.5, d / data.seen) + 0.001 if s is None else s,
            chunk_size=self.chunk_size,
            row_weights=data.row_weights,
        )
        if self.n_components is not None and self.n_components > len(inputs.axes):
            raise BadData(
                f"n_components = {self.n_components} directions cannot be found among the "
                f"{len(inputs.axes)} in which the {len(data.y)} rows of X vary. Ask for fewer."
            )
        return inputs

    def _keep(self, data: Training, found: np.ndarray, diagnosis: str) -> None:
        """Keep directions found (k, columns that vary), and what is said about them."""
        X, columns = data.X, data.columns
        directions = np.zeros((len(found), X.shape[1]))
        directions[:, columns.kept] = orthonormal_rows(found)
        self.directions_ = like(X, directions)
        self.n_directions_ = self._n_features_out = len(directions)
        self.diagnosis_ = diagnosis
        self.mean_ = like(X, columns.mean)
        self.scale_ = like(X, np.where(columns.scale > 0, columns.scale, 1.0))

    def _check_parameters(self) -> None:
        optional = ("n_components", "n_slices", "chunk_size")
        for name in (*optional, "n_permutations"):
            value = getattr(self, name, None)
            if value is None and name in optional:
                continue
            whole_number(name, value, least=2 if name == "n_slices" else 1)
        s = self.shrinkage
        if s is not None and not (isinstance(s, numbers.Real) and 0 <= float(s) <= 1):
            raise BadData(f"shrinkage must be a number from 0 to 1, got {s!r}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.array_api_support = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _rows_that_count(
    X: Any, y: np.ndarray, sample_weight: Any
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows with a weight above 0, and their weights."""
    w = to_numpy(sample_weight).astype(np.float64)
    if w.shape != y.shape[:1]:
        raise BadData(
            f"sample_weight must have one number for each of the {len(y)} rows, got shape {w.shape}"
        )
    if not (np.isfinite(w).all() and (w >= 0).all() and (w > 0).any()):
        raise BadData(
            "sample_weight must be finite numbers >= 0, not all of them zero: they count how often "
            f"a row is seen. Got values from {w.min():g} to {w.max():g}"
        )
    seen = np.flatnonzero(w)
    return (X, y, w) if len(seen) == len(w) else (_rows_of(X, seen), y[seen], w[seen])


def _rows_of(X: Any, places: np.ndarray) -> Any:
    xp = array_namespace(X)
    return xp.take(X, like(X, places, dtype=xp.int64), axis=0)
