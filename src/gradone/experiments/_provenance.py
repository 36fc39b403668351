"""Who computed something: versions, machine and time."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sqlite3
import time
from pathlib import Path

from ..base.seeds import fingerprint


def provenance() -> tuple[str, str, str, float]:
    """Row that says which versions on which machine wrote cells, and since when."""
    names = "gradone numpy scipy numba scikit-learn xarray".split()
    versions = {name: _version(name) for name in names} | {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }
    machine = {
        "host": platform.node(),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
    }
    now = time.time()
    return (
        fingerprint(versions, machine, now).hex(),
        json.dumps(versions, sort_keys=True),
        json.dumps(machine, sort_keys=True),
        now,
    )


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
