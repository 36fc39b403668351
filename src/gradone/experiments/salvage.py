"""What can be saved of a damaged store: every cell whose own pages survived."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import BadData
from ._packing import digest
from ._pages import Pages, Row
from .store import Store

_KEY = re.compile(r"[0-9a-f]{32}")
_AT_ONCE = 500  # cells that are written in one transaction


@dataclass(frozen=True)
class Salvaged:
    """What came out of a damaged store.

    Parameters
    ----------
    path : Path
        The new store.
    saved, lost : int
        Number of cells.
    lost_is_exact : bool
        Whether the file still told how many cells it had; otherwise at least `lost` are missing.
    """

    path: Path
    saved: int
    lost: int
    lost_is_exact: bool


def salvage(path: str | Path, into: str | Path | None = None) -> Salvaged:
    """Copy all intact cells of a damaged store into a new one; the old file is only read.

    Parameters
    ----------
    path : str or Path
        Store that was cut off or overwritten in places.
    into : str or Path, optional
        The new store, which must not exist; default: ``name-salvaged.db`` beside it.

    Notes
    -----
    A cell is taken if the digest that was stored with it matches, so what is saved is what was
    stored, bit for bit. What is lost is computed again by the next run on the new store.
    """
    path = Path(path)
    new = Path(into) if into else path.with_name(f"{path.stem}-salvaged{path.suffix}")
    if not path.is_file():
        raise BadData(f"there is no file {path}")
    if new.exists():
        raise BadData(f"{new} exists already; give the name of a new file")
    with closing(Pages(path)) as pages, Store(new) as store:
        found = _Found(store)
        for row in pages.rows():
            found.add(row)
        found.flush()
        # The count may be lost itself; then the indices tell of some cells that are missing.
        listed = {part for entry in pages.index_entries() for part in entry[:3] if _is_key(part)}
    if not found.cells and found.count is None:
        new.unlink()
        raise BadData(f"{path} holds no cell of gradone that can be read")
    missing = len(listed - found.cells - found.writers)
    if found.count is not None:
        missing = found.count - len(found.cells)
    return Salvaged(new, len(found.cells), missing, found.count is not None)


class _Found:
    """Rows that were read, sorted into the tables of a new store, some at a time."""

    def __init__(self, store: Store) -> None:
        self.cells: set[str] = set()
        self.writers: set[str] = set()  # their names look like those of cells
        self.count: int | None = None
        self._store = store
        self._waiting: list[Row] = []

    def add(self, row: Row) -> None:
        if _is_cell(row):
            self.cells.add(row[0])
            self._waiting.append(row)
            if len(self._waiting) == _AT_ONCE:
                self.flush()
        elif len(row) == 4 and _is_key(row[0]):
            self.writers.add(row[0])
            self._store.restore([], writers=[row])
        elif len(row) == 2 and row[0] == "cells" and str(row[1]).isdecimal():
            self.count = int(row[1])
        elif len(row) == 2 and all(isinstance(part, str) for part in row):
            self._store.restore([], texts={row[0]: row[1]})

    def flush(self) -> None:
        self._store.restore(self._waiting)
        self._waiting = []


def _is_cell(row: Row) -> bool:
    if len(row) != 12 or not isinstance(row[5], bytes):
        return False
    texts = [row[i] for i in (0, 2, 3, 4, 7)]
    if not all(isinstance(text, str) for text in texts):
        return False
    key, params, status, scalars, error = texts
    return bool(row[11] == digest(key, params, status, scalars, row[5], error))


def _is_key(value: object) -> bool:
    return isinstance(value, str) and _KEY.fullmatch(value) is not None
