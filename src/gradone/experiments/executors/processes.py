"""Cells in processes of this machine: the default."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from ...base.errors import BadData
from ...base.memory import available_memory
from ..quarantine import Quarantine
from ..task import Batch, Result, WorkersFailed, peak_bytes, split_name
from ._compute import compute_batch
from ._threads import single_threaded_children
from ._worker import serve

_IN_FLIGHT = 2  # batches per worker: one is computed, one waits, so that no worker ever does
_ATTEMPTS = 3  # to start a worker
_NO_GUARD = 77  # exit code of a worker that would start the whole script again
_GUARD = (
    "the script starts its own workers again, because a worker reads the script too. Put what runs "
    'under a line\n    if __name__ == "__main__":\nso that only the first process runs it'
)


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
    A worker that dies takes only its own batch along, and that comes into quarantine: it is
    computed again when nothing else runs, in halves until the cell that kills is alone.
    """

    def __init__(self, workers: int | None = None, *, memory: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise BadData(f"workers must be at least 1, got {workers}")
        self.workers = workers or _usable_cores()
        self._memory = memory

    def run(self, function: str, batches: Iterator[Batch]) -> Generator[list[Result]]:
        """Results as they come; at most two batches per worker are under way."""
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            os._exit(_NO_GUARD)  # this is a worker that reads an unguarded script
        split_name(function)  # only workers import it: it may need much that is not needed here
        free = int(0.9 * available_memory()) if self._memory is None else self._memory
        crew = _Crew(function, self.workers, free)
        try:
            yield from crew.compute(batches)
        finally:
            crew.dismiss()


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(eq=False)
class _Worker:
    """A process, the pipe to it, and the batches that it has not answered yet."""

    process: Any
    pipe: Connection
    held: deque[Batch] = field(default_factory=deque)

    @property
    def bytes(self) -> int:
        return max(map(peak_bytes, self.held), default=0)


class _Crew:
    """The workers of one run."""

    def __init__(self, function: str, size: int, memory: int) -> None:
        self._function, self._size, self._memory = function, size, memory
        self._workers: list[_Worker] = []
        self._returned: deque[Batch] = deque()  # handed out, but not begun when the worker died
        self._quarantine = Quarantine()
        methods = multiprocessing.get_all_start_methods()
        self._context: Any = multiprocessing.get_context(
            "forkserver" if "forkserver" in methods else "spawn"
        )
        module, _ = split_name(function)
        # The parent of all workers imports what they need once, with one thread.
        self._context.set_forkserver_preload([compute_batch.__module__, serve.__module__, module])

    def compute(self, batches: Iterator[Batch]) -> Generator[list[Result]]:
        alone = False
        while True:
            if not alone:
                self._hand_out(batches)
            busy = [worker for worker in self._workers if worker.held]
            if not busy and not self._quarantine:
                return
            if not busy:
                alone = True
                worker = self._workers[0] if self._workers else self._hire()
                self._give(worker, self._quarantine.take())
                busy = [worker]
            answered = wait([worker.pipe for worker in busy])
            for worker in busy:
                if worker.pipe in answered:
                    yield from self._take(worker, alone=alone)
            alone = alone and any(worker.held for worker in self._workers)

    def _hand_out(self, batches: Iterator[Batch]) -> None:
        """Give out batches as long as there are workers and memory for them."""
        while True:
            worker = min(self._workers, key=lambda worker: len(worker.held), default=None)
            if worker is None or (worker.held and len(self._workers) < self._size):
                worker = None  # one more can be hired
            elif len(worker.held) == _IN_FLIGHT:
                return
            batch = self._returned.popleft() if self._returned else next(batches, None)
            if batch is None:
                return
            if not self._fits(batch, worker):
                self._returned.appendleft(batch)
                return
            self._give(worker or self._hire(), batch)

    def _fits(self, batch: Batch, worker: _Worker | None) -> bool:
        """Whether there is memory for a batch; the only one must be tried in any case."""
        others = sum(other.bytes for other in self._workers if other is not worker)
        mine = max(peak_bytes(batch), worker.bytes if worker else 0)
        return others + mine <= self._memory or not any(w.held for w in self._workers)

    def _give(self, worker: _Worker, batch: Batch) -> None:
        worker.held.append(batch)
        try:
            worker.pipe.send(batch)
        except OSError:  # it is dead, which _take will find out
            pass

    def _take(self, worker: _Worker, *, alone: bool) -> Generator[list[Result]]:
        """Answer of a worker, or what follows from its death."""
        try:
            results = worker.pipe.recv()
        except (EOFError, OSError):
            self._workers.remove(worker)
            suspect = worker.held.popleft()
            self._returned.extendleft(reversed(worker.held))
            how = _end(worker)
            if not alone:
                self._quarantine.add(suspect)
            elif verdict := self._quarantine.died(suspect, how):
                yield [verdict]
            return
        worker.held.popleft()
        yield results

    def _hire(self) -> _Worker:
        """A new process that is ready for work."""
        for _ in range(_ATTEMPTS):
            here, there = self._context.Pipe()
            process = self._context.Process(
                target=serve, args=(there, self._function), daemon=True, name="gradone-worker"
            )
            with single_threaded_children():
                process.start()
            there.close()
            worker = _Worker(process, here)
            try:
                problem = here.recv()
            except (EOFError, OSError):
                how = _end(worker)
                if process.exitcode == _NO_GUARD:
                    raise BadData(_GUARD) from None
                continue
            if problem:
                raise WorkersFailed(f"a worker cannot import {self._function}:\n{problem}")
            self._workers.append(worker)
            return worker
        raise WorkersFailed(
            f"{_ATTEMPTS} workers in a row ended before they were ready ({how}). Try "
            "executor='serial' to see whether the cells themselves can be computed."
        )

    def dismiss(self) -> None:
        """End all workers, and drop what they are computing."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            _end(worker)


def _end(worker: _Worker) -> str:
    """Close what belongs to a worker that ends; how it ended."""
    worker.pipe.close()
    worker.process.join()
    code: int = worker.process.exitcode
    if code >= 0:
        return f"exit code {code}"
    return f"signal {-code}, {signal.Signals(-code).name}"
