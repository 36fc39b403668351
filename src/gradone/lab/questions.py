"""Short questions, answered by processes of their own: the page never waits for another's sums."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ..base.children import Child, answer_calls
from .turns import Turns

Answer = Mapping[str, Any]
_KEPT = 512  # answers that are remembered
_OPENING = 20.0  # seconds that the first processes may take to start
_BACK = 3.0  # seconds after which somebody who was sent away and is late has gone
_ALONE = 1.0  # seconds that a process works on a question for which nobody waits any more
_LOG = logging.getLogger(__name__)


class Busy(Exception):
    """Too many wait already, or for too long: come back in a moment."""

    def __init__(self, place: int, seconds: float = 1.0) -> None:
        super().__init__(f"busy, place {place} in the queue; please try again in a moment")
        self.place, self.seconds = place, max(1, min(30, math.ceil(seconds)))


class Unanswered(Exception):
    """A question that has no answer: it took too long, or its process ended."""


@dataclass(frozen=True)
class Question:
    """What is asked.

    Parameters
    ----------
    client : str
        Who asks.
    subject : str
        A client waits for one answer on each subject: a newer question replaces an older one. An
        empty subject is never replaced.
    key : str
        Questions of equal keys have equal answers, and are answered once.
    call : (function, arguments)
        A module-level function, to be called in a process.
    is_kept : bool
        Whether the answer is remembered.
    """

    client: str
    subject: str
    key: str
    call: tuple[Callable[..., Answer], Mapping[str, Any]]
    is_kept: bool = True


@dataclass(eq=False)
class _Asker:
    """Somebody who waits."""

    question: Question
    answer: asyncio.Future[Answer]

    @property
    def waits(self) -> bool:
        return not self.answer.done()

    def refuse(self, error: Exception) -> None:
        if self.waits:
            self.answer.set_exception(error)


@dataclass(eq=False)
class _Job:
    """A question, and all who wait for its answer."""

    question: Question
    askers: list[_Asker] = field(default_factory=list)
    task: asyncio.Task[None] | None = None


class Questions:
    """A few processes that answer questions; those who were served least recently come first.

    Parameters
    ----------
    context : multiprocessing context
        How processes are started.
    first : (function, arguments)
        What a new process is asked before anybody else asks it, so that nobody waits for imports.
    workers : int
        Number of processes, never exceeded.
    waiting : int
        Longest queue.
    patience : float
        Seconds in the queue after which somebody is told to come back.
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
        first: tuple[Callable[..., Any], Mapping[str, Any]],
        *,
        workers: int,
        waiting: int,
        patience: float,
        seconds: float,
        memory: int,
        niceness: int = 0,
    ) -> None:
        self._context, self._first = context, first
        self._longest, self._patience, self._seconds = waiting, patience, seconds
        self._memory, self._life = memory, partial(_live, memory, niceness)
        # A place without a process gets one when it is needed.
        self._idle: list[Child | None] = [None] * workers
        self._waiting: dict[str, _Job] = {}
        self._at_work: dict[str, _Job] = {}
        self._known: OrderedDict[str, Answer] = OrderedDict()
        self._turns = Turns()
        self._away: dict[str, float] = {}  # who was sent away, and until when they are expected
        self._usual = 0.1  # seconds of an answer, a running mean
        self._is_open = True

    async def ask(self, question: Question) -> Answer:
        """Answer to a question.

        Raises
        ------
        Busy
            If the queue is full, or the question waited too long, or a newer one replaced it.
        Unanswered
            If there is no answer.
        """
        if question.key in self._known:
            self._known.move_to_end(question.key)
            return self._known[question.key]
        loop = asyncio.get_running_loop()
        asker = _Asker(question, loop.create_future())
        job = self._join(asker)
        self._begin()
        patience = self._patience if self._is_open else _OPENING
        impatience = loop.call_later(patience, self._send_away, job, asker)
        try:
            return await asker.answer
        finally:
            impatience.cancel()
            job.askers.remove(asker)
            if not job.askers:
                self._leave(job)

    # ---- the queue

    def _join(self, asker: _Asker) -> _Job:
        question = asker.question
        self._away.pop(question.client, None)
        for other in self._others():
            same = other.question.client == question.client and question.subject
            if same and other.question.subject == question.subject:
                other.refuse(Busy(len(self._waiting)))
        job = self._at_work.get(question.key) or self._waiting.get(question.key)
        if job is None:
            self._make_room(question.client)
            self._turns.since(question.client)  # whoever is new has come now
            job = self._waiting[question.key] = _Job(question)
        job.askers.append(asker)
        return job

    def _others(self) -> list[_Asker]:
        return [a for job in self._waiting.values() for a in job.askers if a.waits]

    def _make_room(self, client: str) -> None:
        """Refuse somebody when the queue is full: who waits for most, and has come last."""
        others = self._others()
        if len(others) < self._longest:
            return
        counts = Counter(asker.question.client for asker in others)
        greedy, most = counts.most_common(1)[0]
        if most <= counts[client] + 1:
            raise Busy(len(others) + 1, self._usual)
        last = [asker for asker in others if asker.question.client == greedy][-1]
        last.refuse(Busy(len(others), self._usual))

    def _order(self) -> list[_Job]:
        def since(job: _Job) -> int:
            return min(self._turns.since(asker.question.client) for asker in job.askers)

        wanted = {job for job in self._waiting.values() for asker in job.askers if asker.waits}
        return sorted(wanted, key=since)

    def _send_away(self, job: _Job, asker: _Asker) -> None:
        if self._waiting.get(job.question.key) is not job:
            return
        client, now = asker.question.client, time.monotonic()
        # Those who were sent away before, and will be back, are before this one.
        self._away = {who: until for who, until in self._away.items() if until > now}
        others = {one.question.client for one in self._others()} | set(self._away)
        mine = self._turns.since(client)
        busy = Busy(1 + sum(self._turns.since(other) < mine for other in others), self._usual)
        self._away[client] = now + busy.seconds + _BACK
        asker.refuse(busy)

    def _leave(self, job: _Job) -> None:
        """Nobody waits for an answer any more."""
        if self._waiting.get(job.question.key) is job:
            del self._waiting[job.question.key]
        elif job.task is not None:
            # It may be almost done, and a process less costs more than the rest of the answer.
            asyncio.get_running_loop().call_later(_ALONE, _give_up, job)

    def _begin(self) -> None:
        while self._idle and (order := self._order()):
            job = order[0]
            del self._waiting[job.question.key]
            self._at_work[job.question.key] = job
            for asker in job.askers:
                self._turns.serve(asker.question.client)
            job.task = asyncio.create_task(self._work(self._idle.pop(), job))

    # ---- the processes

    async def _work(self, child: Child | None, job: _Job) -> None:
        began = time.monotonic()
        try:
            if child is None or not child.process.is_alive():
                child = await self._hire(child)
                began = time.monotonic()
            found = await self._answer(child, job)
        except BaseException as error:  # the process may still work on it
            if child is not None:
                await asyncio.shield(asyncio.to_thread(child.end))
            child = None
            self._finish(job, error)
            if not isinstance(error, Exception):
                raise
        else:
            self._usual += 0.1 * (time.monotonic() - began - self._usual)
            self._finish(job, found)
            if resident_bytes(child.process.pid) > self._memory / 4:
                heavy, child = child, None
                child = await self._hire(heavy)
        finally:
            self._idle.append(child)
            self._begin()

    async def _answer(self, child: Child, job: _Job) -> Answer:
        child.start("question", 0, job.question.call)
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
            _LOG.error("no answer to %s: %s", job.question.key[:200], value)
            raise Unanswered(value)
        return value

    def _finish(self, job: _Job, found: Answer | BaseException) -> None:
        del self._at_work[job.question.key]
        for asker in job.askers:
            if isinstance(found, Exception):
                asker.refuse(found)
            elif isinstance(found, BaseException):
                asker.refuse(Unanswered("the lab was closed"))
            elif asker.waits:
                asker.answer.set_result(found)
        if not isinstance(found, BaseException) and job.question.is_kept:
            self._known[job.question.key] = found
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)

    async def _hire(self, old: Child | None = None) -> Child:
        """A new process, ready to answer; if there is an old one, in its place."""
        if old is not None:
            await asyncio.shield(asyncio.to_thread(old.end))
        child = await asyncio.to_thread(Child, self._context, self._life)
        try:
            child.start("question", 0, self._first)
            await readable(child.connection)
            child.receive()
        except BaseException:
            await asyncio.shield(asyncio.to_thread(child.end))
            raise
        return child

    async def warm_up(self) -> None:
        """Start all processes before somebody asks."""
        self._is_open = False
        places = [place for place in self._idle if place is None]
        self._idle = [place for place in self._idle if place is not None]
        for done in asyncio.as_completed([self._hire() for _ in places]):
            child = None
            try:
                child = await done
            finally:
                self._idle.append(child)
            self._is_open = True
            self._begin()

    async def close(self) -> None:
        """Stop all processes."""
        tasks = [job.task for job in self._at_work.values() if job.task is not None]
        for asker in self._others():
            asker.refuse(Unanswered("the lab was closed"))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        children = [child for child in self._idle if child is not None]
        self._idle = []
        await asyncio.gather(*(asyncio.to_thread(child.end) for child in children))


def _give_up(job: _Job) -> None:
    if not job.askers and job.task is not None:
        job.task.cancel()


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


async def readable(connection: Any) -> None:
    """Wait until a connection has something to read, or is closed on the other side."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(connection.fileno(), ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(connection.fileno())
