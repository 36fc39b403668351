"""Reading tables from CSV files, and from Parquet where pyarrow is there."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ....base.errors import BadData
from .table import MAX_LEVELS, MISSING, Column, Table, column_of_texts, finite, listed, table_of

_ROWS = 4096  # of a block
_CODES = 10  # texts such as 1, 2, 3+ are a category; more numbers with a word among them are not


def read_table(path: str | Path) -> Table:
    """Columns of a file: numbers, categories, dates or texts, as what they hold shows.

    Parameters
    ----------
    path : str or Path
        A CSV file in UTF-8 with one line of names (separated by commas, semicolons, tabs or
        bars, which is found out), or a file that ends in ``.parquet`` if pyarrow is installed.

    Raises
    ------
    BadData
        If the file cannot be read as a table; the message has the line.
    """
    path = Path(path)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise BadData(f"{path} {what}: name a CSV or Parquet file")
    if path.suffix.lower() in (".parquet", ".pq"):
        return _checked(_from_parquet(path))
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            return _checked(_from_csv(lines, str(path)))
    except UnicodeDecodeError as error:
        raise BadData(
            f"{path} is not text in UTF-8 ({error.reason} at byte {error.start}). Save it as CSV "
            "in UTF-8."
        ) from None
    except csv.Error as error:
        raise BadData(f"{path} cannot be read as CSV: {error}") from None


class _Cells:
    """Cells of one column as they are read: numbers as long as they are, and different texts."""

    def __init__(self) -> None:
        self.numbers: list[np.ndarray] = []
        self.codes: list[np.ndarray] = []
        self.places: dict[str, int] = {}
        self.words = self.values = 0
        self.example = ""

    def add(self, texts: tuple[str, ...], lines: list[int]) -> None:
        """Take the cells of more rows."""
        numbers = _all_numbers(texts)
        missing = np.zeros(len(texts), bool)
        if numbers is None:
            numbers = np.full(len(texts), np.nan)
            for i, text in enumerate(texts):
                if text.strip().lower() in MISSING:
                    missing[i] = True
                elif (value := _number(text)) is not None:
                    numbers[i] = value
                else:
                    self.words += 1
                    self.example = self.example or f"'{text}' in line {lines[i]}"
        self.values += len(texts) - int(missing.sum())
        self.numbers.append(numbers)
        if len(self.places) <= MAX_LEVELS:
            for text in dict.fromkeys(text.strip() for text in texts):
                if text.lower() not in MISSING:
                    self.places.setdefault(text, len(self.places))
            self.codes.append(np.array([self.places.get(text.strip(), -1) for text in texts]))

    def column(self) -> Column:
        """What the column is, now that all of it is known."""
        if not self.words:
            return Column("number", numbers=np.concatenate(self.numbers))
        among = self.values - self.words
        if len(self.places) > MAX_LEVELS or (among > self.words and len(self.places) > _CODES):
            codes = np.zeros(sum(map(len, self.numbers)), int)
            example = f"{self.example} among {among} numbers" if among else self.example
            return Column("text", codes=codes, example=example)
        known = [*self.places, ""]
        found = column_of_texts([known[code] for code in np.concatenate(self.codes)])
        return replace(found, example=self.example)


def _all_numbers(texts: tuple[str, ...]) -> np.ndarray | None:
    """The texts as numbers if all of them are; a quick look that most columns pass."""
    try:
        found = np.array(texts).astype(float)
    except ValueError:
        return None
    return None if np.isnan(found).any() or any("_" in text for text in texts) else found


def _number(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _from_csv(lines: Any, source: str) -> Table:
    start = lines.read(1 << 16)
    if not start.strip():
        raise BadData(f"{source} is empty: it needs a line of names and rows below it")
    lines.seek(0)
    first = start.splitlines()[0]
    reader = csv.reader(lines, delimiter=max(",;\t|", key=first.count), strict=True)
    names = [name.strip() for name in next(reader)]
    # Data frames write row numbers without a name in front.
    numbered = len(names) > 1 and names[0] == ""
    if numbered:
        names[0] = "(row names)"
    _check_names(names, source)
    cells = [_Cells() for _ in names]
    for rows, places in _blocks(reader, len(names), source):
        for own, texts in zip(cells, zip(*rows, strict=True), strict=True):
            own.add(texts, places)
    if not cells[0].numbers:
        raise BadData(f"{source} has names but no rows")
    first_column = 1 if numbered else 0
    columns = {n: c.column() for n, c in list(zip(names, cells, strict=True))[first_column:]}
    note = "The first column has no name: it was taken for row names and left out."
    return Table(columns, source, (note,) if numbered else ())


def _blocks(reader: Any, count: int, source: str) -> Iterator[tuple[list[list[str]], list[int]]]:
    """Rows of the file with their lines, some at a time; empty lines are skipped."""
    rows: list[list[str]] = []
    places: list[int] = []
    for row in reader:
        if not row:
            continue
        if len(row) != count:
            raise BadData(
                f"line {reader.line_num} of {source} has {len(row)} cells, but the line of names "
                f"has {count}. Correct the line; a cell with a separator in it needs quotes."
            )
        rows.append(row)
        places.append(reader.line_num)
        if len(rows) == _ROWS:
            yield rows, places
            rows, places = [], []
    if rows:
        yield rows, places


def _check_names(names: list[str], source: str) -> None:
    if any(name == "" for name in names):
        place = names.index("") + 1
        raise BadData(f"column {place} of {source} has no name: give every column one")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise BadData(f"{source} has several columns with the name {listed(twice)}: rename them")
    if all(_number(name) is not None for name in names):
        raise BadData(
            f"the first line of {source} holds numbers, not names of columns. Put a line of names "
            "above them."
        )


def _from_parquet(path: Path) -> Table:
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        raise BadData(
            f"{path} is a Parquet file, and pyarrow is not installed. pip install pyarrow, or "
            "save the table as CSV."
        ) from None
    return Table(table_of(parquet.read_table(path)).columns, str(path))


def _checked(table: Table) -> Table:
    """A table with at least two columns and without infinities."""
    if len(table.columns) < 2:
        raise BadData(
            f"{table.source} has one column: a target and at least one feature are needed. Columns "
            "are separated by commas, semicolons, tabs or bars."
        )
    if not len(table):
        raise BadData(f"{table.source} has names but no rows")
    return finite(table)
