"""Labels that are classes: numbers inside a learner, names outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from ..base.arrays import array_namespace, check_fit, in_our_words, like
from ..base.errors import BadData


class ClassLearner(ClassifierMixin):
    """Classifier that counts its classes in their order.

    Attributes
    ----------
    classes_ : ndarray (k,)
        The classes, sorted.
    """

    classes_: np.ndarray

    def _class_numbers(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Checked inputs, and the number (n,) of the class of each row."""
        fixed = "" if getattr(self, "standardize", True) else "X"
        _, X, y = check_fit(self, X, y, labels="any", fixed_units=fixed)
        in_our_words(lambda: check_classification_targets(y))
        self.classes_, which = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise BadData(
                f"all {len(y)} labels are of one class, {self.classes_[0].item()!r}: "
                f"{type(self).__name__} needs rows of at least two classes"
            )
        return X, which

    def _of_numbers(self, X: Any, which: np.ndarray) -> Any:
        """Classes by number, of the kind of X if they are numbers themselves."""
        classes = self.classes_[which]
        if classes.dtype.kind not in "fiu" or array_namespace(X) is np:
            return classes
        return array_namespace(X).asarray(classes)


class MarginLearner(ClassLearner):
    """Classifier by the sign of its output if there are two classes, else by the largest output.

    A learner has a method ``_outputs(X, method)``, which returns checked inputs and their outputs.
    """

    _outputs: Callable[[Any, str], tuple[Any, np.ndarray]]

    def decision_function(self, X: Any) -> Any:
        """Outputs of new inputs: (n,) for two classes (positive: the second), else (n, k).

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        """
        X, outputs = self._outputs(X, "decision_function")
        return like(X, outputs[:, 0] if len(self.classes_) == 2 else outputs)

    def predict(self, X: Any) -> Any:
        """Classes of new inputs (n,).

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        """
        X, outputs = self._outputs(X, "predict")
        return self._of_numbers(X, decided(outputs))


def decided(outputs: np.ndarray) -> np.ndarray:
    """Number of the class of each row of outputs (n, 1) or (n, k)."""
    is_pair = outputs.shape[1] == 1
    found: np.ndarray = (outputs[:, 0] > 0).astype(int) if is_pair else outputs.argmax(axis=1)
    return found
