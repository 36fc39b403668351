"""Columns that say nothing, and columns that say too much."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .table import Column, Table

_LEAK = 1e-6  # of the variance of the target that a single column leaves


_MANY = 50  # different texts: more, in most rows a new one, are names of the rows


def useless_columns(table: Table) -> list[tuple[str, str]]:
    """Columns that say nothing, each with a sentence on it.

    They are empty, constant, copies of others up to scale, names of the rows, or dates that cannot
    be read.
    """
    found: list[tuple[str, str]] = []
    seen: dict[bytes, str] = {}
    for name, column in table.columns.items():
        if column.kind == "text" or (column.kind == "date" and column.numbers is None):
            continue  # refused later, with what to do
        if column.missing.all():
            found.append((name, f"'{name}' is empty and was left out."))
            continue
        if len(column.levels) > max(_MANY, len(column) // 2):
            found.append((name, f"'{name}' has another text in most rows and was left out."))
            continue
        fingerprint = _fingerprint(column)
        if fingerprint is None:
            found.append((name, f"'{name}' has the same value in every row and was left out."))
        elif fingerprint in seen:
            twin = seen[fingerprint]
            found.append((name, f"'{name}' repeats '{twin}' (up to scale) and was left out."))
        else:
            seen[fingerprint] = name
    return found


def row_numbers(table: Table) -> Iterator[str]:
    """Warnings of columns that count the rows: whole numbers one after the other."""
    for name, column in table.columns.items():
        if column.kind == "number" and column.numbers is not None:
            steps = np.diff(column.numbers)
            if len(steps) > 1 and (steps == 1).all():
                yield (
                    f"'{name}' numbers the rows one by one. Unless their order matters, leave it "
                    f'out with --drop "{name}".'
                )


def _fingerprint(column: Column) -> bytes | None:
    """Equal for columns that are the same up to names, scale and origin; None if constant."""
    if column.numbers is not None:
        values = column.numbers
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
    for name, column in table.columns.items():
        seen = ~column.missing
        x = (column.codes if column.numbers is None else column.numbers)[seen]  # type: ignore[index]
        if _decides(x, y[seen]) or (column.numbers is not None and _follows(x, y[seen])):
            yield (
                f"'{name}' alone determines '{target}' without error (R² = 1). Unless it is known "
                "before the target is, the target leaks into it, and every score is meaningless. "
                f'Leave it out with --drop "{name}".'
            )


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
    pairs = (x, y), (rankdata(x), rankdata(y))
    return any(np.corrcoef(*pair)[0, 1] ** 2 > 1 - _LEAK for pair in pairs)
