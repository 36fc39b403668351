"""Dates and times of texts, as days since the beginning of 1970."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

import numpy as np

_DAY = 86400.0  # seconds
_CLOCK = r"(?:[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?:Z|[+-]00:?00)?)?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})[-/.](\d{{1,2}})[-/.](\d{{1,2}}){_CLOCK}")
_YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}){_CLOCK}")
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")


def looks_like_a_date(text: str) -> bool:
    """Whether a text has the form of a date or a time.

    Examples
    --------
    >>> looks_like_a_date("2024-01-31 10:30"), looks_like_a_date("31.12")
    (True, False)
    """
    return any(form.fullmatch(text) for form in (_YEAR_FIRST, _YEAR_LAST, _TIME))


def days_of(texts: Iterable[str]) -> np.ndarray | None:
    """Days since 1970 of texts (NaN of an empty one); None if they cannot be read without doubt.

    A year comes first or last. Where it comes last, the day comes first after dots; otherwise
    a number above 12 somewhere in the column says which of the two numbers is the day.

    Examples
    --------
    >>> days_of(["1970-01-02", "1970-01-03 12:00", ""])
    array([1. , 2.5, nan])
    >>> days_of(["13/01/1970", "02/01/1970"])
    array([12.,  1.])
    >>> days_of(["03/04/2024"]) is None  # in March or in April
    True
    """
    texts = list(texts)
    day_first = _day_first(texts)
    try:
        found = [np.nan if not text else _days(text, day_first) for text in texts]
    except ValueError:
        return None
    return np.array(found)


def _day_first(texts: list[str]) -> bool | None:
    """Whether the day comes before the month in dates that end in a year; None if unclear."""
    found: set[bool] = set()
    for match in map(_YEAR_LAST.fullmatch, texts):
        if match is None:
            continue
        one, mark, two = int(match[1]), match[2], int(match[3])
        if mark == "." or one > 12:
            found.add(True)
        elif two > 12:
            found.add(False)
    return found.pop() if len(found) == 1 else None


def _days(text: str, day_first: bool | None) -> float:
    if match := _YEAR_FIRST.fullmatch(text):
        year, month, day, *clock = match.groups()
    elif match := _YEAR_LAST.fullmatch(text):
        if day_first is None:
            raise ValueError(text)
        one, _, two, year, *clock = match.groups()
        day, month = (one, two) if day_first else (two, one)
    elif match := _TIME.fullmatch(text):
        (year, month, day), clock = ("1970", "1", "1"), list(match.groups())
    else:
        raise ValueError(text)
    hour, minute, second = (int(part or 0) for part in clock)
    moment = datetime(int(year), int(month), int(day), hour, minute, second)
    return (moment - datetime(1970, 1, 1)).total_seconds() / _DAY
