"""A table in, a feature learner out: directions, comparison, report and a model to keep."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...base.errors import BadData
from ...base.memory import require_memory
from ...learners.stored_models import save_model
from .comparison import Comparison, Say, compare, fitted_quietly, folds_of
from .cost import expected_cost
from .growth import Growth, measure_growth
from .loadings import loading_errors
from .peers import peers
from .prepare import Prepared, Task, prepare
from .variance import explained_variance


def _silent(_: str) -> None:
    pass


@dataclass(frozen=True)
class TableFit:
    """What was found in a table.

    Parameters
    ----------
    data : Prepared
        The table.
    learner : FeatureRegressor or FeatureClassifier
        Fitted to all rows.
    comparison : Comparison
        Scores of all methods on the same folds.
    growth : Growth, optional
        Learning curves.
    explained : ndarray (k,)
        Share of the variance that the first 1, 2, ... directions explain on rows left out.
    folds : int
        Number of folds.
    seed : int
        Of folds and learners.
    seconds : float
        CPU time that it took.
    """

    data: Prepared
    learner: Any
    comparison: Comparison
    growth: Growth | None
    explained: np.ndarray
    folds: int
    seed: int
    seconds: float

    @property
    def model(self) -> Any:
        """The learner with the encoding of the table, as it is saved: it takes files and frames."""
        from ...learners.tables.table_classifier import TableClassifier
        from ...learners.tables.table_regressor import TableRegressor

        cls = TableClassifier if self.data.task == "classification" else TableRegressor
        columns = tuple(self.data.table.columns)
        return cls.around(self.learner, self.data.encoder, columns, self.data.notes)

    @property
    def gradient_shares(self) -> np.ndarray:
        """Share (k,) of the mean square gradient of the prediction along each direction."""
        values = np.asarray(self.learner.eigenvalues_, float)
        return values[: self.learner.n_directions_] / (values.sum() or 1.0)

    @property
    def loading_errors(self) -> np.ndarray:
        """Standard errors of the loadings ``learner.directions_``, from the fits of the folds."""
        whole = np.asarray(self.learner.directions_, float)
        return loading_errors(whole, self.comparison.own.directions)

    def to_dict(self) -> dict[str, Any]:
        """All numbers, in the types of JSON; what failed is None."""
        from .numbers import numbers_of

        return numbers_of(self)

    def to_html(self, *, command: str = "") -> str:
        """The report as one page that asks nothing of the network.

        Parameters
        ----------
        command : str
            The command line that makes it again.
        """
        from .page import page

        return page(self, command=command)

    def save(self, folder: str | Path, *, command: str = "") -> dict[str, Path]:
        """Write ``report.html``, ``model.npz`` and ``results.json``.

        Parameters
        ----------
        folder : str or Path
            Made if it is not there.
        command : str
            The command line that makes it again, for the report.

        Returns
        -------
        dict of Path
            The files by what they are.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        report, results = folder / "report.html", folder / "results.json"
        report.write_text(self.to_html(command=command), encoding="utf-8")
        results.write_text(json.dumps(self.to_dict(), indent=2, allow_nan=False), encoding="utf-8")
        model = save_model(self.model, folder / "model.npz")
        return {"report": report, "model": model, "results": results}


def fit_table(
    data: Any,
    target: str,
    *,
    task: Task | Literal["auto"] = "auto",
    drop: Sequence[str] = (),
    max_levels: int = 50,
    folds: int | None = None,
    curve: bool = True,
    seed: int = 0,
    say: Say = _silent,
) -> TableFit:
    """Learn a column of a table from the others, and compare with other learners.

    Parameters
    ----------
    data : path, data frame or columns by name
        The table; a file is CSV or Parquet.
    target : str
        Column to predict.
    task : {"auto", "regression", "classification"}
        Kind of the target; ``"auto"`` takes texts and up to 10 whole numbers for classes.
    drop : sequence of str
        Columns to leave out.
    max_levels : int
        Different texts that a category may have.
    folds : int, optional
        Folds of the comparison; 5 up to 2000 rows, else 3.
    curve : bool
        Measure the learning curve.
    seed : int
        Of folds and learners.
    say : callable
        Told what is being done, in words.
    """
    ready = prepare(data, target, task=task, drop=drop, max_levels=max_levels)
    return fit_prepared(ready, folds=folds, curve=curve, seed=seed, say=say)


def fit_prepared(
    data: Prepared,
    *,
    folds: int | None = None,
    curve: bool = True,
    seed: int = 0,
    learner: Any = None,
    say: Say = _silent,
) -> TableFit:
    """The same for a table that is ready.

    Parameters
    ----------
    data : Prepared
        The table.
    folds, curve, seed, say
        As in :func:`fit_table`.
    learner : FeatureRegressor or FeatureClassifier, optional
        With settings of your own.
    """
    from threadpoolctl import threadpool_limits

    start = time.process_time()
    count = number_of_folds(data, folds)
    n, d = data.X.shape
    require_memory(
        round(expected_cost(data, folds=count, curve=curve).memory),
        f"a fit to {n} rows of {d} features",
        "Leave out columns with --drop, or take a part of the rows.",
    )
    learner = learner_of(data.task, seed) if learner is None else learner
    splits = folds_of(data, count, seed)
    methods = {"gradone": learner, **peers(data.task, len(data.y), seed)}
    # Matrices are small here: on a busy machine threads that wait for each other cost more than
    # forty times the work they share. Only libraries that are loaded by now obey.
    with threadpool_limits(limits=1):
        comparison = compare(data, methods, splits, say)
        growth = measure_growth(data, learner, comparison, splits, say) if curve else None
        say("final fit to all rows")
        fitted = fitted_quietly(learner, data.X, data.y)
        found, k = comparison.own.directions, fitted.n_directions_
        explained = explained_variance(data, splits, found, k) if found else np.full(k, np.nan)
        seconds = time.process_time() - start
    return TableFit(data, fitted, comparison, growth, explained, len(splits), seed, seconds)


def learner_of(task: Task, seed: int) -> Any:
    """The feature learner for a kind of target."""
    from ...learners.tables.feature_classifier import FeatureClassifier
    from ...learners.tables.feature_regressor import FeatureRegressor

    cls = FeatureClassifier if task == "classification" else FeatureRegressor
    return cls(random_state=seed)


def number_of_folds(data: Prepared, asked: int | None) -> int:
    """Folds that were asked for, or as many as the size of the table suggests."""
    n = len(data.y)
    if asked is None:
        return 5 if n <= 2000 else 3
    if not 2 <= asked <= n // 2:
        raise BadData(f"--folds must be between 2 and half of the {n} rows, got {asked}")
    return asked
