"""Classification on data frames: columns of any kind, few directions, probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from ...base.cost import Cost
from .._registry import LEARNERS
from ._table_learner import TableLearner
from .feature_classifier import FeatureClassifier


@LEARNERS.add("table_classifier")
class TableClassifier(ClassifierMixin, TableLearner):
    """:class:`FeatureClassifier` for tables as they are.

    The columns are treated as by :class:`TableRegressor`.

    Parameters
    ----------
    learner : FeatureClassifier, optional
        With settings of one's own; it is cloned.
    max_levels : int
        Different texts that make a category.
    class_weight : dict, "balanced" or None
        As in :class:`FeatureClassifier`; None leaves it to the learner.
    random_state : int, numpy.random.Generator or None
        Of the learner, if none is given.

    Attributes
    ----------
    classes_ : ndarray (k,)
        The classes, sorted.
    learner_ : FeatureClassifier
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
    New rows may have further columns, in any order. With more than three classes no directions are
    looked for, as in :class:`FeatureClassifier`.

    References
    ----------
    troiani2024limits, damian2025leap, defilippis2025spectral

    Examples
    --------
    >>> import gradone as gd
    >>> s = gd.Target("sign(z1)").sample(n=200, d=3, seed=0)
    >>> table = dict(zip("abc", s.X.T)) | {"site": ["north", "south"] * 100}
    >>> answers = ["no" if y < 0 else "yes" for y in s.y]
    >>> learner = TableClassifier(random_state=0).fit(table, answers)
    >>> learner.classes_.tolist(), bool(learner.score(table, answers) > 0.9)
    (['no', 'yes'], True)
    """

    cites = FeatureClassifier.cites
    cost = Cost(
        "some hundred least squares of n (200 + d)^2 operations in each fold",
        lambda s: 1000 * s.n * (200 + s.d) ** 2,
    )

    def __init__(
        self,
        learner: Any = None,
        *,
        max_levels: int = 50,
        class_weight: Mapping[Any, float] | str | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(learner, max_levels=max_levels, random_state=random_state)
        self.class_weight = class_weight

    @property
    def classes_(self) -> np.ndarray:
        """The classes, sorted."""
        found: np.ndarray = self.learner_.classes_
        return found

    def predict(self, X: Any) -> np.ndarray:
        """Classes (n,) of new rows.

        Parameters
        ----------
        X : data frame, columns by name, array, or path
            The features.
        """
        numbers = self._numbers(X)
        found: np.ndarray = self.learner_.predict(numbers)
        return found

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (n, k) of the classes, in the order of ``classes_``.

        Parameters
        ----------
        X : data frame, columns by name, array, or path
            The features.
        """
        numbers = self._numbers(X)
        found: np.ndarray = self.learner_.predict_proba(numbers)
        return found

    def decision_function(self, X: Any) -> np.ndarray:
        """Logits of new rows: (n,) for two classes (positive: the second), else (n, k).

        Parameters
        ----------
        X : data frame, columns by name, array, or path
            The features.
        """
        numbers = self._numbers(X)
        found: np.ndarray = self.learner_.decision_function(numbers)
        return found

    def _learner(self) -> Any:
        chosen = self._chosen(FeatureClassifier)
        if self.class_weight is not None:
            chosen.set_params(class_weight=self.class_weight)
        return chosen
