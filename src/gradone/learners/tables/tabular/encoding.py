"""Numbers from the columns of a table: as they are, by level, by date, or by the mean label."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ....base.errors import BadData
from .table import Column, Table, listed

ABSENT = "(missing)"
"""Level of a category for values that are missing."""
_SHOWN = 5  # columns that cannot be encoded, of which each gets a line
_MEAN_FOLDS = 5  # of the means of the label that training rows get


@dataclass(frozen=True)
class Numbers:
    """A column of numbers; where one is missing, the median and a second number 1.

    Parameters
    ----------
    name : str
        Its name.
    fill : float
        Put where a value is missing.
    gaps : bool
        Whether values were missing in training: then a feature says where they are.
    """

    name: str
    fill: float
    gaps: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the numbers that it gives."""
        return (self.name, f"{self.name}={ABSENT}") if self.gaps else (self.name,)

    def __call__(self, table: Table) -> np.ndarray:
        """The numbers, (n, features)."""
        values = _numbers(table, self.name)
        missing = np.isnan(values)
        filled = np.where(missing, self.fill, values)
        return np.stack([filled, missing], axis=1) if self.gaps else filled[:, None]


@dataclass(frozen=True)
class Category:
    """A column of texts: one number 0 or 1 for each level; for two levels, of the second alone.

    Parameters
    ----------
    name : str
        Its name.
    levels : tuple of str
        Its different texts; one that is not among them is no level.
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
        codes = _codes(table[self.name], self.levels)
        found = (codes[:, None] == np.arange(len(self.levels))).astype(float)
        if len(self.levels) != 2:
            return found
        found[codes < 0] = 0.5  # neither of the two
        return found[:, 1:]


@dataclass(frozen=True)
class Dates:
    """A column of dates: days since 1970, and the month, the day of the week and the hour.

    Parameters
    ----------
    name : str
        Its name.
    fill : float
        Days, put where a value is missing.
    parts : tuple of str
        Which of ``"month"``, ``"weekday"`` and ``"hour"`` vary.
    """

    name: str
    fill: float
    parts: tuple[str, ...]

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the numbers that it gives."""
        return (self.name, *(f"{self.name} ({part})" for part in self.parts))

    def __call__(self, table: Table) -> np.ndarray:
        """The numbers, (n, features)."""
        days = _numbers(table, self.name)
        days = np.where(np.isnan(days), self.fill, days)
        return np.stack([days, *(_PARTS[part](days) for part in self.parts)], axis=1)


@dataclass(frozen=True)
class LabelMeans:
    """A column of many texts: the mean label of the rows with the same text, shrunk to the mean.

    Parameters
    ----------
    name : str
        Its name.
    levels : tuple of str
        Its different texts.
    means : ndarray (levels + 1, q)
        Means of the q labels; the last row is for other texts.
    """

    name: str
    levels: tuple[str, ...]
    means: np.ndarray

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the numbers that it gives."""
        count = self.means.shape[1]
        if count == 1:
            return (f"{self.name} (mean label)",)
        return tuple(f"{self.name} (mean label {k + 1})" for k in range(count))

    def __call__(self, table: Table) -> np.ndarray:
        """The numbers, (n, q)."""
        return np.asarray(self.means[_codes(table[self.name], self.levels)])


@dataclass(frozen=True)
class TableEncoder:
    """Numbers from the columns of a table.

    Parameters
    ----------
    columns : tuple of Numbers, Category, Dates and LabelMeans
        What is made of each column.
    max_levels : int
        Different texts that made a category.

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

    columns: tuple[Numbers | Category | Dates | LabelMeans, ...]
    max_levels: int = 50

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(name for column in self.columns for name in column.features)

    @property
    def uses_labels(self) -> bool:
        """Whether a feature was made of labels: then each fold needs an encoder of its own."""
        return any(isinstance(column, LabelMeans) for column in self.columns)

    def __call__(self, table: Table) -> np.ndarray:
        """Features of every row, (n, d)."""
        return np.concatenate([column(table) for column in self.columns], axis=1)

    def of_training(self, table: Table, Y: np.ndarray) -> np.ndarray:
        """Features of the rows of training, (n, d).

        Means of labels are those of other rows: the mean of a row's own label would tell it.

        Parameters
        ----------
        table : Table
            The table that the encoder was made of.
        Y : ndarray (n, q)
            Its labels.
        """
        return np.concatenate(
            [
                _means_of_others(_codes(table[c.name], c.levels), Y)
                if isinstance(c, LabelMeans)
                else c(table)
                for c in self.columns
            ],
            axis=1,
        )

    def strangers(self, table: Table) -> Iterator[str]:
        """A sentence on each column with texts that training did not have."""
        for column in self.columns:
            if isinstance(column, Category | LabelMeans):
                known = {*column.levels, ABSENT}
                new = [
                    text for text in dict.fromkeys(_texts(table[column.name])) if text not in known
                ]
                if new:
                    yield (
                        f"column '{column.name}' has {listed(new)}, which the table that was "
                        "learned from did not have; such rows are treated as those of no level"
                    )


def encoder_of(table: Table, Y: np.ndarray | None = None, *, max_levels: int = 50) -> TableEncoder:
    """Encoder of the columns of a table; what cannot be encoded is refused, all of it at once.

    Parameters
    ----------
    table : Table
        The features.
    Y : ndarray (n, q), optional
        Labels, for columns of many texts.
    max_levels : int
        Different texts that a category may have; columns of more become means of the label.
    """
    problems = list(_problems(table, Y, max_levels))
    if problems:
        more = [f"{len(problems) - _SHOWN} more columns have such problems."]
        raise BadData("\n".join(problems[:_SHOWN] + more * (len(problems) > _SHOWN)))
    columns = tuple(_encoded(n, c, Y, max_levels) for n, c in table.columns.items())
    return TableEncoder(columns, max_levels)


def _encoded(
    name: str, column: Column, Y: np.ndarray | None, max_levels: int
) -> Numbers | Category | Dates | LabelMeans:
    if column.numbers is not None:
        fill = float(np.median(column.numbers[~column.missing]))
        if column.kind == "date":
            days = np.where(column.missing, fill, column.numbers)
            varying = (part for part, of in _PARTS.items() if np.ptp(of(days)) > 0)
            return Dates(name, fill, tuple(varying))
        return Numbers(name, fill, bool(column.missing.any()))
    levels = (*column.levels, ABSENT) if column.missing.any() else column.levels
    if len(column.levels) <= max_levels:
        return Category(name, levels)
    assert Y is not None
    asked = np.append(np.arange(len(levels)), -1)
    return LabelMeans(name, levels, _label_means(_codes(column, levels), Y, asked))


def _problems(table: Table, Y: np.ndarray | None, max_levels: int) -> Iterator[str]:
    for name, column in table.columns.items():
        drop = f'--drop "{name}"' if " " in name else f"--drop {name}"
        if column.missing.all() and column.kind != "date":
            yield f"column '{name}' is empty. Leave it out: {drop}."
        elif column.kind == "date" and column.numbers is None:
            yield (
                f"column '{name}' holds dates ({column.example}), and not every one can be read, "
                "or it is not clear which number is the day. Write them as 2024-01-31, or leave "
                f"the column out: {drop}."
            )
        elif column.kind == "text" or (len(column.levels) > max_levels and Y is None):
            many = f"{len(column.levels)} different texts" if column.levels else "many texts"
            yield (
                f"column '{name}' holds text ({column.example}; {many}, at most {max_levels} make "
                f"a category). Correct it, or leave it out: {drop}."
            )


# ---- values


def _numbers(table: Table, name: str) -> np.ndarray:
    column = table[name]
    if column.numbers is None:
        raise BadData(
            f"column '{name}' must hold numbers, as in the table that was learned from; "
            f"got {column.example or 'texts'}"
        )
    return column.numbers


def _texts(column: Column) -> list[str]:
    if column.codes is None:  # levels that look like numbers, in a table that has no others
        assert column.numbers is not None
        return [ABSENT if v != v else f"{v:.15g}" for v in column.numbers]
    return [ABSENT if code < 0 else column.levels[code] for code in column.codes]


def _codes(column: Column, levels: tuple[str, ...]) -> np.ndarray:
    """Places of the values among the levels, -1 of others."""
    places = {level: place for place, level in enumerate(levels)}
    return np.array([places.get(text, -1) for text in _texts(column)])


_PARTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "month": lambda days: _calendar(days, "M") % 12 + 1,
    "weekday": lambda days: (np.floor(days) + 3) % 7,  # 1970 began on a Thursday; Monday is 0
    "hour": lambda days: np.floor(24 * (days - np.floor(days)) + 1e-6),
}


def _calendar(days: np.ndarray, unit: str) -> np.ndarray:
    moments = np.floor(days).astype(np.int64).astype("datetime64[D]")
    return moments.astype(f"datetime64[{unit}]").astype(np.int64)


def _label_means(codes: np.ndarray, Y: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Shrunk means (asked, q) of the labels of rows with the codes that are asked for."""
    from sklearn.preprocessing import TargetEncoder

    fits = (TargetEncoder(target_type="continuous").fit(codes[:, None], y) for y in Y.T)
    return np.concatenate([fit.transform(asked[:, None]) for fit in fits], axis=1)


def _means_of_others(codes: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Shrunk means (n, q) for the rows of training, each by folds that it is not in."""
    from sklearn.model_selection import KFold

    found = np.empty(Y.shape)
    folds = KFold(min(_MEAN_FOLDS, len(Y)), shuffle=True, random_state=0)
    for others, own in folds.split(Y):
        found[own] = _label_means(codes[others], Y[others], codes[own])
    return found


def label_columns(y: np.ndarray, *, classes: bool) -> np.ndarray:
    """Labels as numbers (n, q): one column, or one for each class (of two, for the second).

    Examples
    --------
    >>> label_columns(np.array(["b", "a", "b"]), classes=True)[:, 0]
    array([1., 0., 1.])
    """
    if not classes:
        return np.asarray(y, dtype=float).reshape(len(y), -1)
    names, which = np.unique(y, return_inverse=True)
    hot = (which[:, None] == np.arange(len(names))).astype(float)
    return hot[:, 1:] if len(names) == 2 else hot
