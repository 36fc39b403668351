"""Work in child processes that can be stopped: what is not done in time is killed, not waited for.

A task is a list of pieces, each a call of a module-level function. Children take pieces from the
task that has used the least time so far, so that a slow task does not starve the others, and what a
task has finished when the time is over counts.
"""

from __future__ import annotations

import logging
import math
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .errors import GradoneError

Call = tuple[Callable[..., Any], Mapping[str, Any]]
_GRACE = 2.0  # seconds between the polite and the impolite end of a child
_STARTING = threading.Lock()


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


def available_cores() -> int:
    """Processors that this process may use.

    Examples
    --------
    >>> available_cores() >= 1
    True
    """
    # The affinity, where it is known, respects the share that a batch system has given.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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

    Notes
    -----
    Children are forked from a server process that imports no ``__main__``: a script that calls this
    needs no guard. They end when their parent does, also if it is killed.

    Examples
    --------
    >>> import time
    >>> tasks = [Task("root", [(math.sqrt, {})]), Task("sleep", [(print, {"end": ""})])]
    >>> outcome = run_within(tasks, 60.0, workers=1)
    >>> outcome["root"].failures, outcome["sleep"].answers
    ({0: 'TypeError: math.sqrt() takes exactly one argument (0 given)'}, {0: None})
    """
    deadline = time.monotonic() + seconds
    crew = _Crew(workers or available_cores(), preload)
    board = _Board(tasks)
    try:
        while (board.is_open or crew.is_busy) and time.monotonic() < deadline:
            for child in crew.idle(needed=board.pending):
                child.start(*board.next_piece())
            limit = min([deadline, *(c.began + piece_seconds for c in crew.busy)])
            for child in crew.wait(limit - time.monotonic()):
                board.record(child.name, child.place, child.elapsed, *child.receive())
                if progress:
                    progress(board.done, board.known, child.name)
            now = time.monotonic()
            for child in [c for c in crew.busy if now > c.began + piece_seconds]:
                board.give_up(child.name, child.elapsed)
                crew.dismiss(child)
    finally:
        crew.dismiss_all()
    board.close()
    return board.outcomes


class _Board:
    """Pieces that are left, and what became of the others."""

    def __init__(self, tasks: Iterable[Task]) -> None:
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
    def pending(self) -> int:
        return sum(map(len, self._left.values()))

    @property
    def is_open(self) -> bool:
        return self.pending > 0

    @property
    def known(self) -> int:
        return sum(len(task.pieces) for task in self._tasks.values())

    def next_piece(self) -> tuple[str, int, Call]:
        """Piece of the task that has used the least time; of equals the first."""
        # A piece that runs now counts a little, so that idle children spread over the tasks.
        name = min(
            (name for name, left in self._left.items() if left),
            key=self._used,
        )
        place = self._left[name].pop(0)
        self._running[name] = self._running.get(name, 0) + 1
        return name, place, self._tasks[name].pieces[place]

    def _used(self, name: str) -> float:
        running = self._running.get(name, 0)
        return self._tasks[name].handicap + self.outcomes[name].seconds + running

    def record(
        self, name: str, place: int, elapsed: float, kind: str, value: Any, notes: list[str]
    ) -> None:
        outcome = self.outcomes[name]
        outcome.seconds += elapsed
        outcome.notes += [note for note in notes if note not in outcome.notes]
        self._running[name] -= 1
        self.done += 1
        if kind == "failure":
            outcome.failures[place] = value
            return
        outcome.answers[place] = value
        if then := self._tasks[name].then:
            self._add(then(value))

    def give_up(self, name: str, elapsed: float) -> None:
        self.outcomes[name].seconds += elapsed
        self._running[name] -= 1
        self.done += 1 + len(self._left[name])
        self._left[name] = []

    def close(self) -> None:
        for name, outcome in self.outcomes.items():
            ended = {*outcome.answers, *outcome.failures}
            outcome.unfinished = set(range(len(self._tasks[name].pieces))) - ended


class Child:
    """One child process and the piece that it works on.

    Parameters
    ----------
    context : multiprocessing context
        How processes are started.
    life : callable
        What the child does with its end of the connection; by default it answers calls. A
        module-level function. When the parent is gone the child ends, whatever it does.
    """

    def __init__(self, context: Any, life: Callable[[Any], None] | None = None) -> None:
        self.connection, theirs = context.Pipe()
        lifeline, self._held = context.Pipe(duplex=False)
        arguments = (theirs, lifeline, life or answer_calls)
        self.process = context.Process(target=_live, args=arguments, daemon=True)
        with _without_main():
            self.process.start()
        theirs.close()
        lifeline.close()
        self.name, self.place, self.began, self.is_busy = "", 0, math.inf, False

    def start(self, name: str, place: int, call: Call) -> None:
        """Send a piece of the task `name`."""
        self.name, self.place, self.began, self.is_busy = name, place, time.monotonic(), True
        self.connection.send(call)

    @property
    def elapsed(self) -> float:
        """Seconds since the piece was sent."""
        return time.monotonic() - self.began

    def receive(self) -> tuple[str, Any, list[str]]:
        """Kind of the answer, the answer and the warnings."""
        self.is_busy = False
        try:
            kind, value, notes = self.connection.recv()
        except (EOFError, ConnectionResetError):
            self.process.join(_GRACE)
            code = self.process.exitcode
            return "failure", f"its process ended without an answer (exit code {code})", []
        return kind, value, notes

    def end(self) -> None:
        """Stop the child, by force if it does not stop by itself."""
        self.process.terminate()
        self.process.join(_GRACE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()
        self.connection.close()
        self._held.close()


class _Crew:
    """Children, as many as allowed, made when they are needed."""

    def __init__(self, workers: int, preload: Sequence[str]) -> None:
        self._context = child_context(preload)
        self._workers = workers
        self._children: list[Child] = []

    @property
    def busy(self) -> list[Child]:
        return [child for child in self._children if child.is_busy]

    @property
    def is_busy(self) -> bool:
        return bool(self.busy)

    def idle(self, *, needed: int) -> list[Child]:
        for child in [c for c in self._children if not c.is_busy and not c.process.is_alive()]:
            self.dismiss(child)
        idle = [child for child in self._children if not child.is_busy]
        while len(idle) < needed and len(self._children) < self._workers:
            self._children.append(Child(self._context))
            idle.append(self._children[-1])
        return idle[:needed]

    def wait(self, seconds: float) -> list[Child]:
        by_connection = {child.connection: child for child in self.busy}
        ready = multiprocessing.connection.wait([*by_connection], max(seconds, 0.0))
        return [by_connection[connection] for connection in ready]

    def dismiss(self, child: Child) -> None:
        self._children.remove(child)
        child.end()

    def dismiss_all(self) -> None:
        for child in self._children:
            child.process.terminate()  # all at once; `end` then waits for each
        for child in [*self._children]:
            self.dismiss(child)


def child_context(preload: Sequence[str] = ()) -> Any:
    """How children are started: forked from a server that has imported what they need.

    Parameters
    ----------
    preload : sequence of str
        Modules that children find imported already.
    """
    kind = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context: Any = multiprocessing.get_context(kind)
    if preload and kind == "forkserver":
        context.set_forkserver_preload([*preload])
    return context


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide the main script: children call only what can be imported, and must not run it again."""
    with _STARTING:  # two threads would put back each other's
        main = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


def _live(connection: Any, lifeline: Any, life: Callable[[Any], None]) -> None:
    """Life of a child, which ends with its parent."""
    _end_by_signal(lifeline)
    threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, who then ends us
    logging.getLogger(__package__.partition(".")[0]).addHandler(logging.NullHandler())
    _use_one_thread()
    life(connection)


def answer_calls(connection: Any) -> None:
    """Calls come in, answers go out, until the parent is gone."""
    while True:
        try:
            function, arguments = connection.recv()
        except EOFError:
            return
        connection.send(_answer(function, arguments))


def _answer(
    function: Callable[..., Any], arguments: Mapping[str, Any]
) -> tuple[str, Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            kind, value = "answer", function(**arguments)
        except GradoneError as error:
            kind, value = "failure", str(error)
        except Exception as error:
            kind, value = "failure", f"{type(error).__name__}: {error}"
    return kind, value, [str(warning.message) for warning in caught]


def _end_by_signal(lifeline: Any) -> None:
    """Let the system end this process with its parent, also inside a loop that holds the GIL."""
    if hasattr(signal, "SIGIO"):
        import fcntl

        descriptor = lifeline.fileno()
        fcntl.fcntl(descriptor, fcntl.F_SETOWN, os.getpid())
        flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
        fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_ASYNC)  # closed: SIGIO, which ends us


def _end_with_parent(lifeline: Any) -> None:
    multiprocessing.connection.wait([lifeline])  # it is never written to: ready means closed
    os._exit(1)


def _use_one_thread() -> None:
    """One thread of linear algebra for each child: they are as many as the processors."""
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    if "numpy" in sys.modules:
        from threadpoolctl import threadpool_limits

        threadpool_limits(1)
