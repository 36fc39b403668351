"""Estimators of others on every surface: their numbers, their seeds, and what they do wrong."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import gradone as gd
from gradone.base.errors import BadData
from gradone.experiments.foreign import EstimatorFailed, gradients
from gradone.experiments.store import Store

from . import toy_estimators as toys
from .toy_processes import HERE, Marked

WHERE = {"d": 20, "alpha": [10.0], "replicates": 2, "progress": False}
TOY = f"{toys.__name__}:"


def pipeline():
    return make_pipeline(PolynomialFeatures(2), Ridge(alpha=0.1))


@pytest.mark.parametrize(
    ("estimator", "target", "least"),
    [
        (toys.LeastSquares(), "z1", 0.999),  # by the gradients of its predictions
        (gd.Algorithm(toys.Told(), directions=toys.told_directions), "z1", 0.999),
        (Ridge(), "z1", 0.999),  # coef_
        (pipeline(), "z1*z2", 0.99),
        (
            MLPRegressor(hidden_layer_sizes=(8,), alpha=1.0, learning_rate_init=0.02),
            "relu(z1)",
            0.9,
        ),  # coefs_[0]
    ],
)
def test_errors_and_directions_are_those_of_the_estimator(estimator, target, least):
    wanted = WHERE | {"alpha": [40.0]}
    found = gd.simulate(gd.Target(target, noise=1e-4), estimator, **wanted)
    assert (found.cosine2.min("direction2") > least).all()
    assert (found.test_mse < 0.1).all()


def test_gradients_are_exact_for_quadratic_functions_in_pieces():
    """Central differences of a quadratic form have no error but rounding; 40 columns in pieces."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((300, 300))
    X = rng.standard_normal((64, 300))
    found = gradients(lambda X: np.einsum("ij,ij->i", X @ A, X), X)
    assert np.allclose(found, X @ (A + A.T), atol=1e-7)


def test_every_replicate_has_a_seed_of_its_own():
    found = gd.simulate("z1", toys.Seeded(random_state=7), **WHERE | {"replicates": 4})
    assert len(set(found.test_mse.values.ravel().round(9).tolist())) == 4
    again = gd.simulate("z1", toys.Seeded(), **WHERE | {"replicates": 4})
    assert again.test_mse.equals(found.test_mse)


@pytest.mark.stat
def test_a_store_and_other_processes_change_no_number(tmp_path):
    store = tmp_path / "runs.db"
    here = gd.simulate("z1*z2", pipeline(), **WHERE)
    there = gd.simulate("z1*z2", pipeline(), **WHERE, store=store, cell_seconds=120)
    assert np.allclose(here.test_mse, there.test_mse, rtol=1e-9)
    with Store(store, "ro") as opened:
        cells = [json.loads(one.parameters) for one in opened.results()]
    assert len(cells) == 2
    assert cells[0]["recipe"].startswith("learner:sklearn.pipeline:Pipeline/")
    # A sweep of the same estimator, by name and with parameters, finds its cells there.
    entry = {"learner": "sklearn.pipeline:Pipeline", "parameters": cells[0]["parameters"]}
    entry["parameters"] = entry["parameters"]["parameters"]
    grid = {"d": 20, "alpha": [10.0]}
    for algorithm in (entry, pipeline(), gd.Algorithm(pipeline())):
        sweep = gd.Experiment(
            name="e", targets=["z1*z2"], algorithms=[algorithm], grid=grid, replicates=2
        )
        assert {cell.key for cell in sweep.cells()} == {cell_key(one) for one in cells}
        assert gd.Experiment.from_json(sweep.to_json()).cells() == sweep.cells()


def cell_key(cell):
    from gradone.base.seeds import fingerprint

    return fingerprint(cell).hex()


SPEC = """
name = "foreign"
targets = ["z1"]
replicates = 3
cell_seconds = 3
cell_memory = "200 MB"
grid = {{ d = 20, n = [100, 200] }}
[[algorithms]]
learner = "toy_estimators:LeastSquares"
parameters = {{ ridge = 0.5 }}
{}
"""


@pytest.mark.stat
def test_a_stranger_neither_hangs_nor_eats_a_sweep(tmp_path):
    """Two healthy cells; one that sleeps for ever, one that takes all memory, one that raises."""
    bad = "".join(
        f'[[algorithms]]\nlearner = "toy_estimators:{name}"\nd = 20\nn = 50\n'
        for name in ("Endless", "Boundless", "Raises")
    )
    (tmp_path / "spec.toml").write_text(
        SPEC.format(bad).replace("replicates = 3", "replicates = 1")
    )
    store = tmp_path / "runs.db"
    words = ["sweep", tmp_path / "spec.toml", "--store", store, "--workers", 2, "--quiet"]
    run = Marked("-c", "from gradone.cli import main; main()", *words)
    _, errors = run.process.communicate(timeout=120)
    assert run.process.returncode == 3, errors
    with Store(store, "ro") as opened:
        results = {
            (cell["recipe"].partition("/")[0].rpartition(":")[2], cell["parameters"]["n"]): one
            for one in opened.results()
            if (cell := json.loads(one.parameters))
        }
    assert {name for name, one in results.items() if one.result.status == "done"} == {
        ("LeastSquares", 100),
        ("LeastSquares", 200),
    }
    texts = {name: one.result.error for (name, _), one in results.items() if one.result.error}
    assert "it took more than 3 seconds" in texts["Endless"]
    assert "it took more than 200.0 MB of memory" in texts["Boundless"]
    assert "in secret_step" in texts["Raises"]  # the way through the stranger's code
    assert "'Raises' failed in the cell n = 50, d = 20, replicate 0" in texts["Raises"]
    assert "RuntimeError: no step was found" in texts["Raises"]


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (toys.Raises(), "RuntimeError: no step was found"),
        (toys.WrongShape(), r"predictions have the shape"),
        (toys.NotANumber(), "not finite"),
    ],
)
def test_what_goes_wrong_is_told_with_the_name_and_the_cell(estimator, words):
    name = type(estimator).__name__
    with pytest.raises(EstimatorFailed, match=words) as error:
        gd.simulate("z1", estimator, **WHERE)
    assert f"'{name}' failed in the cell n = 200, d = 20, replicate 0" in str(error.value)
    marked = gd.simulate("z1", estimator, **WHERE, on_failure="mark")
    assert np.isnan(marked.get("test_mse", np.nan)).all()
    assert f"'{name}' failed in the cell" in str(marked.status.values.ravel()[0])


def test_what_cannot_be_used_is_refused_with_what_to_do():
    class Local(toys.LeastSquares):
        pass

    for estimator, words in [
        (toys.NoPredict(), "it has no predict. Anything with fit.X, y. and predict.X."),
        (Local(), "'Local' cannot be found by its name: put it at the top of a module"),
        (toys.Forgetful(3), "does not keep its argument 'width' as an attribute"),
        (Ridge, "give an estimator, Ridge.*, not its class"),
        ("sklearn.linear_model:Rigde", "has no 'Rigde'"),
        ("no_such_module:Ridge", "cannot be imported: ModuleNotFoundError"),
    ]:
        with pytest.raises(BadData, match=words):
            gd.simulate("z1", estimator, **WHERE)
    with pytest.raises(BadData, match="'<lambda>' cannot be found by its name"):
        gd.Algorithm(Ridge(), directions=lambda fitted: fitted.coef_)
    with pytest.raises(BadData, match="parameters of 'Ridge' are given to it itself"):
        gd.simulate("z1", Ridge(), **WHERE, solver="svd")
    with pytest.raises(BadData, match="cannot be stored or sent to other processes"):
        gd.Experiment(name="e", targets=["z"], grid={"d": 9, "n": 9},
                      algorithms=[toys.LeastSquares(ridge=lambda: 1.0)])  # fmt: skip
    with pytest.raises(BadData, match="there is no theory of the name 'randomfeatures'"):
        gd.Algorithm(Ridge(), theory="randomfeatures")


MAIN = """
import gradone as gd, numpy as np

class Mine:
    def fit(self, X, y): self.mean = y.mean()
    def predict(self, X): return np.full(len(X), self.mean)

print(gd.simulate("z1", Mine(), d=20, n=100, replicates=1, progress=False).test_mse.item() > 0.5)
try:
    gd.simulate("z1", Mine(), d=20, n=100, replicates=1, progress=False, store="runs.db")
except gd.GradoneError as error:
    print(error)
"""


@pytest.mark.stat
def test_a_class_of_the_running_script_works_here_alone(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(MAIN)
    found = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    first, second = found.stdout.splitlines()
    assert first == "True"
    assert second.startswith("'Mine' stands in the script or notebook that is running")
    assert not (tmp_path / "runs.db").exists()


@pytest.mark.stat
def test_its_curve_stands_with_the_theories(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    import toy_estimators

    mine = gd.Algorithm(
        toy_estimators.LeastSquares(), label="mine", color="#123456", theory="random_features"
    )
    found = gd.compare(
        "z1", [mine, "random_features"], d=30, alpha=[4.0], budget=600, progress=False
    )
    sources = found.source.values.tolist()
    assert sources[:2] == ["theory:LeastSquares", "simulation:LeastSquares"]
    assert (found.outcome == "done").all()
    assert found.label.values[:2].tolist() == ["mine", "mine"]
    assert found.color.values[:2].tolist() == ["#123456", "#123456"]
    theories = found.sel(source=["theory:LeastSquares", "theory:random_features"]).test_mse
    assert theories[0].item() == theories[1].item()
    assert found.test_mse.sel(source="simulation:LeastSquares").item() < 1e-9
    legend = [one.name for one in gd.draw("error-vs-alpha", found).series]
    assert any(name.startswith("mine") for name in legend)


ENTRY = """
import gradone as gd
found = gd.simulate("z1", "stranger", d=20, n=200, replicates=1, progress=False)
print(found.attrs["source"], found.test_mse.item() < 1e-9)
sweep = gd.Experiment(name="e", targets=["z1"], algorithms=[{"algorithm": "stranger"}],
                      grid={"d": 20, "n": 200})
print(gd.run(sweep, executor="serial", progress=False).source.values.tolist())
"""


@pytest.mark.stat
def test_an_installed_package_brings_its_estimator(tmp_path):
    (tmp_path / "stranger.py").write_text((HERE / "toy_estimators.py").read_text())
    package = tmp_path / "stranger-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    points = "[gradone.algorithms]\nstranger = stranger:LeastSquares\n"
    (package / "entry_points.txt").write_text(points)
    found = subprocess.run(
        [sys.executable, "-c", ENTRY], cwd=tmp_path, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines() == ["simulation:stranger True", "['simulation:stranger']"]
