"""All replicates of a run: in threads, watched, stopped in good order."""

from __future__ import annotations

import itertools
import math
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..base.progress import Progress, Unwatched
from ..base.threads import available_cores
from ._chain import Chain, Problem, Records
from ._compile import compiled_chain
from ._direct import DirectRun
from ._stacked import StackedChain

_POLL = 0.1  # seconds between two looks at the progress


@dataclass
class Ending:
    """What a run left.

    Parameters
    ----------
    records : Records
        States at the marks, NaN where the run did not come.
    interrupted : bool
        Whether it was stopped from outside.
    diverged_at : int or None
        First update at which a replicate ran away.
    replicate : int
        Which one.
    quantity : str
        What ran away: the weights, the buffers, the readout or the bias, of which optimizer.
    """

    records: Records
    interrupted: bool = False
    diverged_at: int | None = None
    replicate: int = 0
    quantity: str = "weights"


class _Crew:
    """Threads that take the replicates one after the other."""

    def __init__(self, problem: Problem, replicates: range) -> None:
        self.problem, self.replicates = problem, replicates
        self.records = Records.empty(problem, len(replicates))
        self.stop = threading.Event()
        self.done = [0] * len(replicates)
        self.failures: list[tuple[int, int, str]] = []
        self._next = itertools.count()
        self._lock = threading.Lock()

    @property
    def horizon(self) -> int:
        """Where runs end: once one has run away, the others are needed up to that update only."""
        return min((step for step, *_ in self.failures), default=self.problem.steps)

    def work(self) -> None:
        while not self.stop.is_set():
            with self._lock:
                run = next(self._next)
            if run >= len(self.done):
                return
            replicate = self.replicates[run]
            chain = chain_of(self.problem, replicate, self.records.of(run))
            while chain.done < self.horizon and not self.stop.is_set():
                chain.advance()
                self.done[run] = chain.done
                if chain.diverged_at is not None:
                    self.failures.append((chain.diverged_at, replicate, _largest(chain)))
                    break


def chain_of(
    problem: Problem, replicate: int, records: tuple[np.ndarray, ...]
) -> Chain | DirectRun:
    """What simulates one replicate: the chain of order parameters, or the network itself."""
    if problem.kind == "direct":
        return DirectRun(problem, replicate, records)
    kind = StackedChain if problem.kind.startswith("stacked") else Chain
    return kind(problem, replicate, records)


def _largest(chain: Chain | DirectRun) -> str:
    """What ran away in a run that did: the part of the state with the largest number.

    Parts that are not numbers any more were lost by the product with one that is too large.
    """
    student, whose = chain.problem.student, ""
    p = student.width
    if isinstance(chain, DirectRun):
        state = chain.first_to_fall
        parts, a, b = {"weights": state.W}, state.a, state.b
        whose = f" of '{state.student.optimizer}'" if chain.problem.rivals else ""
    else:
        rows = np.concatenate([chain.M.T, chain.columns.reshape(-1, chain.columns.shape[-1])])
        parts, a, b = {"weights": rows[:, -p:], "buffers": rows[:, :-p]}, chain.a, chain.b
    if student.train_readout is not None:
        parts["readout"] = a
    if student.train_bias is not None:
        parts["bias"] = b
    sizes = {name: float(np.abs(part).max(initial=0.0)) for name, part in parts.items()}
    found = max(sizes, key=lambda name: -1.0 if math.isnan(sizes[name]) else sizes[name])
    return found + whose


def run_replicates(problem: Problem, replicates: range, *, progress: Progress) -> Ending:
    """Simulate replicates in threads; the number of threads does not change them."""
    for student in problem.students:  # in one thread
        compiled_chain(student, problem.target, problem.kind)
    crew = _Crew(problem, replicates)
    count = min(len(replicates), available_cores())
    interrupted = False
    with ThreadPoolExecutor(count) as pool:
        futures: list[Future[None]] = [pool.submit(crew.work) for _ in range(count)]
        waiting = partial(wait, futures, timeout=_POLL)
        try:
            while waiting().not_done:
                if progress.step(sum(crew.done), len(replicates) * problem.steps):
                    interrupted = True
                    break
        except KeyboardInterrupt:
            crew.stop.set()
            if isinstance(progress, Unwatched):
                raise
            interrupted = True
        if interrupted:
            crew.stop.set()
        progress.close()
        for future in futures:
            future.result()
    ending = Ending(crew.records, interrupted)
    if crew.failures:
        ending.diverged_at, ending.replicate, ending.quantity = min(crew.failures)
        for part in vars(crew.records).values():
            part[:, problem.marks >= ending.diverged_at] = float("nan")
    return ending


def stable_factor(problem: Problem, ending: Ending) -> tuple[float, int] | None:
    """Power of 1/2 that keeps the replicate that ran away within bounds, and over how many updates.

    It is tried, with the same random numbers, over the time in which the run failed and three times
    that.
    """
    assert ending.diverged_at is not None
    factor = 1.0
    for _ in range(30):
        factor /= 2
        steps = min(problem.steps, int(4 * ending.diverged_at / factor), 100_000)
        trial = problem.slower(factor, steps)
        chain = chain_of(trial, ending.replicate, Records.empty(trial, 1).of(0))
        while chain.done < steps and chain.diverged_at is None:
            chain.advance()
        if chain.diverged_at is None:
            return factor, steps
    return None
