"""Columns that say nothing, and columns that say too much."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ....base.units import units
from .table import Column, Table, listed

_LEAK = 1e-6  # of the variance of the target that a single column leaves
_MANY = 50  # different texts: more, in most rows a new one, are names of the rows
_SHOWN = 5  # columns that are named in a sentence
_ID = re.compile(r"(?i:(?:^|[\W_])(?:id|key|index|nr|no|number|code)$)|(?<=[a-z])I[dD]$")


def useless_columns(table: Table) -> tuple[list[str], list[str]]:
    """Columns that say nothing, and a sentence on each kind of them.

    They are empty, constant, copies of others up to scale, or names of the rows.

    Examples
    --------
    >>> from .table import table_of
    >>> names, notes = useless_columns(table_of({"a": [1, 1], "b": [2, 2], "c": [1, 2]}))
    >>> names, notes
    (['a', 'b'], ["'a', 'b' have the same value in every row and were left out."])
    """
    empty, constant, texts, copies = [], [], [], []
    seen: dict[bytes, str] = {}
    for name, column in table.columns.items():
        if column.kind == "text" or (column.kind == "date" and column.numbers is None):
            continue  # refused later, with what to do
        if column.missing.all():
            empty.append(name)
            continue
        if len(column.levels) > max(_MANY, len(column) // 2):
            texts.append(name)
            continue
        fingerprint = _fingerprint(column)
        if fingerprint is None:
            constant.append(name)
        elif (twin := seen.setdefault(fingerprint, name)) != name:
            copies.append((name, twin))
    notes = []
    for names, one, several in (
        (empty, "is empty", "are empty"),
        (texts, "has another text in most rows", "have another text in most rows"),
        (constant, "has the same value in every row", "have the same value in every row"),
    ):
        if names:
            what = f"{one} and was" if len(names) == 1 else f"{several} and were"
            notes.append(f"{listed(names, _SHOWN)} {what} left out.")
    if copies:
        pairs = [f"'{name}' repeats '{twin}'" for name, twin in copies[:_SHOWN]]
        more = f", ... ({len(copies)} in all)" if len(copies) > _SHOWN else ""
        was = "was" if len(copies) == 1 else "were"
        notes.append(f"{', '.join(pairs)}{more} (up to scale) and {was} left out.")
    return [*empty, *texts, *constant, *(name for name, _ in copies)], notes


def row_numbers(table: Table) -> Iterator[str]:
    """Warnings of columns that number the rows or name them: whole numbers, each there once.

    They count the rows one by one, or hardly leave out a number, or their name says so.
    """
    ids = []
    for name, column in table.columns.items():
        if column.kind != "number" or column.numbers is None:
            continue
        x = column.numbers[~column.missing]
        if len(x) < 3 or (x != np.round(x)).any() or len(np.unique(x)) < len(x):
            continue
        if (np.diff(x) == 1).all():
            yield (
                f"'{name}' numbers the rows one by one. Unless their order matters, leave it "
                f'out with --drop "{name}".'
            )
        elif _ID.search(name) or np.ptp(x) < 1.1 * len(x):
            ids.append(name)
    if ids:
        several = len(ids) > 1
        yield (
            f"{listed(ids, _SHOWN)} {'have' if several else 'has'} another whole number in every "
            f"row, as ids have. Unless {'they mean' if several else 'it means'} an amount, leave "
            f'{"them" if several else "it"} out with --drop "{ids[0]}"'
            f"{' and so on' if several else ''}."
        )


def _fingerprint(column: Column) -> bytes | None:
    """Equal for columns that are the same up to names, scale and origin; None if constant."""
    if column.numbers is not None:
        values = column.numbers / units(column.numbers[~column.missing])
        if column.missing.any():
            low, high = np.nanmin(values), np.nanmax(values)
        else:
            low, high = values.min(), values.max()
        if low == high:
            return None if not column.missing.any() else values.tobytes()
        scaled = (values - low) / (high - low)
        if scaled[~column.missing][0] > 0.5:  # so that a column and its negative are the same
            scaled = 1 - scaled
        return np.round(scaled, 9).tobytes()
    assert column.codes is not None
    values, first_seen, which = np.unique(column.codes, return_index=True, return_inverse=True)
    if len(values) == 1:
        return None
    return b"texts" + np.argsort(np.argsort(first_seen))[which].astype(np.int32).tobytes()


def leaks(table: Table, y: np.ndarray, target: str) -> Iterator[str]:
    """Warnings of columns that tell the target all by themselves.

    A column does if the target is the same wherever it is (and it has few different values), or if
    a target of numbers is a linear or a monotone function of it.

    Parameters
    ----------
    table : Table
        The features.
    y : ndarray (n,)
        The target.
    target : str
        Its name.
    """
    found = [name for name, column in table.columns.items() if _tells(column, y)]
    if found:
        several = len(found) > 1
        yield (
            f"{listed(found, _SHOWN)} alone {'determine' if several else 'determines'} '{target}' "
            f"without error (R² = 1){', each of them' if several else ''}. Unless "
            f"{'they are' if several else 'it is'} known before the target is, the target leaks "
            f"into {'them' if several else 'it'}, and every score is meaningless. Leave "
            f'{"them" if several else "it"} out with --drop "{found[0]}"'
            f"{' and so on' if several else ''}."
        )


def _tells(column: Column, y: np.ndarray) -> bool:
    """Whether a column determines the target."""
    seen = ~column.missing
    x = (column.codes if column.numbers is None else column.numbers)[seen]  # type: ignore[index]
    return _decides(x, y[seen]) or (column.numbers is not None and _follows(x, y[seen]))


def _decides(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether rows with the same x have the same y, and there are few different x.

    Examples
    --------
    >>> _decides(np.repeat([1, 2, 3], 4), np.repeat(["a", "b", "a"], 4))
    True
    """
    groups = len(np.unique(x))
    _, which = np.unique(y, return_inverse=True)
    pairs = len(np.unique(np.stack([x, which]), axis=1).T)
    return pairs == groups and groups <= len(x) // 4


def _follows(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether a target of numbers is a linear or monotone function of x."""
    from scipy.stats import rankdata

    if y.dtype.kind != "f":
        return False
    pairs = (_unit_free(x), _unit_free(y)), (rankdata(x), rankdata(y))
    return any(np.corrcoef(*pair)[0, 1] ** 2 > 1 - _LEAK for pair in pairs)


def _unit_free(x: np.ndarray) -> np.ndarray:
    """Numbers of any size in units of their largest deviation from the first."""
    x = x / units(x)
    x = x - x[0]
    return np.asarray(x / np.abs(x).max()) if x.any() else x
