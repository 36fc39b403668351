"""Cells on a real SLURM of one node: jobs that are Dask workers, and a job array with shards."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradone.base.errors import BadData, WorkersFailed
from gradone.base.progress import Silent
from gradone.experiments.coordinator import Summary, run_tasks
from gradone.experiments.executors.job_array import job_array_script, shard
from gradone.experiments.executors.slurm import Slurm
from gradone.experiments.store import Store

from .toy_cells import computed_here, contents, make_tasks
from .toy_processes import HERE, PATH
from .toy_slurm import ToySlurm, obstacle

COUNT, SECONDS = 60, 0.2


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    if why := obstacle():
        pytest.skip(why)
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.setenv("PYTHONPATH", PATH)
    with ToySlurm(tmp_path / "slurm") as slurm:
        monkeypatch.setenv("SLURM_CONF", str(slurm.configuration))
        yield slurm


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "runs.db") as store:
        yield store


class Canceler(Silent):
    """Ends one job of SLURM as soon as so many cells are stored."""

    def __init__(self, slurm, stored):
        self.slurm, self.stored, self.ended = slurm, stored, None

    def step(self, i, total, **scalars):
        if i >= self.stored and self.ended is None:
            running = self.slurm.call("squeue", "--noheader", "--format=%A", "--states=R")
            self.ended = running.split()[0]
            self.slurm.call("scancel", self.ended)
        return False


def settings(folder):
    options = {"interface": "lo", "log_directory": str(folder), "local_directory": str(folder)}
    return {"walltime": "00:05:00", "memory": "500MB", "queue": "toys", "options": options}


@pytest.mark.slurm
@pytest.mark.slow
def test_jobs_that_end_are_replaced_and_cost_no_cell(tmp_path, slurm, store, monkeypatch):
    """Would catch: a cluster that stays at one worker, as it does if nobody asks for more."""
    monkeypatch.setattr("gradone.experiments.executors.dask.LOOK_AFTER_SECONDS", 1.0)
    canceler = Canceler(slurm, stored=10)
    summary = run_tasks(
        make_tasks(COUNT, seconds=SECONDS),
        "toy_cells:slow",
        store=store,
        sweep="toy",
        executor=Slurm(2, **settings(tmp_path)),
        progress=canceler,
    )
    assert summary == Summary(COUNT, 0, 0, False)
    assert contents(store) == computed_here(COUNT, seconds=SECONDS)
    assert canceler.ended is not None
    log = (tmp_path / "slurm" / "slurmctld.log").read_text()
    assert log.count("sched: Allocate JobId=") >= 3
    slurm.wait_for_jobs()  # nobody is left behind


@pytest.mark.slurm
@pytest.mark.slow
def test_jobs_that_cannot_start_are_given_up(tmp_path, slurm, store, monkeypatch):
    monkeypatch.setattr("gradone.experiments.executors.dask.LOOK_AFTER_SECONDS", 0.5)
    given = settings(tmp_path)
    given["options"] |= {"python": "/nowhere/python"}
    with pytest.raises(
        WorkersFailed, match="SLURM jobs ended and none .*\n(.*\n)*.*/nowhere/python"
    ):
        run_tasks(
            make_tasks(2),
            "toy_cells:numbers",
            store=store,
            sweep="toy",
            executor=Slurm(1, **given),
        )


@pytest.mark.slurm
@pytest.mark.slow
def test_a_job_array_gives_the_same_bytes(tmp_path, slurm, store):
    words = [sys.executable, str(HERE / "toy_shard.py"), "{shard}", "{store}", str(COUNT), "0.01"]
    script = tmp_path / "array.sh"
    limits = {"memory": "400M", "walltime": "00:05:00", "queue": "toys"}
    script.write_text(job_array_script(words, shards=4, at_once=2, **limits))
    slurm.call("sbatch", str(script), cwd=tmp_path)
    slurm.wait_for_jobs()
    shards = sorted((tmp_path / "shards").glob("*.db"))
    assert len(shards) == 4
    assert store.merge(shards).added == COUNT
    assert store.merge(shards).added == 0
    assert contents(store) == computed_here(COUNT, seconds=0.01)


SPEC = """
name = "small"
targets = ["He3(z)"]
replicates = 3
grid = { d = 30, alpha = [1, 4] }
[[algorithms]]
learner = "spectral_directions"
n_permutations = 9
"""


@pytest.mark.slurm
@pytest.mark.slow
def test_one_spec_gives_the_same_bytes_here_in_jobs_and_in_an_array(tmp_path, slurm, monkeypatch):
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "spec.toml").write_text(SPEC)

    def sweep(*words):
        command = ["gradone", "sweep", "spec.toml", *words]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True).stdout

    limits = ("--memory", "700MB", "--walltime", "00:10:00", "--queue", "toys")
    sweep("--store", "here.db", "--executor", "serial", "--quiet")
    sweep("--store", "jobs.db", "--executor", "slurm", "--workers", "2", "--quiet", *limits)
    (tmp_path / "array.sh").write_bytes(sweep("--slurm-script", "--workers", "3", *limits))
    slurm.call("sbatch", "array.sh", cwd=tmp_path)
    slurm.wait_for_jobs()
    shards = [str(path) for path in (tmp_path / "shards").glob("*.db")]
    assert len(shards) == 3
    sweep("--store", "array.db", "--merge", *shards)
    for name in ("here", "jobs", "array"):
        sweep("--store", f"{name}.db", "--export", f"{name}.csv")
    here, jobs, array = ((tmp_path / f"{n}.csv").read_bytes() for n in ("here", "jobs", "array"))
    assert here == jobs == array
    assert b"nan" not in here


def test_shares_are_disjoint_and_complete():
    tasks = make_tasks(11)
    parts = [shard(tasks, index, 4) for index in range(4)]
    assert sorted(task.key for part in parts for task in part) == sorted(t.key for t in tasks)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    with pytest.raises(BadData, match=r"one of 0 ... 3, got 4"):
        shard(tasks, 4, 4)


def test_the_script_is_one_that_the_shell_understands(tmp_path):
    """Run by hand, as SLURM would: words with spaces arrive as they are."""
    words = [sys.executable, "-c", "import sys; print(sys.argv[1:])", "a b", "{shard}", "{store}"]
    script = tmp_path / "array.sh"
    script.write_text(job_array_script(words, shards=7, folder="my shards"))
    environment = {"SLURM_ARRAY_JOB_ID": "31", "SLURM_ARRAY_TASK_ID": "5", "PATH": "/usr/bin:/bin"}
    run = subprocess.run(
        ["/bin/sh", str(script)], cwd=tmp_path, env=environment, capture_output=True, check=True
    )
    assert run.stdout.decode().strip() == "['a b', '5/7', 'my shards/31-5.db']"
    assert (tmp_path / "my shards").is_dir()


@pytest.mark.parametrize("walltime", ["soon", "5", "1:2", "00:01:00"])
def test_times_that_make_no_sense_are_refused(walltime):
    with pytest.raises(BadData, match="walltime must be"):
        Slurm(1, walltime=walltime)
