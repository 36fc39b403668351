"""The folder where gradone keeps what can be made again: compiled functions."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_directory() -> Path:
    """User's cache folder of gradone; it is created when something is first written there.

    ``GRADONE_CACHE`` overrides the convention of the operating system.

    Examples
    --------
    >>> cache_directory().name
    'gradone'
    """
    chosen = os.environ.get("GRADONE_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "gradone"
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "gradone"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gradone"


def compilation_record() -> Path:
    """File with a line for each function that was compiled and kept; who compiles holds it."""
    return cache_directory() / "compiling"


def compilations() -> list[tuple[str, int, float]]:
    """What was compiled on this machine: function, process, and seconds of its time."""
    try:
        lines = compilation_record().read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    rows = (line.split() for line in lines)
    return [(row[0], int(row[1]), float(row[2])) for row in rows if len(row) == 3]
