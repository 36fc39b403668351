"""The text of a spec: what it says, and on which line each part of it stands."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..base.errors import BadData

Where = tuple[str | int, ...]
"""Keys and positions that lead to a part: ``("algorithms", 0, "width")``."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_KEY = re.compile(r"""\s*("(?:\\.|[^"\\])*"|'[^']*'|[\w-]+)\s*""")
_STRING = re.compile(
    r'''"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|'[^'\n]*\'''', re.DOTALL
)
_BARE = re.compile(r"[^,\]}\n#]*")


def read_spec(path: str | Path) -> tuple[dict[str, Any], dict[Where, int]]:
    """Content of a spec in TOML or JSON, and the line of each of its parts.

    Parameters
    ----------
    path : str or Path
        A file whose name ends with ``.toml`` or ``.json``.
    """
    path = Path(path)
    if path.suffix not in (".toml", ".json"):
        raise BadData(f"a spec is a file .toml or .json, got '{path.name}'")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadData(f"the spec '{path}' cannot be read: {error}") from error
    return parse_toml(text) if path.suffix == ".toml" else parse_json(text)


def parse_toml(text: str) -> tuple[dict[str, Any], dict[Where, int]]:
    r"""Content of a spec in TOML, and the line of each of its parts.

    Examples
    --------
    >>> content, lines = parse_toml('name = "x"\n[[algorithms]]\nlearner = "giant_step"\n')
    >>> content["algorithms"], lines["algorithms", 0, "learner"]
    ([{'learner': 'giant_step'}], 3)
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadData(f"the spec is not TOML: {error}") from error
    return content, dict(_Scanner(text, is_toml=True).toml())


def parse_json(text: str) -> tuple[dict[str, Any], dict[Where, int]]:
    r"""Content of a spec in JSON, and the line of each of its parts.

    Examples
    --------
    >>> parse_json('{"name": "x",\n "grid": {"d": [10,\n 20]}}')[1]["grid", "d", 1]
    3
    """
    try:
        content = json.loads(text, object_pairs_hook=_without_repetition)
    except json.JSONDecodeError as error:
        raise BadData(f"the spec is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise BadData("a spec is a JSON object: { ... }")
    return content, dict(_Scanner(text, is_toml=False).json())


def text_mark(content: dict[str, Any], size: str | None) -> str:
    """Name under which a store remembers the cells of a spec that was read from a file.

    Examples
    --------
    >>> text_mark({"name": "x"}, None) == text_mark({"name": "x"}, "small")
    False
    """
    text = json.dumps([content, size], sort_keys=True, default=str)
    return f"spec {hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}"


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise BadData(f"the key '{key}' stands twice in one object of the spec")
        found[key] = value
    return found


def line_of(where: Where, lines: dict[Where, int]) -> int | None:
    """Line of a part, or of the nearest part that holds it.

    Examples
    --------
    >>> line_of(("grid", "d", 3), {("grid",): 4, ("grid", "d"): 5})
    5
    """
    for size in range(len(where), 0, -1):
        if where[:size] in lines:
            return lines[where[:size]]
    return None


class _Scanner:
    """Finds lines in a text whose syntax is known to be right; values are skipped, not read."""

    def __init__(self, text: str, *, is_toml: bool) -> None:
        self.text, self.at, self.is_toml = text, 0, is_toml

    def json(self) -> Iterator[tuple[Where, int]]:
        yield from self._value(())

    def toml(self) -> Iterator[tuple[Where, int]]:
        table: Where = ()
        counts: dict[Where, int] = {}
        self._skip(_BLANK)
        while self.at < len(self.text):
            if self._peek("["):
                is_list = self._peek("[[")
                line = self._line()
                self.at += 2 if is_list else 1
                table = self._within(self._keys(), counts)
                self.at += 2 if is_list else 1
                if is_list:
                    counts[table] = counts.get(table, -1) + 1
                    yield table, line
                    table = (*table, counts[table])
                yield table, line
            else:
                line = self._line()
                keys = self._keys()
                self.at += 1  # =
                for size in range(1, len(keys)):  # a dotted key opens tables on its way
                    yield (*table, *keys[:size]), line
                yield from self._value((*table, *keys), line)
            self._skip(_BLANK)

    @staticmethod
    def _within(keys: Where, counts: dict[Where, int]) -> Where:
        """Place of a header: inside a list of tables it belongs to the last one."""
        found: Where = ()
        for i, key in enumerate(keys):
            found = (*found, key)
            if found in counts and i < len(keys) - 1:
                found = (*found, counts[found])
        return found

    def _value(self, where: Where, line: int | None = None) -> Iterator[tuple[Where, int]]:
        self._skip(_BLANK if not self.is_toml or line is None else _SPACE)
        yield where, line or self._line()
        if self._peek("["):
            yield from self._members(where, "]")
        elif self._peek("{"):
            yield from self._members(where, "}")
        elif (string := _STRING.match(self.text, self.at)) is not None:
            self.at = string.end()
        else:
            self._skip(_BARE)

    def _members(self, where: Where, end: str) -> Iterator[tuple[Where, int]]:
        self.at += 1
        self._skip(_BLANK)
        position = 0
        while not self._peek(end):
            if end == "]":
                yield from self._value((*where, position))
                position += 1
            else:
                line = self._line()
                keys = self._keys()
                self.at += 1  # = or :
                self._skip(_BLANK)
                yield from self._value((*where, *keys), line)
            self._skip(_BLANK)
            if self._peek(","):
                self.at += 1
                self._skip(_BLANK)
        self.at += 1

    def _keys(self) -> tuple[str, ...]:
        keys = []
        while (found := _KEY.match(self.text, self.at)) is not None:
            word, self.at = found[1], found.end()
            if word[0] == '"':
                word = json.loads(word)
            keys.append(word.strip("'"))
            if not self._peek("."):
                break
            self.at += 1
        return tuple(keys)

    def _peek(self, mark: str) -> bool:
        return self.text.startswith(mark, self.at)

    def _skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()

    def _line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1
