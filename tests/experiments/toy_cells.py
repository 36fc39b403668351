"""Cells that do something simple, or something terrible; workers import them by name."""

import json
import os
import signal
import time
from pathlib import Path

import numpy as np

from gradone.base.seeds import canonical, fingerprint, stream
from gradone.experiments.task import Task


def make_tasks(count, **parameters):
    """Tasks that differ in ``i`` alone."""
    cells = [{"i": i, **parameters} for i in range(count)]
    return [Task(fingerprint("toy", cell).hex(), canonical(cell)) for cell in cells]


def contents(store):
    """All values of a store, bit for bit, without the times and places of their making."""
    return {
        one.result.key: (one.parameters, one.result.status, bits(one.result.arrays))
        for one in store.results()
    }


def computed_here(count, **parameters):
    """What a store must hold of these tasks, with nothing of the machinery in between."""
    return {
        task.key: (task.parameters, "done", bits(numbers(task.parameters)))
        for task in make_tasks(count, **parameters)
    }


def bits(arrays):
    return {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()}


def numbers(parameters):
    """Random numbers of a cell, in every type that a store must keep, and a matrix product."""
    cell = json.loads(parameters)
    rng = stream(cell.get("seed", 0), "data", i=cell["i"])
    matrix = rng.standard_normal((4, 60))
    return {
        "trace": np.asarray(np.trace(matrix @ matrix.T)),
        "gram": matrix @ matrix.T,
        "curve": rng.standard_normal(20).astype(np.float32),
        "missing": np.asarray(np.nan),
        "count": np.asarray(cell["i"]),
        "label": np.asarray(f"cell {cell['i']}"),
    }


def slow(parameters):
    """The numbers, after some time; leaves a note of each call where that is asked for."""
    cell = json.loads(parameters)
    notes = os.environ.get("TOY_NOTES")
    if notes:
        Path(notes, f"{cell['i']}-{os.getpid()}-{time.monotonic_ns()}").touch()
    time.sleep(cell["seconds"])
    return numbers(parameters)


def poisoned(parameters):
    """The numbers; cell 617 kills its worker, as the system does when there is no memory left."""
    if json.loads(parameters)["i"] == 617:
        os.kill(os.getpid(), signal.SIGKILL)
    return numbers(parameters)


def greedy(parameters):
    """The numbers; some cells never end, inside of compiled code, and some take all memory."""
    cell = json.loads(parameters)
    if cell["i"] in cell.get("endless", []):
        sum(iter(int, 1))
    hoard = []
    while cell["i"] in cell.get("boundless", []):
        hoard.append(np.ones(10**6))
        time.sleep(0.001)  # a test must not fill the memory of the machine between two looks
    return numbers(parameters)


def raising(parameters):
    """The numbers; every fifth cell raises."""
    cell = json.loads(parameters)
    if cell["i"] % 5 == 0:
        raise ValueError(f"cell {cell['i']} has no solution")
    return numbers(parameters)


def objects(parameters):
    """What must never be stored."""
    return {"bad": np.array([{}], dtype=object)}


def surroundings(parameters):
    """Threads that linear algebra uses here, the process, and when it was at work."""
    from threadpoolctl import threadpool_info

    start = time.monotonic()
    time.sleep(json.loads(parameters).get("seconds", 0.0))
    found = [pool["num_threads"] for pool in threadpool_info()]
    return {
        "threads": np.asarray(max(found, default=1)),
        "process": np.asarray(os.getpid()),
        "span": np.asarray([start, time.monotonic()]),
    }
