"""One thread for linear algebra: cells run side by side, and sums do not depend on the machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


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
