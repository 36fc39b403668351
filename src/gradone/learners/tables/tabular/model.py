"""A learner together with what turns the columns of a table into its inputs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .encoding import TableEncoder
from .reading import read_table
from .table import Table, table_of


@dataclass(frozen=True)
class TableModel:
    """Fitted learner that takes files, data frames or columns by name.

    Parameters
    ----------
    encoder : TableEncoder
        Makes features of the columns.
    learner : estimator
        Fitted to these features.
    target : str
        Name of the column that it predicts.

    Notes
    -----
    ``gradone fit`` writes one; :func:`gradone.learners.load_model` reads it. Columns that the
    model does not use may be there or not.
    """

    encoder: TableEncoder
    learner: Any
    target: str

    def predict(self, data: Any) -> np.ndarray:
        """Predictions (n,) of new rows: a file, a data frame, or columns by name."""
        found: np.ndarray = self.learner.predict(self._inputs(data))
        return found

    def predict_proba(self, data: Any) -> np.ndarray:
        """Probabilities (n, classes) of new rows, in the order of ``learner.classes_``."""
        found: np.ndarray = self.learner.predict_proba(self._inputs(data))
        return found

    def transform(self, data: Any) -> np.ndarray:
        """Coordinates (n, k) of new rows along the learned directions."""
        found: np.ndarray = self.learner.transform(self._inputs(data))
        return found

    def loadings(self) -> Any:
        """How the features enter the directions: the table of the learner, with their names."""
        return self.learner.loadings().assign_coords(feature=list(self.encoder.features))

    def _inputs(self, data: Any) -> np.ndarray:
        table: Table = read_table(data) if isinstance(data, str | Path) else table_of(data)
        return self.encoder(table)
