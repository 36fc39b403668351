"""Work in child processes that is useful at any time: coarse but whole first, then finer.

A task is a list of pieces, each a call of a module-level function. The first pieces of every task
are computed whatever the budget, all tasks in turn; what is left of the budget goes to further
pieces, to the task that has used the least of it. The budget counts the time that processors work
for us, not the time on the wall, which others may use.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .pool import Call, Limits, Pool, Reply

_DEAR = 4.0  # seconds of a task after which a few of its pieces are enough at first
_CLIMB = 2.0  # times the limit of a piece: a task that has taken longer is not followed at once
_SHARE, _LEAST = 0.2, 1.0  # of the time to spare, and seconds, for a first try


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
    coarse : int, optional
        How many of the first pieces are computed whatever the budget; all by default.
    enough : int
        How many of these are enough if they take long.
    rounds : int
        How often it is made finer whatever the budget, unless it takes long.
    refine : callable, optional
        Called in the parent with the answers so far when all pieces are done; returns the call that
        makes the outcome finer, or None if it is fine enough.
    patience : float
        How many times as long as others its pieces may take once there is an answer: who has a
        point wants the others too.
    split : callable, optional
        Told a call that takes too long, or would by the time of the pieces before it, returns
        smaller ones that are tried in its place: a list of some, and a list of others that follow
        one by one until one of them takes too long, or all of them twice as long as one may.
    then : callable, optional
        Called in the parent with the answer of each piece; returns further tasks.
    """

    name: str
    pieces: Sequence[Call]
    coarse: int | None = None
    enough: int = 3
    rounds: int = 0
    refine: Callable[[list[Any]], Call | None] | None = None
    patience: float = 1.0
    split: Callable[[Call], tuple[list[Call], list[Call]]] | None = None
    then: Callable[[Any], Iterable[Task]] | None = None


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
        Processor time of all pieces.
    too_slow : float
        Seconds that a piece was given and were not enough; 0 if there was none.
    calls : dict of int to (function, arguments)
        What was asked, by position.
    """

    answers: dict[int, Any] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)
    unfinished: set[int] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    too_slow: float = 0.0
    calls: dict[int, Call] = field(default_factory=dict)


def run_within(
    tasks: Iterable[Task],
    seconds: float,
    *,
    piece_seconds: float = math.inf,
    workers: int | None = None,
    preload: Sequence[str] = (),
    recall: Callable[[str, Call], Any] | None = None,
    progress: Callable[[_Board, str], object] | None = None,
) -> dict[str, Outcome]:
    """Outcomes of tasks: the coarse pieces of all, and as many others as the budget allows.

    Parameters
    ----------
    tasks : iterable of Task
        The work.
    seconds : float
        Seconds for each child, counted in processor time.
    piece_seconds : float
        Processor time of one piece; a task whose first piece, or two, take longer is given up.
    workers : int, optional
        Number of children; one for each available processor if not given.
    preload : sequence of str
        Modules that children find imported already.
    recall : callable, optional
        Told the name of a task and a call, gives the answer if it is known already, else None.
    progress : callable, optional
        Told the board (``done``, ``known``, ``outcomes``) and the name of the task after each
        piece.

    Examples
    --------
    >>> tasks = [Task("root", [(math.sqrt, {})]), Task("empty", [(print, {"end": ""})])]
    >>> outcome = run_within(tasks, 60.0, workers=1)
    >>> outcome["root"].failures, outcome["empty"].answers
    ({0: 'TypeError: math.sqrt() takes exactly one argument (0 given)'}, {0: None})
    """
    with Pool(workers, preload=preload) as pool:
        board = _Board(tasks, seconds * pool.workers, piece_seconds, recall)
        while pool.hand_out(board.next_piece):
            for (name, place), reply, elapsed in pool.replies():
                board.record(name, place, elapsed, reply)
                if progress:
                    progress(board, name)
    board.close()
    return board.outcomes


def measured(
    function: Callable[..., Any], arguments: Mapping[str, Any], seconds: float
) -> tuple[Any, float]:
    """Answer of a call and its processor time; the system ends the process if it takes longer.

    Examples
    --------
    >>> measured(dict, {"a": 1}, math.inf)[0]
    {'a': 1}
    """
    began = time.process_time()
    if limited := math.isfinite(seconds) and hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return function(**arguments), time.process_time() - began
    finally:
        if limited:
            signal.setitimer(signal.ITIMER_PROF, 0.0)


class _Board:
    """Pieces that are left, and what became of the others."""

    def __init__(
        self,
        tasks: Iterable[Task],
        seconds: float = math.inf,
        piece_seconds: float = math.inf,
        recall: Callable[[str, Call], Any] | None = None,
    ) -> None:
        self.outcomes: dict[str, Outcome] = {}
        self.done = 0
        self._seconds, self._limit, self._recall = seconds, piece_seconds, recall
        self._tasks: dict[str, Task] = {}
        self._pieces: dict[str, list[Call]] = {}
        self._begun: dict[str, int] = {}
        self._running: dict[str, int] = {}
        self._refined: dict[str, float] = {}
        self._limits: dict[str, float] = {}
        self._rounds: dict[str, int] = {}
        self._parts: dict[str, int] = {}
        self._climb: dict[str, int] = {}
        self._fine: set[str] = set()
        self._add(tasks)

    def _add(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            if task.name in self._tasks:
                raise ValueError(f"two tasks are named '{task.name}'")
            self._tasks[task.name], self.outcomes[task.name] = task, Outcome()
            self._pieces[task.name] = list(task.pieces)
            self._begun[task.name] = self._running[task.name] = 0
            self._refined[task.name] = 0.0
            self._rounds[task.name] = self._parts[task.name] = 0

    @property
    def known(self) -> int:
        """Number of pieces that are known of."""
        return sum(map(len, self._pieces.values()))

    def next_piece(self, _: Sequence[Any]) -> tuple[tuple[str, int], Call, Limits] | None:
        """Piece that is computed next: of a coarse curve while there is one, then of a finer."""
        while (name := self._next_task()) is not None:
            place, call = self._begun[name], self._pieces[name][self._begun[name]]
            self.outcomes[name].calls[place] = call
            self._begun[name] += 1
            self._running[name] += 1
            answer = self._recall(name, call) if self._recall else None
            if answer is not None:
                self.record(name, place, 0.0, Reply("answer", (answer, 0.0)))
                continue
            limit = self._limits[name] = self._patience(name, place)
            if self._has_split(name, call, limit):
                self._running[name] -= 1
                self.done += 1
                continue
            return (name, place), (measured, _arguments(call, limit)), Limits()
        return None

    def _next_task(self) -> str | None:
        for name, task in self._tasks.items():
            is_due = self._rounds[name] < task.rounds and self.outcomes[name].seconds <= _DEAR
            if is_due and self._begun[name] == len(self._pieces[name]) and self._has_finer(name):
                self._rounds[name] += 1
        coarse = [
            name for name in self._tasks
            if self._begun[name] < self._first(name)
            and not self._is_tried(name)
            and not (self._climbs(name, self._begun[name]) and self._must_wait(name))
        ]  # fmt: skip
        if coarse:
            return min(coarse, key=self._turn)
        fine = [name for name in self._tasks if not self._is_tried(name) and self._can_refine(name)]
        return min(fine, key=self._refined.__getitem__, default=None)

    def _is_tried(self, name: str) -> bool:
        """Whether a child is at the first piece: others wait to see if it takes too long."""
        return self._running[name] > 0 and not self.outcomes[name].answers

    def _turn(self, name: str) -> tuple[float, ...]:
        """Every curve has a point soon; then come those whose next pieces wait for these.

        Others follow in turn, what takes long first, so that all children end together.
        """
        begun = self._begun[name]
        waits = begun and not self._tasks[name].rounds
        return bool(begun), waits, begun, -self._cost(name)

    def _patience(self, name: str, place: int) -> float:
        """Seconds after which a piece is ended.

        A task that is tried with time to spare may take a part of that time for its first piece,
        not all of it from the others.
        """
        if self.outcomes[name].answers:
            return self._limit * self._tasks[name].patience
        if place < self._first(name):
            return self._limit
        spent = sum(one.seconds for one in self.outcomes.values())
        return min(self._limit, max(_SHARE * (self._seconds - spent), _LEAST))

    def _first(self, name: str) -> int:
        """How many pieces of a task are computed whatever the budget."""
        task, outcome = self._tasks[name], self.outcomes[name]
        parts = self._parts[name]
        many = (len(task.pieces) if task.coarse is None else task.coarse) + self._rounds[name]
        if outcome.seconds > _DEAR:
            many = min(many, max(task.enough, len(outcome.answers) - parts))
        return min(many + parts, len(self._pieces[name]))

    def _can_refine(self, name: str) -> bool:
        """Whether a task has a piece that the budget allows."""
        outcome, begun = self.outcomes[name], self._begun[name]
        spent = sum(one.seconds for one in self.outcomes.values())
        spent += sum(count * self._cost(other) for other, count in self._running.items())
        if spent + self._cost(name) >= self._seconds or outcome.too_slow:
            return False
        return begun < len(self._pieces[name]) or self._has_finer(name)

    def _has_finer(self, name: str) -> bool:
        """Whether a task whose pieces are done has one more, which is added."""
        refine, outcome = self._tasks[name].refine, self.outcomes[name]
        is_over = name in self._fine or outcome.failures or outcome.too_slow or not outcome.answers
        if refine is None or self._running[name] or is_over:
            return False
        if (call := refine(list(outcome.answers.values()))) is None:
            self._fine.add(name)
            return False
        self._pieces[name].append(call)
        return True

    def _cost(self, name: str) -> float:
        """Seconds that a further piece of a task takes, from those before it."""
        outcome = self.outcomes[name]
        return outcome.seconds / max(len(outcome.answers), 1)

    def record(self, name: str, place: int, elapsed: float, reply: Reply) -> None:
        """What a child has said; a task whose first piece or two are too slow is given up."""
        outcome = self.outcomes[name]
        outcome.notes += [note for note in reply.notes if note not in outcome.notes]
        self._running[name] -= 1
        self.done += 1
        if reply.kind == "answer":
            outcome.answers[place], elapsed = reply.value
            if then := self._tasks[name].then:
                self._add(then(outcome.answers[place]))
        elif reply.kind == "death" and "SIGPROF" in str(reply.value):
            elapsed = self._limits[name]
            if not self._has_split(name, outcome.calls[place]):
                if outcome.too_slow or not outcome.answers or self._climbs(name, place):
                    self._begun[name] = len(self._pieces[name])
                outcome.too_slow = elapsed
        else:
            outcome.failures[place] = reply.problem
        outcome.seconds += elapsed
        if place >= self._first(name):
            self._refined[name] += elapsed

    def _has_split(self, name: str, call: Call, limit: float = 0.0) -> bool:
        """Whether a call is tried in parts, which come next: those together are beyond a limit."""
        split, begun = self._tasks[name].split, self._begun[name]
        some, climb = split(call) if split and self.outcomes[name].answers else ([], [])
        parts = [*some, *climb]
        if not parts or len(parts) * self._cost(name) < limit:
            return False
        self._pieces[name][begun:begun] = parts
        self._parts[name] += len(parts)
        self._climb[name] = begun + len(some)
        return True

    def _climbs(self, name: str, place: int) -> bool:
        """Whether a piece is one of those that follow one by one."""
        return place >= self._climb.get(name, place + 1)

    def _must_wait(self, name: str) -> bool:
        """Whether the next of these waits: for the one before it, or for time to spare."""
        return self._running[name] > 0 or self.outcomes[name].seconds > _CLIMB * self._limit

    def close(self) -> None:
        """Count what was not done."""
        for name, outcome in self.outcomes.items():
            ended = {*outcome.answers, *outcome.failures}
            outcome.unfinished = set(range(len(self._pieces[name]))) - ended


def _arguments(call: Call, seconds: float) -> dict[str, Any]:
    function, arguments = call
    return {"function": function, "arguments": arguments, "seconds": seconds}
