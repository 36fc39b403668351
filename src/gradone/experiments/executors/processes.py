"""Cells in processes of this machine: the default."""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Generator, Iterator, Sequence

from ...base.errors import BadData, WorkersFailed
from ...base.memory import available_memory
from ...base.pool import Call, Limits, Pool, Reply
from ...base.threads import available_cores
from ..quarantine import Quarantine
from ..task import Batch, Result, limits_of, peak_bytes, resolve, split_name
from ._compute import compute_batch


class Processes:
    """Worker processes on this machine, each with one thread for linear algebra.

    Parameters
    ----------
    workers : int, optional
        Number of processes; default: one for each core that this process may use.
    memory : int, optional
        Bytes that all cells together may take; default: 90 % of what is free at the start. Cells
        whose estimates exceed it together wait for each other.

    Notes
    -----
    A cell whose worker dies, or is killed because the cell takes more than its limits, comes into
    quarantine: it is computed again when nothing else runs. The others of its batch go on.
    """

    def __init__(self, workers: int | None = None, *, memory: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise BadData(f"workers must be at least 1, got {workers}")
        self.workers = workers or available_cores()
        self._memory = memory

    def run(self, function: str, batches: Iterator[Batch]) -> Generator[list[Result]]:
        """Results as they come; each worker has one batch at a time."""
        module, _ = split_name(function)  # only workers import it: it may need much more than we do
        free = int(0.9 * available_memory()) if self._memory is None else self._memory
        queue = _Queue(function, batches, free)
        # The parent of all workers imports what they need once, with one thread.
        preload = (compute_batch.__module__, __name__, module)
        with Pool(self.workers, preload=preload, first=(_prepare, {"function": function})) as pool:
            while pool.hand_out(queue.next_batch):
                found = [one for reply in pool.replies() for one in queue.results(*reply)]
                pool.hand_out(queue.next_batch)  # no worker waits until these are stored
                if found:
                    yield found


def _prepare(function: str) -> None:
    """Import the function of the cells, or say in detail why that is not possible."""
    try:
        resolve(function)
    except Exception:
        raise WorkersFailed(traceback.format_exc()) from None


class _Queue:
    """Batches that are left: those in quarantine last, and alone."""

    def __init__(self, function: str, batches: Iterator[Batch], memory: int) -> None:
        self._function, self._batches, self._memory = function, batches, memory
        self._waiting: deque[Batch] = deque()  # without memory so far
        self._found: dict[str, list[Result]] = {}  # of batches at work, by their first cell
        self._quarantine = Quarantine()
        self._is_alone = False

    def next_batch(self, at_work: Sequence[Batch]) -> tuple[Batch, Call, Limits] | None:
        """Batch to compute beside others, if there is one that has memory and may."""
        batch = self._chosen(at_work)
        if batch is None:
            return None
        call = (compute_batch, {"function": self._function, "batch": batch})
        return batch, call, limits_of(batch)

    def _chosen(self, at_work: Sequence[Batch]) -> Batch | None:
        if at_work and self._is_alone:
            return None
        self._is_alone = False
        batch = self._waiting.popleft() if self._waiting else next(self._batches, None)
        if batch is not None:
            # The only one must be tried in any case.
            if not at_work or sum(map(peak_bytes, [batch, *at_work])) <= self._memory:
                return batch
            self._waiting.append(batch)
        elif not at_work and self._quarantine:
            self._is_alone = True
            return self._quarantine.take()
        return None

    def results(self, batch: Batch, reply: Reply, _: float) -> list[Result]:
        """Results of a batch when it ends, however it does."""
        found = self._found.setdefault(batch[0].key, [])
        if reply.kind == "event":
            found.append(reply.value)
            return []
        del self._found[batch[0].key]
        if reply.kind == "failure":
            raise WorkersFailed(f"a worker cannot compute a batch: {reply.problem}")
        if reply.kind != "answer" and (left := batch[len(found) :]):
            if left[1:]:
                self._waiting.appendleft(left[1:])
            if not self._is_alone:
                self._quarantine.add(left[:1])
            elif reply.kind != "death":
                found.append(self._quarantine.exceeded(left[0], reply))
            elif verdict := self._quarantine.died(left[:1], reply.value):
                found.append(verdict)
        return found
