"""Processors of this machine, and linear algebra with one thread: processes run side by side."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def available_cores() -> int:
    """Processors that this process may use.

    Examples
    --------
    >>> available_cores() >= 1
    True
    """
    # The affinity, where it is known, respects the share that a batch system has given.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def single_threaded_children() -> Iterator[None]:
    """Processes that are started inside begin with one thread: libraries read this when loaded."""
    before = {name: os.environ.get(name) for name in VARIABLES}
    os.environ.update(dict.fromkeys(VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def was_started_single_threaded() -> bool:
    """Whether this process began with one thread.

    Examples
    --------
    >>> with single_threaded_children():
    ...     was_started_single_threaded()
    True
    """
    return all(os.environ.get(name) == "1" for name in VARIABLES)


def use_one_thread() -> contextlib.AbstractContextManager[object]:
    """One thread from now on; as a context manager, until its end.

    For processes that were started by others and have loaded their libraries already.
    """
    if was_started_single_threaded():
        return contextlib.nullcontext()
    import scipy.linalg  # noqa: F401  scipy brings its own BLAS: only what is loaded is limited
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)
