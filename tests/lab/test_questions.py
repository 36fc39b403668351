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

from gradone.base.pool import Pool
from gradone.lab.crew import Crew, Unanswered
from gradone.lab.questions import Busy, Question, Questions
from gradone.lab.turns import Turns

SHORT = 0.1  # seconds of an answer that others wait for


@asynccontextmanager
async def answering(
    *,
    workers: int = 1,
    waiting: int = 4,
    patience: float = 20.0,
    seconds: float = 20.0,
    processor_seconds: float = 20.0,
    memory: int = 2**33,
) -> AsyncIterator[Questions]:
    """One process, and the queue before it."""
    pool = Pool(workers, first=(os.getpid, {}), memory=memory)
    crew = Crew(pool, seconds, processor_seconds)
    questions = Questions(crew, waiting=waiting, patience=patience)
    await questions.warm_up()
    try:
        yield questions
    finally:
        await questions.close()


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
        async with answering() as questions:
            began = time.monotonic()
            same = [questions.ask(question(who, "same", seconds=0.4)) for who in "abcdef"]
            await asyncio.gather(*same)
            assert time.monotonic() - began < 0.8
            await questions.ask(question("g", "same", seconds=0.4))  # remembered
            assert time.monotonic() - began < 0.8

    within(scene)


def test_a_newer_question_replaces_an_older_one() -> None:
    async def scene() -> None:
        async with answering() as questions:
            first = asyncio.create_task(questions.ask(question("other", "first")))
            await asyncio.sleep(0)
            old = asyncio.create_task(questions.ask(question("me", "z1*", subject="analyze")))
            await asyncio.sleep(0)
            beside = asyncio.create_task(questions.ask(question("me", "plan", subject="plan")))
            new = asyncio.create_task(questions.ask(question("me", "z1*z2", subject="analyze")))
            again = asyncio.create_task(questions.ask(question("me", "z1*z2", subject="analyze")))
            asked = [first, old, beside, new, again]
            found = await asyncio.gather(*asked, return_exceptions=True)
            assert [type(one) for one in found] == [type(None), Busy, *[type(None)] * 3]

    within(scene)


def test_people_take_turns() -> None:
    """Who asks four at once does not hold up who asks one, even without a name for the subject."""

    async def scene() -> None:
        order: list[str] = []

        async def ask(who: str, key: str) -> None:
            await questions.ask(question(who, key))
            order.append(key)

        async with answering(waiting=10) as questions:
            greedy = [asyncio.create_task(ask("greedy", f"greedy{i}")) for i in range(5)]
            await asyncio.sleep(SHORT / 2)  # the first of them is at work
            modest = [asyncio.create_task(ask(f"m{i}", f"m{i}")) for i in range(2)]
            await asyncio.gather(*greedy, *modest)
        assert order[0] == "greedy0"
        assert set(order[1:4]) >= {"m0", "m1"}

    within(scene)


def test_a_full_queue_refuses_who_waits_for_most() -> None:
    async def scene() -> None:
        async with answering() as questions:
            greedy = [
                asyncio.create_task(questions.ask(question("greedy", f"greedy{i}")))
                for i in range(5)
            ]
            await asyncio.sleep(SHORT / 2)
            modest = asyncio.create_task(questions.ask(question("modest", "modest")))
            await asyncio.sleep(0)
            with pytest.raises(Busy, match="busy: this question has place 5 in the queue"):
                await questions.ask(question("greedy", "one more"))
            found = await asyncio.gather(*greedy, return_exceptions=True)
            assert [type(one) for one in found] == [type(None)] * 4 + [Busy]
            await modest

    within(scene)


def test_who_waits_long_is_told_the_place() -> None:
    async def scene() -> None:
        async with answering(patience=0.2) as questions:
            work = asyncio.create_task(questions.ask(question("a", "long", seconds=0.8)))
            await asyncio.sleep(0.05)
            began = time.monotonic()
            waiting = [questions.ask(question(who, who)) for who in "bcd"]
            found = await asyncio.gather(*waiting, return_exceptions=True)
            assert time.monotonic() - began < 0.6
            places = [one.place for one in found if isinstance(one, Busy)]
            assert places == [1, 2, 3]
            await work

    within(scene)


def test_nobody_is_sent_away_before_the_lab_is_open_or_who_is_alone() -> None:
    """Failed before: on a loaded machine the first answers of a lab had status 503."""

    async def scene() -> None:
        async with answering(patience=0.05) as questions:
            questions.will_open()
            questions._crew.reserve()  # as if its process had not started yet
            early = [asyncio.create_task(questions.ask(question(who, who))) for who in "ab"]
            await asyncio.sleep(0.4)
            assert not any(one.done() for one in early)
            questions._crew._give_back()
            await questions.warm_up()
            await asyncio.gather(*early)
            long = [questions.ask(question("me", f"{i}", seconds=0.3)) for i in range(3)]
            await asyncio.gather(*long)

    within(scene)


def test_people_are_served_in_rounds() -> None:
    turns = Turns()
    turns.serve("greedy")
    assert turns.rank("first") < turns.rank("second") < turns.rank("greedy")
    for _ in range(5):  # served five times while two wait and one is away
        turns.serve("greedy")
    assert turns.rank("first") < turns.rank("second") < turns.rank("new") < turns.rank("greedy")
    turns.serve("first")
    turns.serve("first")  # what was saved is one turn
    assert turns.rank("second") < turns.rank("new") < turns.rank("first")


def test_only_so_many_people_are_remembered() -> None:
    turns = Turns(kept=3)
    for who in "abcdef":
        turns.serve(who)
    assert len(turns._next) == 3


def test_an_answer_that_nobody_wants_is_given_up() -> None:
    """The process is ended, and the next question does not wait for it."""

    async def scene() -> None:
        async with answering() as questions:
            pid = await questions.ask(process_id())
            asking = asyncio.create_task(questions.ask(question("a", "hours", seconds=3600.0)))
            await asyncio.sleep(0.1)
            asking.cancel()
            began = time.monotonic()
            assert await questions.ask(process_id()) != pid
            assert 0.5 < time.monotonic() - began < 5.0
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)  # type: ignore[arg-type]

    within(scene)


def test_an_answer_that_is_almost_there_is_kept() -> None:
    async def scene() -> None:
        async with answering() as questions:
            pid = await questions.ask(process_id())
            asking = asyncio.create_task(questions.ask(question("a", "soon", seconds=0.3)))
            await asyncio.sleep(0.1)
            asking.cancel()
            await asyncio.sleep(0.6)
            began = time.monotonic()
            await questions.ask(question("b", "soon", seconds=3600.0))
            assert time.monotonic() - began < 0.1
            assert await questions.ask(process_id()) == pid

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
        async with answering(seconds=0.5) as questions:
            pid = await questions.ask(process_id())
            with pytest.raises(Unanswered) as error:
                await questions.ask(Question("a", "", "bad", (function, {})))
            assert words in str(error.value)
            assert await questions.ask(process_id()) != pid

    within(scene)


def test_a_process_that_has_grown_is_replaced() -> None:
    async def scene() -> None:
        async with answering(memory=2**31) as questions:
            pid = await questions.ask(process_id())
            assert await questions.ask(process_id()) == pid
            grow = partial(exec, "import os; os.held = b'x' * (2**29 + 1)")
            await questions.ask(Question("a", "", "grow", (grow, {})))
            assert await questions.ask(process_id()) != pid

    within(scene)


def test_one_address_holds_one_process_whatever_it_calls_itself() -> None:
    """Two long questions of one address held both processes, and others were sent away."""

    async def scene() -> None:
        async with answering(workers=2, patience=2.0) as questions:
            long = [questions.ask(question(f"evil/{i}", f"long {i}", seconds=60.0)) for i in "123"]
            asking = [asyncio.create_task(one) for one in long]
            await asyncio.sleep(0.2)
            for i in range(5):
                async with asyncio.timeout(1.5):
                    await questions.ask(question("good/me", f"short {i}", seconds=0.0))
            await asyncio.sleep(2.0)
            assert [one.done() for one in asking] == [False, True, True]  # they were told to wait
            asking[0].cancel()
            await asyncio.gather(*asking, return_exceptions=True)

    within(scene)


def test_people_at_one_address_take_turns() -> None:
    async def scene() -> None:
        order: list[str] = []

        async def asked(client: str, key: str) -> None:
            await questions.ask(question(client, key, seconds=0.05))
            order.append(key)

        async with answering(waiting=9) as questions:
            keys = [("class/ann", "a1"), ("class/ann", "a2"), ("class/ann", "a3")]
            keys += [("class/bob", "b1"), ("home/cyd", "c1")]
            await asyncio.gather(*(asked(*one) for one in keys))
        assert order.index("c1") < 2
        assert order.index("b1") < order.index("a2")

    within(scene)


def test_a_question_has_a_limit_of_processor_time() -> None:
    """Also where compiled code holds the lock; one that only waits has used nothing."""

    async def scene() -> None:
        async with answering(processor_seconds=0.5) as questions:
            await questions.ask(question("a", "waits", seconds=1.5))
            endless = Question("a", "", "works", (partial(exec, "sum(iter(int, 1))"), {}))
            with pytest.raises(Unanswered, match=r"or 0\.5 of a processor") as error:
                await questions.ask(endless)
            assert error.value.is_late
            await questions.ask(question("a", "short"))

    within(scene)
