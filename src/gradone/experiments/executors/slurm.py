"""Cells on a SLURM cluster: jobs that are Dask workers, replaced when they end."""

from __future__ import annotations

import contextlib
import getpass
import logging
import math
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...base.errors import BadData, WorkersFailed
from ...base.threads import VARIABLES
from .dask import Dask, connected

if TYPE_CHECKING:
    from distributed import Client

_LOG = logging.getLogger(__name__)
_FRUITLESS = 3  # jobs per wanted job that may end before the first result


class Slurm(Dask):
    """Workers that are SLURM jobs of one core each; the coordinator keeps running meanwhile.

    Parameters
    ----------
    jobs : int
        How many jobs at the same time.
    walltime : str
        Longest time of one job, ``"[days-]hours:minutes:seconds"``; cells must be shorter. A job
        that ends is replaced as long as cells are missing.
    memory : str
        Memory of one job, for example ``"4GB"``.
    queue : str, optional
        Partition; default: that of the cluster.
    options : mapping, optional
        Passed to ``dask_jobqueue.SLURMCluster``: ``account``, ``interface``, ``log_directory``,
        ``job_extra_directives``, ...

    Notes
    -----
    Where no process may run for as long as a sweep takes, use
    :func:`gradone.experiments.executors.job_array.job_array_script`.
    """

    def __init__(
        self,
        jobs: int,
        *,
        walltime: str,
        memory: str = "4GB",
        queue: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(workers=jobs)
        self._memory = math.inf  # each job has its own
        if jobs < 1:
            raise BadData(f"jobs must be at least 1, got {jobs}")
        self._jobs = jobs
        self._settings = {
            "queue": queue,
            "memory": memory,
            "walltime": walltime,
            "cores": 1,
            "processes": 1,
            "python": sys.executable,
            "job_script_prologue": [f"export {name}=1" for name in VARIABLES],
            # A worker that leaves before it is killed hands over what it has.
            "worker_extra_args": ["--lifetime", f"{_lifetime(walltime)}s", *_STAGGER],
            "scheduler_options": {"dashboard_address": ":0"},
        } | dict(options or {})
        self._jobqueue: Any = None

    def _connect(self, stack: contextlib.ExitStack) -> Client:
        from dask_jobqueue.slurm import SLURMCluster

        if shutil.which("sbatch") is None:
            raise BadData("there is no SLURM here ('sbatch' is not found); use another executor")
        self._jobqueue = stack.enter_context(SLURMCluster(**self._settings))
        self._jobqueue.scale(jobs=self._jobs)
        return connected(self._jobqueue, stack)

    def _look_after(self, client: Client, answered: int) -> None:
        """Replace jobs that ended: nobody else does."""
        alive = _queued_jobs()
        if alive is None:
            return
        ids = [job.job_id for job in self._jobqueue.workers.values()]
        # A pending job is not dead: counting living workers instead would flood the queue.
        dead = sum(id is not None and id not in alive for id in ids)
        if dead > _FRUITLESS * self._jobs and not answered:
            raise WorkersFailed(
                f"{dead} SLURM jobs ended and none of them computed anything. Look at their logs, "
                "and try the command of the job by hand:\n" + self._jobqueue.job_script()
            )
        # Those that ended stay in the books of the cluster, so more have to be asked for.
        self._jobqueue.scale(jobs=self._jobs + dead)


_STAGGER = ("--lifetime-stagger", "10s")


def _queued_jobs() -> set[str] | None:
    """Jobs of this user that wait or run; None if SLURM does not answer now."""
    command = ["squeue", "--noheader", "--format=%A", f"--user={getpass.getuser()}"]
    try:
        found = subprocess.run(  # noqa: S603  fixed words
            command, check=True, capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.SubprocessError) as error:
        _LOG.warning("squeue does not answer: %s", error)
        return None
    return set(found.stdout.split())


def _lifetime(walltime: str) -> int:
    """Seconds after which a worker leaves by itself: before the job is killed.

    Examples
    --------
    >>> _lifetime("00:05:00"), _lifetime("1-00:00:00")
    (240, 85800)
    """
    days, _, clock = walltime.rpartition("-")
    try:
        parts = [int(days or 0), *map(int, clock.split(":"))]
        [days_, hours, minutes, seconds] = parts
    except ValueError:
        raise BadData(
            f"walltime must be written as [days-]hours:minutes:seconds, got {walltime!r}"
        ) from None
    total = ((24 * days_ + hours) * 60 + minutes) * 60 + seconds
    if total < 120:
        raise BadData(f"walltime must be at least two minutes, got {walltime}")
    return total - min(total // 5, 600)
