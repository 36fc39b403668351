"""A training function ``train(X, y)`` as an estimator."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.errors import BadData
from ..base.seeds import fingerprint
from ._foreign import find_thing, name_of
from ._models import Model, read_model


class Trained:
    """Estimator of a function that gives back a trained network.

    Parameters
    ----------
    train : str
        Name of the function, ``"package.module:function"``.
    source : str
        Fingerprint of its source: other code has other numbers in a store.
    random_state : int, optional
        Passed on to the function if it has an argument of this name.
    """

    def __init__(self, train: str, source: str = "", random_state: int | None = None) -> None:
        self.train, self.source, self.random_state = train, source, random_state

    def fit(self, X: Any, y: Any) -> Trained:
        """Train the network."""
        function = find_thing(self.train)
        has_seed = "random_state" in inspect.signature(function).parameters
        found = function(X, y, **({"random_state": self.random_state} if has_seed else {}))
        if found is None:
            raise BadData("the function returned nothing; let it return the trained network")
        self.model_: Model = read_model(found, X.shape[1])
        if self.model_.predict is None:
            raise BadData(
                "the function returned weights alone; let it return a network that predicts"
            )
        self.weights_ = self.model_.weights
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predictions (n,) of the network."""
        assert self.model_.predict is not None
        return self.model_.predict(X)


def named_source(function: Callable[..., Any]) -> tuple[str, str]:
    """Name of a function, and the fingerprint of the module that it stands in.

    Examples
    --------
    >>> named_source(fingerprint)[0]
    'gradone.base.seeds:fingerprint'
    """
    name = name_of(function)
    module = sys.modules.get(function.__module__)
    try:
        is_script = function.__module__ in ("__main__", "__mp_main__")
        text = inspect.getsource(function if module is None or is_script else module)
    except (OSError, TypeError):
        text = ""
    return name, fingerprint(text).hex()[:16]


def shown_name(learner: str, parameters: Any) -> str:
    """Name of an estimator of somebody else for people: of its class, or of its function.

    Examples
    --------
    >>> shown_name("sklearn.linear_model:Ridge", {"parameters": {"alpha": 1.0}})
    'Ridge'
    >>> shown_name(name_of(Trained), {"parameters": {"train": "mine:momentum"}})
    'momentum'
    """
    if learner == name_of(Trained):
        learner = str(dict(parameters.get("parameters", {})).get("train", learner))
    return learner.rpartition(":")[2]
