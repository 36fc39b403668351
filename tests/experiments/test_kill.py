"""Sweeps that are killed at any moment, and go on as if nothing had happened.

Real processes and real signals. The moments come from a fixed seed: a number of stored cells to
wait for, so that they spread over the run however busy the machine is, and then some milliseconds.
"""

import collections
import os
import signal
import time

import numpy as np
import pytest

from gradone.experiments.store import Store

from .stored_cells import integrity
from .toy_cells import computed_here, contents
from .toy_processes import Marked, ToySweep

CELLS, SECONDS = 150, 0.01
SIZES = {"count": CELLS, "seconds": SECONDS}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What the store holds if nobody kills anything."""
    path = tmp_path_factory.mktemp("undisturbed") / "runs.db"
    summary = ToySweep(path, **SIZES).finish()
    assert summary == {"done": CELLS, "failed": 0, "skipped": 0, "interrupted": False}
    with Store(path, "ro") as store:
        return contents(store)


@pytest.mark.parametrize(
    "kills",
    [pytest.param(8, marks=pytest.mark.stat), pytest.param(50, marks=pytest.mark.slow)],
)
def test_a_run_killed_again_and_again_ends_with_the_same_bytes(tmp_path, undisturbed, kills):
    """Would catch: a cell told before it is stored, or stored twice; a worker left behind."""
    moments = np.random.default_rng(2024)
    path, number, before = tmp_path / "runs0.db", 0, 0
    for kill in range(kills):
        sweep = ToySweep(path, **SIZES)
        sweep.wait_for(before + int(moments.integers(30)))
        time.sleep(moments.uniform(0, 0.05))
        sweep.kill(all_at_once=kill % 2 == 0)
        assert sweep.left_behind() == {}
        if not path.exists():
            continue
        assert integrity(path) == "ok"
        with Store(path, "ro") as store:
            found = contents(store)
        assert len(found) >= max(sweep.stored, before)
        assert found.items() <= undisturbed.items()
        before = len(found)
        if before == CELLS:  # it was too quick for us: kill another one
            number, before = number + 1, 0
            path = tmp_path / f"runs{number}.db"
    assert ToySweep(path, **SIZES).finish()["done"] == CELLS - before
    assert ToySweep(path, **SIZES).finish() == {
        "done": 0,
        "failed": 0,
        "skipped": CELLS,
        "interrupted": False,
    }
    with Store(path, "ro") as store:
        assert contents(store) == undisturbed
        assert store.recall("cells") == str(CELLS)


@pytest.mark.stat
def test_what_is_stored_is_not_computed_again(tmp_path):
    path, notes = tmp_path / "runs.db", tmp_path / "notes"
    notes.mkdir()
    first = ToySweep(path, **SIZES, TOY_NOTES=str(notes))
    first.wait_for(40)
    first.kill(all_at_once=True)
    with Store(path, "ro") as store:
        stored = {stored.result.arrays["count"].item() for stored in store.results()}
    early = set(notes.iterdir())
    ToySweep(path, **SIZES, TOY_NOTES=str(notes)).finish()
    late = collections.Counter(int(n.name.partition("-")[0]) for n in set(notes.iterdir()) - early)
    assert late == dict.fromkeys(set(range(CELLS)) - stored, 1)


@pytest.mark.stat
def test_killed_workers_cost_no_cell(tmp_path):
    path, moments = tmp_path / "runs.db", np.random.default_rng(7)
    sweep = ToySweep(path, count=40, seconds=0.1)
    for stored in (1, 6, 12):
        sweep.wait_for(stored)
        os.kill(moments.choice(sweep.workers()), signal.SIGKILL)
    assert sweep.finish() == {"done": 40, "failed": 0, "skipped": 0, "interrupted": False}
    assert sweep.left_behind() == {}
    with Store(path, "ro") as store:
        assert contents(store) == computed_here(40, seconds=0.1)


@pytest.mark.stat
def test_ctrl_c_keeps_what_is_done_and_leaves_nobody_behind(tmp_path):
    path = tmp_path / "runs.db"
    sweep = ToySweep(path, count=40, seconds=0.3)
    sweep.wait_for(2)
    os.killpg(sweep.process.pid, signal.SIGINT)
    summary = sweep.finish()
    assert summary["interrupted"]
    assert 2 <= summary["done"] < 40
    assert summary["failed"] == 0
    assert sweep.left_behind() == {}
    with Store(path, "ro") as store:
        assert len(contents(store)) == summary["done"]
        assert contents(store).items() <= computed_here(40, seconds=0.3).items()


@pytest.mark.stat
def test_two_runs_on_one_store_do_not_disturb_each_other(tmp_path, undisturbed):
    path = tmp_path / "runs.db"
    pair = [ToySweep(path, **SIZES) for _ in range(2)]
    summaries = [sweep.finish() for sweep in pair]
    assert sum(s["done"] + s["skipped"] for s in summaries) >= CELLS
    with Store(path, "ro") as store:
        assert contents(store) == undisturbed
        assert store.recall("cells") == str(CELLS)
    assert integrity(path) == "ok"


SPEC = """
name = "killed"
targets = ["He3(z)", "sign(z1*z2)"]
replicates = 12
grid = { d = 30, alpha = [1, 4, 16] }
[[algorithms]]
learner = "spectral_directions"
n_permutations = 9
"""


@pytest.mark.slow
def test_the_command_killed_fifty_times_exports_the_same_bytes(tmp_path):
    """Also while the server of its workers still imports what they need."""
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC)

    def sweep(store, *words):
        arguments = [spec, "--store", store, "--workers", 2, "--quiet", *words]
        return Marked("-c", "from gradone.cli import main; main()", "sweep", *arguments)

    def exported(store):
        table = tmp_path / f"{store.stem}.csv"
        sweep(store, "--export", table).finish()
        return table.read_bytes()

    whole = tmp_path / "whole.db"
    sweep(whole).finish()
    moments, killed, cut = np.random.default_rng(11), tmp_path / "killed.db", 0
    for kill in range(50):
        running, before = sweep(killed), stored_in(killed)
        while len(running.members()) < 3 and running.process.poll() is None:
            time.sleep(0.02)  # until there is somebody to leave behind
        time.sleep(moments.uniform(0, 0.5))
        goal = before + int(moments.integers(5)) * (kill % 3)
        while stored_in(killed) < goal and running.process.poll() is None:
            time.sleep(0.02)
        running.kill(all_at_once=kill % 2 == 0)
        assert running.left_behind() == {}
        cut += before < stored_in(killed) < 72
        if stored_in(killed) == 72:  # it was too quick for us: kill another one
            killed = tmp_path / f"killed{kill}.db"
    assert cut >= 5
    sweep(killed).finish()
    assert stored_in(killed) == 72
    assert exported(killed) == exported(whole)


def stored_in(path):
    if not path.exists():
        return 0
    with Store(path, "ro") as store:
        return len(store.keys())
