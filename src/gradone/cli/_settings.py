"""Settings of a theory or learner on the command line: ``--name value`` for every parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..base.errors import BadData, did_you_mean

# Context of a command whose options depend on what the user names.
OPEN_OPTIONS = {"allow_extra_args": True, "ignore_unknown_options": True}
_MOST_POINTS = 100_000
_WORDS: dict[str, Any] = {"true": True, "false": False, "none": None}


def read_settings(
    words: Sequence[str],
    function: Callable[..., Any],
    name: str,
    *,
    besides: Sequence[str] = (),
    axes: Sequence[str] = (),
) -> dict[str, Any]:
    """Arguments of a function, from the words of a command line.

    Parameters
    ----------
    words : sequence of str
        ``--name value`` or ``--name=value``, in any order.
    function : callable
        Its parameters are the names that are allowed; their annotations say how values are read.
    name : str
        What the user calls the function, for the text of errors.
    besides : sequence of str
        Parameters that the command line does not set.
    axes : sequence of str
        Parameters that may have several values whatever their annotation says.

    Examples
    --------
    >>> def theory(target, *, alpha, ridge: float = 0.1, activation: str = "tanh(z)"): ...
    >>> read_settings(["--alpha", "1:3:3", "--ridge=1"], theory, "theory", besides=["target"])
    {'alpha': [1.0, 2.0, 3.0], 'ridge': 1.0}
    >>> read_settings(["--rigde", "1"], theory, "theory", besides=["target"])
    Traceback (most recent call last):
    gradone.base.errors.BadData: 'theory' has no option --rigde. Did you mean --ridge? ...
    """
    from ..targets.training import parameters_of  # loads numpy

    known = {
        parameter.name: parameter
        for parameter in parameters_of(function).values()
        if parameter.name not in ("self", *besides)
        and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    }
    found: dict[str, Any] = {}
    for option, text in _pairs(words):
        parameter = option.replace("-", "_")
        if parameter not in known:
            close = did_you_mean(parameter, known).replace("'", "").replace("mean ", "mean --")
            raise BadData(f"'{name}' has no option --{option}.{close} It has {_described(known)}.")
        if parameter in found:
            raise BadData(f"--{option} is given twice")
        kind = "Any" if parameter in axes else known[parameter].annotation
        found[parameter] = read_value(option, text, kind)
    missing = [
        f"--{key.replace('_', '-')}"
        for key, parameter in known.items()
        if parameter.default is parameter.empty and key not in found
    ]
    if missing:
        raise BadData(
            f"'{name}' needs {', '.join(missing)}. A value is a number, a list 1,2,4 or a range "
            f"start:stop:count. It has {_described(known)}."
        )
    return found


def _pairs(words: Sequence[str]) -> list[tuple[str, str]]:
    """Options and their values."""
    pairs = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        option, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or not option:
            raise BadData(f"{word.strip()!r} belongs to no option; write --name value")
        if not equals:
            if not rest or rest[0].startswith("--"):
                raise BadData(f"--{option} has no value; write --{option} value")
            value = rest.pop(0)
        pairs.append((option, value.strip()))
    return pairs


def _described(known: Mapping[str, inspect.Parameter]) -> str:
    """Options with their defaults, in the order of the signature."""
    shown = []
    for key, parameter in known.items():
        option = f"--{key.replace('_', '-')}"
        is_needed = parameter.default is parameter.empty
        shown.append(option if is_needed else f"{option} {_as_typed(parameter.default)}")
    return ", ".join(shown)


def _as_typed(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, tuple | list):
        return ",".join(map(_as_typed, value))
    return f'"{value}"' if "(" in str(value) else str(value)


def read_value(option: str, text: str, annotation: Any = "Any") -> Any:
    """Value of an option as its annotation wants it.

    Examples
    --------
    >>> read_value("ridge", "0.1,1"), read_value("steps", "3", "int"), read_value("d", "1e3")
    ([0.1, 1], 3, 1000.0)
    >>> read_value("activation", "2", "str"), read_value("width", "inf", "float")
    ('2', inf)
    >>> read_value("steps", "2.5", "int")
    Traceback (most recent call last):
    gradone.base.errors.BadData: --steps takes a whole number, got '2.5'
    """
    kinds = {kind.strip() for kind in str(annotation).split("|")}
    if "None" in kinds and text.lower() == "none":
        return None
    kinds.discard("None")
    if kinds == {"bool"}:
        if text.lower() not in ("true", "false"):
            raise BadData(f"--{option} takes true or false, got {text!r}")
        return text.lower() == "true"
    if kinds == {"int"}:
        return _whole(option, text)
    if kinds == {"float"}:
        return _number(option, text)
    if all(kind == "str" or kind.startswith("Literal[") for kind in kinds):
        return text
    return _of_any_kind(option, text)


def _of_any_kind(option: str, text: str) -> Any:
    """Word, number, list of numbers, range of numbers, or the text itself."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    parts = text.split(":")
    if len(parts) > 1 and all(map(_is_number, parts)):
        if len(parts) != 3:
            raise BadData(
                f"--{option} {text}: a range is start:stop:count, for example "
                f"{parts[0]}:{parts[1]}:5"
            )
        return _range(option, *parts)
    parts = [part for part in text.split(",") if part.strip()]
    if parts and all(map(_is_number, parts)):
        return [_plain(part) for part in parts] if "," in text else _plain(text)
    return text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _range(option: str, start: str, stop: str, count: str) -> list[float]:
    import numpy as np

    points = _whole(option, count)
    if not 1 <= points <= _MOST_POINTS:
        raise BadData(f"--{option} has {points} points; use 1 to {_MOST_POINTS}")
    values: list[float] = np.linspace(float(start), float(stop), points).tolist()
    return values


def _plain(text: str) -> float | int:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _whole(option: str, text: str) -> int:
    try:
        value = float(text)
        if value == int(value):
            return int(value)
    except (ValueError, OverflowError):
        pass
    several = "; gradone sweep varies any parameter" if set(",:") & set(text) else ""
    raise BadData(f"--{option} takes a whole number, got {text!r}{several}")


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        several = "; gradone sweep varies any parameter" if set(",:") & set(text) else ""
        raise BadData(f"--{option} takes a number, got {text!r}{several}") from None
