"""Processes of the lab: quick to start, clean to stop, and never left behind."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from gradone.base.pool import Pool
from gradone.base.threads import available_cores
from gradone.lab.runs import Run, Runs
from gradone.lab.settings import Settings

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc")
# Seconds of work before the first point of the curve is told.
LONG = {"target": "He4(z)", "d": 2000, "view": "time", "algorithms": ["sgd"]}
START_SECONDS, START_PROCESSOR_SECONDS = 3.0, 1.5


def seconds_used(pid: int) -> float:
    """Processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def gone_after(pid: int) -> float:
    """Seconds until a process is gone."""
    began = time.monotonic()
    while is_alive(pid) and time.monotonic() - began < 20.0:
        time.sleep(0.02)
    return time.monotonic() - began


def deep_at_work(process: Any, address: str) -> tuple[str, int]:
    """A run that computes and tells nothing, and its process."""
    usual, until = os.getpriority(os.PRIO_PROCESS, process.pid), time.monotonic() + 200.0
    with httpx.Client(base_url=address, timeout=60.0) as web:
        run = web.post("/api/runs", json=LONG).json()["run"]
        while time.monotonic() < until:
            for pid in runs_among(process.processes(), usual):
                if seconds_used(pid) > 2.0:
                    events = web.get(f"/api/runs/{run}").json()["events"]
                    assert [event["kind"] for event in events] == ["begin"]
                    return run, pid
            time.sleep(0.1)
    raise AssertionError("no run")


def runs_among(pids: list[int], usual: int) -> list[int]:
    """Processes that stand back for others as only runs do."""
    found = []
    for pid in pids:
        try:
            if os.getpriority(os.PRIO_PROCESS, pid) > usual + 5 and is_alive(pid):
                found.append(pid)
        except ProcessLookupError:
            continue
    return found


@pytest.mark.slow
def test_a_run_is_gone_soon_after_its_cancel(running: tuple[Any, str]) -> None:
    """Who computes looks at no event: the process itself must be gone."""
    process, address = running
    run, pid = deep_at_work(process, address)
    found = httpx.post(f"{address}/api/runs/{run}/cancel").json()
    assert gone_after(pid) < 5.0
    assert found["status"] == "stopped"


def test_a_run_that_holds_the_lock_is_gone_soon_after_its_cancel() -> None:
    """The loop of C that is worst: no other thread of the process ever runs again."""
    endless = partial(exec, "sum(iter(int, 1))")

    async def scene() -> float:
        runs = Runs(Pool(1, niceness=10), endless, Settings(cores=1))  # type: ignore[arg-type]
        run: Run = runs.start("somebody", {})
        try:
            while not (found := [pid for pid in beside() if seconds_used(pid) > 0.3]):
                await asyncio.sleep(0.02)
            runs.stop(run)
            return await asyncio.to_thread(gone_after, found[0])
        finally:
            await runs.close()

    def beside() -> list[int]:
        processes = [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]
        # The parent of a child is the server that it is forked from, and whose parent we are.
        mine = [pid for pid in processes if parent_of(parent_of(pid)) == os.getpid()]
        return runs_among(mine, os.getpriority(os.PRIO_PROCESS, 0))

    assert asyncio.run(scene()) < 5.0


@pytest.mark.slow
def test_a_killed_lab_leaves_no_process(launch: Any) -> None:
    """A run and questions at work, a client in the middle of its events."""
    process, address = launch()
    run, _ = deep_at_work(process, address)
    with httpx.stream("GET", f"{address}/api/runs/{run}/events", timeout=60.0) as events:
        lines = events.iter_lines()
        assert json.loads(next(one for one in lines if one.startswith("data: "))[6:])
        assert len(process.processes()) > 3  # the server, its questions, the run
        process.kill()
        process.communicate()
        assert process.left_after(5.0) == []
        with pytest.raises(httpx.HTTPError):  # told that it was cut off, not that it is over
            list(lines)


@pytest.mark.slow
def test_interrupting_ends_quietly(launch: Any) -> None:
    """Also with a run at work and somebody who listens to it."""
    process, address = launch()
    run = httpx.post(f"{address}/api/runs", json=LONG, timeout=60.0).json()["run"]
    with httpx.stream("GET", f"{address}/api/runs/{run}/events", timeout=60.0) as events:
        next(events.iter_lines())
        out = process.interrupt()
    assert process.returncode == 0
    assert (out, process.log) == ("", "")
    assert process.left_after(5.0) == []


@pytest.mark.slow
def test_the_lab_starts_quickly_and_says_where(launch: Any) -> None:
    """The best of three, because others may use the machine; nothing is opened."""
    seconds, used = [], []
    for _ in range(3):
        began = time.monotonic()
        process, address = launch()
        seconds.append(time.monotonic() - began)
        used.append(seconds_used(process.pid))
        assert httpx.get(address).status_code == 200
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address)
        names = {Path(f"/proc/{pid}/comm").read_text().strip() for pid in process.processes()}
        assert names <= {"gradone", "python", Path(sys.executable).resolve().name, "python3"}
        process.interrupt()
        assert process.returncode == 0
    assert min(used) < START_PROCESSOR_SECONDS
    if os.getloadavg()[0] < 2 * available_cores():  # otherwise the time is that of somebody else
        assert min(seconds) < START_SECONDS


@pytest.mark.slow
def test_other_machines_need_a_name_and_a_token(launch: Any) -> None:
    command = [str(Path(sys.executable).with_name("gradone")), "lab", "--host", "0.0.0.0"]  # noqa: S104
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert found.returncode == 2
    assert "say under which name or address they do with --allow-host" in found.stderr
    process, address = launch(*command[2:], "--allow-host", "127.0.0.1")
    assert httpx.get(address + "/health").status_code == 401
    assert "can be reached from other machines" in process.log
    process.interrupt()


@pytest.mark.slow
def test_an_address_in_use_says_so(lab: str) -> None:
    port = lab.rpartition(":")[2]
    command = [str(Path(sys.executable).with_name("gradone")), "lab", "--port", port]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert found.returncode == 2
    assert "Choose another port" in found.stderr
