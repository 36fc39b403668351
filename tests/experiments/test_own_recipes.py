"""Recipes for algorithms of one's own: in ten lines on the axes of the theories, and in sweeps."""

import ast
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gradone as gd
from gradone.base.errors import BadData
from gradone.experiments.foreign import EstimatorFailed
from gradone.experiments.store import Store

from . import toy_estimators as toys

OWN = Path(__file__).parents[2] / "examples" / "own"
TARGET = "He2(z1) + z1*z2"


@pytest.fixture
def own(monkeypatch):
    monkeypatch.syspath_prepend(str(OWN))
    monkeypatch.setenv("PYTHONPATH", f"{OWN}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    return importlib.import_module


@pytest.mark.parametrize("name", ["perceptron", "momentum", "adam", "gradient"])
def test_a_recipe_has_at_most_ten_lines(name):
    """Of the function: what stands between its docstring and its end."""
    tree = ast.parse((OWN / f"{name}.py").read_text())
    [function] = [one for one in tree.body if isinstance(one, ast.FunctionDef)]
    assert function.end_lineno - function.body[0].end_lineno <= 10


@pytest.mark.stat
def test_a_numpy_loop_stands_with_the_theories(own):
    train = own("momentum").train
    found = gd.compare(
        TARGET, ["random_features", gd.Algorithm(train, label="momentum", color="#aa2200")],
        d=30, alpha=[2.0, 20.0], replicates=1, budget=600, progress=False,
    )  # fmt: skip
    assert found.source.values.tolist()[-1] == "simulation:train"
    assert (found.outcome == "done").all()
    mine = found.test_mse.sel(source="simulation:train")
    # Feature learning: far below the best that lazy methods reach with n of order d.
    lazy = found.test_mse.sel(source="theory:random_features")
    assert mine.sel(alpha=20.0) < 0.5 * lazy.sel(alpha=20.0)
    assert [one for one in gd.draw("error-vs-alpha", found).series if "momentum" in one.name]


@pytest.mark.slow
def test_a_numpy_loop_stands_with_message_passing(own):
    mine = gd.Algorithm(own("momentum").train, label="momentum")
    found = gd.compare(
        TARGET, ["bayes_amp", "random_features", mine], d=30, alpha=[4.0, 20.0], replicates=1,
        budget=600, progress=False,
    ).test_mse.sel(alpha=20.0)  # fmt: skip
    best, lazy, loop = (
        found.sel(source=one).item()
        for one in ("theory:bayes_amp", "theory:random_features", "simulation:train")
    )
    assert best < loop < 0.5 * lazy


@pytest.mark.slow
def test_a_perceptron_stands_with_both_theories(own):
    drawn = own("perceptron").main()
    names = " ".join(one.name for one in drawn.series)
    assert all(word in names for word in ("perceptron", "AMP", "random features"))


def test_a_function_is_an_estimator_with_a_seed_and_directions():
    found = gd.simulate("z1", toys.least_squares, d=20, n=200, replicates=2, progress=False)
    assert found.attrs["source"] == "simulation:least_squares"
    assert (found.test_mse < 1e-9).all()
    assert (found.cosine2 > 0.999).all()
    drawn = gd.simulate("z1", toys.random_answer, d=20, n=50, replicates=3, progress=False)
    assert len(set(drawn.test_mse.values.ravel().round(9).tolist())) == 3
    with pytest.raises(EstimatorFailed, match="'raises' failed in the cell n = 50, d = 20"):
        gd.simulate("z1", toys.raises, d=20, n=50, replicates=1, progress=False)
    with pytest.raises(EstimatorFailed, match="let it return the trained network"):
        gd.simulate("z1", toys.forgets, d=20, n=50, replicates=1, progress=False)
    with pytest.raises(BadData, match="'<lambda>' cannot be found by its name"):
        gd.simulate("z1", lambda X, y: None, d=20, n=50, progress=False)


def test_label_color_and_theory_reach_a_sweep(tmp_path):
    mine = gd.Algorithm(
        toys.LeastSquares(), label="mine", color="#123456", theory="random_features"
    )
    grid = {"d": 20, "alpha": [10.0]}
    sweep = gd.Experiment(
        name="e", targets=["z1"], grid=grid, algorithms=[mine, toys.least_squares]
    )
    found = gd.run(sweep, store=tmp_path / "runs.db", executor="serial", progress=False)
    sources = ["theory:LeastSquares", "simulation:LeastSquares", "simulation:least_squares"]
    assert found.source.values.tolist() == sources
    assert found.label.values.tolist()[:2] == ["mine", "mine"]
    assert found.color.values.tolist()[:2] == ["#123456", "#123456"]
    wanted = gd.predict("z1", "random_features", alpha=10.0, width_ratio=2.0, ridge=1.0)
    assert found.test_mse.sel(source=sources[0]).values.ravel()[0] == pytest.approx(
        wanted.test_mse.item()
    )
    assert (found.test_mse.sel(source=sources[1:]) < 1e-9).all()
    assert gd.Experiment.from_json(sweep.to_json()).cells() == sweep.cells()
    # What it looks like is no part of the name of a cell.
    plain = gd.Experiment(name="e", targets=["z1"], grid=grid, algorithms=[toys.LeastSquares()])
    assert {cell.key for cell in plain.cells()} <= {cell.key for cell in sweep.cells()}


def test_defects_of_looks_are_told():
    grid = {"d": 20, "n": 50}
    entry = {"learner": "sklearn.linear_model:Ridge"}
    for more, words in [
        ({"label": 3}, r"algorithms\[0\].label: label must be a text"),
        ({"theory_of": "nobody"}, r"algorithms\[0\].theory_of: unknown algorithm 'nobody'"),
        ({"theory_of": "sir"}, "has no theory"),
    ]:
        with pytest.raises(BadData, match=words):
            gd.Experiment(name="e", targets=["z"], grid=grid, algorithms=[{**entry, **more}])


SWEEP = """
import sys
import gradone as gd
from momentum import train
sweep = gd.Experiment(name="e", targets=["He2(z1) + z1*z2"], algorithms=[train],
                      grid={"d": 20, "n": [100, 200, 300, 400]}, replicates=2)
gd.run(sweep, store="runs.db", executor="serial", progress=Stop(int(sys.argv[1])))
"""
STOP = """
class Stop:
    def __init__(self, cells): self.cells = cells
    def step(self, i, total, **scalars):
        if i >= self.cells: import os; os._exit(9)
        return False
    def close(self): pass
"""


@pytest.mark.slow
def test_a_sweep_of_a_function_is_killed_and_resumed(tmp_path):
    """The process ends at once after three cells; the next one computes the other five alone."""
    environment = os.environ | {
        "PYTHONPATH": f"{OWN}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    }

    def start(cells):
        return subprocess.run(
            [sys.executable, "-c", STOP + SWEEP, str(cells)], cwd=tmp_path, env=environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    assert start(3).returncode == 9
    with Store(tmp_path / "runs.db", "ro") as opened:
        before = {one.result.key: one.result for one in opened.results()}
    assert 0 < len(before) < 8
    last = start(100)
    assert last.returncode == 0, last.stderr
    with Store(tmp_path / "runs.db", "ro") as opened:
        after = {one.result.key: one for one in opened.results()}
    assert len(after) == 8
    cell = json.loads(next(iter(after.values())).parameters)
    assert cell["parameters"]["parameters"]["train"] == "momentum:train"
    for key, result in before.items():
        assert np.array_equal(after[key].result.arrays["test_mse"], result.arrays["test_mse"])
