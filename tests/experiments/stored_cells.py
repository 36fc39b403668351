"""Results to be stored, and processes that store them."""

import resource
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from gradone.experiments.store import Store, StoreError
from gradone.experiments.task import Result


def done(i, **arrays):
    arrays = {name: np.asarray(value) for name, value in arrays.items()} or {"i": np.asarray(i)}
    return Result(f"{i:032x}", "done", arrays, "", 0.25, "host")


def failed(i, error="no solution"):
    return Result(f"{i:032x}", "failed", {}, error, 0.5, "host")


def put(store, *results, sweep="s"):
    return store.put(
        results, sweep=sweep, parameters={r.key: f'{{"of":"{r.key}"}}' for r in results}
    )


BIG = [done(i, x=np.full(2000, float(i))) for i in range(40)]


def integrity(path):
    connection = sqlite3.connect(path)
    [answer] = connection.execute("PRAGMA integrity_check").fetchone()
    connection.close()
    return answer


def write_many(path, start):
    """Body of a process that makes the store, if it is the first, and fills it."""
    while time.time() < float(start):
        time.sleep(0.001)
    with Store(path) as store:
        for first in range(0, 60, 3):
            put(store, *(done(i, x=float(i)) for i in range(first, first + 3)))


def start_here(function, *arguments):
    """Process that runs a function of this file."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import stored_cells; "
    code += f"print(stored_cells.{function.__name__}(*sys.argv[2:]))"
    command = [sys.executable, "-c", code, str(Path(__file__).parent), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def fill_until_full(store, results):
    """How many results were stored, and why not more."""
    for count, result in enumerate(results):
        try:
            put(store, result)
        except StoreError as error:
            return count, str(error)
    return len(results), ""


def fill_below_a_limit(path):
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    with Store(path) as store:
        stored, why = fill_until_full(store, BIG)
    return f"{stored} {why}"
