"""Where questions arrive: mistakes are told at once, the rest is passed on to processes."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import WeakValueDictionary

from fastapi import Request

from ..base.errors import GradoneError
from ..base.pool import Pool
from . import answers, tour
from .crew import Crew, Unanswered
from .questions import Question, Questions
from .runs import Runs
from .settings import Settings
from .streams import stream

PRELOAD = ("gradone.lab.warm",)
_FIRST = (answers.answer, {"question": "warm up", "arguments": {}})
_REMEMBERED = ("analyze", "sources", "plan", "plan with theory", "predict")
_QUICK = ("analyze", "sources", "plan")
_CREW = 4  # processes for questions of either kind, at most
_SLOW_SECONDS = 10.0  # for which questions of somebody whose last one was not quick are slow
_STANDS_BACK = 5  # niceness of the processes for slow questions; that of runs is twice as much
_LOG = logging.getLogger(__name__)


class Gone(Exception):
    """Nobody waits for an answer any more."""


class Desk:
    """Processes of a lab, and who may use them.

    Questions of one or two directions are quick and have processes of their own, so that somebody
    who types never waits for another's curves; what turns out not to be quick is passed on. Of each
    kind (quick, slow, run) an address has one at work at a time, whatever names it gives itself.
    All together there are three processes for each core (quick questions, slow ones, runs; of the
    first two no more than four each, and at least two that are quick), the server, the one from
    which they are forked, and Python's tracker of resources.

    Parameters
    ----------
    settings : Settings
        Limits.
    """

    def __init__(self, settings: Settings) -> None:
        limits: dict[str, Any] = {"preload": PRELOAD, "memory": settings.run_bytes}
        asked: dict[str, Any] = limits | {"first": _FIRST}
        workers = min(settings.cores, _CREW)
        keys = [_key("predict", question) for question in tour.questions()]
        queue: dict[str, Any] = {
            "waiting": settings.waiting_questions,
            "patience": settings.patience,
            "delivered": dict(zip(keys, tour.delivered(), strict=True)),
        }
        quick, slow = Pool(max(workers, 2), **asked), Pool(workers, **asked, niceness=_STANDS_BACK)
        seconds = settings.question_seconds
        self.quick = Questions(Crew(quick, seconds, settings.quick_processor_seconds), **queue)
        self.slow = Questions(Crew(slow, seconds, settings.slow_processor_seconds), **queue)
        # Questions of other people come before runs.
        pool = Pool(settings.cores, niceness=2 * _STANDS_BACK, **limits)
        self.runs = Runs(pool, stream, settings)
        # One thread reads all expressions: a long one takes milliseconds, which others need not
        # notice.
        self._reader = ThreadPoolExecutor(1, "reader")
        self._slow_until: dict[str, float] = {}  # addresses whose last question was not quick
        self._reading: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def ask(
        self, request: Request, client: str, question: str, **arguments: Any
    ) -> Mapping[str, Any]:
        """Answer to a question, or ``{"error": ...}`` that says what is wrong with it.

        Parameters
        ----------
        request : Request
            Whose connection is watched: who is gone needs no answer.
        client : str
            Name of who asks; after a dot, the part of the page that does. A newer question of the
            same part replaces an older one that still waits.
        question : str
            One of :data:`.answers.QUESTIONS`.
        **arguments
            Its arguments.
        """
        is_small = True
        if "target" in arguments:
            # One at a time of each address: who sends hundreds keeps nobody else waiting.
            async with self._reading.setdefault(address_of(request), asyncio.Lock()):
                read = await self.read(arguments["target"], arguments["noise"])
            if not isinstance(read, bool):
                _note_hostile(request, arguments["target"])
                return {"error": read}
            is_small = read
        is_quick = question in _QUICK and is_small
        name, _, part = client.partition(".")
        asked = Question(
            client=f"{address_of(request)}/{name}",
            subject=f"{question} {part}" if name else "",
            key=_key(question, arguments),
            call=(answers.answer, {"question": question, "arguments": arguments}),
            is_kept=question in _REMEMBERED,
        )
        asking = asyncio.create_task(self._answer(asked, is_quick))
        leaving = asyncio.create_task(_disconnected(request))
        try:
            await asyncio.wait([asking, leaving], return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():  # somebody typed on
                raise Gone
            return asking.result()
        finally:
            for task in (asking, leaving):
                task.cancel()
            await asyncio.gather(asking, leaving, return_exceptions=True)

    async def _answer(self, asked: Question, is_quick: bool) -> Mapping[str, Any]:
        now = time.monotonic()
        if is_quick and self._slow_until.get(asked.address, now) <= now:
            try:
                return await self.quick.ask(asked)
            except Unanswered as error:
                if not error.is_late:
                    raise
                # Who asks for more of this kind asks there, and leaves the quick ones to others.
                now = time.monotonic()
                self._slow_until = {a: t for a, t in self._slow_until.items() if t > now}
                self._slow_until[asked.address] = now + _SLOW_SECONDS
        return await self.slow.ask(asked)

    async def read(self, text: str, noise: float | None) -> bool | dict[str, Any]:
        """Whether a target has at most two directions, or what is wrong with its expression."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._reader, _read, text, noise)

    async def warm_up(self) -> None:
        """Start the processes before somebody asks."""
        self.slow.will_open()  # the quick ones come first
        await asyncio.gather(self.read("z", None), self.quick.warm_up())
        await self.slow.warm_up()

    async def close(self) -> None:
        """Stop everything."""
        await asyncio.gather(self.runs.close(), self.quick.close(), self.slow.close())
        self._reader.shutdown(wait=False, cancel_futures=True)


def _key(question: str, arguments: Mapping[str, Any]) -> str:
    """Equal for equal questions."""
    return json.dumps([question, arguments], sort_keys=True)


def _read(text: str, noise: float | None) -> bool | dict[str, Any]:
    from ..targets.naming import find_target
    from ..targets.target import Target

    try:
        found = find_target(text, noise)
    except GradoneError as error:
        return answers.mistake(error)
    return isinstance(found, Target) and found.r <= 2


def address_of(request: Request) -> str:
    """Where a request comes from: names can be invented, addresses cannot."""
    return request.client.host if request.client else ""


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def is_hostile(text: str) -> bool:
    """Whether somebody who types a formula would not have written this.

    Examples
    --------
    >>> is_hostile("z1 + sgn(z_2"), is_hostile("__import__('os')"), is_hostile("(" * 900)
    (False, True, True)
    """
    return len(text) > 400 or bool(re.search(r"__|[\x00-\x08\x0e-\x1f'\"`\\;$@#{}]", text))


def _note_hostile(request: Request, text: str) -> None:
    if is_hostile(text):
        _LOG.warning("refused %s: the expression %.80r", request.url.path, text)
