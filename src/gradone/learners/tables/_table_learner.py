"""What the learners of data frames share: columns of any kind around a feature learner."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from ...base.arrays import in_our_words
from ...targets.sampled import whole_number
from .tabular import Table, TableEncoder, encoder_of, read_table
from .tabular.suspects import row_numbers, useless_columns
from .tabular.table import table_of


class TableLearner(TransformerMixin, BaseEstimator):
    """Encodes the columns of a table and hands the numbers to a feature learner."""

    def __init__(
        self,
        learner: Any = None,
        *,
        max_levels: int = 50,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.learner = learner
        self.max_levels = max_levels
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Encode the columns, find the directions and fit the members.

        Parameters
        ----------
        X : data frame, columns by name, array (n, columns), or the path of a file
            The features.
        y : array-like (n,)
            Labels.
        sample_weight : array-like (n,), optional
            Weights of the rows: 2 means the same as a row that is there twice.

        Returns
        -------
        object
            Itself.
        """
        whole_number("max_levels", self.max_levels)
        table = self._training_table(X)
        # The labels are checked by the learner that will see them, beside inputs that say nothing.
        Y = self._learner()._numbers(np.zeros((len(table), 1)), y)[1]
        useless, notes = useless_columns(table)
        kept = table.without(*useless)
        if not kept.columns:
            kept = table  # constant columns: the learner says what that means
        encoder = encoder_of(kept, Y, max_levels=self.max_levels)
        self.notes_ = (*table.notes, *notes, *row_numbers(kept))
        numbers: np.ndarray = encoder.of_training(kept, Y).astype(_precision(X))
        self._keep(encoder, self._learner().fit(numbers, y, sample_weight=sample_weight))
        return self

    @classmethod
    def around(
        cls,
        learner: Any,
        encoder: TableEncoder,
        columns: tuple[str, ...],
        notes: tuple[str, ...] = (),
    ) -> Self:
        """The fitted learner of a table whose encoder and feature learner are fitted already.

        Parameters
        ----------
        learner : FeatureRegressor or FeatureClassifier
            Fitted to the features of the encoder.
        encoder : TableEncoder
            Of the columns.
        columns : tuple of str
            Names of the columns.
        notes : tuple of str
            What was done with the table.
        """
        made = cls(max_levels=encoder.max_levels, random_state=learner.random_state)
        made.n_features_in_ = len(columns)
        made.feature_names_in_ = np.array(columns, dtype=object)
        made.notes_ = notes
        made._keep(encoder, learner)
        return made

    def _keep(self, encoder: TableEncoder, learner: Any) -> None:
        self.encoder_, self.learner_ = encoder, learner
        self.directions_, self.n_directions_ = learner.directions_, learner.n_directions_
        self.diagnosis_ = learner.diagnosis_

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates (n, k) of new rows along the learned directions.

        Parameters
        ----------
        X : data frame, columns by name, array, or path
            The features.
        """
        numbers = self._numbers(X)
        found: np.ndarray = self.learner_.transform(numbers)
        return found

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the coordinates that :meth:`transform` gives."""
        check_is_fitted(self)
        name = type(self).__name__.lower()
        return np.array([f"{name}{k}" for k in range(self.n_directions_)], dtype=object)

    def loadings(self) -> Any:
        """How the encoded columns enter the directions, as a labeled table (xarray.Dataset)."""
        check_is_fitted(self)
        return self.learner_.loadings().assign_coords(feature=list(self.encoder_.features))

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share (columns,) of each column in the prediction [FR-9]; they add up to 1."""
        check_is_fitted(self)
        starts = np.cumsum([0, *(len(column.features) for column in self.encoder_.columns)])
        ranges = zip(self.encoder_.columns, starts, starts[1:], strict=False)
        groups = {column.name: range(start, end) for column, start, end in ranges}
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        found: np.ndarray = self.learner_._importances([groups.get(str(n), ()) for n in names])
        return found

    def direction_angles(
        self, X: Any, y: Any, sample_weight: Any = None, *, n_resamples: int = 20
    ) -> Any:
        """How sure the directions are, as ``direction_angles`` of the learner says it.

        Parameters
        ----------
        X, y, sample_weight
            The rows that were fitted to.
        n_resamples : int
            Number of fits, each of which takes as long as the first one.
        """
        check_is_fitted(self)
        table = self._table(X)
        Y = self._learner()._numbers(np.zeros((len(table), 1)), y)[1]
        names = (column.name for column in self.encoder_.columns)
        kept = Table({name: table[name] for name in names})
        numbers: np.ndarray = self.encoder_.of_training(kept, Y)
        return self.learner_.direction_angles(numbers, y, sample_weight, n_resamples=n_resamples)

    # ---- parts

    def _learner(self) -> Any:
        """The feature learner that is fitted."""
        raise NotImplementedError

    def _chosen(self, own: type) -> Any:
        return own(random_state=self.random_state) if self.learner is None else clone(self.learner)

    def _training_table(self, X: Any) -> Table:
        if _is_named(X):
            table = _of_any(X)
            self.n_features_in_ = len(table.columns)
            self.feature_names_in_ = np.array(list(table.columns), dtype=object)
            return table
        if hasattr(X, "columns"):
            table = table_of(X)  # first: it names what is wrong with the columns in our words
            in_our_words(lambda: validate_data(self, X, skip_check_array=True))
            return table
        return table_of(self._array(X, reset=True))

    def _numbers(self, X: Any) -> np.ndarray:
        """Features of new rows; columns that were not there in training are ignored."""
        check_is_fitted(self)
        table = self._table(X)
        for remark in self.encoder_.strangers(table):
            warnings.warn(f"{remark}.", UserWarning, stacklevel=3)
        return self.encoder_(table).astype(_precision(X))

    def _table(self, X: Any) -> Table:
        """Table of new rows."""
        if _is_named(X) or hasattr(X, "columns"):
            return _of_any(X)
        return table_of(self._array(X, reset=False))

    def _array(self, X: Any, *, reset: bool) -> np.ndarray:
        found: np.ndarray = in_our_words(
            lambda: validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        )
        return found if found.dtype.kind in "fiub" else found.astype(object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _precision(X: Any) -> type[np.floating[Any]]:
    """Arrays of single precision stay so; tables of mixed columns are of double precision."""
    return np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64


def _is_named(X: Any) -> bool:
    """Whether it is a file or columns by name; sparse matrices of SciPy may be dictionaries."""
    return isinstance(X, str | Path | Mapping | Table) and not issparse(X)


def _of_any(X: Any) -> Table:
    return read_table(X) if isinstance(X, str | Path) else table_of(X)
