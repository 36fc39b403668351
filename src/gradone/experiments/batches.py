"""Tasks in batches of about half a second: large ones first, sizes learned from the results."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from .task import Result, Task

_TARGET_SECONDS = 0.5
_MOST_TASKS = 256  # what the death of a worker can cost, and what one transaction holds
_MEMORY = 0.8  # weight of the past in the average duration


class Batches(Iterator[list[Task]]):
    """Iterator over batches that last about half a second each.

    Parameters
    ----------
    tasks : iterable of Task
        What is to be computed. Those with the longest estimates come first, so that no long cell
        is left for the end, when the other workers have nothing to do.
    workers : callable
        How many batches can be computed at the same time now; a cluster may grow and shrink.

    Examples
    --------
    >>> tasks = [Task(f"{i:032x}", "{}") for i in range(100)]
    >>> batches = Batches(tasks, workers=lambda: 2)
    >>> len(next(batches))                        # nothing is known yet
    1
    >>> batches.observe(Result(tasks[0].key, "done", seconds=0.02))
    >>> len(next(batches))
    12
    """

    def __init__(self, tasks: Iterable[Task], *, workers: Callable[[], int]) -> None:
        ordered = sorted(tasks, key=lambda task: (-task.seconds, -task.bytes))
        self._waiting = deque(ordered)
        self._estimates = {task.key: task.seconds for task in ordered}
        self._workers = workers
        self._duration: float | None = None  # of one task
        self._ratio: float | None = None  # of durations to estimates

    def observe(self, result: Result) -> None:
        """Learn from a result how long tasks take."""
        self._duration = _average(self._duration, result.seconds)
        estimate = self._estimates.get(result.key, 0.0)
        if estimate > 0:
            self._ratio = _average(self._ratio, result.seconds / estimate)

    def __next__(self) -> list[Task]:
        if not self._waiting:
            raise StopIteration
        batch = [self._waiting.popleft()]
        if self._duration is None:
            return batch
        # Towards the end batches become smaller: all workers should finish together.
        rest = self._expected(batch[0]) * (1 + len(self._waiting)) / (4 * max(self._workers(), 1))
        seconds, limit = self._expected(batch[0]), min(_TARGET_SECONDS, rest)
        while self._waiting and len(batch) < _MOST_TASKS:
            seconds += self._expected(self._waiting[0])
            if seconds > limit:
                break
            batch.append(self._waiting.popleft())
        return batch

    def _expected(self, task: Task) -> float:
        """Seconds that a task will take, from its own estimate if it has one."""
        if task.seconds > 0 and self._ratio is not None:
            return task.seconds * self._ratio
        return self._duration or 0.0


def _average(old: float | None, new: float) -> float:
    return new if old is None else _MEMORY * old + (1 - _MEMORY) * new
