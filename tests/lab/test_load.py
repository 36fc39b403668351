"""A class at work: fifty people type and ten run simulations, and one disturbs them as he can.

Everybody has an address of the machine's own network. `GRADONE_LOAD_SECONDS=60` makes it shorter.
Prints what it measured: `pytest -s -m load tests/lab/test_load.py`, or `make test-load`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import statistics
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from gradone.base.threads import available_cores
from gradone.lab.settings import Settings

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc")

TYPISTS, RUNNERS = 50, 10
DISTURBING = 24  # requests at a time of one client who wants all for himself
DEBOUNCE = 0.25
QUIET = 0.3  # cores that others may use while times are judged
# Half of them are of the page's own menu and tour; a number makes the others new every time.
TARGETS = (
    "He2(z1) + sign(z1*z2*z3)",
    "He3(z)",
    "sign(z1*z2)",
    "z1*z2*z3",
    "tanh(z1) + z1*z2",
    "relu(z1) - relu(z2)",
    "z1 + z1*z2 + z1*z2*z3",
    "exp(-z1**2)",
    "{c}*z1 + z1*z2",
    "tanh({c}*z1 + z2)",
    "He2(z1) + {c}*He3(z2)",
    "sign(z1) + {c}*z2**2",
    "{c}*He4(z) + He2(z)",
    "z1**2 + {c}*z2",
    "{c}*z1 + z1*z2*z3",
    "sin({c}*z1)*z2",
    "tanh({c}*z1*z2 + z3)",
    "sign(z1*z2*z3) + {c}*He2(z2)",
)
RUNS: tuple[dict[str, Any], ...] = (
    {"target": "tanh(z)", "d": 64, "algorithms": ["random_features"]},
    {"target": "z1*z2", "d": 100, "algorithms": ["random_features", "giant_step"]},
    {"target": "z1 + z1*z2", "d": 100, "view": "time", "algorithms": ["sgd"]},
    {"target": "He2(z)", "d": 100, "algorithms": ["bayes_amp", "spectral_directions"]},
)


@dataclass
class Notes:
    """What happened."""

    statuses: Counter[str] = field(default_factory=Counter)
    disturbed: Counter[int | str] = field(default_factory=Counter)  # answers to the hostile client
    waits: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    begun: Counter[int] = field(default_factory=Counter)
    ended: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    turns: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    longest: float = 0.0  # seconds of one request
    processes: int = 0
    memory: int = 0
    foreign: float = 0.0  # cores that others use

    def note(self, answer: httpx.Response) -> None:
        """Count an answer; anything but an answer, a mistake told or a place is a problem."""
        status = str(answer.status_code)
        if answer.status_code == 503:
            body = answer.json()
            if body.get("place") and int(answer.headers["retry-after"]) >= 1:
                status = "busy"
        self.statuses[status] += 1
        if status not in ("200", "201", "422", "busy"):
            self.problems.append(f"{status} {answer.request.url}: {answer.text[:200]}")

    def summary(self) -> str:
        """All numbers in a few lines."""
        lines = [f"statuses {dict(self.statuses)}"]
        for kind, waits in sorted(self.waits.items()):
            tail = np.quantile(waits, [0.5, 0.95, 1.0])
            shown = ", ".join(f"{1000 * one:.0f}" for one in tail)
            lines.append(f"{kind}: {len(waits)} answers; median, 95 %, longest: {shown} ms")
        per_user = {who: dict(count) for who, count in sorted(self.ended.items())}
        lines.append(f"turns of runs: {dict(sorted(self.begun.items()))}; ends: {per_user}")
        if self.turns:
            longest = max(self.turns)
            middle = statistics.median(self.turns)
            lines.append(f"wait for a turn: median {middle:.1f} s, longest {longest:.1f} s")
        lines.append(f"answers to the hostile client: {dict(self.disturbed)}")
        lines.append(f"longest wait for one answer, or for 'busy': {self.longest:.1f} s")
        lines.append(f"at most {self.processes} processes, {self.memory / 2**20:.0f} MB in all")
        lines.append(f"others used {self.foreign:.2f} cores meanwhile")
        return "\n".join(lines)


async def asked_until_answered(
    web: httpx.AsyncClient, notes: Notes, query: dict[str, Any]
) -> httpx.Response:
    """Answer to what is typed, as the page asks: again when the lab is busy."""
    while True:
        began = time.monotonic()
        answer = await web.get("/api/analyze", params=query)
        notes.longest = max(notes.longest, time.monotonic() - began)
        notes.note(answer)
        if answer.status_code != 503:
            return answer
        await asyncio.sleep(float(answer.headers.get("retry-after", 1)))


def somebody(address: str, who: str, **options: Any) -> httpx.AsyncClient:
    """Client with an address of its own: Linux has a whole network of them, 127.0.0.0/8."""
    # Certificates are of no use here, and reading them for each client would take seconds in all.
    transport = httpx.AsyncHTTPTransport(local_address=who, verify=False)
    return httpx.AsyncClient(base_url=address, transport=transport, trust_env=False, **options)


async def type_on(address: str, who: int, until: float, notes: Notes) -> None:
    """Type one target after the other, letter by letter, and read each verdict for a while."""
    rng = np.random.default_rng(who)
    async with somebody(address, f"127.0.1.{who + 1}", timeout=60.0) as web:
        await asyncio.sleep(rng.uniform(0, 5))
        while time.monotonic() < until:
            pattern = TARGETS[rng.integers(len(TARGETS))]
            text = pattern.format(c=round(float(rng.uniform(0.1, 0.9)), 3))
            asking: asyncio.Task[httpx.Response] | None = None
            began = 0.0
            for length in range(1, len(text) + 1):
                is_last = length == len(text)
                pause = rng.lognormal(np.log(0.18), 0.6) if not is_last else np.inf
                if pause < DEBOUNCE:
                    await asyncio.sleep(pause)
                    continue
                await asyncio.sleep(DEBOUNCE)
                if asking is not None and not asking.done():
                    asking.cancel()  # the page ends the older request
                query = {"target": text[:length], "client": f"typist{who}.analyze"}
                began = time.monotonic()
                asking = asyncio.create_task(asked_until_answered(web, notes, query))
                asking.add_done_callback(
                    lambda done, began=began, text=text[:length]: _time(notes, done, began, text)
                )
                if not is_last:
                    await asyncio.sleep(pause - DEBOUNCE)
            assert asking is not None
            with contextlib.suppress(httpx.HTTPError):  # noted by the callback
                await asking
            await asyncio.sleep(rng.uniform(2, 5))


def _time(notes: Notes, done: asyncio.Task[httpx.Response], began: float, text: str) -> None:
    if done.cancelled():
        notes.statuses["typed on"] += 1
        return
    if (error := done.exception()) is not None:
        notes.problems.append(f"{type(error).__name__} {error} for {text}")
        return
    answer = done.result()
    kind = "mistakes" if answer.status_code == 422 else "r = 3" if "z3" in text else "r < 3"
    notes.waits[kind].append(time.monotonic() - began)


async def run_on(address: str, who: int, until: float, notes: Notes) -> None:
    """Start runs and watch them; now and then stop one, go away, or load the page again."""
    rng = np.random.default_rng(1000 + who)
    timeout = httpx.Timeout(60.0, read=None)
    async with somebody(address, f"127.0.2.{who + 1}", timeout=timeout) as web:
        await asyncio.sleep(rng.uniform(0, 5))
        while time.monotonic() < until:
            wanted = {**RUNS[rng.integers(len(RUNS))], "client": f"runner{who}"}
            wanted["seed"] = int(rng.integers(1000))
            answer = await web.post("/api/runs", json=wanted)
            notes.note(answer)
            if answer.status_code != 201:
                await asyncio.sleep(float(answer.headers.get("retry-after", 1)))
                continue
            mood = rng.choice(["watch", "stop", "leave", "reload"], p=[0.6, 0.15, 0.1, 0.15])
            watching = _watch(web, answer.json()["run"], who, mood, notes, rng)
            try:
                await asyncio.wait_for(watching, max(until - time.monotonic(), 0.1))
            except TimeoutError:
                return
            except httpx.HTTPError as error:
                notes.problems.append(f"{type(error).__name__} {error} of a run")
            await asyncio.sleep(rng.uniform(0, 2))


async def _watch(
    web: httpx.AsyncClient, run: str, who: int, mood: str, notes: Notes, rng: np.random.Generator
) -> None:
    asked, seen, has_begun = time.monotonic(), -1, False
    patience = rng.uniform(1, 6) if mood in ("leave", "reload") else np.inf
    while True:
        headers = {"last-event-id": str(seen)} if seen >= 0 else {}
        async with web.stream("GET", f"/api/runs/{run}/events", headers=headers) as stream:
            assert stream.status_code == 200
            async for line in stream.aiter_lines():
                if line.startswith("id: "):
                    assert int(line[4:]) == seen + 1  # nothing is lost, also after a reload
                    seen += 1
                if not line.startswith("data: "):
                    continue
                event = json.loads(line[6:])
                if event["kind"] == "begin":
                    has_begun = True
                    notes.begun[who] += 1
                    notes.turns.append(time.monotonic() - asked)
                    if mood == "stop":
                        await asyncio.sleep(rng.uniform(0, 2))
                        notes.note(await web.post(f"/api/runs/{run}/cancel"))
                if event["kind"] == "end":
                    notes.ended[who][event["status"]] += 1
                    if event["status"] == "failed":
                        notes.problems.append(f"run failed: {event['message']}")
                    return
                if has_begun and time.monotonic() - asked > patience:
                    break
        if mood == "leave":
            notes.ended[who]["left"] += 1
            return
        patience = np.inf
        await asyncio.sleep(0.5)
        notes.note(await web.get(f"/api/runs/{run}"))


async def disturb(address: str, until: float, notes: Notes) -> None:
    """One address, many names: questions that are not quick, long ones, and runs, all at once."""
    rng = np.random.default_rng(666)

    async def flood(web: httpx.AsyncClient, number: int) -> None:
        while time.monotonic() < until:
            name, c = f"{rng.integers(10**9)}", round(float(rng.uniform(0.1, 0.9)), 6)
            heavy = "+".join(f"abs(z1-{c}*{i}/7)" for i in range(1, 40))
            try:
                if number % 8 == 0:
                    run = {**RUNS[0], "client": name, "seed": int(rng.integers(1000))}
                    found = await web.post("/api/runs", json=run)
                elif number % 2:
                    query = {"target": heavy, "client": name}
                    found = await web.get("/api/analyze", params=query)
                else:
                    query = {"target": f"sign({c}*z1 + z2*z1)*tanh(z2)", "client": name}
                    found = await web.get("/api/plan", params={**query, "d": 1000})
                notes.disturbed[found.status_code] += 1
            except httpx.HTTPError as error:
                notes.disturbed[type(error).__name__] += 1
            await asyncio.sleep(0.01)

    limits = httpx.Limits(max_connections=DISTURBING)
    async with somebody(address, "127.0.3.1", timeout=60.0, limits=limits) as web:
        await asyncio.gather(*(flood(web, number) for number in range(DISTURBING)))


async def look(process: Any, until: float, notes: Notes) -> None:
    """Count processes and their memory; shared memory is shared out among those who share it."""
    began, used, own = time.monotonic(), seconds_of_machine(), time.process_time()
    before = sum(map(seconds_of, process.processes()))
    of_lab: dict[int, float] = {}
    while time.monotonic() < until:
        pids = process.processes()
        notes.processes = max(notes.processes, len(pids))
        notes.memory = max(notes.memory, sum(map(proportional_bytes, pids)))
        of_lab |= {pid: seconds_of(pid) for pid in pids}
        await asyncio.sleep(1.0)
    ours = sum(of_lab.values()) - before + time.process_time() - own
    notes.foreign = (seconds_of_machine() - used - ours) / (time.monotonic() - began)


def seconds_of_machine() -> float:
    """Processor time that everything together has used."""
    fields = [int(one) for one in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")  # idle, waiting


def seconds_of(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def proportional_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


async def crowd(process: Any, address: str, seconds: float) -> Notes:
    async with httpx.AsyncClient(base_url=address, timeout=120.0) as web:
        await web.get("/api/analyze", params={"target": "z1*z2"})  # the processes have started
    notes, until = Notes(), time.monotonic() + seconds
    users = [type_on(address, who, until, notes) for who in range(TYPISTS)]
    users += [run_on(address, who, until, notes) for who in range(RUNNERS)]
    users.append(disturb(address, until, notes))
    await asyncio.gather(*users, look(process, until, notes))
    return notes


def check(process: Any, notes: Notes) -> None:
    """No error but "busy", and bounds on everything."""
    assert notes.problems == []
    assert notes.statuses["200"]  # people were answered, and so was the hostile one
    assert notes.disturbed
    assert "Traceback" not in process.log
    assert "ERROR" not in process.log
    # Three for each core, the server, the one they are forked from, the tracker of resources.
    assert notes.processes <= 3 * available_cores() + 3
    assert notes.memory < 2 * 2**30
    settings = Settings()
    assert notes.longest < settings.patience + settings.question_seconds
    turns = [notes.begun[who] for who in range(RUNNERS)]
    assert max(turns) <= 2 * min(turns) + 2
    if notes.foreign < QUIET:  # otherwise the times are those of somebody else
        assert statistics.median(notes.waits["mistakes"]) < 0.1
        assert statistics.median(notes.waits["r < 3"]) < 0.3
        # What is answered while one types, in spite of somebody who wants all for himself.
        assert np.quantile(notes.waits["r < 3"] + notes.waits["mistakes"], 0.95) < 0.5
        assert max(max(waits) for waits in notes.waits.values()) < 30.0


@pytest.mark.slow
def test_a_short_rush(launch: Any) -> None:
    process, address = launch()
    try:
        notes = asyncio.run(crowd(process, address, 20.0))
    finally:
        process.interrupt()
    print("\n" + notes.summary())
    check(process, notes)


@pytest.mark.load
def test_a_class_at_work(launch: Any) -> None:
    """Five minutes; in addition everybody who runs gets several turns."""
    process, address = launch()
    seconds = float(os.environ.get("GRADONE_LOAD_SECONDS", "300"))
    try:
        notes = asyncio.run(crowd(process, address, seconds))
    finally:
        process.interrupt()
    print("\n" + notes.summary())
    check(process, notes)
    if notes.foreign < QUIET and seconds >= 300:
        assert min(notes.begun[who] for who in range(RUNNERS)) >= 4
        assert max(notes.turns) < 100.0
    assert process.left_after(5.0) == []
