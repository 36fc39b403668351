"""Where cells are computed: in this process, in processes of this machine, on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.errors import BadData, did_you_mean
from ..task import Executor

if TYPE_CHECKING:
    from distributed import Client

_NAMES = ("serial", "processes", "dask")


def choose_executor(executor: str | Executor | Client, workers: int | None = None) -> Executor:
    """Executor that a caller asked for.

    Parameters
    ----------
    executor : str, Executor or distributed.Client
        ``"serial"``, ``"processes"``, ``"dask"`` (a cluster on this machine), the address of a Dask
        scheduler (``"tcp://host:8786"``), a client that is connected to one, or an executor.
    workers : int, optional
        Number of workers, where we start them ourselves.

    Examples
    --------
    >>> type(choose_executor("processes", 2)).__name__
    'Processes'
    >>> choose_executor("process")
    Traceback (most recent call last):
    gradone.base.errors.BadData: unknown executor 'process'. Known: serial, processes, dask, ...
    """
    if not isinstance(executor, str):
        return (
            executor
            if hasattr(executor, "run") and hasattr(executor, "workers")
            else _dask(executor)
        )
    if executor == "serial":
        from .serial import Serial

        return Serial()
    if executor == "processes":
        from .processes import Processes

        return Processes(workers)
    if executor == "dask" or "://" in executor:
        return _dask(None if executor == "dask" else executor, workers)
    raise BadData(
        f"unknown executor {executor!r}. Known: {', '.join(_NAMES)}, or the address of a Dask "
        f"scheduler such as tcp://host:8786.{did_you_mean(executor, _NAMES)}"
    )


def _dask(cluster: Any, workers: int | None = None) -> Executor:
    from .dask import Dask

    return Dask(cluster, workers=workers)
