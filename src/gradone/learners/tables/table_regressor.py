"""Regression on data frames: columns of any kind, few directions, bounded predictions."""

from __future__ import annotations

from typing import Any

from sklearn.base import RegressorMixin

from ...base.cost import Cost
from .._registry import LEARNERS
from ._table_learner import TableLearner
from .feature_regressor import FeatureRegressor


@LEARNERS.add("table_regressor")
class TableRegressor(RegressorMixin, TableLearner):
    """:class:`FeatureRegressor` for tables as they are.

    A table is a data frame (pandas, polars, pyarrow), a dictionary of columns, an array, or the
    path of a CSV or Parquet file. Numbers stay numbers; where one is missing stands the median, and
    a further feature says so. Texts and truth values become columns of 0 and 1, texts of more than
    `max_levels` kinds the mean label of other rows with the same text (scikit-learn's target
    encoding, out of fold), dates their day, month, weekday and hour. Columns that are empty,
    constant, copies or names of the rows are left out, and ``notes_`` says so.

    Parameters
    ----------
    learner : FeatureRegressor, optional
        With settings of one's own; it is cloned.
    max_levels : int
        Different texts that make a category.
    random_state : int, numpy.random.Generator or None
        Of the learner, if none is given.

    Attributes
    ----------
    learner_ : FeatureRegressor
        Fitted to the encoded columns.
    encoder_ : TableEncoder
        Makes features of columns; ``encoder_.features`` has their names.
    notes_ : tuple of str
        What was done with the table.
    feature_importances_ : array (columns,)
        How much the prediction changes, in the mean square, if a column is replaced by that of
        another row; they add up to 1.
    directions_ : array (k, d)
        Of the learner, over the encoded columns.
    n_directions_ : int
        Number of directions.
    diagnosis_ : str
        What was found, in words.

    Notes
    -----
    New rows may have further columns, in any order. A text that training did not have counts as
    no level of its category, with a warning.

    References
    ----------
    troiani2024limits, damian2025leap, defilippis2025spectral

    Examples
    --------
    >>> import gradone as gd
    >>> s = gd.Target("z1*z2").sample(n=300, d=4, seed=0)
    >>> table = dict(zip("abcd", s.X.T)) | {"site": ["north", "south", "west"] * 100}
    >>> learner = TableRegressor(random_state=0).fit(table, s.y)
    >>> learner.encoder_.features
    ('a', 'b', 'c', 'd', 'site=north', 'site=south', 'site=west')
    >>> bool(learner.score(table, s.y) > 0.9)
    True
    """

    cites = FeatureRegressor.cites
    cost = Cost(
        "some hundred least squares of n (200 + d)^2 operations in each fold",
        lambda s: 1000 * s.n * (200 + s.d) ** 2,
    )

    def predict(self, X: Any, interval: float | None = None) -> Any:
        """Labels (n,) or (n, q) of new rows, and the ends of intervals if these are asked for.

        Parameters
        ----------
        X : data frame, columns by name, array, or path
            The features.
        interval : float, optional
            Probability with which an interval shall hold a new label.
        """
        numbers = self._numbers(X)
        return self.learner_.predict(numbers, interval=interval)

    def _learner(self) -> Any:
        return self._chosen(FeatureRegressor)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
