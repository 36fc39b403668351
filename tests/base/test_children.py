"""Children that can be stopped: deadlines, failures, deaths, and no process left behind."""

import gc
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
SERVER = "from multiprocessing.forkserver import main; "  # how Python starts it


def call(function, **arguments):
    return function, arguments


def sleep(seconds):
    return call(partial(time.sleep, seconds))


def work(seconds):
    """A call that keeps a processor busy."""
    code = f"import time\nend = time.process_time() + {seconds}\nwhile time.process_time() < end: 0"
    return call(partial(exec, code))


def test_without_a_budget_every_task_has_its_coarse_pieces_and_no_other():
    tasks = [
        Task("two", [work(0.1)] * 4, coarse=2),
        Task("all", [work(0.1)] * 3),
        Task("none", [work(0.1)] * 2, coarse=0),
    ]
    found = run_within(tasks, 0.0, workers=1)
    assert {name: len(one.answers) for name, one in found.items()} == {
        "two": 2,
        "all": 3,
        "none": 0,
    }
    assert found["two"].unfinished == {2, 3}
    assert not any(one.failures for one in found.values())


def test_the_budget_counts_work_and_not_time_on_the_wall():
    """Pieces that wait for others use none of it; those that work stop when it is spent."""
    waiting = Task("waits", [sleep(0.2)] * 5, coarse=1)
    working = Task("works", [work(0.3)] * 50, coarse=1)
    found = run_within([waiting, working], 1.0, workers=1)
    assert len(found["waits"].answers) == 5
    assert 2 <= len(found["works"].answers) <= 5
    assert found["works"].seconds < 1.5


def test_curves_grow_in_turn_from_what_is_known():
    order = []

    def finer(answers):
        return work(0.1) if len(answers) < 4 else None

    tasks = [Task(name, [work(0.1)], refine=finer) for name in "ab"]
    found = run_within(tasks, PLENTY, workers=1, progress=lambda board, name: order.append(name))
    assert [set(order[k : k + 2]) for k in (0, 2, 4, 6)] == [{"a", "b"}] * 4
    assert len(found["a"].answers) == len(found["a"].calls) == 4


def test_a_quick_task_is_made_finer_a_few_times_whatever_the_budget(monkeypatch):
    monkeypatch.setattr("gradone.base.children._DEAR", 0.3)

    def finer(answers):
        return work(0.01)

    tasks = [Task("quick", [work(0.01)], rounds=3, refine=finer)]
    tasks += [Task("slow", [work(0.4)], rounds=3, refine=finer)]
    found = run_within(tasks, 0.0, workers=1)
    assert len(found["quick"].answers) == 4
    assert len(found["slow"].answers) == 1


def test_a_dear_first_piece_does_not_send_its_task_to_the_back():
    order = []
    tasks = [Task("main", [work(0.6), work(0.1)]), Task("other", [work(0.1)] * 4)]
    run_within(tasks, 0.0, workers=1, progress=lambda board, name: order.append(name))
    assert order[:4] == ["main", "other", "main", "other"]


def test_a_piece_beyond_its_limit_gives_way_to_other_tasks():
    tasks = [
        Task("slow", [work(600)] * 3),
        Task("once", [call(dict, a=1), work(600), call(dict, a=2)]),
        Task("quick", [call(dict, a=1)]),
    ]
    found = run_within(tasks, PLENTY, piece_seconds=1.0, workers=1)
    assert (found["slow"].unfinished, found["slow"].too_slow) == ({0, 1, 2}, 1.0)
    assert found["once"].answers == {0: {"a": 1}, 2: {"a": 2}}
    assert found["quick"].answers == {0: {"a": 1}}


def test_two_children_do_not_wait_for_one_slow_task():
    """While one tries its first piece the other works on; and it is cut once, not twice."""
    for coarse in (None, 0):  # whatever the budget, and with time to spare
        tasks = [Task("slow", [work(600)] * 3, coarse=coarse), Task("other", [work(0.1)] * 5)]
        found = run_within(tasks, 10.0, piece_seconds=1.0, workers=2)
        assert found["slow"].seconds < 1.5
        assert len(found["other"].answers) == 5


def in_parts(whole, *parts):
    """Splits one call, in some parts and others that follow one by one, and no other call."""
    return lambda one: parts if one == whole else ([], [])


def test_a_piece_beyond_its_limit_is_tried_again_in_parts(monkeypatch):
    """Also if the task is dear by then, and without a budget; parts are not split again."""
    monkeypatch.setattr("gradone.base.children._DEAR", 0.3)
    parts = [call(dict, a=2), work(600), call(dict, a=3)]
    pieces = [call(dict, a=1), work(601), call(dict, a=4)]
    task = Task("one", pieces, enough=2, split=in_parts(pieces[1], parts, []))
    found = run_within([task], 0.0, piece_seconds=0.5, workers=1)["one"]
    assert list(found.answers.values()) == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert (found.unfinished, found.too_slow) == ({1, 3, 5}, 0.5)


def test_a_piece_that_would_be_beyond_its_limit_is_not_begun():
    """Its parts would take 5 x 0.2 seconds by the first piece; the second of a climb ends it."""
    climb = [call(dict, a=3), work(600), work(601)]
    pieces = [work(0.2), work(602)]
    task = Task("one", pieces, enough=2, split=in_parts(pieces[1], [work(0.1), work(0.11)], climb))
    other = Task("other", [work(0.4)])
    found = run_within([task, other], 0.0, piece_seconds=0.7, workers=2)["one"]
    assert sorted(found.answers) == [0, 2, 3, 4]
    assert found.unfinished == {1, 5, 6}
    assert found.too_slow == 0.7
    assert found.seconds < 2 * 0.7  # no more than one piece was cut


def test_a_climb_begins_while_its_task_is_not_too_dear():
    """After 0.6 seconds, more than twice the limit of a piece, it waits for time to spare."""
    climb = [call(dict, a=3), call(dict, a=4)]
    pieces = [work(0.2), work(602)]
    for budget, answered in ((0.0, [0, 2, 3]), (PLENTY, [0, 2, 3, 4, 5])):
        task = Task("one", pieces, enough=2, split=in_parts(pieces[1], [work(0.2)] * 2, climb))
        found = run_within([task], budget, piece_seconds=0.28, workers=1)["one"]
        assert sorted(found.answers) == answered


def test_a_task_with_an_answer_may_have_more_patience():
    task = Task("one", [work(0.6), call(dict, a=1), work(0.6)], patience=3.0)
    found = run_within([task], 0.0, piece_seconds=0.4, workers=1)["one"]
    assert (list(found.answers), found.too_slow) == ([], 0.4)
    task = Task("one", [call(dict, a=1), work(0.6)], patience=3.0)
    found = run_within([task], 0.0, piece_seconds=0.4, workers=1)["one"]
    assert (list(found.answers), found.too_slow) == ([0, 1], 0.0)


def test_curves_that_wait_for_themselves_come_first():
    order = []
    tasks = [Task("alone", [work(0.02)] * 3)]
    tasks += [Task("chain", [work(0.01)] * 2, rounds=1, refine=lambda answers: work(0.01))]
    run_within(tasks, 0.0, workers=1, progress=lambda board, name: order.append(name))
    assert order == ["alone", "chain", "chain", "chain", "alone", "alone"]


def test_what_is_remembered_is_not_computed_again():
    tasks = [Task("one", [call(dict, a=1), call(dict, a=2)])]
    known = {"{'a': 1}": {"a": "known"}}
    found = run_within(tasks, 0.0, workers=1, recall=lambda name, ask: known.get(str(ask[1])))
    assert found["one"].answers == {0: {"a": "known"}, 1: {"a": 2}}


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


@pytest.mark.parametrize(("first", "looks"), [("", True), (SERVER, False)])
def test_only_the_server_of_children_looks_for_no_garbage(first, looks):
    """Would catch: an import that turns it off for good; a build of the site took 17 GB by it."""
    code = f"{first}import gc, gradone.base.preloading; print(gc.isenabled())"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == f"{looks}\n"
    found = run_within([Task("gc", [call(gc.isenabled)])], 0.0, workers=1)
    assert found["gc"].answers == {0: True}  # children do again


def test_an_answer_may_bring_further_tasks():
    def more(answer):
        return [Task("second", [call(dict, b=answer["a"] + 1)])]

    found = run_within([Task("first", [call(dict, a=1)], then=more)], PLENTY, workers=1)
    assert found["second"].answers == {0: {"b": 2}}


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
