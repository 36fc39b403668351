"""Short questions, answered by processes of their own: the page never waits for another's sums."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ..base.children import Child


class Busy(Exception):
    """Too many questions wait already."""

    def __init__(self, place: int) -> None:
        super().__init__(f"busy, place {place} in the queue; please try again in a moment")
        self.place = place


class Unanswered(Exception):
    """A question that has no answer: it took too long, or its process ended."""


class Questions:
    """A few processes that answer one question after the other, first come first served.

    Parameters
    ----------
    context : multiprocessing context
        How processes are started.
    workers : int
        Number of processes.
    waiting : int
        Longest queue.
    seconds : float
        Time for one answer; then its process is replaced.
    """

    def __init__(self, context: Any, *, workers: int, waiting: int, seconds: float) -> None:
        self._context, self._workers, self._seconds = context, workers, seconds
        self._longest = waiting
        self._idle: list[Child] = []
        self._born = 0
        self._turns: deque[asyncio.Future[None]] = deque()
        self._free = workers

    async def ask(
        self,
        function: Callable[..., Any],
        arguments: Mapping[str, Any],
        wanted: Callable[[], Awaitable[bool]],
    ) -> Any:
        """Answer of a module-level function; None if nobody wants it any more at its turn.

        Parameters
        ----------
        function : callable
            What to call in the process.
        arguments : mapping
            Its arguments.
        wanted : coroutine function
            Says at the turn of the question whether somebody still waits for the answer.
        """
        await self._turn()
        try:
            if not await wanted():
                return None
            return await self._answer(function, arguments)
        finally:
            self._pass_on()

    async def _turn(self) -> None:
        if self._free > 0 and not self._turns:
            self._free -= 1
            return
        if len(self._turns) >= self._longest:
            raise Busy(len(self._turns) + 1)
        turn = asyncio.get_running_loop().create_future()
        self._turns.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._pass_on()
            else:
                self._turns.remove(turn)
            raise

    def _pass_on(self) -> None:
        while self._turns:
            turn = self._turns.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    async def _answer(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        child = await self._child()
        try:
            child.start("question", 0, (function, arguments))
            await asyncio.wait_for(readable(child.connection), self._seconds)
            kind, value, _ = child.receive()
        except TimeoutError:
            await asyncio.to_thread(child.end)
            raise Unanswered(
                f"no answer within {self._seconds:g} seconds: this is too much for the page. "
                "Use the command line or Python, which have no such limit."
            ) from None
        except BaseException:  # also when the question is dropped: the process still works on it
            await asyncio.shield(asyncio.to_thread(child.end))
            raise
        if not child.process.is_alive():
            await asyncio.to_thread(child.end)
        else:
            self._idle.append(child)
        if kind == "failure":
            raise Unanswered(value)
        return value

    async def _child(self) -> Child:
        if self._idle:
            return self._idle.pop()
        return await asyncio.to_thread(Child, self._context)

    async def warm_up(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
        """Start all processes and let each answer once, so that nobody waits for their imports."""
        children = [await asyncio.to_thread(Child, self._context) for _ in range(self._workers)]
        for child in children:
            child.start("question", 0, (function, arguments))
        for child in children:
            await readable(child.connection)
            child.receive()
            self._idle.append(child)

    def close(self) -> None:
        """Stop all processes."""
        for child in self._idle:
            child.end()
        self._idle.clear()


async def readable(connection: Any) -> None:
    """Wait until a connection has something to read, or is closed on the other side."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(connection.fileno(), ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(connection.fileno())
