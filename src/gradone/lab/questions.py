"""Short questions, answered by processes of their own: the page never waits for another's sums."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ..base.pool import Call
from .crew import Crew, Unanswered
from .turns import Turns

Answer = Mapping[str, Any]
_KEPT = 512  # answers that are remembered
_BACK = 3.0  # seconds after which somebody who was sent away and is late has gone
_ALONE = 1.0  # seconds that a process works on a question for which nobody waits any more
_LOG = logging.getLogger(__name__)


class Busy(Exception):
    """Too many wait already, or for too long: come back in a moment."""

    def __init__(self, place: int, seconds: int = 1) -> None:
        super().__init__(
            f"The lab is busy: this question has place {place} in the queue. Please try again."
        )
        self.place, self.seconds = place, seconds


@dataclass(frozen=True)
class Question:
    """What is asked.

    Parameters
    ----------
    client : str
        Who asks: an address, and after a slash a name that may have been invented.
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
    call: Call
    is_kept: bool = True

    @property
    def address(self) -> str:
        """Where it comes from."""
        return self.client.partition("/")[0]

    def is_replaced_by(self, other: Question) -> bool:
        """Whether nobody needs this answer when the other question is asked."""
        is_same = (self.client, self.subject) == (other.client, other.subject)
        return bool(self.subject) and is_same and self.key != other.key


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
    address: str = ""  # whose turn it is


class Questions:
    """Questions that wait for a crew; addresses take turns, and on each of them its people.

    Of one address one question is at work at a time, so that somebody else finds a process free.

    Parameters
    ----------
    crew : Crew
        Processes that answer.
    waiting : int
        Longest queue.
    patience : float
        Seconds in the queue after which somebody is told to come back: not while the first
        processes start, and not if nobody else waits, because neither would make it quicker.
    delivered : mapping
        Answers by key that are never computed.
    """

    def __init__(
        self,
        crew: Crew,
        *,
        waiting: int,
        patience: float,
        delivered: Mapping[str, Answer] = MappingProxyType({}),
    ) -> None:
        self._crew, self._longest, self._patience = crew, waiting, patience
        self._delivered = delivered
        self._waiting: dict[str, _Job] = {}
        self._at_work: dict[str, _Job] = {}
        self._known: OrderedDict[str, Answer] = OrderedDict()
        self._turns, self._inner_turns = Turns(), Turns()  # of addresses, of people
        self._away: dict[str, float] = {}  # who was sent away, and until when they are expected
        self._is_open = True
        crew.on_free = self._begin

    async def ask(self, question: Question) -> Answer:
        """Answer to a question.

        Raises
        ------
        Busy
            If the queue is full, or the question waited too long, or a newer one replaced it.
        Unanswered
            If there is no answer.
        """
        if question.key in self._delivered:
            return self._delivered[question.key]
        if question.key in self._known:
            self._known.move_to_end(question.key)
            return self._known[question.key]
        loop = asyncio.get_running_loop()
        asker = _Asker(question, loop.create_future())
        job = self._join(asker)
        self._begin()
        watching = asyncio.create_task(self._watch(job, asker))
        try:
            return await asker.answer
        finally:
            watching.cancel()
            job.askers.remove(asker)
            if not job.askers:
                self._leave(job)

    # ---- the queue

    def _join(self, asker: _Asker) -> _Job:
        question = asker.question
        self._away.pop(question.client, None)
        for other in self._others():
            if other.question.is_replaced_by(question):
                other.refuse(Busy(len(self._waiting)))
        job = self._at_work.get(question.key) or self._waiting.get(question.key)
        if job is None:
            self._make_room(question.address)
            self._rank(question.client)  # whoever is new has come now
            job = self._waiting[question.key] = _Job(question)
        job.askers.append(asker)
        return job

    def _others(self) -> list[_Asker]:
        return [a for job in self._waiting.values() for a in job.askers if a.waits]

    def _rank(self, client: str) -> tuple[int, ...]:
        """Place of somebody in the order: smaller is earlier."""
        address = client.partition("/")[0]
        return (*self._turns.rank(address), *self._inner_turns.rank(client))

    def _make_room(self, address: str) -> None:
        """Refuse somebody when the queue is full: who waits for most, and has come last."""
        others = self._others()
        if len(others) < self._longest:
            return
        counts = Counter(asker.question.address for asker in others)
        greedy, most = counts.most_common(1)[0]
        if most <= counts[address] + 1:
            raise Busy(len(others) + 1)
        last = [asker for asker in others if asker.question.address == greedy][-1]
        last.refuse(Busy(len(others)))

    def _next(self) -> tuple[_Job, str] | None:
        """Question whose turn it is, and the address to which it counts."""
        at_work = {job.address for job in self._at_work.values()}
        free = [
            (self._rank(asker.question.client), job, asker.question.address)
            for job in self._waiting.values()
            for asker in job.askers
            if asker.waits and asker.question.address not in at_work
        ]
        return min(free, key=lambda one: one[0])[1:] if free else None

    async def _watch(self, job: _Job, asker: _Asker) -> None:
        """Send somebody away who has waited too long while others wait as well."""
        client, others = asker.question.client, set[str]()
        while not others or not self._is_open:
            await asyncio.sleep(self._patience)
            # Those who were sent away before, and will be back, are before this one.
            now = time.monotonic()
            self._away = {who: until for who, until in self._away.items() if until > now}
            others = {one.question.client for one in self._others()} | set(self._away)
            others.discard(client)
        if self._waiting.get(job.question.key) is job:
            mine = self._rank(client)
            busy = Busy(1 + sum(self._rank(other) < mine for other in others))
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
        while self._crew.is_free and (found := self._next()):
            job, owner = found
            del self._waiting[job.question.key]
            self._at_work[job.question.key] = job
            job.address = owner
            for asker in job.askers:
                self._inner_turns.serve(asker.question.client)
            for address in {asker.question.address for asker in job.askers}:
                self._turns.serve(address)
            self._crew.reserve()
            job.task = asyncio.create_task(self._work(job))

    # ---- the answers

    async def _work(self, job: _Job) -> None:
        try:
            found = await self._crew.answer(job.question.call)
        except Unanswered as error:
            level = logging.ERROR if error.is_failure else logging.WARNING
            _LOG.log(level, "no answer to %.200s: %s", job.question.key, error)
            self._finish(job, error)
        except BaseException:
            self._finish(job, Unanswered("the lab has stopped working on it"))
            raise
        else:
            self._finish(job, found)

    def _finish(self, job: _Job, found: Answer | Unanswered) -> None:
        del self._at_work[job.question.key]
        for asker in job.askers:
            if isinstance(found, Unanswered):
                asker.refuse(found)
            elif asker.waits:
                asker.answer.set_result(found)
        if not isinstance(found, Unanswered) and job.question.is_kept:
            self._known[job.question.key] = found
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        self._begin()  # the address has a turn again

    def will_open(self) -> None:
        """Let whoever asks wait until :meth:`warm_up` is done."""
        self._is_open = False

    async def warm_up(self) -> None:
        """Start all processes before somebody asks."""
        self.will_open()
        try:
            await self._crew.warm_up()
        finally:
            self._is_open = True

    async def close(self) -> None:
        """Stop everything."""
        tasks = [job.task for job in self._at_work.values() if job.task is not None]
        for asker in self._others():
            asker.refuse(Unanswered("the lab was closed"))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._crew.close()


def _give_up(job: _Job) -> None:
    if not job.askers and job.task is not None:
        job.task.cancel()
