"""One batch, wherever it is computed: a cell that raises fails, the others go on."""

from __future__ import annotations

import socket
import time
import traceback
from collections.abc import Iterator

import numpy as np

from ...base.errors import BadData
from ..task import Batch, Compute, Result, Task, resolve

_LONGEST_ERROR = 8000  # characters


def compute_batch(function: str, batch: Batch) -> Iterator[Result]:
    """Results of the tasks of a batch, one after the other.

    Examples
    --------
    >>> [result] = compute_batch("gradone.base.seeds:canonical", [Task("0" * 32, "{}")])
    >>> result.status, result.error.splitlines()[-1]
    ('failed', 'gradone.base.errors.BadData: a cell must give a dict of arrays, got str')
    """
    compute = resolve(function)
    for task in batch:
        yield _result(compute, task)


def _result(compute: Compute, task: Task) -> Result:
    host, start = socket.gethostname(), time.perf_counter()
    try:
        arrays = _checked(compute(task.parameters))
    except Exception:
        text = traceback.format_exc()[-_LONGEST_ERROR:]
        return Result(task.key, "failed", {}, text, time.perf_counter() - start, host)
    return Result(task.key, "done", arrays, "", time.perf_counter() - start, host)


def _checked(found: object) -> dict[str, np.ndarray]:
    """Arrays that a store can keep without pickling anything."""
    if not isinstance(found, dict):
        raise BadData(f"a cell must give a dict of arrays, got {type(found).__name__}")
    arrays = {str(name): np.asarray(value) for name, value in found.items()}
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise BadData(f"'{name}' holds Python objects; give numbers or text")
    return arrays
