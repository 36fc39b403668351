"""``gradone list`` and ``gradone cite``."""

import json

import pytest
from typer.testing import CliRunner

import gradone as gd
from gradone.cli import app
from gradone.targets.vocabulary import vocabulary

runner = CliRunner()


def test_list_shows_what_there_is():
    text = runner.invoke(app, ["list"]).stdout
    things = [
        *gd.algorithms.ALGORITHMS,
        *gd.theory.THEORIES,
        *gd.learners.LEARNERS,
        *gd.charts.CHARTS,
        *gd.gallery.FIGURES,
    ]
    names = [*vocabulary(), *gd.zoo(), *things, "doctor", "study"]
    words = " ".join(text.split())  # a line may break inside max(z1, z2)
    assert [name for name in names if name not in words] == []
    assert max(map(len, text.splitlines())) <= 80


def test_list_as_json():
    result = runner.invoke(app, ["list", "--json"])
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    kinds = "functions targets inputs algorithms theories learners charts figures commands"
    assert list(found) == kinds.split()
    assert [target["name"] for target in found["targets"]] == list(gd.zoo())
    assert list(found["algorithms"]) == list(gd.algorithms.ALGORITHMS)
    assert list(found["theories"]) == list(gd.theory.THEORIES)
    assert list(found["learners"]) == list(gd.learners.LEARNERS)
    assert {"cite", "doctor", "list", "study"} <= set(found["commands"])
    assert all(found["commands"].values())


def test_help_of_a_command_is_not_cut():
    assert "..." not in runner.invoke(app, ["--help"]).stdout.partition("Commands:")[2]


@pytest.mark.parametrize("name", ["parity3", "sight", "ba2022onestep"])
def test_cite_prints_what_the_package_says(name):
    assert runner.invoke(app, ["cite", name]).stdout == gd.cite(name) + "\n"
    bibtex = runner.invoke(app, ["cite", name, "--format", "bibtex"]).stdout
    assert bibtex == gd.cite(name, format="bibtex") + "\n"


@pytest.mark.parametrize("arguments", [["cite", "nope"], ["cite", "relu", "--format", "html"]])
def test_cite_of_the_unknown_is_a_mistake(arguments):
    result = runner.invoke(app, arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
