"""The run of a sweep: what is missing is computed, and stored as it comes."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..base.progress import Progress, Silent, Unwatched
from ._interrupts import interrupts_wait
from .batches import Batches
from .executors import choose_executor
from .store import Store
from .task import Executor, Result, Task

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True)
class Summary:
    """How a run ended.

    Parameters
    ----------
    done, failed : int
        Cells computed by this run.
    skipped : int
        Cells that the store had already, done or failed.
    interrupted : bool
        Whether cells are missing because the run was stopped; the same call goes on with them.
    """

    done: int
    failed: int
    skipped: int
    interrupted: bool


def run_tasks(
    tasks: Iterable[Task],
    function: str,
    *,
    store: Store,
    sweep: str,
    executor: str | Executor | Client = "processes",
    workers: int | None = None,
    progress: Progress | None = None,
    on_failed: Callable[[Task, Result], None] | None = None,
) -> Summary:
    """Compute the tasks that a store does not have, and store each result as it comes.

    Parameters
    ----------
    tasks : iterable of Task
        The cells of a sweep; those that the store has, done or failed, are skipped.
    function : str
        ``"module:name"`` of the function that computes a cell: parameters (text) -> dict of arrays.
    store : Store
        Open for writing; nobody else of this run writes to it.
    sweep : str
        Name under which new cells are counted.
    executor, workers
        Where to compute, see :func:`gradone.experiments.executors.choose_executor`.
    progress : Progress, optional
        Told after each result by ``step(i, total, failed=, rate=, seconds_left=)``, where i counts
        skipped cells too and the rate is that of this run in cells per second; stops the run by
        returning True.
    on_failed : callable, optional
        Told each failure as it happens.

    Returns
    -------
    Summary
        Ctrl-C drops the cells that are being computed, stores the others, and is told by
        ``interrupted``.

    Notes
    -----
    Two runs on one store do not disturb each other: a cell that both compute is stored once.
    """
    unique = {task.key: task for task in tasks}
    known = store.keys()
    missing = {key: task for key, task in unique.items() if key not in known}
    chosen = choose_executor(executor, workers)
    batches = Batches(missing.values(), workers=lambda: chosen.workers)
    count = _Count(len(unique), missing, progress or Silent())
    stopped = False
    try:
        with closing(chosen.run(function, batches) if missing else _nothing()) as answers:
            for results in answers:
                with interrupts_wait():  # stored and counted as one
                    parameters = {result.key: missing[result.key].parameters for result in results}
                    store.put(results, sweep=sweep, parameters=parameters)
                    for result in results:
                        batches.observe(result)
                        if result.status == "failed" and on_failed is not None:
                            on_failed(missing[result.key], result)
                        stopped |= count.step(result)
                if stopped:
                    break
    except KeyboardInterrupt:
        if isinstance(progress, Unwatched):
            raise
        stopped = True
    finally:
        count.progress.close()
    return Summary(count.done, count.failed, len(unique) - len(missing), stopped and count.is_short)


def _nothing() -> Generator[list[Result]]:
    """Answers of a run that has nothing to do: no process is started for it."""
    yield from ()


class _Count:
    """How far a run is, and how long it will take."""

    def __init__(self, total: int, missing: dict[str, Task], progress: Progress) -> None:
        self.done = self.failed = 0
        self.progress = progress
        self._total, self._skipped = total, total - len(missing)
        # Estimates tell the share of work that is done; without them all cells count the same.
        estimated = all(task.seconds > 0 for task in missing.values())
        self._work = {key: task.seconds if estimated else 1.0 for key, task in missing.items()}
        self._left, self._finished = sum(self._work.values()), 0.0
        self._start = time.monotonic()

    @property
    def is_short(self) -> bool:
        return self._skipped + self.done + self.failed < self._total

    def step(self, result: Result) -> bool:
        """Count a result; whether the watcher wants to stop."""
        self.done += result.status == "done"
        self.failed += result.status == "failed"
        self._left -= self._work[result.key]
        self._finished += self._work[result.key]
        elapsed = max(time.monotonic() - self._start, 1e-9)
        computed = self.done + self.failed
        return self.progress.step(
            self._skipped + computed,
            self._total,
            failed=self.failed,
            rate=computed / elapsed,
            seconds_left=elapsed * max(self._left, 0.0) / self._finished,
        )
