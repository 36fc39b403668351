"""Executors: the same bytes from each of them, and what happens when a cell misbehaves."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gradone.base.errors import BadData, WorkersFailed
from gradone.base.progress import Silent
from gradone.experiments.coordinator import Summary, run_tasks
from gradone.experiments.executors.processes import Processes
from gradone.experiments.store import Store
from gradone.experiments.task import Task

from .toy_cells import computed_here, contents, make_tasks
from .toy_processes import HERE, PATH, ToySweep


@pytest.fixture(autouse=True)
def _toys_can_be_imported(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "runs.db") as store:
        yield store


def run(store, tasks, function="numbers", **options):
    return run_tasks(tasks, f"toy_cells:{function}", store=store, sweep="toy", **options)


@pytest.mark.parametrize(
    ("executor", "workers"), [("serial", 1), ("processes", 1), ("processes", 2)]
)
def test_every_executor_gives_the_same_bytes(store, executor, workers):
    assert run(store, make_tasks(30), executor=executor, workers=workers) == Summary(
        30, 0, 0, False
    )
    assert contents(store) == computed_here(30)


def test_another_seed_gives_other_bytes(store):
    run(store, make_tasks(3, seed=1), executor="serial")
    ours = {i: values for i, (_, _, values) in enumerate(contents(store).values())}
    others = {i: values for i, (_, _, values) in enumerate(computed_here(3).values())}
    assert all(ours[i]["gram"] != others[j]["gram"] for i in ours for j in others)


def test_a_larger_sweep_computes_what_is_new(store):
    run(store, make_tasks(10), executor="serial")
    assert run(store, make_tasks(25), executor="serial") == Summary(15, 0, 10, False)
    assert contents(store) == computed_here(25)
    assert run(store, make_tasks(25), executor="processes") == Summary(0, 0, 25, False)


@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_a_cell_that_raises_fails_alone_and_is_told_at_once(store, executor):
    told = []
    summary = run(
        store,
        make_tasks(20),
        "raising",
        executor=executor,
        workers=1,
        on_failed=lambda task, result: told.append((task.parameters, result.error)),
    )
    assert summary == Summary(16, 4, 0, False)
    assert sorted(parameters for parameters, _ in told) == sorted(
        f'{{"i":{i}}}' for i in (0, 5, 10, 15)
    )
    assert all("has no solution" in error for _, error in told)
    # They are not tried again, until somebody asks for it.
    assert run(store, make_tasks(20), executor="serial") == Summary(0, 0, 20, False)
    assert store.forget_failed() == 4
    assert run(store, make_tasks(20), executor="serial") == Summary(4, 0, 16, False)
    assert contents(store) == computed_here(20)


def test_objects_fail_their_cell(store):
    assert run(store, make_tasks(1), "objects", executor="serial") == Summary(0, 1, 0, False)
    [found] = store.results()
    assert "'bad' holds Python objects" in found.result.error


@pytest.mark.stat
def test_one_poisoned_cell_in_a_thousand(store):
    """Its worker is killed with it, and 999 others are not condemned."""
    assert run(store, make_tasks(1000), "poisoned", workers=2) == Summary(999, 1, 0, False)
    [found] = store.results(keys=store.keys("failed"))
    assert found.parameters == '{"i":617}'
    assert "signal 9, SIGKILL" in found.result.error
    healthy = computed_here(1000)
    del healthy[found.result.key]
    assert {key: value for key, value in contents(store).items() if key in healthy} == healthy


def surroundings(store):
    return [one.result.arrays for one in store.results()]


@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_linear_algebra_has_one_thread_whatever_the_user_has_set(tmp_path, executor):
    path = tmp_path / "runs.db"
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "2")
    ToySweep(path, count=2, function="surroundings", executor=executor, **threads).finish()
    with Store(path, "ro") as store:
        assert [int(found["threads"]) for found in surroundings(store)] == [1, 1]


def most_at_once(spans):
    edges = sorted([(start, 1) for start, _ in spans] + [(end, -1) for _, end in spans])
    return int(np.cumsum([change for _, change in edges]).max())


@pytest.mark.parametrize(("memory", "expected"), [(250, 2), (150, 1)])
def test_cells_that_do_not_fit_together_wait_for_each_other(store, memory, expected):
    cells = make_tasks(6, seconds=0.1)
    tasks = [Task(task.key, task.parameters, bytes=100) for task in cells]
    run(store, tasks, "surroundings", executor=Processes(2, memory=memory))
    found = surroundings(store)
    assert most_at_once([one["span"] for one in found]) == expected


def test_a_cell_larger_than_all_memory_is_tried_alone(store):
    [task] = make_tasks(1)
    huge = Task(task.key, task.parameters, bytes=10**18)
    assert run(store, [huge], executor=Processes(1, memory=1)) == Summary(1, 0, 0, False)


class Watcher(Silent):
    """Notes what it is told, and stops after some steps."""

    def __init__(self, last):
        self.last, self.told, self.closed = last, [], False

    def step(self, i, total, **scalars):
        self.told.append((i, total, scalars))
        return i >= self.last

    def close(self):
        self.closed = True


def test_a_watcher_is_told_everything_and_can_stop_the_run(store):
    run(store, make_tasks(5), executor="serial")
    watcher = Watcher(last=12)
    summary = run(store, make_tasks(40), "raising", executor="serial", progress=watcher)
    assert summary == Summary(5, 2, 5, interrupted=True)
    assert [i for i, _, _ in watcher.told] == list(range(6, 13))
    assert {total for _, total, _ in watcher.told} == {40}
    last = watcher.told[-1][2]
    assert last["failed"] == 2
    assert last["rate"] > 0
    assert last["seconds_left"] == pytest.approx(28 / last["rate"])
    assert watcher.closed


def test_the_time_left_follows_the_estimates(store):
    """Large cells come first: counted by number, the rest would seem to take as long."""
    cells = make_tasks(4)
    times = [6.0, 2.0, 1.0, 1.0]
    tasks = [Task(c.key, c.parameters, seconds=s) for c, s in zip(cells, times, strict=True)]
    watcher = Watcher(last=99)
    run(store, tasks, executor="serial", progress=watcher)
    ratios = [scalars["seconds_left"] * scalars["rate"] / i for i, _, scalars in watcher.told]
    assert ratios == pytest.approx([4 / 6, 2 / 8, 1 / 9, 0])


# ---- speed


@pytest.mark.slow
def test_ten_thousand_tiny_cells_cost_less_than_five_milliseconds_each(store):
    start = time.perf_counter()
    assert run(store, make_tasks(10_000), workers=2).done == 10_000
    assert time.perf_counter() - start < 50


@pytest.mark.slow
def test_two_workers_are_busy_for_ninety_percent_of_the_time(store):
    """Sleeping cells: whether the machine has two free cores is not the question here."""
    start = time.perf_counter()
    run(store, make_tasks(40, seconds=0.5), "slow", workers=2)
    wall = time.perf_counter() - start
    assert sum(one.result.seconds for one in store.results()) / (2 * wall) > 0.9


# ---- mistakes


@pytest.mark.parametrize(
    ("executor", "error"), [("serial", ModuleNotFoundError), ("processes", WorkersFailed)]
)
def test_a_function_that_does_not_exist_fails_no_cell(store, executor, error):
    with pytest.raises(error, match="No module named 'no_such'"):
        run_tasks(make_tasks(2), "no_such:f", store=store, sweep="toy", executor=executor)
    with pytest.raises(BadData, match="names no function"):
        run_tasks(make_tasks(2), "__main__:f", store=store, sweep="toy", executor=executor)
    assert store.keys() == set()


def test_wrong_settings_are_named(store):
    with pytest.raises(BadData, match="unknown executor 'procesess'.* Did you mean 'processes'"):
        run(store, make_tasks(1), executor="procesess")
    with pytest.raises(BadData, match="workers must be at least 1, got 0"):
        run(store, make_tasks(1), workers=0)


UNGUARDED = """
from toy_cells import make_tasks
from gradone.experiments.coordinator import run_tasks
from gradone.experiments.store import Store

with Store("runs.db") as store:
    done = run_tasks(make_tasks(4), "toy_cells:numbers", store=store, sweep="toy", workers=2).done
print(done)
"""


def test_a_script_needs_no_guard(tmp_path, monkeypatch):
    """Workers do not read the script: what it does is done once."""
    monkeypatch.setenv("PYTHONPATH", PATH)
    script = Path(tmp_path, "script.py")
    script.write_text(UNGUARDED)
    found = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "4\n", "")
