"""Children that can be stopped: deadlines, failures, deaths, and no process left behind."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from gradone.base.children import Task, run_within

pytestmark = pytest.mark.skipif(
    not Path("/proc").exists(), reason="looks at the processes of Linux"
)

PLENTY = 60.0  # seconds for what takes none


def call(function, **arguments):
    return function, arguments


def sleep(seconds):
    return call(partial(time.sleep, seconds))


def test_what_is_done_at_the_deadline_counts_and_the_rest_is_stopped():
    start = time.monotonic()
    tasks = [Task("slow", [call(dict, a=1), sleep(600)])]
    found = run_within(tasks, 8.0, workers=1)["slow"]
    assert time.monotonic() - start < 20
    assert found.answers == {0: {"a": 1}}
    assert (found.failures, found.unfinished) == ({}, {1})


def test_a_piece_beyond_its_limit_gives_way_to_other_tasks():
    tasks = [Task("slow", [sleep(600), sleep(600)]), Task("quick", [call(dict, a=1)])]
    found = run_within(tasks, PLENTY, piece_seconds=3.0, workers=1)
    assert found["slow"].unfinished == {0, 1}
    assert found["quick"].answers == {0: {"a": 1}}


def test_failures_and_deaths_are_told_and_others_go_on():
    tasks = [
        Task("mistake", [call(int, x="seven")]),
        Task("death", [call(os._exit, status=3)]),
        Task("quick", [call(dict, a=1)]),
    ]
    found = run_within(tasks, PLENTY, workers=1)
    assert found["mistake"].failures[0].startswith("TypeError: ")
    assert found["death"].failures[0] == "its process ended without an answer (exit code 3)"
    assert found["quick"].answers == {0: {"a": 1}}


def test_an_answer_may_bring_further_tasks():
    def more(answer):
        return [Task("second", [call(dict, b=answer["a"] + 1)])]

    found = run_within([Task("first", [call(dict, a=1)], then=more)], PLENTY, workers=1)
    assert found["second"].answers == {0: {"b": 2}}


def test_a_task_with_a_handicap_waits_for_the_others():
    order = []
    tasks = [
        Task("last", [call(dict)], handicap=100.0),
        Task("first", [call(dict), call(dict)]),
    ]
    run_within(tasks, PLENTY, workers=1, progress=lambda done, total, name: order.append(name))
    assert order == ["first", "first", "last"]


SCRIPT = """
import time
from functools import partial
from gradone.base.children import Task, run_within
print("ready", flush=True)
sleep = (partial(time.sleep, 600), {})
run_within([Task("one", [sleep]), Task("two", [sleep])], 600.0, workers=2)
"""


def of_session(session):
    """Processes of a session."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.add(int(folder.name))
    return found


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_child_outlives_its_parent(tmp_path, how):
    """A script without a guard, too: its children do not run it again."""
    (tmp_path / "script.py").write_text(SCRIPT)
    parent = subprocess.Popen(
        [sys.executable, tmp_path / "script.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )
    deadline = time.monotonic() + 60
    with parent:
        assert parent.stdout.readline() == "ready\n"
        # The parent, the server that children are forked from, the tracker, and two children.
        while len(of_session(parent.pid)) < 5:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        parent.send_signal(how)
        parent.wait(30)
        while of_session(parent.pid):
            assert time.monotonic() < deadline
            time.sleep(0.1)


IMPORTING = """
from gradone.base.pool import Pool
Pool(preload=["slow_to_import"]).take()
"""
SLOW_MODULE = """
import os, pathlib
pathlib.Path("server").write_text(str(os.getpid()))
sum(iter(int, 1))
"""


def test_a_server_that_still_imports_does_not_outlive_its_parent(tmp_path):
    """Requests that wait for the server keep its pipe open: it needs a lifeline of its own."""
    (tmp_path / "script.py").write_text(IMPORTING)
    (tmp_path / "slow_to_import.py").write_text(SLOW_MODULE)
    command = [sys.executable, tmp_path / "script.py"]
    path = os.environ | {"PYTHONPATH": str(tmp_path)}
    with subprocess.Popen(command, cwd=tmp_path, env=path, start_new_session=True) as parent:
        mark, deadline = tmp_path / "server", time.monotonic() + 60
        while not (mark.exists() and mark.read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.2)  # the parent has asked for a child
        parent.kill()
    deadline = time.monotonic() + 2.0
    while of_session(parent.pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)


HOLDER = """
import time
from functools import partial
from gradone.base.pool import Pool

child = Pool().take()
child.ask((partial(exec, "sum(iter(int, 1))"), {}))
print(child.process.pid, flush=True)
time.sleep(600)
"""


def test_a_loop_that_holds_the_lock_does_not_outlive_its_parent(tmp_path):
    """Compiled code need not let another thread see that the parent is gone."""
    (tmp_path / "script.py").write_text(HOLDER)
    command = [sys.executable, tmp_path / "script.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        while of_process(child)[1] < 20:  # it is in the loop when it has used some time there
            time.sleep(0.05)
        parent.kill()
    deadline = time.monotonic() + 2.0
    while of_process(child)[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def of_process(pid):
    """State of a process and hundredths of a second it has used; of no process, that of a dead."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return "Z", 0
    return fields[0], int(fields[11])
