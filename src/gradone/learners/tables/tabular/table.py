"""A table in memory: named columns of numbers or of texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ....base.errors import BadData, did_you_mean
from .dates import days_of, looks_like_a_date

Kind = Literal["number", "category", "date", "text"]
MISSING = frozenset(["", "na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "?"])
"""What stands in a cell without a value, in small letters."""
MAX_LEVELS = 100_000  # different texts of a column that are kept


@dataclass(frozen=True)
class Column:
    """One column.

    Parameters
    ----------
    kind : {"number", "category", "date", "text"}
        What it holds; ``"text"`` has too many different texts to be a category.
    numbers : ndarray (n,), optional
        Values of a column of numbers, days since 1970 of dates, NaN where one is missing; None of
        dates that cannot be read without doubt.
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
    """Column of values in memory: numbers, truth values, dates, texts; None and NaN are missing.

    Examples
    --------
    >>> column_of([1, None, 3]).numbers
    array([ 1., nan,  3.])
    >>> column_of(["b", "a", "b"]).levels
    ('a', 'b')
    """
    array = np.asarray(values)
    if array.dtype.kind == "M":
        return _of_moments(array)
    if array.dtype.kind in "iuf":
        return Column("number", numbers=array.astype(float))
    texts = [_text(value) for value in array.tolist()]
    if array.dtype.kind != "b":
        try:
            return Column("number", numbers=np.array([float(t) if t else np.nan for t in texts]))
        except ValueError:
            pass
    return column_of_texts(texts)


def column_of_texts(texts: list[str]) -> Column:
    """Column of texts that are no numbers; empty ones are missing."""
    present = [text for text in texts if text]
    if present and all(looks_like_a_date(text) for text in present):
        days = days_of(texts)
        unread = np.zeros(len(texts), int) if days is None else None
        return Column("date", numbers=days, codes=unread, example=f"'{present[0]}'")
    levels = tuple(sorted(set(present)))
    places = {text: place for place, text in enumerate(levels)}
    codes = np.array([places.get(text, -1) for text in texts])
    example = f"'{present[0]}'" if present else ""
    return Column("category", codes=codes, levels=levels, example=example)


def table_of(data: Any) -> Table:
    """Table of a data frame (pandas, polars, pyarrow), of columns by name, or of an array.

    Examples
    --------
    >>> len(table_of({"age": [30, 40], "sex": ["f", "m"]}))
    2
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, np.ndarray) and data.ndim == 2:
        columns = {f"x{i}": column_of(values) for i, values in enumerate(data.T)}
    elif isinstance(data, Mapping):
        columns = {str(name): column_of(values) for name, values in data.items()}
    else:
        columns = _of_frame(data)
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1 or lengths == {0}:
        raise BadData("the columns of a table must have the same number of rows, at least one")
    return finite(Table(columns))


def finite(table: Table) -> Table:
    """The table, unless it has infinite values."""
    for name, column in table.columns.items():
        if column.numbers is not None and np.isinf(column.numbers).any():
            row = int(np.flatnonzero(np.isinf(column.numbers))[0]) + 1
            raise BadData(
                f"column '{name}' of {table.source} has infinite values, the first in row {row}. "
                "Replace them by numbers, or leave them empty."
            )
    return table


def _of_frame(data: Any) -> dict[str, Column]:
    import narwhals.stable.v2 as nw

    names = Counter(map(str, getattr(data, "columns", ())))
    if twice := [name for name, count in names.items() if count > 1]:
        raise BadData(f"the table has several columns with the name {listed(twice)}: rename them")
    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError:
        raise BadData(
            f"a table is a file, a data frame or columns by name, got {type(data).__name__}"
        ) from None
    return {str(series.name): _of_series(series) for series in frame.iter_columns()}


def _of_series(series: Any) -> Column:
    """Column of a series of any kind of data frame, by its type."""
    import narwhals.stable.v2 as nw

    kind = series.dtype
    if kind.is_numeric():
        return Column("number", numbers=series.cast(nw.Float64).to_numpy().astype(float))
    if kind in (nw.Datetime, nw.Date):
        if getattr(kind, "time_zone", None):
            series = series.dt.replace_time_zone(None)  # the time on the clocks of the zone
        return _of_moments(series.cast(nw.Datetime("us")).to_numpy().astype("datetime64[us]"))
    if kind == nw.Boolean:
        return column_of_texts([_text(value) for value in series.to_list()])
    return column_of(np.array(series.to_list(), dtype=object))


def _of_moments(moments: np.ndarray) -> Column:
    days = moments.astype("datetime64[us]").astype(np.int64) / 86400e6
    days[np.isnat(moments)] = np.nan
    present = moments[~np.isnat(moments)]
    return Column("date", numbers=days, example=f"'{present[0]}'" if len(present) else "")


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


def _text(value: Any) -> str:
    """A value as a text, empty if it is missing."""
    text = "" if value is None else str(value).strip()
    return "" if text.lower() in MISSING else text
