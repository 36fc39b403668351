"""The store of a sweep: one SQLite file with every cell that was computed, named by its content."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple

from ..base.errors import BadData
from ._packing import digest, pack, unpack
from ._provenance import provenance
from ._schema import COLUMNS, connect, damaged, explained
from ._schema import StoreError as StoreError
from .task import Result, Status

_AT_ONCE = 500  # rows that are read in one query

# A done cell is never replaced: the same cell computed twice is stored once.
_INSERT = f"""
INSERT INTO cell ({COLUMNS}) VALUES ({", ".join("?" * 12)})
ON CONFLICT (key) DO UPDATE SET
    ({COLUMNS}) = ({", ".join("excluded." + name for name in COLUMNS.split(", "))})
    WHERE cell.status = 'failed'
        AND (excluded.status = 'done' OR excluded.created > cell.created)
"""  # noqa: S608  only our own names are put in


@dataclass(frozen=True)
class Stored:
    """A cell as it lies in a store.

    Parameters
    ----------
    sweep : str
        Sweep that computed it first.
    parameters : str
        Canonical JSON text of the cell.
    created : float
        When it was stored, in seconds since 1970.
    provenance : str
        Row of the provenance: versions and machine.
    result : Result
        What came of it.
    """

    sweep: str
    parameters: str
    created: float
    provenance: str
    result: Result


class Counts(NamedTuple):
    """Cells that a sweep computed."""

    done: int
    failed: int


class Merged(NamedTuple):
    """What a merge did: cells that came in, and cells that were there already."""

    added: int
    known: int


class Store:
    """Cells of any number of sweeps in one file, safe against crashes at any moment.

    Parameters
    ----------
    path : str or Path
        The file; in mode ``"rw"`` it is made if it does not exist.
    mode : {"rw", "ro"}
        Whether it may be written. Readers do not disturb a writer, nor he them.

    Notes
    -----
    Each :meth:`put` is one transaction: after a crash of the process all that was put is there.
    Several processes of one machine may write, several machines may not: let each write a file of
    its own and :meth:`merge` them. Reading a store never runs code that lies in it.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = Store(folder.name + "/runs.db")
    >>> store.put([Result("a" * 32, "done", {"test_mse": np.array(0.5)})], sweep="first",
    ...           parameters={"a" * 32: '{"d":100}'})
    1
    >>> store.status()
    {'first': Counts(done=1, failed=0)}
    >>> float(store.get("a" * 32).result.arrays["test_mse"])
    0.5
    >>> store.close()
    >>> folder.cleanup()
    """

    def __init__(self, path: str | Path, mode: Literal["rw", "ro"] = "rw") -> None:
        if mode not in ("rw", "ro"):
            raise BadData(f"mode must be 'rw' or 'ro', got {mode!r}")
        self.path, self.mode = Path(path), mode
        if not self.path.parent.is_dir():
            raise BadData(f"there is no folder {self.path.parent} for the store {self.path.name}")
        self._connection = connect(self.path, writable=mode == "rw")
        self._provenance: str | None = None

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    # ---- writing

    def put(self, results: Iterable[Result], *, sweep: str, parameters: Mapping[str, str]) -> int:
        """Store results in one transaction; how many of them are new.

        Parameters
        ----------
        results : iterable of Result
            What to store. A done cell that is there already stays as it is; a failed one is
            replaced.
        sweep : str
            Name of the sweep that computed them.
        parameters : mapping of str to str
            Canonical JSON text of the cells, by key.
        """
        now = time.time()
        rows = [_row(result, sweep, parameters[result.key], now) for result in results]
        with self._transaction():
            written_by = self._written_by()
            full = [(*row[:10], written_by, row[10]) for row in rows]
            return self._connection.executemany(_INSERT, full).rowcount

    def forget_failed(self, sweep: str | None = None, keys: Iterable[str] | None = None) -> int:
        """Remove failed cells, of one sweep or with these keys, so that they are computed again."""
        failed = self.keys("failed", sweep)
        chosen = sorted(failed if keys is None else failed.intersection(keys))
        with self._transaction():
            self._connection.executemany(
                "DELETE FROM cell WHERE key = ? AND status = 'failed'", [(key,) for key in chosen]
            )
        return len(chosen)

    def merge(self, paths: Iterable[str | Path]) -> Merged:
        """Take over the cells of other stores; done twice, the second time changes nothing."""
        with contextlib.ExitStack() as stack:
            # All are opened before anything is written: a wrong name among them changes nothing.
            others = [stack.enter_context(Store(path, "ro")) for path in paths]
            added = seen = 0
            for other in others:
                writers = other._read("SELECT * FROM provenance")
                for rows in other._raw(sorted(other.keys())):
                    for row in rows:
                        other._checked(row)
                    seen += len(rows)
                    added += self.restore(rows, writers)
        return Merged(added, seen - added)

    def restore(
        self,
        cells: Iterable[Sequence[Any]],
        writers: Iterable[Sequence[Any]] = (),
        texts: Mapping[str, str] | None = None,
    ) -> int:
        """Take over rows of another store as they are, in one transaction; how many are new."""
        with self._transaction():
            execute = self._connection.executemany
            execute("INSERT OR IGNORE INTO provenance VALUES (?, ?, ?, ?)", writers)
            execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (texts or {}).items())
            return execute(_INSERT, cells).rowcount

    def remember(self, name: str, text: str) -> None:
        """Keep a text under a name, for example the specification of a sweep."""
        with self._transaction():
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, text))

    def _written_by(self) -> str:
        """Row of the provenance of this process, written with its first cells."""
        if self._provenance is None:
            row = provenance()
            self._connection.execute("INSERT INTO provenance VALUES (?, ?, ?, ?)", row)
            self._provenance = row[0]
        return self._provenance

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        if self.mode == "ro":
            raise BadData(f"{self.path} was opened to be read; open it with mode='rw' to write")
        before = self._provenance
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                self._provenance = before
                # SQLite may have rolled back already, as it does when the disk is full.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        except sqlite3.DatabaseError as error:
            raise explained(error, self.path) from error

    # ---- reading

    def has(self, key: str) -> bool:
        """Whether a cell is there, done or failed."""
        return bool(self._read("SELECT 1 FROM cell WHERE key = ?", (key,)))

    def keys(self, status: Status | None = None, sweep: str | None = None) -> set[str]:
        """Keys of all cells, or of those with this status or of this sweep."""
        found = self._read(
            "SELECT key FROM cell WHERE (?1 IS NULL OR status = ?1) AND (?2 IS NULL OR sweep = ?2)",
            (status, sweep),
        )
        return {key for (key,) in found}

    def status(self) -> dict[str, Counts]:
        """How many cells each sweep computed; those it found in the store count for the first."""
        counted: dict[str, dict[str, int]] = {}
        query = "SELECT sweep, status, count(*) FROM cell GROUP BY sweep, status"
        for sweep, status, count in self._read(query):
            counted.setdefault(sweep, {})[status] = count
        return {
            sweep: Counts(counts.get("done", 0), counts.get("failed", 0))
            for sweep, counts in counted.items()
        }

    def get(self, key: str) -> Stored:
        """One cell.

        Raises
        ------
        KeyError
            If it is not there.
        """
        for stored in self.results(keys=[key]):
            return stored
        raise KeyError(key)

    def results(
        self, sweep: str | None = None, keys: Iterable[str] | None = None
    ) -> Iterator[Stored]:
        """Cells of a sweep, or with these keys, or all; in the order of their keys."""
        chosen = self.keys(sweep=sweep) if keys is None else set(keys)
        for rows in self._raw(sorted(chosen)):
            for row in rows:
                yield self._checked(row)

    def recall(self, name: str) -> str | None:
        """Text that was kept under a name, None if there is none."""
        found = self._read("SELECT v FROM meta WHERE k = ?", (name,))
        return str(found[0][0]) if found else None

    def provenances(self) -> list[dict[str, Any]]:
        """Who wrote cells, in order: versions, machine (JSON texts) and time of the first cell."""
        rows = self._read("SELECT id, versions, machine, created FROM provenance ORDER BY created")
        return [
            dict(zip(("id", "versions", "machine", "created"), row, strict=True)) for row in rows
        ]

    def _raw(self, keys: Sequence[str]) -> Iterator[list[tuple[Any, ...]]]:
        """Rows with these keys, some at a time: a long read must not hold up the writer."""
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(some))
            query = f"SELECT {COLUMNS} FROM cell WHERE key IN ({marks}) ORDER BY key"  # noqa: S608
            yield self._read(query, some)

    def _checked(self, row: Sequence[Any]) -> Stored:
        key, sweep, params, status, scalars, arrays, seconds, error, host, created = row[:10]
        if row[11] != digest(key, params, status, scalars, arrays, error):
            raise damaged(self.path, f"the cell {key} is not what was stored")
        result = Result(key, status, unpack(scalars, arrays), error, seconds, host)
        return Stored(sweep, params, created, row[10], result)

    def _read(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise explained(error, self.path) from error


def _row(result: Result, sweep: str, params: str, now: float) -> tuple[Any, ...]:
    """Values of a row, without its provenance."""
    scalars, arrays = pack(result.arrays)
    key, status = result.key, result.status
    # Half a character, as in the name of a file that is no text, cannot be stored as it is.
    error = result.error.encode(errors="backslashreplace").decode()
    mark = digest(key, params, status, scalars, arrays, error)
    return (
        key, sweep, params, status, scalars, arrays, result.seconds, error, result.host, now, mark
    )  # fmt: skip
