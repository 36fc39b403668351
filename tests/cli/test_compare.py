"""``gradone compare``: algorithms on one axis."""

import json

import pytest
from typer.testing import CliRunner

import gradone as gd
from gradone.cli import app
from gradone.cli._curves import show_curve

runner = CliRunner()
WHERE = ["--d", "30", "--alpha", "1,4", "--budget", "600", "--replicates", "1"]


def test_the_table_has_every_source_and_says_what_is_missing():
    result = runner.invoke(app, ["compare", "tanh(z)", "giant_step", "two_layers", *WHERE])
    assert result.exit_code == 0
    assert "theory:giant_step" in result.stdout
    assert "simulation:giant_step" in result.stdout
    assert "theory:two_layers: it covers hierarchical targets" in result.stdout


def test_the_numbers_are_those_of_the_verb():
    result = runner.invoke(app, ["compare", "tanh(z)", "giant_step", *WHERE, "--json"])
    found = json.loads(result.stdout)
    theory = gd.predict("tanh(z)", "giant_step", alpha=[1, 4]).test_mse.values
    assert found["data_vars"]["test_mse"]["data"][0] == pytest.approx(theory.tolist())


def test_an_unknown_algorithm_is_a_mistake():
    result = runner.invoke(app, ["compare", "tanh(z)", "gaint_step"])
    assert result.exit_code == 2
    assert "Did you mean 'giant_step'" in result.stderr


def test_nothing_to_compare_is_a_mistake_with_its_reasons():
    result = runner.invoke(app, ["compare", "tanh(z)", "feature_classifier", *WHERE])
    assert result.exit_code == 2
    assert "nothing to compare" in result.stderr
    assert "it needs labels of two values" in result.stderr
    assert result.stdout == ""


def test_places_without_a_simulation_have_no_row(capsys):
    both = gd.predict("tanh(z)", "giant_step", alpha=[1.0, 4.0]).expand_dims(source=["a", "b"])
    is_there = (both.source == "a") | (both.alpha == 4)
    show_curve(both[["test_mse", "test_mse_err"]].where(is_there))
    rows = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert rows[-3:] == [["a", "1"], ["a", "4"], ["b", "4"]]
