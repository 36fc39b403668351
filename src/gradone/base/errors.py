"""The errors of gradone: each says what was wrong, what is allowed, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any


class GradoneError(Exception):
    """Base class of every error that gradone raises on purpose."""


class TargetError(GradoneError, ValueError):
    """The text is well formed but cannot be a target (constant, poles, not square integrable)."""


class TargetSyntaxError(TargetError):
    """The text of a target cannot be read.

    Parameters
    ----------
    problem : str
        What is wrong, in one sentence without the full stop.
    text : str
        The text that was typed.
    column : int, optional
        Position of the problem, counted from 1.
    width : int
        How many characters to underline.
    hint : str
        What to do about it.
    what : str
        What the text is: a target, or a function that belongs to something else.

    Examples
    --------
    >>> print(TargetSyntaxError("unknown function 'sgn'", "sgn(z1)", column=1, width=3))
    unknown function 'sgn' in the target, column 1:
        sgn(z1)
        ^~~
    """

    def __init__(
        self,
        problem: str,
        text: str = "",
        *,
        column: int | None = None,
        width: int = 1,
        hint: str = "",
        what: str = "the target",
    ) -> None:
        self.problem, self.text, self.hint, self.what = problem, text, hint, what
        # What is underlined ends with the text, and is a place behind it if something is missing.
        self.column, self.width = column, max(1, min(width, len(text) + 1 - (column or 1)))
        lines = [problem]
        if column is not None:
            # A long text is shown through a window around the problem.
            start = max(0, column - 41)
            shown = text[start : start + 80]
            marker = "^" + "~" * min(self.width - 1, max(0, len(shown) - (column - start)))
            lines = [f"{problem} in {what}, column {column}:"]
            lines += ["    " + shown, "    " + " " * (column - 1 - start) + marker]
        if hint:
            lines.append(hint)
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[Any, ...]:
        named = {name: getattr(self, name) for name in ("column", "width", "hint", "what")}
        return partial(TargetSyntaxError, **named), (self.problem, self.text)


class OutOfRegime(GradoneError, ValueError):
    """A formula was asked for a case that it does not cover."""


class NotConverged(GradoneError, RuntimeError):
    """An iteration stopped before its tolerance; ``last`` holds the last iterate."""

    def __init__(self, message: str, *, last: Any = None) -> None:
        super().__init__(message)
        self.last = last


class BadData(GradoneError, ValueError):
    """The data, sizes or parameters given cannot be used."""


class TooLarge(GradoneError, MemoryError):
    """The request would not fit in memory; nothing was allocated."""


class WorkersFailed(GradoneError, RuntimeError):
    """The processes, or the cluster, that should compute something cannot be used."""


def number_of(count: int, what: str) -> str:
    """A number of things in words.

    Examples
    --------
    >>> number_of(1, "row"), number_of(2, "row")
    ('1 row', '2 rows')
    """
    return f"{count} {what}" + ("s" if count != 1 else "")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Suggestion for a mistyped name, or an empty string.

    Examples
    --------
    >>> did_you_mean("sgn", ["sin", "sign", "tanh"])
    " Did you mean 'sign'?"
    """
    names = list(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if not close and len(word) > 2:  # the beginning of a long name
        close = [name for name in names if name.startswith(word)]
    return f" Did you mean '{close[0]}'?" if close else ""


def one_of(what: str, given: Any, known: Sequence[str], *, more: str = "") -> str:
    """The given word, if it is one of those known; `more` says what else is allowed.

    Examples
    --------
    >>> one_of("loss", "squared", ("square", "correlation"))
    Traceback (most recent call last):
    gradone.base.errors.BadData: unknown loss 'squared'; it is one of 'square', 'correlation'. ...
    """
    if isinstance(given, str) and given in known:
        return given
    raise BadData(
        f"unknown {what} {given!r}; it is one of {', '.join(map(repr, known))}{more}."
        + did_you_mean(str(given), known)
    )


def no_such_parameter(owner: str, name: str, known: Iterable[str]) -> str:
    """What to say about a parameter that a theory or learner does not have.

    Examples
    --------
    >>> no_such_parameter("bayes_amp", "noise", ["alpha"])
    "'bayes_amp' has no parameter 'noise'. Allowed: alpha. It belongs to the target: ..."
    """
    allowed = list(known)
    hint = did_you_mean(name, allowed)
    if name == "noise":
        hint = " It belongs to the target: gd.Target(text, noise=...)."
    return f"'{owner}' has no parameter '{name}'. Allowed: {', '.join(allowed)}.{hint}"
