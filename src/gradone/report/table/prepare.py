"""A table made ready: the target, the features as numbers, and what a user should know of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...base.errors import BadData, number_of
from ...learners.tables.tabular import Column, Table, TableEncoder, encoder_of, read_table
from ...learners.tables.tabular.encoding import label_columns
from ...learners.tables.tabular.suspects import leaks, row_numbers, useless_columns
from ...learners.tables.tabular.table import listed, table_of

Task = Literal["regression", "classification"]
LEAST_ROWS = 20
_SHOWN = 5  # columns of a list in a sentence
_FEW = 10  # different whole numbers that are taken for classes


@dataclass(frozen=True)
class Prepared:
    """Features and target of a table.

    Parameters
    ----------
    X : ndarray (n, d)
        Features.
    y : ndarray (n,)
        Target: numbers, or classes.
    encoder : TableEncoder
        Made X of the columns.
    target : str
        Name of the target.
    task : {"regression", "classification"}
        What is learned.
    notes : tuple of str
        What was done with the table.
    warnings : tuple of str
        What the user should look at.
    source : str
        Name of the file.
    table : Table
        The features as columns.
    """

    X: np.ndarray
    y: np.ndarray
    encoder: TableEncoder
    target: str
    task: Task
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    source: str
    table: Table

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.encoder.features

    def numbers(self, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Features of rows to learn from and of rows to predict, whose labels are not used."""
        if not self.encoder.uses_labels:
            return self.X[train], self.X[test]
        known, Y = self.table.part(train), self.label_columns[train]
        encoder = encoder_of(known, Y, max_levels=self.encoder.max_levels)
        return encoder.of_training(known, Y), encoder(self.table.part(test))

    @property
    def label_columns(self) -> np.ndarray:
        """The target as numbers (n, q): one column, or one for each class."""
        return label_columns(self.y, classes=self.task == "classification")

    @property
    def classes(self) -> list[str]:
        """Names of the classes; none of a number."""
        return [str(c) for c in np.unique(self.y)] if self.task == "classification" else []


def prepare(
    data: Any,
    target: str,
    *,
    task: Task | Literal["auto"] = "auto",
    drop: Sequence[str] = (),
    max_levels: int = 50,
) -> Prepared:
    """Read a table, check it, and turn it into numbers.

    Parameters
    ----------
    data : path, data frame or columns by name
        The table; a file is CSV or Parquet.
    target : str
        Column to predict.
    task : {"auto", "regression", "classification"}
        What kind of target it is; ``"auto"`` takes texts and up to 10 whole numbers for classes.
    drop : sequence of str
        Columns to leave out.
    max_levels : int
        Different texts that a category may have.
    """
    table = read_table(data) if isinstance(data, str | Path) else table_of(data)
    notes = list(table.notes)
    label = table[target]
    if target in drop:
        raise BadData(f"'{target}' is the target and cannot be left out with --drop")
    rows = ~label.missing
    if not rows.all():
        table = _with_target(table, target, rows, notes)
        label = table[target]
    found = _task(target, label, task, max_levels, notes)
    y = _labels(label, found)
    if len(table) < LEAST_ROWS:
        raise BadData(
            f"{table.source} has {number_of(len(table), 'row')}: at least {LEAST_ROWS} are needed "
            "to compare predictions on rows that were left out"
        )
    _check_labels(y, target, found)
    features = table.without(target, *drop)
    if drop:
        notes.append(f"These columns were left out on request: {listed(drop)}.")
    useless, reasons = useless_columns(features)
    notes += reasons
    features = features.without(*useless)
    if not features.columns:
        raise BadData(
            f"no feature is left in {table.source}: every column besides '{target}' is constant, "
            "a copy, or was left out"
        )
    Y = label_columns(y, classes=found == "classification")
    encoder = encoder_of(features, Y, max_levels=max_levels)
    notes += _imputed(features)
    return Prepared(
        X=encoder.of_training(features, Y),
        y=y,
        encoder=encoder,
        target=target,
        task=found,
        notes=tuple(notes),
        warnings=(*leaks(features, y, target), *row_numbers(features)),
        source=Path(data).name if isinstance(data, str | Path) else "the table",
        table=features,
    )


def _with_target(table: Table, target: str, rows: np.ndarray, notes: list[str]) -> Table:
    """The rows that have a target."""
    count = int((~rows).sum())
    if not rows.any():
        raise BadData(f"the target '{target}' is empty")
    was = "was" if count == 1 else "were"
    notes.append(f"{number_of(count, 'row')} without a value of '{target}' {was} left out.")
    return table.part(np.flatnonzero(rows))


def _task(name: str, label: Column, asked: str, max_levels: int, notes: list[str]) -> Task:
    if label.kind == "date":
        raise BadData(f"the target '{name}' holds dates ({label.example}): replace them by numbers")
    if label.numbers is None:
        if asked == "regression":
            raise BadData(
                f"the target '{name}' holds text ({label.example}): --task regression needs numbers"
            )
        if label.kind == "text" or len(label.levels) > max_levels:
            raise BadData(
                f"the target '{name}' holds text ({label.example}), too many different ones to be "
                f"classes (at most {max_levels}): correct it, or choose another column"
            )
        return "classification"
    if asked in ("regression", "classification"):
        return asked  # type: ignore[return-value]
    values = np.unique(label.numbers)
    if len(values) <= _FEW and (values == np.round(values)).all() and len(values) > 1:
        shown = ", ".join(f"{value:g}" for value in values)
        notes.append(
            f"'{name}' has {len(values)} different whole numbers ({shown}), which were taken for "
            "classes; --task regression takes them as numbers."
        )
        return "classification"
    return "regression"


def _labels(label: Column, task: Task) -> np.ndarray:
    if label.numbers is not None:
        if task == "regression":
            return label.numbers
        whole = (label.numbers == np.round(label.numbers)).all()
        return (
            label.numbers.astype(int) if whole else np.array([f"{v:.15g}" for v in label.numbers])
        )
    return np.array(label.levels)[label.codes]


def _check_labels(y: np.ndarray, target: str, task: Task) -> None:
    values, counts = np.unique(y, return_counts=True)
    if len(values) == 1:
        raise BadData(
            f"every row has the same value of '{target}', {values[0]}: there is nothing to learn. "
            + ("At least two classes are needed." if task == "classification" else "")
        )
    if task == "classification":
        if len(values) > len(y) // 4:
            raise BadData(
                f"'{target}' has {len(values)} classes in {len(y)} rows, too many to learn"
                + ("; --task regression takes it as a number" if y.dtype.kind in "iuf" else "")
            )
        if counts.min() < 2:
            rare = listed(str(v) for v in values[counts < 2])
            raise BadData(
                f"each class of '{target}' needs at least two rows; there is one of {rare}. Remove "
                "these rows, or join classes."
            )


def _imputed(table: Table) -> list[str]:
    filled = {n: int(c.missing.sum()) for n, c in table.columns.items() if c.missing.any()}
    if not filled:
        return []
    shown = ", ".join(f"'{name}' ({count})" for name, count in list(filled.items())[:_SHOWN])
    rest = f" and {len(filled) - _SHOWN} more columns" if len(filled) > _SHOWN else ""
    return [
        f"Missing values were filled in: {shown}{rest}. Numbers get the median and a mark, texts a "
        "level of their own."
    ]
