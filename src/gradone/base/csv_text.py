"""Tables as comma-separated values that a spreadsheet shows and does not compute."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the start of a formula


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Rows as text, each ended by a newline; what is no number but looks like a formula has a '.

    Examples
    --------
    >>> print(csv_text([("target", "value"), ("-z1+pi*z2", -0.5)]), end="")
    target,value
    '-z1+pi*z2,-0.5
    """
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(
        [_shown(value) for value in row] for row in rows
    )
    return buffer.getvalue()


def _shown(value: Any) -> Any:
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
