"""Inputs of other laws in simulations, sweeps, comparisons and commands."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import gradone as gd
from gradone.base.errors import BadData
from gradone.cli import app
from gradone.experiments.store import Store

WHERE = {"d": 20, "n": 100, "width": 10, "ridge": 1.0}


def sweep(**more):
    return gd.Experiment(
        name="e", targets=["z1*z2"], algorithms=[{"learner": "random_features"}], grid=WHERE, **more
    )


def test_stores_keep_laws_apart_and_know_them_again(tmp_path):
    store = tmp_path / "runs.db"
    found = [
        gd.run(sweep(inputs=law), store=store, executor="serial", progress=False).test_mse.item()
        for law in (None, "rademacher", gd.inputs.rademacher(), gd.inputs.gaussian(power_law=1.0))
    ]
    assert found[1] == found[2]
    assert len(set(found)) == 3
    with Store(store, "ro") as opened:
        tables = [json.loads(one.parameters)["target"] for one in opened.results()]
    laws = {one.get("inputs") for one in tables}
    assert laws == {None, "rademacher", "gaussian(power_law=1.0)"}
    # The same cell by gd.simulate, and by the table of a target.
    direct = gd.simulate(
        "z1*z2", "random_features", d=20, n=100, width=10, ridge=1.0, replicates=1,
        inputs="rademacher", store=store, progress=False,
    )  # fmt: skip
    assert direct.test_mse.item() == found[1]
    table = {"text": "z1*z2", "inputs": "rademacher", "directions": "random"}
    same = gd.Experiment(
        name="e", targets=[table], algorithms=[{"learner": "random_features"}], grid=WHERE
    )
    assert [cell.key for cell in same.cells()] == [
        cell.key for cell in sweep(inputs="rademacher").cells()
    ]
    assert gd.Experiment.from_json(same.to_json()).cells() == same.cells()


def test_cells_of_the_default_have_the_names_of_always():
    [cell] = sweep().cells()
    assert "inputs" not in cell.text


def test_defects_of_inputs_are_told_with_their_place():
    with pytest.raises(BadData, match="inputs: unknown law of the inputs 'cube'"):
        sweep(inputs="cube")
    with pytest.raises(BadData, match=r"targets\[0\]: directions must be one of"):
        sweep(inputs="uniform", directions="axis")


def test_what_a_theory_does_not_cover_is_marked_in_a_sweep():
    entries = [{"theory": "bayes_amp"}, {"theory": "random_features", "width_ratio": 1.0}]
    found = gd.Experiment(
        name="e", targets=["z1"], algorithms=entries, grid={"alpha": 2.0, "ridge": 1.0},
        inputs="uniform", directions="axes",
    )  # fmt: skip
    [(_, reason)] = found.layout.uncovered
    assert "coordinates of Uniform inputs" in reason


def test_rows_of_a_table_are_simulated_and_tested_on_others():
    X = np.random.default_rng(0).standard_normal((400, 5)) * [3.0, 2.0, 1.0, 1.0, 0.5]
    law = gd.inputs.rows(X)
    found = gd.simulate("z1", "random_features", d=5, n=300, width=200, replicates=2, ridge=1e-3,
                        inputs=law, directions="axes", progress=False)  # fmt: skip
    assert (found.test_mse < 0.05).all()
    with pytest.raises(BadData, match="save the table with np.save"):
        gd.simulate("z1", "random_features", d=5, n=300, inputs=law, executor="processes")


def test_commands_take_a_law():
    words = ["predict", "sign(z)", "random_features", "--alpha", "3", "--width-ratio", "1"]
    words += ["--ridge", "0.1", "--activation", "tanh(z)", "--json"]
    words += ["--inputs", "rademacher", "--directions", "axes"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "0.3429" in result.output
    result = CliRunner().invoke(
        app,
        ["simulate", "z1*z2", "random_features", "--d", "20", "--n", "50", "--replicates", "1",
         "--inputs", "gaussian(power_law=0.5)", "--directions", "0,3", "--json"],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "gaussian(power_law=0.5) inputs, coordinates [0, 3] as directions" in result.output
