"""How far a sweep is: cells of a spec that a store has, without computing or loading anything.

The cells of a spec that was run are remembered in the store by the text of the spec, so that
looking needs none of the algorithms, which take seconds to import.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from .spec_text import read_spec, text_mark
from .store import Store
from .task import Result

MISSING = "not run"
"""Status of a cell that is not in the store."""


def reason_of(result: Result | None) -> str:
    r"""Why a cell has no numbers: the last words of its error, without the way to it.

    Examples
    --------
    >>> reason_of(None), reason_of(Result("a" * 32, "failed", error="Trace\n  line\nBadData: no"))
    ('not run', 'BadData: no')
    """
    if result is None:
        return MISSING
    lines = result.error.strip().splitlines() or ["failed"]
    start = max((i for i, line in enumerate(lines) if line.startswith(" ")), default=-1) + 1
    text = " ".join(lines[start:]) or lines[-1]
    return text.removeprefix("gradone.base.errors.")


class Standing(NamedTuple):
    """How many cells of a spec there are, and what became of them."""

    cells: int
    done: int
    failed: int

    @property
    def missing(self) -> int:
        """Cells that are still to be computed."""
        return self.cells - self.done - self.failed


def remember_cells(store: Store, mark: str, keys: Iterable[str]) -> None:
    """Keep the keys of the cells of a spec in the store."""
    text = " ".join(keys)
    if store.recall(mark) != text:
        store.remember(mark, text)


def keys_of(store: Store, path: str | Path, size: str | None) -> list[str]:
    """Keys of the cells of a spec, from the store if it was run before."""
    content, _ = read_spec(path)
    known = store.recall(text_mark(content, size))
    if known is not None:
        return known.split()
    from .spec import Experiment

    return [cell.key for cell in Experiment.read(path).sized(size).cells()]


def standing(store: Store, keys: Iterable[str]) -> Standing:
    """What a store has of the cells with these keys.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(folder + "/runs.db") as store:
    ...     standing(store, ["a" * 32])
    Standing(cells=1, done=0, failed=0)
    """
    wanted = set(keys)
    done, failed = (len(wanted & store.keys(status)) for status in ("done", "failed"))
    return Standing(len(wanted), done, failed)
