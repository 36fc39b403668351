"""A few processes that answer one question after the other, and are replaced when they fail."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ..base.children import Call, Child, answer_calls


class Unanswered(Exception):
    """A question that has no answer: it took too long, or (a failure) its process ended."""

    def __init__(self, words: str, *, is_failure: bool = False) -> None:
        super().__init__(words)
        self.is_failure = is_failure


class Crew:
    """Processes for questions, as many as allowed.

    Parameters
    ----------
    context : multiprocessing context
        How processes are started.
    first : (function, arguments)
        What a new process is asked before anybody else asks it, so that nobody waits for imports.
    workers : int
        Number of processes, never exceeded.
    seconds : float
        Time for one answer; then its process is replaced.
    memory : int
        Address space of a process in bytes; at a quarter of it in use, the process is replaced.
    niceness : int
        How far these processes stand back behind others.
    """

    def __init__(
        self,
        context: Any,
        first: Call,
        *,
        workers: int,
        seconds: float,
        memory: int,
        niceness: int = 0,
    ) -> None:
        self._context, self._first, self._seconds = context, first, seconds
        self._memory, self._life = memory, partial(_live, memory, niceness)
        # A place without a process gets one when it is needed.
        self._idle: list[Child | None] = [None] * workers
        self._replacing: set[asyncio.Task[None]] = set()
        self.on_free: Callable[[], None] = lambda: None

    @property
    def is_free(self) -> bool:
        """Whether somebody can answer now."""
        return bool(self._idle)

    def take(self) -> Child | None:
        """Somebody who is free; :meth:`answer` gives the place back."""
        return self._idle.pop()

    async def answer(self, child: Child | None, call: Call) -> Any:
        """Answer to a call of a module-level function.

        Parameters
        ----------
        child : Child or None
            What :meth:`take` gave.
        call : (function, arguments)
            What to call in the process.

        Raises
        ------
        Unanswered
            If there is no answer.
        """
        try:
            if child is None or not child.process.is_alive():
                child = await self._hire(child)
            found = await self._asked(child, call)
        except BaseException:  # the process may still work on it
            if child is not None:
                await asyncio.shield(asyncio.to_thread(child.end))
            self._give_back(None)
            raise
        if resident_bytes(child.process.pid) > self._memory / 4:
            task = asyncio.create_task(self._replace(child))
            self._replacing.add(task)
            task.add_done_callback(self._replacing.discard)
        else:
            self._give_back(child)
        return found

    async def _asked(self, child: Child, call: Call) -> Any:
        child.start("question", 0, call)
        try:
            async with asyncio.timeout(self._seconds):
                await readable(child.connection)
        except TimeoutError:
            raise Unanswered(
                f"no answer within {self._seconds:g} seconds: this is too much for the page. "
                "Use the command line or Python, which have no such limit."
            ) from None
        kind, value, _ = child.receive()
        if kind == "failure":
            raise Unanswered(value, is_failure=True)
        return value

    def _give_back(self, child: Child | None) -> None:
        self._idle.append(child)
        self.on_free()

    async def _hire(self, old: Child | None = None) -> Child:
        """A new process, ready to answer; if there is an old one, in its place."""
        if old is not None:
            await asyncio.shield(asyncio.to_thread(old.end))
        child = await started(self._context, self._life)
        try:
            child.start("question", 0, self._first)
            await readable(child.connection)
            child.receive()
        except BaseException:
            await asyncio.shield(asyncio.to_thread(child.end))
            raise
        return child

    async def _replace(self, old: Child | None) -> None:
        child = None
        try:
            child = await self._hire(old)
        finally:
            self._give_back(child)

    async def warm_up(self) -> None:
        """Start all processes before somebody asks."""
        places = self._idle.count(None)
        self._idle = [child for child in self._idle if child is not None]
        await asyncio.gather(*(self._replace(None) for _ in range(places)))

    async def close(self) -> None:
        """Stop all processes that nobody uses."""
        for task in self._replacing:
            task.cancel()
        await asyncio.gather(*self._replacing, return_exceptions=True)
        children = [child for child in self._idle if child is not None]
        self._idle = []
        await asyncio.gather(*(asyncio.to_thread(child.end) for child in children))


def _live(memory: int, niceness: int, connection: Any) -> None:
    """Life of a process that answers questions."""
    limit_memory(memory)
    os.nice(niceness)
    answer_calls(connection)


def limit_memory(size: int) -> None:
    """Let this process use no more address space than `size` bytes."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def resident_bytes(pid: int | None) -> int:
    """Memory that a process holds; zero where the system does not say.

    Examples
    --------
    >>> resident_bytes(os.getpid()) < 2**40
    True
    """
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


async def started(context: Any, life: Callable[[Any], None]) -> Child:
    """A new child.

    The first one waits for seconds of imports. Who interrupts the lab meanwhile need not: unlike
    those of :func:`asyncio.to_thread`, the thread of this is not waited for at the end.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Future[Child] = loop.create_future()

    def tell(child: Child | None, error: BaseException | None) -> None:
        if found.done():
            return  # without anybody who holds it, the child ends
        if child is not None:
            found.set_result(child)
        elif error is not None:
            found.set_exception(error)

    def start() -> None:
        child, problem = None, None
        try:
            child = Child(context, life)
        except Exception as error:
            problem = error
        with contextlib.suppress(RuntimeError):  # there is no loop any more
            loop.call_soon_threadsafe(tell, child, problem)

    threading.Thread(target=start, daemon=True).start()
    return await found


async def readable(connection: Any) -> None:
    """Wait until a connection has something to read, or is closed on the other side."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(connection.fileno(), ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(connection.fileno())
