"""A table in memory: named columns of numbers or of texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ....base.errors import BadData, did_you_mean

Kind = Literal["number", "category", "date", "text"]
MISSING = frozenset(["", "na", "n/a", "#n/a", "nan", "null", "?"])
"""What stands in a cell without a value, in small letters."""
MAX_LEVELS = 1000  # different texts of a column that are kept


@dataclass(frozen=True)
class Column:
    """One column.

    Parameters
    ----------
    kind : {"number", "category", "date", "text"}
        What it holds; ``"text"`` has too many different texts to be a category.
    numbers : ndarray (n,), optional
        Values of a column of numbers, NaN where one is missing.
    codes : ndarray of int (n,), optional
        Place of each value among `levels`, -1 where one is missing.
    levels : tuple of str
        Different texts, sorted.
    example : str
        What made it not a column of numbers, with its line.
    """

    kind: Kind
    numbers: np.ndarray | None = None
    codes: np.ndarray | None = None
    levels: tuple[str, ...] = ()
    example: str = ""

    def __len__(self) -> int:
        return len(self.numbers if self.numbers is not None else self.codes)  # type: ignore[arg-type]

    @property
    def missing(self) -> np.ndarray:
        """Where a value is missing, (n,)."""
        if self.numbers is not None:
            return np.isnan(self.numbers)
        assert self.codes is not None
        return self.codes < 0

    def part(self, rows: np.ndarray) -> Column:
        """Some of the rows."""
        numbers = None if self.numbers is None else self.numbers[rows]
        codes = None if self.codes is None else self.codes[rows]
        return Column(self.kind, numbers, codes, self.levels, self.example)


@dataclass(frozen=True)
class Table:
    """Columns of equal length by name.

    Parameters
    ----------
    columns : dict of Column
        The columns, in the order of the file.
    source : str
        Where it comes from, for messages.
    notes : tuple of str
        What was done on reading.
    """

    columns: dict[str, Column]
    source: str = "the table"
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> Column:
        if name not in self.columns:
            raise BadData(
                f"{self.source} has no column '{name}'.{did_you_mean(name, self.columns)} "
                f"Its columns: {listed(self.columns)}."
            )
        return self.columns[name]

    def without(self, *names: str) -> Table:
        """The table without some columns."""
        for name in names:
            self[name]
        kept = {name: column for name, column in self.columns.items() if name not in names}
        return Table(kept, self.source, self.notes)

    def part(self, rows: np.ndarray) -> Table:
        """Some of the rows."""
        columns = {name: column.part(rows) for name, column in self.columns.items()}
        return Table(columns, self.source, self.notes)


def column_of(values: Any) -> Column:
    """Column of values in memory: numbers, truth values, texts; None and NaN are missing.

    Examples
    --------
    >>> column_of([1, None, 3]).numbers
    array([ 1., nan,  3.])
    >>> column_of(["b", "a", "b"]).levels
    ('a', 'b')
    """
    array = np.asarray(values)
    if array.dtype.kind == "M":
        return Column("date", codes=np.zeros(len(array), int), example=str(array[0]))
    if array.dtype.kind in "iuf":
        return Column("number", numbers=array.astype(float))
    texts: list[str] = []
    for value in array.tolist():
        missing = value is None or value != value  # NaN differs from itself
        texts.append("" if missing else str(value))
    try:
        numbers = [np.nan if _is_missing(text) else float(text) for text in texts]
        if array.dtype.kind != "b":
            return Column("number", numbers=np.array(numbers))
    except ValueError:
        pass
    levels = tuple(sorted({text for text in texts if not _is_missing(text)}))
    places = {text: place for place, text in enumerate(levels)}
    codes = np.array([places.get(text, -1) for text in texts])
    kind: Kind = "category" if len(levels) <= MAX_LEVELS else "text"
    return Column(kind, codes=codes, levels=levels)


def table_of(data: Any) -> Table:
    """Table of a data frame, or of columns by name.

    Examples
    --------
    >>> len(table_of({"age": [30, 40], "sex": ["f", "m"]}))
    2
    """
    if isinstance(data, Table):
        return data
    if not isinstance(data, Mapping) and not hasattr(data, "columns"):
        raise BadData(
            f"a table is a file, a data frame or columns by name, got {type(data).__name__}"
        )
    names = list(data) if isinstance(data, Mapping) else list(data.columns)
    columns = {str(name): column_of(data[name]) for name in names}
    if len({len(column) for column in columns.values()}) != 1:
        raise BadData("the columns of a table must have the same number of rows, at least one")
    return Table(columns)


def listed(names: Any, most: int = 8) -> str:
    """Names in quotes, the first ones if there are many.

    Examples
    --------
    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    names = list(names)
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown + (f", ... ({len(names)} in all)" if len(names) > most else "")


def _is_missing(text: str) -> bool:
    return text.strip().lower() in MISSING
