"""Trained models of any library, read in one form: predictions, first layer, hidden layers.

What is understood: estimators with ``predict``, scikit-learn's multilayer perceptrons, PyTorch
modules, functions of X, pairs of a function and its parameters (JAX: ``(predict, parameters)``,
with ``predict(parameters, X)``), weights alone, and tables with ``predict``, ``weights`` or
``layers``. No library is imported that the model does not come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..base.arrays import to_numpy
from ..base.errors import BadData

_STEP = 0.01  # to either side, in finite differences
_CHUNK_NUMBERS = 2**21  # of inputs that are predicted at once
Function = Callable[[np.ndarray], np.ndarray]
_ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda h: np.maximum(h, 0.0),
    "tanh": np.tanh,
    "logistic": lambda h: 0.5 * (1 + np.tanh(h / 2)),
    "identity": lambda h: h,
}


@dataclass(frozen=True)
class Model:
    """What is known of a trained model.

    Parameters
    ----------
    predict : callable, optional
        Inputs (n, d) to predictions (n,).
    weights : ndarray (width, d), optional
        First layer.
    layers : mapping of str to callable
        Hidden layers from the bottom to the top: inputs (n, d) to features (n, width).
    exact_gradients : callable, optional
        Inputs (n, d) to gradients of the predictions (n, d); differences are taken without it.
    """

    predict: Function | None = None
    weights: np.ndarray | None = None
    layers: Mapping[str, Function] = field(default_factory=dict)
    exact_gradients: Function | None = None

    def gradients(self, X: np.ndarray) -> np.ndarray:
        """Gradients (n, d) of the predictions at the rows of X."""
        if self.exact_gradients is not None:
            return self.exact_gradients(X)
        if self.predict is None:
            raise BadData("this model shows only its weights, and gradients need its predictions")
        return gradients(self.predict, X)


def read_model(given: Any, d: int) -> Model:
    """Model of any library in one form.

    Parameters
    ----------
    given : object
        The model.
    d : int
        Number of inputs.

    Examples
    --------
    >>> read_model(lambda X: X[:, 0], 3).gradients(np.zeros((1, 3))).round(9)
    array([[1., 0., 0.]])
    >>> read_model((lambda p, X: X @ p["w"], {"w": np.ones(3)}), 3).predict(np.eye(3))
    array([1., 1., 1.])
    >>> read_model("a text", 3)
    Traceback (most recent call last):
    gradone.base.errors.BadData: 'a text' is no model: ...
    """
    if isinstance(given, Model):
        return given
    if hasattr(given, "named_modules") and hasattr(given, "state_dict"):
        from ._torch import read_module

        return read_module(given, d)
    if isinstance(given, Mapping):
        return _of_table(given, d)
    if isinstance(given, tuple) and len(given) == 2 and callable(given[0]):
        function, parameters = given
        found = next(_first_layers(parameters, d), None)
        return Model(_numbers(lambda X: function(parameters, X)), found)
    if hasattr(given, "predict"):
        return _of_estimator(given, d)
    if callable(given):
        return Model(_numbers(given))
    if hasattr(given, "shape") or isinstance(given, list):
        return Model(weights=_rows(given, d))
    raise BadData(
        f"{given!r} is no model: give an estimator with predict, a torch module, a function of X, "
        "a pair (function, parameters), weights (width, d), or a table with predict and weights"
    )


def _numbers(function: Callable[[Any], Any]) -> Function:
    def predict(X: np.ndarray) -> np.ndarray:
        found = np.asarray(to_numpy(function(X)), np.float64)
        return found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found

    return predict


def _rows(weights: Any, d: int) -> np.ndarray:
    found = np.atleast_2d(np.asarray(to_numpy(weights), np.float64))
    if found.ndim != 2 or found.shape[1] != d:
        raise BadData(f"weights must have the shape (width, {d}), got {found.shape}")
    return found


def _first_layers(parameters: Any, d: int) -> Iterator[np.ndarray]:
    """Matrices of nested parameters with d columns, or d rows, in their order."""
    if isinstance(parameters, Mapping):
        for part in parameters.values():
            yield from _first_layers(part, d)
    elif isinstance(parameters, list | tuple):
        for part in parameters:
            yield from _first_layers(part, d)
    elif getattr(parameters, "ndim", 0) == 2 and d in parameters.shape:
        found = np.asarray(to_numpy(parameters), np.float64)
        yield found if found.shape[1] == d else found.T


def _of_table(given: Mapping[str, Any], d: int) -> Model:
    known = {"predict", "weights", "layers"}
    if not given or set(given) - known:
        raise BadData(f"a table of a model has {', '.join(sorted(known))}, got {sorted(given)}")
    return Model(
        _numbers(given["predict"]) if "predict" in given else None,
        _rows(given["weights"], d) if "weights" in given else None,
        {name: _features(one) for name, one in dict(given.get("layers", {})).items()},
    )


def _features(function: Callable[[Any], Any]) -> Function:
    return lambda X: np.asarray(to_numpy(function(X)), np.float64)


def _of_estimator(fitted: Any, d: int) -> Model:
    if isinstance(fitted, type):
        raise BadData(f"give a fitted {fitted.__name__}, not its class")
    predict = _numbers(fitted.predict)
    coefs = getattr(fitted, "coefs_", None)
    if coefs is not None and getattr(fitted, "activation", None) in _ACTIVATIONS:
        layers = {f"layer {depth}": _perceptron(fitted, depth) for depth in range(1, len(coefs))}
        return Model(predict, np.asarray(coefs[0]).T, layers)
    weights = next(
        (
            getattr(fitted, name)
            for name in ("weights_", "coef_")
            if getattr(fitted, name, None) is not None
        ),
        None,
    )
    rows = None if weights is None else np.atleast_2d(np.asarray(to_numpy(weights), np.float64))
    if rows is not None and (rows.ndim != 2 or rows.shape[1] != d):
        rows = None  # of features, not of the inputs
    layers = {"features": _features(fitted.transform)} if hasattr(fitted, "transform") else {}
    return Model(predict, rows, layers)


def _perceptron(fitted: Any, depth: int) -> Function:
    """What the neurons of a hidden layer of a multilayer perceptron give."""
    sigma = _ACTIVATIONS[fitted.activation]

    def features(X: np.ndarray) -> np.ndarray:
        h = X
        for weights, bias in zip(fitted.coefs_[:depth], fitted.intercepts_[:depth], strict=True):
            h = sigma(h @ weights + bias)
        return np.asarray(h, np.float64)

    return features


def gradients(predict: Callable[[np.ndarray], Any], X: np.ndarray) -> np.ndarray:
    """Gradients (m, d) of predictions at the rows of X (m, d), by central differences [FD-1].

    Examples
    --------
    >>> gradients(lambda X: X[:, 0] * X[:, 1], np.array([[2.0, 3.0]])).round(9)
    array([[3., 2.]])
    """
    m, d = X.shape
    found = np.empty((m, d))
    columns = max(1, _CHUNK_NUMBERS // (2 * m * d))
    for start in range(0, d, columns):
        moved = range(start, min(start + columns, d))
        steps = np.repeat(X[None, None], 2, axis=0).repeat(len(moved), axis=1)
        for i, j in enumerate(moved):
            steps[0, i, :, j] += _STEP
            steps[1, i, :, j] -= _STEP
        values = np.asarray(to_numpy(predict(steps.reshape(-1, d))), np.float64)
        if values.shape != (2 * len(moved) * m,):
            raise BadData(f"predictions have the shape {values.shape}, not {(steps.size // d,)}")
        values = values.reshape(2, len(moved), m)
        found[:, start : start + len(moved)] = ((values[0] - values[1]) / (2 * _STEP)).T
    return found
