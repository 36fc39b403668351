"""The learners of scikit-learn that a table is compared with, in settings that are fair to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .prepare import Task

EXACT_KERNEL_ROWS = 4000
"""With more rows kernel methods work on landmarks: the kernel of all rows is too large."""
CONSTANT = ("mean", "majority")
"""The methods that predict the same for every row."""
_LANDMARKS = 600


def peers(task: Task, n: int, seed: int) -> dict[str, Any]:
    """Estimators by name, linear, kernel, trees and network.

    Parameters
    ----------
    task : {"regression", "classification"}
        What is learned.
    n : int
        Number of rows.
    seed : int
        Of the network and of landmarks.
    """
    return _classifiers(n, seed) if task == "classification" else _regressors(n, seed)


def label_of(name: str, task: Task) -> str:
    """Name of a method for people."""
    words = {
        "gradone": "gradone",
        "mean": "mean of the target",
        "majority": "most frequent class",
        "ridge": "ridge regression",
        "logistic": "logistic regression (ridge penalty)",
        "kernel": "kernel ridge" if task == "regression" else "kernel classifier (SVC)",
        "boosting": "gradient boosting",
        "network": "small neural network (MLP)",
    }
    return words[name]


def _regressors(n: int, seed: int) -> dict[str, Any]:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.dummy import DummyRegressor
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.kernel_approximation import Nystroem
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.linear_model import RidgeCV
    from sklearn.model_selection import GridSearchCV, ShuffleSplit
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    penalties = np.logspace(-3, 4, 15)
    if n <= EXACT_KERNEL_ROWS:
        grid = {"alpha": [0.01, 0.1, 1.0], "gamma": [0.003, 0.01, 0.03, 0.1]}
        kernel: Any = make_pipeline(
            StandardScaler(), GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=3)
        )
    else:
        landmarks = Nystroem(n_components=_LANDMARKS, random_state=seed)
        pipeline = make_pipeline(StandardScaler(), landmarks, RidgeCV(np.logspace(-5, 2, 8)))
        grid = {"nystroem__gamma": [0.003, 0.01, 0.03, 0.1]}
        # Some of the rows are enough to choose a width: on all of them this would cost more than
        # everything else together.
        part = EXACT_KERNEL_ROWS / n
        some = ShuffleSplit(1, train_size=0.75 * part, test_size=0.25 * part, random_state=seed)
        kernel = GridSearchCV(pipeline, grid, cv=some)
    network = MLPRegressor(hidden_layer_sizes=(64,), early_stopping=True, max_iter=500)
    network.set_params(random_state=seed)

    def scaled(regressor: Any) -> Any:
        """With a target of mean 0 and variance 1, whatever its unit."""
        return TransformedTargetRegressor(regressor, transformer=StandardScaler())

    return {
        "ridge": make_pipeline(StandardScaler(), RidgeCV(penalties)),
        "kernel": scaled(kernel),
        "boosting": HistGradientBoostingRegressor(random_state=seed),
        "network": scaled(make_pipeline(StandardScaler(), network)),
        "mean": DummyRegressor(),
    }


def _classifiers(n: int, seed: int) -> dict[str, Any]:
    from sklearn.dummy import DummyClassifier
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    logistic = LogisticRegression(max_iter=2000)
    if n <= EXACT_KERNEL_ROWS:
        kernel = make_pipeline(StandardScaler(), SVC(kernel="rbf", random_state=seed))
        kernel = GridSearchCV(kernel, {"svc__C": [0.3, 1.0, 3.0, 10.0, 30.0]}, cv=3)
    else:
        landmarks = Nystroem(n_components=_LANDMARKS, random_state=seed)
        kernel = make_pipeline(StandardScaler(), landmarks, logistic)
    network = MLPClassifier(hidden_layer_sizes=(64,), max_iter=500, random_state=seed)
    penalties = {"logisticregression__C": [0.01, 0.1, 1.0, 10.0, 100.0]}
    return {
        "logistic": GridSearchCV(make_pipeline(StandardScaler(), logistic), penalties, cv=3),
        "kernel": kernel,
        "boosting": HistGradientBoostingClassifier(random_state=seed),
        "network": make_pipeline(StandardScaler(), network),
        "majority": DummyClassifier(strategy="most_frequent"),
    }
