"""``gradone study``: what it prints in a terminal, in a pipe and as JSON."""

import json
import math
import re
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

import gradone as gd
from gradone.base.estimate import Estimate
from gradone.cli import _terminal, app
from gradone.cli.study import file_name

runner = CliRunner()
ANSI = re.compile(r"\x1b\[")


def study(*arguments):
    """What is known at once; the reports have tests of their own."""
    return runner.invoke(app, ["study", "--no-report", *arguments])


def test_summary_of_the_example():
    result = study("He2(z1) + sign(z1*z2*z3)")
    assert result.exit_code == 0
    for piece in (
        "He₂(z₁) + sign(z₁ z₂ z₃)",
        "r = 3",
        "variance    3.0000000000",
        "he2-parity3: the square opens the parity",
        "0.2580122755",
        "Distribution of y",
        "█",
        "CPU time",
    ):
        assert piece in result.stdout


@pytest.mark.stat
def test_lines_fit_in_80_columns_and_have_no_spaces_at_their_ends():
    for name in ("he2-parity3", "tree", "learning-table3", "sign-committee3"):
        lines = study(name).stdout.splitlines()
        assert max(map(len, lines)) <= 80
        assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize("command", [["study", "relu", "--no-report"], ["list"], ["cite", "relu"]])
def test_pipe_gets_no_color_codes(command):
    run = subprocess.run(
        [sys.executable, "-c", "from gradone.cli import main; main()", *command],
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert run.stdout
    assert not ANSI.search(run.stdout)


def test_terminal_without_unicode_still_gets_the_numbers():
    command = ["study", "relu", "--no-report"]
    run = subprocess.run(
        [sys.executable, "-c", "from gradone.cli import main; main()", *command],
        check=True,
        capture_output=True,
        env={"PYTHONIOENCODING": "ascii"},
    )
    assert b"0.3989422804" in run.stdout


def test_json_has_the_numbers():
    result = study("He2(z1) + sign(z1*z2*z3)", "--json")
    found = json.loads(result.stdout)
    assert found["r"] == 3
    assert found["energies"][3]["value"] == pytest.approx((2 / math.pi) ** 3, abs=1e-12)
    assert found["zoo"]["name"] == "he2-parity3"


def test_discrete_labels_are_bars():
    text = study("sign-committee2").stdout
    for line in ("y = -2  25.00 %", "y = 0  50.00 %", "y = 2  25.00 %"):
        assert line in text
    assert "samples," not in text


def test_noise_replaces_that_of_the_zoo():
    assert json.loads(study("max2", "--json").stdout)["noise"] == 0.1
    assert json.loads(study("max2", "--noise", "0.5", "--json").stdout)["noise"] == 0.5
    assert json.loads(study("sight", "--noise", "0.5", "--json").stdout)["noise"] == 0.5
    assert json.loads(study("max(z1, z2)", "--json").stdout)["zoo"] is None


@pytest.mark.stat
def test_hierarchical_target_shows_its_levels():
    text = study("tree").stdout
    assert "64 -> 16 -> 4 -> 1" in text
    assert "in dimension d = 64" in text
    assert json.loads(study("tree", "--json").stdout)["widths"] == [16, 4, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sgn(z1)"], "TargetSyntaxError: unknown function 'sgn'"),
        (["parity33"], "BadData: no target of the zoo is named 'parity33'. Did you mean 'parity3'"),
        (["1/z1"], "TargetError"),
        (["z1", "--noise", "-1"], "BadData: noise is the variance"),
    ],
)
def test_mistakes_are_one_message_and_exit_code_2(arguments, message):
    result = study(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(message)


def test_missing_argument_is_a_mistake():
    assert study().exit_code == 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("He12(z1)**2", "He₁₂(z₁)²"),
        ("sqrt(2)*pi*z^3", "√(2) π z³"),
        ("He2(h)/2", "He₂(h)/2"),
        ("z", "z"),
    ],
)
def test_formula_is_set_in_unicode(text, shown):
    assert _terminal.pretty(text) == shown


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(2.0), "2"),
        (Estimate(1 / 3), "0.3333333333"),
        (Estimate(0.123456, 1e-3, "quadrature"), "0.123"),
        (Estimate(123.456, 3.0, "monte_carlo"), "123"),
        (Estimate(1e-20, 1e-15, "quadrature"), "0"),
        (Estimate(3e-4, 1e-2, "monte_carlo"), "3.00e-04"),
        (Estimate(math.inf), "inf"),
    ],
)
def test_number_has_the_digits_that_its_error_leaves(estimate, text):
    assert _terminal.number(estimate) == text


def test_bars_grow_in_eighths():
    assert [len(_terminal.bar(k / 80, 10)) for k in (0, 1, 8, 9, 80, 90)] == [0, 1, 1, 2, 10, 10]
    assert _terminal.columns([0.0, 1e-9, 1.0], 1) == [" ▁█"]


# ---- the report


@pytest.mark.stat
def test_study_writes_a_report_and_says_where(tmp_path):
    arguments = ["z1*z2 + 2*z1", "--d", "40", "--budget", "5", "--out", str(tmp_path / "new")]
    result = runner.invoke(app, ["study", *arguments])
    assert result.exit_code == 0, result.output
    file = tmp_path / "new" / "z1-z2-2-z1.html"
    assert f"Report: {file} (" in result.stdout
    assert "gradone study &#x27;z1*z2 + 2*z1&#x27; --d 40 --budget 5" in file.read_text("utf-8")
    assert file.stat().st_size < 6e6


@pytest.mark.slow
@pytest.mark.parametrize("name", list(gd.zoo()))
def test_every_target_of_the_zoo_has_a_report(name, tmp_path):
    """In a few seconds little is finished; what is not must be said, and nothing may fail."""
    start = time.monotonic()
    arguments = [name, "--budget", "8", "--out", str(tmp_path)]
    result = runner.invoke(app, ["study", *arguments])
    assert result.exit_code == 0, result.output
    assert time.monotonic() - start < 8 + 10
    page = (tmp_path / f"{name}.html").read_text("utf-8")
    assert len(page.encode()) < 6e6
    assert "failed: " not in page


@pytest.mark.parametrize("budget", ["0", "-1", "nan", "inf"])
def test_a_budget_is_a_positive_number_of_seconds(budget, tmp_path):
    arguments = ["z1", "--budget", budget, "--out", str(tmp_path)]
    result = runner.invoke(app, ["study", *arguments])
    assert result.exit_code == 2
    assert "budget is a positive number of seconds" in result.stderr


def test_name_of_a_report_is_a_name_for_files():
    for text in ("tanh(z1)/2", "-z1", "(z1 + z2)**2 - 0.5"):
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", file_name(gd.Target(text)))
    assert file_name(gd.Target("z1 + 2*z2", noise=0.5)) == "z1-2-z2-noise-0.5"
    assert len(file_name(gd.Target("+".join(["tanh(z1)"] * 40)))) <= 60
