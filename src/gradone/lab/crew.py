"""A few processes that answer one question after the other, and are replaced when they fail."""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
from collections.abc import Callable
from typing import Any

from ..base.pool import Call, Child, Pool, used_seconds

_LOOK_SECONDS = 0.2  # between two looks at the processor time of an answer


class Unanswered(Exception):
    """A question that has no answer: it took too long (late), or (a failure) its process ended."""

    def __init__(self, words: str, *, is_failure: bool = False, is_late: bool = False) -> None:
        super().__init__(words)
        self.is_failure, self.is_late = is_failure, is_late


class Crew:
    """Processes of a pool, for questions that are asked in an event loop.

    Parameters
    ----------
    pool : Pool
        The processes.
    seconds, processor_seconds : float
        Time for one answer: on the wall, and of a processor.
    """

    def __init__(
        self, pool: Pool, seconds: float = math.inf, processor_seconds: float = math.inf
    ) -> None:
        self._pool, self._free = pool, pool.workers
        self._seconds, self._processor_seconds = seconds, processor_seconds
        self._replacing: set[asyncio.Task[None]] = set()
        self.on_free: Callable[[], None] = lambda: None

    @property
    def is_free(self) -> bool:
        """Whether somebody can answer now."""
        return self._free > 0

    def reserve(self) -> None:
        """Take the place of somebody who is free; :meth:`answer` gives it back."""
        self._free -= 1

    async def answer(self, call: Call) -> Any:
        """Answer to a call of a module-level function, in a place that is reserved.

        Parameters
        ----------
        call : (function, arguments)
            What to call in the process.

        Raises
        ------
        Unanswered
            If there is no answer.
        """
        child = None
        try:
            child = await taken(self._pool)
            found = await self._asked(child, call)
        except BaseException:  # the process may still work on it
            if child is not None:
                await dismissed(self._pool, child)
            self._give_back()
            raise
        if self._pool.has_grown(child):
            task = asyncio.create_task(self._replace(child))
            self._replacing.add(task)
            task.add_done_callback(self._replacing.discard)
        else:
            self._pool.give_back(child)
            self._give_back()
        return found

    async def _asked(self, child: Child, call: Call) -> Any:
        child.ask(call)
        used = used_seconds(child.process.pid)
        while not await _is_readable(child.connection, _LOOK_SECONDS):
            processor = used_seconds(child.process.pid) - used
            if child.elapsed > self._seconds or processor > self._processor_seconds:
                raise Unanswered(
                    f"there was no answer within {self._seconds:g} seconds, or "
                    f"{self._processor_seconds:g} of a processor: this is too much for the page. "
                    "Use the command line or Python, which have no such limit.",
                    is_late=True,
                )
        reply = child.receive()
        if reply.kind != "answer":
            raise Unanswered(reply.problem, is_failure=True)
        return reply.value

    def _give_back(self) -> None:
        self._free += 1
        self.on_free()

    async def _replace(self, old: Child) -> None:
        try:
            await dismissed(self._pool, old)
        finally:
            await self._start()

    async def _start(self) -> None:
        """A process that is ready, in a place that is reserved."""
        try:
            self._pool.give_back(await taken(self._pool))
        finally:
            self._give_back()

    async def warm_up(self) -> None:
        """Start all processes before somebody asks."""
        places, self._free = self._free, 0
        await asyncio.gather(*(self._start() for _ in range(places)))

    async def close(self) -> None:
        """Stop all processes."""
        for task in self._replacing:
            task.cancel()
        await asyncio.gather(*self._replacing, return_exceptions=True)
        await asyncio.to_thread(self._pool.close)


async def taken(pool: Pool) -> Child:
    """A child of a pool that is free.

    The first one waits for seconds of imports. Who interrupts the lab meanwhile need not: unlike
    those of :func:`asyncio.to_thread`, the thread of this is not waited for at the end.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Future[Child] = loop.create_future()

    def tell(child: Child | None, error: BaseException | None) -> None:
        if found.done():
            if child is not None:  # nobody waits for it any more
                pool.give_back(child)
        elif child is not None:
            found.set_result(child)
        elif error is not None:
            found.set_exception(error)

    def start() -> None:
        child, problem = None, None
        try:
            child = pool.take()
        except Exception as error:
            problem = error
        with contextlib.suppress(RuntimeError):  # there is no loop any more
            loop.call_soon_threadsafe(tell, child, problem)

    threading.Thread(target=start, daemon=True).start()
    return await found


async def dismissed(pool: Pool, child: Child) -> None:
    """Stop a child, also if whoever waits for its end is stopped."""
    await asyncio.shield(asyncio.to_thread(pool.dismiss, child))


async def readable(connection: Any) -> None:
    """Wait until a connection has something to read, or is closed on the other side."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(connection.fileno(), ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(connection.fileno())


async def _is_readable(connection: Any, seconds: float) -> bool:
    """Whether a connection has something to read, or is closed, within a time."""
    try:
        async with asyncio.timeout(seconds):
            await readable(connection)
    except TimeoutError:
        return False
    return True
