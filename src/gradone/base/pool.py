"""Child processes that answer calls: limited in time and memory, and never left behind.

There is one pool for all that is computed in other processes. :func:`.children.run_within` shares a
budget of time among tasks, the executor ``"processes"`` computes the cells of a sweep, and the web
lab answers questions; each decides what is computed next, and the rest happens here.
"""

from __future__ import annotations

import contextlib
import gc
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from .errors import GradoneError, WorkersFailed
from .lifeline import end_with, offered
from .memory import human_bytes
from .threads import VARIABLES, available_cores, single_threaded_children, use_one_thread

Call = tuple[Callable[..., Any], Mapping[str, Any]]
"""A function that can be imported, and arguments that can be pickled."""
_GRACE = 2.0  # seconds between the polite and the impolite end of a child
_LOOK_SECONDS = 0.1  # between two looks at the memory of children that have a limit
_ATTEMPTS = 3  # to start a child
_GROWN = 0.25  # share of the memory limit at which an idle child is replaced
_STARTING = threading.Lock()


@dataclass(frozen=True)
class Limits:
    """What a call may use before its process is killed, whatever it does there.

    Parameters
    ----------
    seconds : float
        Wall time until the answer; for an iterator, until its next value.
    memory : float
        Bytes that the process may hold in addition to what a new one holds.

    Notes
    -----
    The memory is what a process really holds, looked at ten times a second from outside. A limit
    of its address space (``RLIMIT_AS``) acts at once, but counts what libraries only reserve (the
    buffers of BLAS, the arenas of threads, a GPU's whole memory), and where it is met compiled code
    may crash instead of raising. So it is taken for what we know (the lab), not for code of others.

    Examples
    --------
    >>> Limits(60.0, 2e9)
    Limits(seconds=60.0, memory=2000000000.0)
    """

    seconds: float = math.inf
    memory: float = math.inf


Feed = Callable[[Sequence[Any]], tuple[Any, Call, Limits] | None]
"""Told what is at work, gives what comes next: a mark, a call and its limits, or None."""


@dataclass(frozen=True)
class Reply:
    """What a child sends back, or what became of it.

    Parameters
    ----------
    kind : {"event", "answer", "failure", "death", "late", "large"}
        A value of an iterator, of which more come; the value of a call; the reason why the call
        failed; how the process ended before it answered; that the time was over, or that it took
        too much memory.
    value : object
        What this kind says.
    notes : tuple of str
        Texts of warnings.
    """

    kind: Literal["event", "answer", "failure", "death", "late", "large"]
    value: Any = None
    notes: tuple[str, ...] = ()

    @property
    def problem(self) -> str:
        """Why there is no answer, in words."""
        if self.kind == "death":
            return f"its process ended without an answer ({self.value})"
        return str(self.value)


class Child:
    """One child process and the call that it works on.

    Parameters
    ----------
    context : multiprocessing context
        How processes are started.
    memory : int, optional
        Bytes of address space; what needs more fails.
    niceness : int
        How far the process stands back behind others.
    """

    def __init__(self, context: Any, *, memory: int | None = None, niceness: int = 0) -> None:
        self.connection, theirs = context.Pipe()
        lifeline, self._held = context.Pipe(duplex=False)
        arguments = (theirs, lifeline, memory, niceness)
        self.process = context.Process(target=_live, args=arguments, daemon=True)
        with _STARTING, _without_main(), single_threaded_children(), offered():
            self.process.start()
        theirs.close()
        lifeline.close()
        self.mark: Any = None
        self.limits, self.newborn_bytes = Limits(), 0
        self.began, self.is_busy = math.inf, False

    def ask(self, call: Call, mark: Any = None, limits: Limits | None = None) -> None:
        """Send a call; `mark` tells it from others."""
        self.mark, self.limits = mark, limits or Limits()
        self.began, self.is_busy = time.monotonic(), True
        with contextlib.suppress(OSError):  # it is dead, which `receive` will find out
            self.connection.send(call)

    @property
    def elapsed(self) -> float:
        """Seconds since the call was sent, or since the last event."""
        return time.monotonic() - self.began

    @property
    def excess(self) -> Reply | None:
        """What the call takes beyond its limits, if it does."""
        seconds, memory = self.limits.seconds, self.limits.memory
        if self.elapsed > seconds:
            return Reply("late", f"it took more than {seconds:g} seconds")
        if math.isfinite(memory) and held_bytes(self.process.pid) - self.newborn_bytes > memory:
            return Reply("large", f"it took more than {human_bytes(memory)} of memory")
        return None

    def receive(self) -> Reply:
        """Next reply to the call; waits for it."""
        try:
            reply: Reply = self.connection.recv()
        except (EOFError, OSError):
            self.process.join(_GRACE)
            reply = Reply("death", _exit(self.process.exitcode))
        self.is_busy = reply.kind == "event"
        if self.is_busy:
            self.began = time.monotonic()
        return reply

    def end(self) -> None:
        """Stop the child: an idle one leaves by itself, another is told, then forced."""
        self.connection.close()
        self.process.terminate()
        self.process.join(_GRACE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()
        self._held.close()


class Pool:
    """Child processes, as many as allowed, made when they are needed.

    Parameters
    ----------
    workers : int, optional
        Number of children, never exceeded; one for each available processor if not given.
    preload : sequence of str
        Modules that children find imported already.
    first : (function, arguments), optional
        What a new child is asked before anything else; without an answer it cannot be used.
    memory : int, optional
        Bytes of address space of a child. One that is idle and holds a quarter of it is replaced.
    niceness : int
        How far the children stand back behind other processes.

    Notes
    -----
    Children are forked from a server process that imports no ``__main__``: a script that uses them
    needs no guard. They end when their parent does, also if it is killed.

    Examples
    --------
    >>> calls = iter([("two", (int, {}), Limits()), ("error", (math.sqrt, {}), Limits(60.0))])
    >>> with Pool(1) as pool:
    ...     while pool.hand_out(lambda at_work: next(calls, None)):
    ...         for mark, reply, _ in pool.replies():
    ...             print(mark, reply.kind, reply.value)
    two answer 0
    error failure TypeError: math.sqrt() takes exactly one argument (0 given)
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        preload: Sequence[str] = (),
        first: Call | None = None,
        memory: int | None = None,
        niceness: int = 0,
    ) -> None:
        self.workers = workers or available_cores()
        self.memory, self.niceness = memory, niceness
        self._first, self._context = first, _context(preload)
        self._idle: list[Child] = []
        self._taken: list[Child] = []

    # ---- one child at a time

    def take(self) -> Child:
        """A child that is free for :meth:`Child.ask`; waits until a new one is ready."""
        with contextlib.suppress(IndexError):  # other threads may take one as well
            while True:
                child = self._idle.pop()
                self._taken.append(child)
                if child.process.is_alive():
                    return child
                self.dismiss(child)
        for _ in range(_ATTEMPTS):
            child = Child(self._context, memory=self.memory, niceness=self.niceness)
            self._taken.append(child)
            reply = self._greeting(child)
            if reply.kind == "answer":
                child.newborn_bytes = held_bytes(child.process.pid)
                return child
            self.dismiss(child)
            if reply.kind == "failure":
                raise WorkersFailed(f"a child process cannot be prepared:\n{reply.problem}")
        raise WorkersFailed(
            f"{_ATTEMPTS} child processes in a row ended before they were ready ({reply.value})"
        )

    def _greeting(self, child: Child) -> Reply:
        if self._first is None:
            return Reply("answer")
        child.ask(self._first)
        return child.receive()

    def has_grown(self, child: Child) -> bool:
        """Whether a child holds so much memory that it should be replaced."""
        if self.memory is None:
            return False
        return held_bytes(child.process.pid) > _GROWN * self.memory

    def give_back(self, child: Child) -> None:
        """Let others use a child that is idle again; a dead or a grown one is dismissed."""
        if not child.process.is_alive() or self.has_grown(child):
            self.dismiss(child)
        else:
            self._taken.remove(child)
            self._idle.append(child)

    def dismiss(self, child: Child) -> None:
        """Stop a child, whatever it does."""
        self._taken.remove(child)
        child.end()

    def close(self) -> None:
        """Stop all children."""
        self._taken, self._idle = [*self._taken, *self._idle], []
        for child in self._taken:
            child.process.terminate()  # all at once; `end` then waits for each
        for child in [*self._taken]:
            self.dismiss(child)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    # ---- many calls, answered as they come

    def hand_out(self, feed: Feed) -> int:
        """Give calls to all who are free, as long as there are any; how many are at work then."""
        while len(self._taken) < self.workers:
            piece = feed([child.mark for child in self._taken])
            if piece is None:
                break
            mark, call, limits = piece
            self.take().ask(call, mark, limits)
        return len(self._taken)

    def replies(self, until: float = math.inf) -> list[tuple[Any, Reply, float]]:
        """Marks, replies and seconds of the calls that are answered next, or beyond their limits.

        Parameters
        ----------
        until : float
            Value of :func:`time.monotonic` at which there are no replies if none has come.
        """
        limit = min([until, *(child.began + child.limits.seconds for child in self._taken)])
        if any(math.isfinite(child.limits.memory) for child in self._taken):
            limit = min(limit, time.monotonic() + _LOOK_SECONDS)
        patience = None if math.isinf(limit) else max(limit - time.monotonic(), 0.0)
        connections = [child.connection for child in self._taken]
        ready = multiprocessing.connection.wait(connections, patience)
        found = []
        for child in [*self._taken]:
            if child.connection in ready:
                elapsed, reply = child.elapsed, child.receive()
                found.append((child.mark, reply, elapsed))
                if not child.is_busy:
                    self.give_back(child)
            elif excess := child.excess:
                found.append((child.mark, excess, child.elapsed))
                self.dismiss(child)
        return found


def held_bytes(pid: int | None) -> int:
    """Memory that a process has filled itself; zero where the system does not say.

    Files, such as those of libraries, are not counted: the system takes their memory back.

    Examples
    --------
    >>> held_bytes(os.getpid()) < 2**40
    True
    """
    try:
        resident, shared = Path(f"/proc/{pid}/statm").read_text().split()[1:3]
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def used_seconds(pid: int | None) -> float:
    """Processor time that a process has used; zero where the system does not say.

    Examples
    --------
    >>> 0 <= used_seconds(os.getpid()) < 1e6
    True
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _context(preload: Sequence[str]) -> Any:
    """How children are started: forked from a server that has imported what they need."""
    kind = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context: Any = multiprocessing.get_context(kind)
    if kind == "forkserver":
        first = f"{__package__}.preloading"
        context.set_forkserver_preload([first, end_with.__module__, *preload])
    return context


def prepare(preload: Sequence[str]) -> None:
    """Begin to import what children will need, in the process that they are forked from."""
    if "forkserver" in multiprocessing.get_all_start_methods():
        from multiprocessing import forkserver

        _context(preload)
        with _STARTING, _without_main(), single_threaded_children():
            forkserver.ensure_running()


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Hide the main script: children call only what can be imported, and must not run it again."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _exit(code: int | None) -> str:
    """How a process ended.

    Examples
    --------
    >>> _exit(3), _exit(-9)
    ('exit code 3', 'signal 9, SIGKILL')
    """
    if code is None or code >= 0:
        return f"exit code {code}"
    return f"signal {-code}, {signal.Signals(-code).name}"


# ---- in the child


def _live(connection: Any, lifeline: Any, memory: int | None, niceness: int) -> None:
    """Life of a child: calls come in, replies go out, until the parent is gone."""
    end_with(lifeline.fileno())
    gc.freeze()
    gc.enable()
    threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, who then ends us
    logging.getLogger(__package__.partition(".")[0]).addHandler(logging.NullHandler())
    use_one_thread()
    os.environ.update(dict.fromkeys(VARIABLES, "1"))  # for libraries that come later
    if niceness:
        os.nice(niceness)
    if memory is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    while True:
        try:
            function, arguments = connection.recv()
        except EOFError:
            return
        for reply in _replies(function, arguments, memory):
            connection.send(reply)


def _replies(
    function: Callable[..., Any], arguments: Mapping[str, Any], memory: int | None
) -> Iterator[Reply]:
    """Events of an iterator, and the answer, or why there is none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            value = function(**arguments)
            if isinstance(value, Iterator):
                for event in value:
                    yield Reply("event", event)
                value = None
            kind: Literal["answer", "failure"] = "answer"
        except GradoneError as error:
            kind, value = "failure", str(error)
        except Exception as error:
            kind, value = "failure", f"{type(error).__name__}: {error}"
            if isinstance(error, MemoryError) and memory is not None:
                value = (
                    f"this needs more than the {human_bytes(memory)} of memory that one process "
                    "may use; choose smaller sizes"
                )
    yield Reply(kind, value, tuple(str(warning.message) for warning in caught))


def _end_with_parent(lifeline: Any) -> None:
    multiprocessing.connection.wait([lifeline])  # it is never written to: ready means closed
    os._exit(1)
