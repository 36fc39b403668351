"""Work in child processes that can be stopped: what is not done in time is killed, not waited for.

A task is a list of pieces, each a call of a module-level function. Children take pieces from the
task that has used the least time so far, so that a slow task does not starve the others, and what a
task has finished when the time is over counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .pool import Call, Limits, Pool, Reply


@dataclass(frozen=True)
class Task:
    """Work under one name.

    Parameters
    ----------
    name : str
        Name of the outcome.
    pieces : sequence of (function, arguments)
        Calls of functions that can be imported, with arguments that can be pickled; the order says
        which matter most.
    then : callable, optional
        Called in the parent with the answer of each piece; returns further tasks.
    handicap : float
        Seconds that count as used from the start: others go first.
    """

    name: str
    pieces: Sequence[Call]
    then: Callable[[Any], Iterable[Task]] | None = None
    handicap: float = 0.0


@dataclass
class Outcome:
    """What became of a task.

    Parameters
    ----------
    answers : dict of int to object
        Answers of the pieces that ended well, by position.
    failures : dict of int to str
        Why others failed.
    unfinished : set of int
        Pieces that were stopped, or never begun.
    notes : list of str
        Warnings, each text once.
    seconds : float
        Wall time of all pieces.
    """

    answers: dict[int, Any] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)
    unfinished: set[int] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0


def run_within(
    tasks: Iterable[Task],
    seconds: float,
    *,
    piece_seconds: float = math.inf,
    workers: int | None = None,
    preload: Sequence[str] = (),
    progress: Callable[[int, int, str], object] | None = None,
) -> dict[str, Outcome]:
    """Outcomes of tasks, after at most the given time.

    Parameters
    ----------
    tasks : iterable of Task
        The work.
    seconds : float
        Wall time from now on; what is not finished then is killed.
    piece_seconds : float
        Wall time of one piece; a task whose piece takes longer is given up.
    workers : int, optional
        Number of children; one for each available processor if not given.
    preload : sequence of str
        Modules that children find imported already.
    progress : callable, optional
        Told (pieces done, pieces known, name) after each piece.

    Examples
    --------
    >>> tasks = [Task("root", [(math.sqrt, {})]), Task("empty", [(print, {"end": ""})])]
    >>> outcome = run_within(tasks, 60.0, workers=1)
    >>> outcome["root"].failures, outcome["empty"].answers
    ({0: 'TypeError: math.sqrt() takes exactly one argument (0 given)'}, {0: None})
    """
    deadline = time.monotonic() + seconds
    board = _Board(tasks, Limits(piece_seconds))
    with Pool(workers, preload=preload) as pool:
        while time.monotonic() < deadline and pool.hand_out(board.next_piece):
            for (name, place), reply, elapsed in pool.replies(deadline):
                board.record(name, place, elapsed, reply)
                if progress and reply.kind != "late":
                    progress(board.done, board.known, name)
    board.close()
    return board.outcomes


class _Board:
    """Pieces that are left, and what became of the others."""

    def __init__(self, tasks: Iterable[Task], limits: Limits) -> None:
        self._limits = limits
        self.outcomes: dict[str, Outcome] = {}
        self._tasks: dict[str, Task] = {}
        self._left: dict[str, list[int]] = {}
        self._running: dict[str, int] = {}
        self.done = 0
        self._add(tasks)

    def _add(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            if task.name in self._tasks:
                raise ValueError(f"two tasks are named '{task.name}'")
            self._tasks[task.name], self.outcomes[task.name] = task, Outcome()
            self._left[task.name] = list(range(len(task.pieces)))

    @property
    def known(self) -> int:
        return sum(len(task.pieces) for task in self._tasks.values())

    def next_piece(self, _: Sequence[Any]) -> tuple[tuple[str, int], Call, Limits] | None:
        """Piece of the task that has used the least time; of equals the first."""
        waiting = [name for name, left in self._left.items() if left]
        if not waiting:
            return None
        name = min(waiting, key=self._used)
        place = self._left[name].pop(0)
        self._running[name] = self._running.get(name, 0) + 1
        return (name, place), self._tasks[name].pieces[place], self._limits

    def _used(self, name: str) -> float:
        # A piece that runs now counts a little, so that idle children spread over the tasks.
        running = self._running.get(name, 0)
        return self._tasks[name].handicap + self.outcomes[name].seconds + running

    def record(self, name: str, place: int, elapsed: float, reply: Reply) -> None:
        """What a child has said of a piece; a task whose piece is late is given up."""
        outcome = self.outcomes[name]
        outcome.seconds += elapsed
        outcome.notes += [note for note in reply.notes if note not in outcome.notes]
        self._running[name] -= 1
        self.done += 1
        if reply.kind == "late":
            self.done += len(self._left[name])
            self._left[name] = []
        elif reply.kind == "answer":
            outcome.answers[place] = reply.value
            if then := self._tasks[name].then:
                self._add(then(reply.value))
        else:
            outcome.failures[place] = reply.problem

    def close(self) -> None:
        """Count what was not done."""
        for name, outcome in self.outcomes.items():
            ended = {*outcome.answers, *outcome.failures}
            outcome.unfinished = set(range(len(self._tasks[name].pieces))) - ended
