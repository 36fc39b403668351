"""Simulations that a page watches: each is a process that can be stopped at any moment."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from ..base.pool import Child, Pool
from .crew import dismissed, readable, taken
from .questions import Busy
from .settings import Settings
from .turns import Turns

Status = Literal["waiting", "running", "done", "failed", "stopped"]
Event = dict[str, Any]
Stream = Callable[[Mapping[str, Any]], Iterator[Event]]
_ENDED = ("done", "failed", "stopped")


@dataclass
class Run:
    """One simulation.

    Parameters
    ----------
    key : str
        Its address.
    owner : str
        Who asked for it.
    parameters : mapping
        What was asked for.
    """

    key: str
    owner: str
    parameters: Mapping[str, Any]
    status: Status = "waiting"
    message: str = ""
    place: int = 0
    events: list[Event] = field(default_factory=list)
    watchers: int = 0
    seen: float = field(default_factory=time.monotonic)
    ended: float | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self.status in _ENDED

    def tell(self, event: Event) -> None:
        """Add an event and wake those who watch."""
        self.events.append(event)
        news, self.news = self.news, asyncio.Event()
        news.set()

    def end(self, status: Status, message: str = "") -> None:
        """The last event."""
        if not self.is_over:
            self.status, self.message, self.ended = status, message, time.monotonic()
            self.tell({"kind": "end", "status": status, "message": message})

    async def watch(self, first: int) -> AsyncIterator[tuple[int, Event]]:
        """Events from number `first` on, as they come, with their numbers."""
        self.watchers += 1
        try:
            while True:
                while first < len(self.events):
                    yield first, self.events[first]
                    first += 1
                if self.is_over:
                    return
                news = self.news
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(news.wait(), 15.0)
                if not news.is_set():
                    yield -1, {"kind": "wait", "place": -1}
        finally:
            self.watchers -= 1
            self.seen = time.monotonic()


class Runs:
    """All simulations of a lab: one of each owner at work, others in a queue that is fair.

    Parameters
    ----------
    pool : Pool
        Processes, one for each run.
    stream : callable
        Module-level function that yields the events of a run, given its parameters.
    settings : Settings
        Limits.
    """

    def __init__(self, pool: Pool, stream: Stream, settings: Settings) -> None:
        self._pool, self._stream, self._settings = pool, stream, settings
        self._runs: dict[str, Run] = {}
        self._turns = Turns()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._keeper: asyncio.Task[None] | None = None

    def start(self, owner: str, parameters: Mapping[str, Any]) -> Run:
        """Take a run into the queue, or refuse it."""
        mine = [run for run in self._runs.values() if run.owner == owner and not run.is_over]
        waiting = self.waiting
        if len(mine) >= self._settings.runs_of_one or len(waiting) >= self._settings.waiting_runs:
            raise Busy(len(waiting) + 1, seconds=5)
        self._turns.rank(owner)  # whoever is new has come now
        run = Run(secrets.token_urlsafe(12), owner, parameters)
        self._runs[run.key] = run
        self._begin_next()
        self._tell_places()
        return run

    @property
    def waiting(self) -> list[Run]:
        """Runs in the queue in their order: people take turns."""
        left = [run for run in self._runs.values() if run.status == "waiting"]
        taken: Counter[str] = Counter()
        order: list[Run] = []
        while left:
            run = min(left, key=lambda one: self._turns.rank(one.owner, taken[one.owner]))
            taken[run.owner] += 1
            left.remove(run)
            order.append(run)
        return order

    def find(self, key: str) -> Run | None:
        """The run of an address, if it is not forgotten."""
        return self._runs.get(key)

    def stop(self, run: Run, message: str = "The run was stopped") -> None:
        """Stop a run, at work or waiting."""
        run.end("stopped", message)
        task = self._tasks.get(run.key)
        if task is not None:
            task.cancel()

    def _begin_next(self) -> None:
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._keep())
        for run in self.waiting:
            at_work = {self._runs[key].owner for key in self._tasks}
            if len(self._tasks) >= self._settings.cores:
                return
            if run.owner in at_work:
                continue
            run.status = "running"
            self._turns.serve(run.owner)
            task = asyncio.create_task(self._perform(run))
            self._tasks[run.key] = task
            task.add_done_callback(partial(self._finished, run.key))
            run.tell({"kind": "begin"})

    def _finished(self, key: str, task: asyncio.Task[None]) -> None:
        del self._tasks[key]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._runs[key].end("failed", f"{type(error).__name__}: {error}")
        self._begin_next()
        self._tell_places()

    def _tell_places(self) -> None:
        for place, run in enumerate(self.waiting, start=1):
            if place != run.place:
                run.place = place
                run.tell({"kind": "wait", "place": place})

    async def _perform(self, run: Run) -> None:
        child = await taken(self._pool)
        try:
            async with asyncio.timeout(self._settings.run_seconds):
                await self._listen(run, child)
        except TimeoutError:
            run.end("stopped", f"The run was stopped after {self._settings.run_seconds:g} seconds")
        finally:
            # Compiled code does not look at events: it is ended from outside.
            await dismissed(self._pool, child)

    async def _listen(self, run: Run, child: Child) -> None:
        child.ask((partial(self._stream, run.parameters), {}))
        while not run.is_over:
            await readable(child.connection)
            reply = child.receive()
            if reply.kind == "event":
                run.tell(reply.value)
            elif reply.kind == "answer":
                run.end("done")
            else:
                run.end("failed", reply.problem)

    async def _keep(self) -> None:
        """Stop the runs that nobody watches, forget those that ended long ago."""
        while True:
            await asyncio.sleep(1.0)
            now = time.monotonic()
            for run in list(self._runs.values()):
                lonely = run.watchers == 0 and now - run.seen > self._settings.lonely_seconds
                if not run.is_over and lonely:
                    self.stop(run, "The run was stopped because nobody watched it")
                elif run.ended is not None and now - run.ended > self._settings.kept_seconds:
                    del self._runs[run.key]
            over = sorted((run.ended, key) for key, run in self._runs.items() if run.ended)
            for _, key in over[: max(len(over) - self._settings.kept_runs, 0)]:
                del self._runs[key]

    async def close(self) -> None:
        """Stop everything."""
        if self._keeper is not None:
            self._keeper.cancel()
        tasks = list(self._tasks.values())
        for run in self._runs.values():
            run.end("stopped", "The lab was closed")
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.to_thread(self._pool.close)
