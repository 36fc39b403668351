"""Which cell killed a worker: suspects are computed alone, and halved until one cell is left.

A worker that dies has a batch in its hands, but the culprit may be another cell (the memory of the
machine is shared), and only one of the batch is. So nobody is condemned at the first death.
"""

from __future__ import annotations

from collections import deque

from ..base.memory import human_bytes
from .task import Batch, Result

_DEATHS = 2  # of a single cell, computed alone


class Quarantine:
    """Batches that were with a worker when it died; they are to be computed with no other running.

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
        """A batch whose worker died while others were running: suspect, not guilty."""
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
