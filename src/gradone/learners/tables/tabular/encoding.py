"""Numbers from the columns of a table: as they are, or one column for each level of a category."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ....base.errors import BadData
from .table import Column, Table, listed

ABSENT = "(missing)"
"""Level of a category for values that are missing."""


@dataclass(frozen=True)
class Numbers:
    """A column of numbers.

    Parameters
    ----------
    name : str
        Its name.
    fill : float, optional
        Put where a value is missing; None refuses missing values.
    """

    name: str
    fill: float | None = None

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the numbers that it gives."""
        return (self.name,)

    def __call__(self, table: Table) -> np.ndarray:
        """The numbers, (n, 1)."""
        column = table[self.name]
        if column.numbers is None:
            raise BadData(
                f"column '{self.name}' must hold numbers, as in the table that was learned from; "
                f"got {column.example or 'texts'}"
            )
        values = column.numbers.copy()
        if column.missing.any():
            if self.fill is None:
                raise BadData(_missing(self.name, column))
            values[column.missing] = self.fill
        return values[:, None]


@dataclass(frozen=True)
class Category:
    """A column of texts: one number 0 or 1 for each level; for two levels, of the second alone.

    Parameters
    ----------
    name : str
        Its name.
    levels : tuple of str
        Its different texts.
    """

    name: str
    levels: tuple[str, ...]

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the numbers that it gives."""
        shown = self.levels[1:] if len(self.levels) == 2 else self.levels
        return tuple(f"{self.name}={level}" for level in shown)

    def __call__(self, table: Table) -> np.ndarray:
        """The numbers, (n, features)."""
        column = table[self.name]
        if column.codes is None:  # levels that look like numbers, in a table that has no others
            assert column.numbers is not None
            texts = [ABSENT if v != v else f"{v:.15g}" for v in column.numbers]
        else:
            texts = [ABSENT if code < 0 else column.levels[code] for code in column.codes]
        places = {level: place for place, level in enumerate(self.levels)}
        unknown = [text for text in dict.fromkeys(texts) if text not in places]
        if ABSENT in unknown:
            raise BadData(_missing(self.name, column))
        if unknown:
            raise BadData(
                f"column '{self.name}' has {listed(unknown)}, which the table that was learned "
                f"from did not have. Known: {listed(self.levels)}."
            )
        codes = np.array([places[text] for text in texts])
        found = (codes[:, None] == np.arange(len(self.levels))).astype(float)
        return found[:, 1:] if len(self.levels) == 2 else found


@dataclass(frozen=True)
class TableEncoder:
    """Numbers from the columns of a table.

    Parameters
    ----------
    columns : tuple of Numbers and Category
        What is made of each column.

    Examples
    --------
    >>> from gradone.learners.tables.tabular.table import table_of
    >>> table = table_of({"age": [30, 40, 50], "eyes": ["blue", "brown", "green"]})
    >>> encoder = encoder_of(table)
    >>> encoder.features
    ('age', 'eyes=blue', 'eyes=brown', 'eyes=green')
    >>> encoder(table)[0]
    array([30.,  1.,  0.,  0.])
    """

    columns: tuple[Numbers | Category, ...]

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(name for column in self.columns for name in column.features)

    def __call__(self, table: Table) -> np.ndarray:
        """Features of every row, (n, d)."""
        return np.concatenate([column(table) for column in self.columns], axis=1)


def encoder_of(table: Table, *, impute: bool = False, max_levels: int = 50) -> TableEncoder:
    """Encoder of the columns of a table; what cannot be encoded is refused, all of it at once.

    Parameters
    ----------
    table : Table
        The features.
    impute : bool
        Fill missing numbers with the median of their column, and make missing texts a level of
        their own.
    max_levels : int
        Different texts that a category may have.
    """
    problems = list(_problems(table, impute, max_levels))
    if problems:
        raise BadData("\n".join(problems))
    return TableEncoder(tuple(_encoded(n, c, impute) for n, c in table.columns.items()))


def _encoded(name: str, column: Column, impute: bool) -> Numbers | Category:
    if column.numbers is not None:
        seen = column.numbers[~column.missing]
        return Numbers(name, float(np.median(seen)) if impute else None)
    levels = column.levels
    return Category(name, (*levels, ABSENT) if column.missing.any() else levels)


def _problems(table: Table, impute: bool, max_levels: int) -> Iterator[str]:
    for name, column in table.columns.items():
        drop = f'--drop "{name}"' if " " in name else f"--drop {name}"
        if column.kind == "date":
            yield (
                f"column '{name}' holds dates ({column.example}), and gradone cannot guess which "
                "part of them matters. Replace them by numbers (days since a start, month, hour), "
                f"or leave them out: {drop}."
            )
        elif column.kind == "text" or len(column.levels) > max_levels:
            many = f"{len(column.levels)} different texts" if column.levels else "many texts"
            yield (
                f"column '{name}' holds text ({column.example}; {many}, at most {max_levels} make "
                f"a category). Correct it, or leave it out: {drop}."
            )
        elif column.missing.all():
            yield f"column '{name}' is empty. Leave it out: {drop}."
        elif column.missing.any() and not impute:
            yield _missing(name, column)


def _missing(name: str, column: Column) -> str:
    count = int(column.missing.sum())
    return (
        f"column '{name}' has {count} missing value{'s' if count > 1 else ''} in {len(column)} "
        "rows. Fill them in, or use --impute: numbers get the median, texts a level of their own."
    )
