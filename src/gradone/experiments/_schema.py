"""The tables of a store, and how a file is known to be one."""

from __future__ import annotations

import logging
import shlex
import sqlite3
import time
from pathlib import Path

from ..base.errors import BadData, GradoneError
from ._filesystem import can_write_ahead, filesystem, is_shared

_LOG = logging.getLogger(__name__)

APPLICATION_ID = 0x67726164  # "grad"
VERSION = 1
BUSY_SECONDS = 30.0

# The count of cells stands apart from them, near the start of the file: a file that lost its end
# can still tell how many are missing.
_TABLES = """
CREATE TABLE meta (k TEXT PRIMARY KEY, v TEXT NOT NULL);
INSERT INTO meta VALUES ('cells', '0');
CREATE TABLE provenance (
    id TEXT PRIMARY KEY, versions TEXT NOT NULL, machine TEXT NOT NULL, created REAL NOT NULL
);
CREATE TABLE cell (
    key TEXT PRIMARY KEY, sweep TEXT NOT NULL, params TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    scalars TEXT NOT NULL, arrays BLOB NOT NULL,
    seconds REAL NOT NULL, error TEXT NOT NULL, host TEXT NOT NULL, created REAL NOT NULL,
    provenance TEXT NOT NULL, digest BLOB NOT NULL
);
CREATE INDEX cell_by_sweep ON cell (sweep, status, key);
CREATE TRIGGER cell_in AFTER INSERT ON cell BEGIN
    UPDATE meta SET v = v + 1 WHERE k = 'cells';
END;
CREATE TRIGGER cell_out AFTER DELETE ON cell BEGIN
    UPDATE meta SET v = v - 1 WHERE k = 'cells';
END;
"""
COLUMNS = (
    "key, sweep, params, status, scalars, arrays, seconds, error, host, created, provenance, digest"
)


class StoreError(GradoneError, RuntimeError):
    """A store cannot be read or written; what was stored before is still there."""


def connect(path: Path, *, writable: bool) -> sqlite3.Connection:
    """Open a store; a new one is made where there is none.

    Raises
    ------
    BadData
        If the file is something else, or comes from a newer version.
    StoreError
        If it cannot be opened, or is damaged.
    """
    if path.is_dir():
        raise BadData(f"{path} is a folder; a store is one file, such as {path / 'runs.db'}")
    try:
        connection = _writable(path) if writable else _readable(path)
    except sqlite3.DatabaseError as error:
        raise explained(error, path) from error
    return connection


def _writable(path: Path) -> sqlite3.Connection:
    is_new = not path.exists() or path.stat().st_size == 0
    kind = filesystem(path.parent)
    ahead = not is_shared(kind) and not (is_new and not can_write_ahead(path.parent))
    if not ahead:
        _LOG.warning(
            "%s lies on a filesystem (%s) where only one process at a time may use it",
            path,
            kind or "of unknown type",
        )
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        # The file is looked at before anything in it is changed, its mode included.
        if not is_new:
            _check(connection, path)
        _set_mode(connection, "WAL" if ahead else "DELETE")
        connection.execute(f"PRAGMA synchronous={'NORMAL' if ahead else 'FULL'}")
        # What was deleted must not come back when pages are read by hand.
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute("BEGIN IMMEDIATE")
        if _is_empty(connection):
            _create(connection)
        connection.execute("COMMIT")
        _check(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _set_mode(connection: sqlite3.Connection, mode: str) -> None:
    """Switch the journal; the switch does not wait for other processes by itself."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute(f"PRAGMA journal_mode={mode}")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _readable(path: Path) -> sqlite3.Connection:
    if not path.exists():
        raise BadData(f"there is no store {path}; run a sweep first, or check the name")
    address = path.resolve().as_uri()
    # In a folder that cannot be written the files beside a database cannot be made. If they are not
    # there, nobody writes, and the database is read as one that does not change.
    for options in ("mode=ro", "mode=ro&immutable=1"):
        connection = sqlite3.connect(
            f"{address}?{options}", uri=True, timeout=BUSY_SECONDS, isolation_level=None
        )
        try:
            _check(connection, path)
            return _nothing_yet(connection) if _is_empty(connection) else connection
        except sqlite3.OperationalError:
            connection.close()
            if options != "mode=ro" or path.with_name(path.name + "-wal").exists():
                raise
        except BaseException:
            connection.close()
            raise
    raise AssertionError


def _nothing_yet(connection: sqlite3.Connection) -> sqlite3.Connection:
    """What a reader sees of a store that is being made, or whose making was interrupted."""
    connection.close()
    empty = sqlite3.connect(":memory:", isolation_level=None)
    _create(empty)
    return empty


def _is_empty(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


def _create(connection: sqlite3.Connection) -> None:
    for statement in _statements(_TABLES):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={VERSION}")


def _statements(script: str) -> list[str]:
    """Statements of a script; ``executescript`` would commit before the first one."""
    found, current = [], ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            found.append(current)
            current = ""
    return found


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse what is not a store, or one that we do not understand."""
    [application] = connection.execute("PRAGMA application_id").fetchone()
    [version] = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        if _is_empty(connection):
            return  # a run that died while it made the store
        raise BadData(
            f"{path} is a database of another program, not a store of gradone; nothing was "
            "changed. Give the name of a store, or of a file that does not exist yet."
        )
    if version > VERSION:
        raise BadData(
            f"{path} was written by a newer version of gradone (format {version}, this version "
            f"reads up to {VERSION}); nothing was changed. Update gradone to use it."
        )


def explained(error: sqlite3.DatabaseError, path: Path) -> GradoneError:
    """What an error of SQLite means for the user of a store."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if name == "SQLITE_NOTADB":
        return BadData(f"{path} is not a store of gradone; nothing was changed. Check the name.")
    if name.startswith("SQLITE_CORRUPT"):
        return damaged(path, str(error))
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return StoreError(
            f"{path} cannot grow ({error}): the disk is full, or a limit on the size of files is "
            "reached. The last results were not stored, all earlier ones are. Make room and run "
            "the same command again: it computes what is missing."
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreError(
            f"{path} was locked by another process for {BUSY_SECONDS:.0f} s. What was stored "
            "before is there; run the same command again when the other process is done."
        )
    if name.startswith("SQLITE_READONLY"):
        return StoreError(f"{path} cannot be written ({error}). Check its permissions.")
    return StoreError(f"{path} cannot be used ({error}). Check the folder and its permissions.")


def damaged(path: Path, what: str) -> StoreError:
    """Error about a store of which only a part can be read."""
    return StoreError(
        f"{path} is damaged ({what}). Save all that can be read into a new file and continue with "
        "it; missing cells are computed again:\n"
        f"    gradone sweep SPEC --salvage --store {shlex.quote(str(path))}"
    )
