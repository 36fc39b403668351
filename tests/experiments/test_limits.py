"""Cells that never end or take all memory: they are stopped, the others do not notice.

Real processes, really killed.
"""

import time

import pytest

import gradone as gd
from gradone.base.errors import BadData
from gradone.base.pool import Limits
from gradone.experiments.cell_limits import CellLimits
from gradone.experiments.coordinator import Summary, run_tasks
from gradone.experiments.costs import Estimated
from gradone.experiments.store import Store
from gradone.experiments.task import Task

from .toy_cells import computed_here, contents, make_tasks
from .toy_processes import HERE


@pytest.fixture(autouse=True)
def _toys_can_be_imported(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))


def limited(count, limits, **parameters):
    tasks = make_tasks(count, **parameters)
    return [Task(task.key, task.parameters, limits=limits) for task in tasks]


@pytest.mark.stat
def test_endless_and_boundless_cells_cost_no_other_cell(tmp_path):
    """Forty healthy cells, one that never ends and one that takes all memory, two workers."""
    terrible = {"endless": [3], "boundless": [20]}
    tasks, told = limited(42, Limits(1.5, 2e8), **terrible), {}

    def note(task, result):
        told[task.parameters] = result.error

    with Store(tmp_path / "runs.db") as store:
        options = {"store": store, "sweep": "toy", "workers": 2, "on_failed": note}
        assert run_tasks(tasks, "toy_cells:greedy", **options) == Summary(40, 2, 0, False)
        healthy = {key: one for key, one in contents(store).items() if one[1] == "done"}
    expected = computed_here(42, **terrible)
    assert healthy == {key: expected[key] for key in healthy}
    late, large = (
        next(words for cell, words in told.items() if f'"i":{i}' in cell) for i in (3, 20)
    )
    assert "stopped twice, the second time while it ran alone" in late
    assert "it took more than 1.5 seconds" in late
    assert "a larger cell_seconds" in late
    assert "it took more than 200.0 MB of memory" in large
    assert "a larger cell_memory" in large


@pytest.mark.stat
def test_the_clock_is_that_of_one_cell(tmp_path):
    """A batch of many cells takes longer than each of them may."""
    tasks = limited(60, Limits(0.9), seconds=0.05)
    with Store(tmp_path / "runs.db") as store:
        options = {"store": store, "sweep": "toy", "workers": 1}
        began = time.monotonic()
        assert run_tasks(tasks, "toy_cells:slow", **options) == Summary(60, 0, 0, False)
        assert time.monotonic() - began > 2 * 0.9


def test_limits_follow_from_the_estimate_where_none_are_given():
    needed = Estimated(10**9, 60.0, None)
    assert CellLimits().of(needed, 10**12) == Limits(6000.0, 1e10)
    assert CellLimits().of(needed, 10**9) == Limits(6000.0, 9e8)
    assert CellLimits().of(Estimated(10**6, 0.01, None), 10**12) == Limits(1800.0, 4e9)
    assert CellLimits.read(5, "2 GB").of(needed, 10**9) == Limits(5.0, 2 * 10**9)


SPEC = """
name = "limited"
targets = ["z"]
replicates = 2
grid = {{ d = 20, n = 100 }}
{}
[[algorithms]]
learner = "spectral_directions"
n_permutations = 9
"""


def test_a_spec_may_hold_limits_and_wrong_ones_are_named(tmp_path):
    made = gd.Experiment.from_toml(SPEC.format('cell_seconds = 60\ncell_memory = "1.5 GB"'))
    assert made.limits == CellLimits(60.0, 1_500_000_000)
    assert gd.Experiment.from_json(made.to_json()).limits == made.limits
    with pytest.raises(BadData, match="2 things are wrong") as error:
        gd.Experiment.from_toml(SPEC.format('cell_seconds = -1\ncell_memory = "much"'))
    assert "cell_seconds is a positive number of seconds, got -1" in str(error.value)
    assert "cell_memory is a positive number of bytes" in str(error.value)
    with pytest.raises(BadData, match="which the executor 'serial' cannot do"):
        gd.run(made, store=tmp_path / "runs.db", executor="serial")
    assert not (tmp_path / "runs.db").exists()


@pytest.mark.stat
def test_simulate_keeps_limits_and_its_numbers(tmp_path):
    wanted = {"d": 20, "n": 100, "replicates": 2, "n_permutations": 9}
    here = gd.simulate("z", "spectral_directions", **wanted)
    there = gd.simulate("z", "spectral_directions", **wanted, cell_seconds=120, cell_memory="2 GB")
    assert there.drop_attrs().identical(here.drop_attrs())
    wanted |= {"n": 10_000, "d": 100, "n_permutations": 999}
    with pytest.raises(gd.GradoneError, match=r"2 of 2 fits failed.*more than 0\.01 seconds"):
        gd.simulate("z", "spectral_directions", **wanted, cell_seconds=0.01)
