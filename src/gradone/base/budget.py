"""A budget of processor time: long work looks at it now and then, and stops when it is spent."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import thread_time

_UNTIL: ContextVar[float] = ContextVar("until", default=math.inf)


class BudgetSpent(Exception):
    """Work was stopped; whoever set the budget answers with what is known by then."""


@contextmanager
def processor_budget(seconds: float) -> Iterator[None]:
    """Let what is done inside stop after so many seconds of this thread's processor time.

    A budget inside another one ends with it.

    Examples
    --------
    >>> try:
    ...     with processor_budget(0.01):
    ...         while True:
    ...             check_budget()
    ... except BudgetSpent:
    ...     print("stopped")
    stopped
    """
    token = _UNTIL.set(min(_UNTIL.get(), thread_time() + seconds))
    try:
        yield
    finally:
        _UNTIL.reset(token)


def check_budget() -> None:
    """Raise :class:`BudgetSpent` if there is a budget and it is spent."""
    until = _UNTIL.get()
    if until < math.inf and thread_time() > until:
        raise BudgetSpent
