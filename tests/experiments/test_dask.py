"""Cells on a Dask cluster of real processes, and what remains when they are killed."""

from dataclasses import replace
from itertools import pairwise

import pytest

from gradone.base.errors import WorkersFailed
from gradone.base.progress import Silent
from gradone.experiments.coordinator import Summary, run_tasks
from gradone.experiments.run import execute
from gradone.experiments.spec import Experiment
from gradone.experiments.store import Store

from .toy_cells import computed_here, contents, make_tasks
from .toy_processes import HERE, PATH, ToyCluster

pytest.importorskip("distributed")


@pytest.fixture(autouse=True)
def _toys_can_be_imported(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.setenv("PYTHONPATH", PATH)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "runs.db") as store:
        yield store


class Assassin(Silent):
    """Kills a process as soon as so many cells are stored."""

    def __init__(self, victim, stored):
        self.victim, self.stored = victim, stored

    def step(self, i, total, **scalars):
        if i >= self.stored:
            self.victim.kill()
        return False


def run(store, function="slow", **options):
    tasks = make_tasks(60, seconds=0.05)
    return run_tasks(tasks, f"toy_cells:{function}", store=store, sweep="toy", **options)


@pytest.mark.stat
def test_the_death_of_a_scheduler_and_of_a_worker_cost_no_cell(tmp_path, store):
    with ToyCluster(tmp_path / "first") as cluster:
        assassin = Assassin(cluster.scheduler, stored=10)
        with pytest.raises(WorkersFailed, match="scheduler is gone.* run the same command again"):
            run(store, executor=cluster.address, progress=assassin)
    survived = contents(store)
    assert 10 <= len(survived) < 60
    assert survived.items() <= computed_here(60, seconds=0.05).items()
    with ToyCluster(tmp_path / "second") as cluster:
        assassin = Assassin(cluster.workers[0], stored=len(survived) + 5)
        summary = run(store, executor=cluster.address, progress=assassin)
        assert cluster.workers[0].wait() == -9
    assert summary == Summary(60 - len(survived), 0, len(survived), False)
    assert contents(store) == computed_here(60, seconds=0.05)


def test_an_address_where_nobody_answers_is_named(store, monkeypatch):
    monkeypatch.setattr("gradone.experiments.executors.dask._PATIENCE", 0.5)
    with pytest.raises(WorkersFailed, match=r"no Dask scheduler answers at tcp://127.0.0.1:9\."):
        run(store, executor="tcp://127.0.0.1:9")


@pytest.mark.slow
def test_a_client_of_the_user_is_used_and_left_open(tmp_path, store):
    from distributed import Client

    with ToyCluster(tmp_path / "cluster") as cluster, Client(cluster.address) as client:
        assert run(store, executor=client).done == 60
        assert client.submit(len, "four").result() == 4
    assert contents(store) == computed_here(60, seconds=0.05)


@pytest.mark.slow
def test_a_function_that_workers_cannot_import_fails_no_cell(tmp_path, store, monkeypatch):
    with ToyCluster(tmp_path / "cluster") as cluster:
        monkeypatch.syspath_prepend(str(tmp_path))
        (tmp_path / "only_here.py").write_text("from toy_cells import numbers\n")
        with pytest.raises(WorkersFailed, match="No module named 'only_here'"):
            run_tasks(
                make_tasks(2),
                "only_here:numbers",
                store=store,
                sweep="toy",
                executor=cluster.address,
            )
    assert store.keys() == set()


@pytest.mark.slow
def test_cells_that_do_not_fit_together_wait_for_each_other(store):
    tasks = [replace(task, bytes=10**15) for task in make_tasks(4, seconds=0.2)]
    where = {"sweep": "toy", "executor": "dask", "workers": 2}
    run_tasks(tasks, "toy_cells:surroundings", store=store, **where)
    spans = sorted(stored.result.arrays["span"].tolist() for stored in store.results())
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


@pytest.mark.slow
def test_a_cluster_of_our_own_finds_the_poisoned_cell(store):
    tasks = make_tasks(640)[560:]
    summary = run_tasks(
        tasks, "toy_cells:poisoned", store=store, sweep="toy", executor="dask", workers=2
    )
    assert summary == Summary(79, 1, 0, False)
    [found] = store.results(keys=store.keys("failed"))
    assert found.parameters == '{"i":617}'
    assert "KilledWorker" in found.result.error


def real_cells(seed):
    return Experiment(
        name="real",
        seed=seed,
        targets=["sign(z1*z2)"],
        replicates=2,
        grid={"d": 40, "alpha": [2, 4]},
        algorithms=[
            {"learner": "giant_step", "width": 50, "step_size": 1.0, "ridge": 1.0},
            {"learner": "random_features", "width": 50, "ridge": 0.1},
        ],
    ).cells()


@pytest.mark.slow
def test_learners_give_the_same_bytes_on_every_executor(tmp_path):
    """And other bytes with another seed."""
    found = {}
    for name, seed, executor, workers in [
        ("serial", 0, "serial", None),
        ("one", 0, "processes", 1),
        ("two", 0, "processes", 2),
        ("dask", 0, "dask", 2),
        ("other", 1, "serial", None),
    ]:
        with Store(tmp_path / f"{name}.db") as store:
            summary = execute(name, real_cells(seed), store, executor=executor, workers=workers)
            assert summary == Summary(8, 0, 0, False)
            found[name] = contents(store)
    assert found["serial"] == found["one"] == found["two"] == found["dask"]
    assert found["serial"].keys().isdisjoint(found["other"])
    errors = [
        {arrays["test_mse"] for _, _, arrays in found[name].values()} for name in ("one", "other")
    ]
    assert errors[0].isdisjoint(errors[1])
