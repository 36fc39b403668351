"""What kind of filesystem a store lies on: SQLite's fast mode needs memory that hosts share."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

# Types of filesystems that several hosts may use at the same time.
_SHARED = "nfs lustre gpfs beegfs cifs smb ceph afs glusterfs pvfs orangefs panfs 9p sshfs".split()


def filesystem(path: Path) -> str:
    """Type of the filesystem of a path as the system names it; empty if it does not tell."""
    try:
        lines = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    place, best, kind = path.resolve(), -1, ""
    for line in lines:
        fields = line.split()
        point = Path(fields[1].encode().decode("unicode_escape"))  # a space is written as \040
        if place.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), fields[2]
    return kind


def is_shared(kind: str) -> bool:
    """Whether several hosts may use a filesystem of this type.

    Examples
    --------
    >>> is_shared("nfs4"), is_shared("fuse.sshfs"), is_shared("ext4")
    (True, True, False)
    """
    return any(name in kind for name in _SHARED)


def can_write_ahead(folder: Path) -> bool:
    """Whether a database in write-ahead mode works here, tried with one that is thrown away.

    The pragma alone may report success where the first write fails.
    """
    path = folder / f".gradone-probe-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as probe:
            [mode] = probe.execute("PRAGMA journal_mode=WAL").fetchone()
            probe.execute("CREATE TABLE probe (x)")
            probe.execute("INSERT INTO probe VALUES (1)")
        return bool(mode == "wal")
    except sqlite3.Error:
        return False
    finally:
        with contextlib.suppress(OSError):  # a filesystem that cannot be written says so here too
            for suffix in ("", "-wal", "-shm", "-journal"):
                Path(f"{path}{suffix}").unlink(missing_ok=True)
