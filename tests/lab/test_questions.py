"""The queue of questions: fair, short, and never stopped by one who asks too much."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from gradone.base.children import child_context
from gradone.lab.questions import Busy, Question, Questions, Unanswered
from gradone.lab.turns import Turns

SHORT = 0.1  # seconds of an answer that others wait for
LIMITS: dict[str, Any] = {
    "workers": 1, "waiting": 4, "patience": 20.0, "seconds": 20.0, "memory": 2**33,
}  # fmt: skip


@asynccontextmanager
async def answering(**changes: Any) -> AsyncIterator[Questions]:
    crew = Questions(child_context(), (os.getpid, {}), **{**LIMITS, **changes})
    await crew.warm_up()
    try:
        yield crew
    finally:
        await crew.close()


def question(
    client: str, key: str, *, subject: str = "", seconds: float = SHORT, is_kept: bool = True
) -> Question:
    return Question(client, subject, key, (partial(time.sleep, seconds), {}), is_kept)


def process_id(client: str = "somebody") -> Question:
    return Question(client, "", f"{time.monotonic()}", (os.getpid, {}), is_kept=False)


def within(scene: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(scene(), 30.0))  # type: ignore[arg-type]


def test_equal_questions_are_answered_once() -> None:
    async def scene() -> None:
        async with answering() as crew:
            began = time.monotonic()
            same = [crew.ask(question(who, "same", seconds=0.4)) for who in "abcdef"]
            await asyncio.gather(*same)
            assert time.monotonic() - began < 0.8
            await crew.ask(question("g", "same", seconds=0.4))  # remembered
            assert time.monotonic() - began < 0.8

    within(scene)


def test_a_newer_question_replaces_an_older_one() -> None:
    async def scene() -> None:
        async with answering() as crew:
            first = asyncio.create_task(crew.ask(question("other", "first")))
            await asyncio.sleep(0)
            old = asyncio.create_task(crew.ask(question("me", "z1*", subject="analyze")))
            await asyncio.sleep(0)
            beside = asyncio.create_task(crew.ask(question("me", "plan", subject="plan")))
            new = asyncio.create_task(crew.ask(question("me", "z1*z2", subject="analyze")))
            found = await asyncio.gather(first, old, beside, new, return_exceptions=True)
            assert [type(one) for one in found] == [type(None), Busy, type(None), type(None)]

    within(scene)


def test_people_take_turns() -> None:
    """Who asks four at once does not hold up who asks one, even without a name for the subject."""

    async def scene() -> None:
        order: list[str] = []

        async def ask(who: str, key: str) -> None:
            await crew.ask(question(who, key))
            order.append(key)

        async with answering(waiting=10) as crew:
            greedy = [asyncio.create_task(ask("greedy", f"greedy{i}")) for i in range(5)]
            await asyncio.sleep(SHORT / 2)  # the first of them is at work
            modest = [asyncio.create_task(ask(f"m{i}", f"m{i}")) for i in range(2)]
            await asyncio.gather(*greedy, *modest)
        assert order[0] == "greedy0"
        assert set(order[1:4]) >= {"m0", "m1"}

    within(scene)


def test_a_full_queue_refuses_who_waits_for_most() -> None:
    async def scene() -> None:
        async with answering() as crew:
            greedy = [
                asyncio.create_task(crew.ask(question("greedy", f"greedy{i}"))) for i in range(5)
            ]
            await asyncio.sleep(SHORT / 2)
            modest = asyncio.create_task(crew.ask(question("modest", "modest")))
            await asyncio.sleep(0)
            with pytest.raises(Busy, match="busy, place 5 in the queue"):
                await crew.ask(question("greedy", "one more"))
            found = await asyncio.gather(*greedy, return_exceptions=True)
            assert [type(one) for one in found] == [type(None)] * 4 + [Busy]
            await modest

    within(scene)


def test_who_waits_long_is_told_the_place() -> None:
    async def scene() -> None:
        async with answering(patience=0.2) as crew:
            work = asyncio.create_task(crew.ask(question("a", "long", seconds=0.8)))
            await asyncio.sleep(0.05)
            began = time.monotonic()
            waiting = [crew.ask(question(who, who)) for who in "bcd"]
            found = await asyncio.gather(*waiting, return_exceptions=True)
            assert time.monotonic() - began < 0.6
            places = [one.place for one in found if isinstance(one, Busy)]
            assert places == [1, 2, 3]
            await work

    within(scene)


def test_who_was_sent_away_comes_first_next_time() -> None:
    turns = Turns()
    for who in ("first", "second"):
        turns.since(who)
    turns.serve("third")
    assert turns.since("first") < turns.since("second") < turns.since("third")
    assert turns.since("third") < turns.since("new")


def test_an_answer_that_nobody_wants_is_given_up() -> None:
    """The process is ended, and the next question does not wait for it."""

    async def scene() -> None:
        async with answering() as crew:
            pid = await crew.ask(process_id())
            asking = asyncio.create_task(crew.ask(question("a", "hours", seconds=3600.0)))
            await asyncio.sleep(0.1)
            asking.cancel()
            began = time.monotonic()
            assert await crew.ask(process_id()) != pid
            assert 0.5 < time.monotonic() - began < 5.0
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)  # type: ignore[arg-type]

    within(scene)


def test_an_answer_that_is_almost_there_is_kept() -> None:
    async def scene() -> None:
        async with answering() as crew:
            pid = await crew.ask(process_id())
            asking = asyncio.create_task(crew.ask(question("a", "soon", seconds=0.3)))
            await asyncio.sleep(0.1)
            asking.cancel()
            await asyncio.sleep(0.6)
            began = time.monotonic()
            await crew.ask(question("b", "soon", seconds=3600.0))
            assert time.monotonic() - began < 0.1
            assert await crew.ask(process_id()) == pid

    within(scene)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (partial(time.sleep, 3600.0), "no answer within 0.5 seconds"),
        (partial(os._exit, 3), "ended without an answer (exit code 3)"),
        (partial(int, "seven"), "ValueError"),
    ],
)
def test_a_process_that_fails_is_replaced(function: Callable[[], Any], words: str) -> None:
    async def scene() -> None:
        async with answering(seconds=0.5) as crew:
            pid = await crew.ask(process_id())
            with pytest.raises(Unanswered) as error:
                await crew.ask(Question("a", "", "bad", (function, {})))
            assert words in str(error.value)
            assert await crew.ask(process_id()) != pid

    within(scene)


def test_a_process_that_has_grown_is_replaced() -> None:
    async def scene() -> None:
        async with answering(memory=2**31) as crew:
            pid = await crew.ask(process_id())
            assert await crew.ask(process_id()) == pid
            grow = partial(exec, "import os; os.held = b'x' * (2**29 + 1)")
            await crew.ask(Question("a", "", "grow", (grow, {})))
            assert await crew.ask(process_id()) != pid

    within(scene)
