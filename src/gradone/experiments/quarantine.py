"""Which cell killed a worker, or takes too much: suspects are computed alone, and last of all.

A worker that dies has a cell in its hands, but the culprit may be another one (memory and
processors of the machine are shared). So nobody is condemned at the first time. Where only the
batch of a dead worker is known, it is halved until one cell is left.
"""

from __future__ import annotations

from collections import deque

from ..base.memory import human_bytes
from ..base.pool import Reply
from .task import Batch, Result, Task

_DEATHS = 2  # of a single cell, computed alone


class Quarantine:
    """Batches that were with a worker when it ended; to be computed with no other running.

    Examples
    --------
    >>> from gradone.experiments.task import Task
    >>> quarantine = Quarantine()
    >>> quarantine.add([Task("a" * 32, "{}"), Task("b" * 32, "{}")])
    >>> [len(quarantine.take()) for _ in range(len(quarantine))]
    [2]
    >>> quarantine.died([Task("a" * 32, "{}"), Task("b" * 32, "{}")], "signal 9")  # alone: halved
    >>> [len(quarantine.take()) for _ in range(len(quarantine))]
    [1, 1]
    >>> quarantine.died([Task("a" * 32, "{}")], "signal 9")                # gets a second chance
    >>> quarantine.died(quarantine.take(), "signal 9").status
    'failed'
    """

    def __init__(self) -> None:
        self._suspects: deque[Batch] = deque()
        self._deaths: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._suspects)

    def add(self, batch: Batch) -> None:
        """A batch whose worker ended while others were running: suspect, not guilty."""
        self._suspects.append(batch)

    def take(self) -> Batch:
        """Next batch to be computed alone."""
        return self._suspects.popleft()

    def died(self, batch: Batch, how: str) -> Result | None:
        """A batch whose worker died while it was computed alone; the verdict, if there is one."""
        if len(batch) > 1:
            half = len(batch) // 2
            self._suspects.extendleft([batch[half:], batch[:half]])
            return None
        [task] = batch
        self._deaths[task.key] = self._deaths.get(task.key, 0) + 1
        if self._deaths[task.key] < _DEATHS:
            self._suspects.appendleft(batch)
            return None
        memory = f"about {human_bytes(task.bytes)}" if task.bytes else "an unknown amount"
        text = (
            f"the worker died {_DEATHS} times while it computed this cell alone ({how}). The cell "
            f"needs {memory} of memory: if the machine has less, the system kills the worker."
        )
        return Result(task.key, "failed", error=text)

    def exceeded(self, task: Task, reply: Reply) -> Result:
        """Verdict on a cell that stays beyond a limit also when it is computed alone.

        Examples
        --------
        >>> task = Task("a" * 32, "{}")
        >>> print(Quarantine().exceeded(task, Reply("late", "it took more than 5 seconds")).error)
        this cell was stopped twice, the second time while it ran alone: it took more than 5 ...
        """
        name = {"late": "cell_seconds", "large": "cell_memory"}[reply.kind]
        text = (
            f"this cell was stopped twice, the second time while it ran alone: {reply.value}. If "
            f"it needs them, give a larger {name} and retry the failed cells; else make it smaller."
        )
        return Result(task.key, "failed", error=text)
