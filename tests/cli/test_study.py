"""``gradone study``: what it prints in a terminal, in a pipe and as JSON."""

import collections
import json
import math
import os
import re
import resource
import subprocess
import sys

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
    shown = {name: study(name) for name in ("he2-parity3", "learning-table3", "sign-committee3")}
    shown["tree"] = runner.invoke(app, ["analyze", "tree"])
    shown["sight"] = runner.invoke(app, ["analyze", "sight"])
    for answer in shown.values():
        lines = answer.stdout.splitlines()
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


def on_a_new_machine(folder, *arguments):
    """The command with an empty home and empty caches; what it said, and the functions it kept."""
    home = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "NUMBA_DEBUG_CACHE": "1"}
    home |= {"GRADONE_CACHE": str(folder / "gradone"), "NUMBA_CACHE_DIR": str(folder / "numba")}
    command = [sys.executable, "-c", "from gradone.cli import main; main()", "study", *arguments]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **home},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    saved = re.findall(r"data saved to '.*/([^/]+?)\.\d+\.nbc'", done.stdout + done.stderr)
    return done, saved


@pytest.mark.slow
def test_the_demo_is_whole_on_a_machine_that_has_never_compiled(tmp_path):
    out = tmp_path / "reports"
    target = "He2(z1) + sign(z1*z2*z3)"
    _, saved = on_a_new_machine(tmp_path, target, "--budget", "30", "--out", str(out))
    assert "".join(whole(out / "he2-parity3.html")) == ""
    assert len(saved) == len(set(saved)) <= 8  # none in two processes


@pytest.mark.stat
def test_study_writes_a_report_and_says_where(tmp_path):
    arguments = ["z1", "--noise", "0.3", "--d", "40", "--budget", "0"]
    arguments += ["--out", str(tmp_path / "new")]
    done, saved = on_a_new_machine(tmp_path, *arguments)
    file = tmp_path / "new" / "z1-noise-0.3.html"
    assert f"Report: {file} (" in done.stdout
    assert "compiling, once on this machine: 1 of 2" in done.stderr
    assert len(saved) == len(set(saved)) <= 8  # none in two processes
    assert "gradone study z1 --noise 0.3 --d 40 --budget 30 --resume" in file.read_text("utf-8")
    assert file.stat().st_size < 6e6
    assert "".join(whole(file)) == ""
    again = runner.invoke(app, ["study", *arguments, "--resume"])
    assert again.exit_code == 0, again.output
    assert " 0 s of computing" in file.read_text("utf-8")  # nothing was computed twice
    other = runner.invoke(app, ["study", *arguments, "--resume", "--seed", "1"])
    assert other.exit_code == 2
    assert "is of another study" in other.stderr


def whole(file):
    """What is wrong with a report: a curve without enough points, or a failure."""
    answers = json.loads(file.with_suffix(".json").read_text("utf-8"))["answers"]
    counts = collections.Counter(question.partition(" {")[0] for question in answers)
    for name, count in counts.items():
        if name.startswith("simulation:") and count < 3:
            yield f"{name} has {count} points; "
    text = file.read_text("utf-8")
    yield from (f"{words}; " for words in ("failed: ", "not finished", "no curve") if words in text)
    sections = ("Who learns what", "Training in time", "Without feature learning")
    if not any('"axis": "kappa"' in question for question in answers):
        yield from (f"no {title}; " for title in sections if f"<h2>{title}" not in text)


TYPED = """
z1 + 0.5*z2; z1*z2 + z3**2; relu(z1) - relu(z2); He3(z1); He4(z1) + z1*z2; sign(z1 + z2**2 - 1);
tanh(z1*z2) + 0.5*z3; max(z1, z2, z3); abs(z1)*abs(z2); sin(3*z1); cos(2*z1)*z2; exp(-z1**2);
z1*z2*z3; sign(z1)*relu(z2); He2(z1)*He2(z2); z1**3 - 3*z1 + z2; sign(z1*z2) + sign(z3);
gelu(z1); relu(z1*z2); min(z1, z2); z1 + z1*z2 + z1*z2*z3; step(z1); sign(z1*z2*z3*z4); z1**4;
tanh(5*z1) + He2(z2); abs(z1 + z2) - abs(z1 - z2); sign(sin(2*z1)); z1*relu(z2);
sign(z1*z2 + 0.3*xi); He2(z1) + 0.2*z2
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", [*gd.zoo(), *(" ".join(one.split()) for one in TYPED.split(";"))])
def test_every_target_has_a_whole_report(name, tmp_path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    result = runner.invoke(app, ["study", name, "--budget", "10", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    (file,) = tmp_path.glob("*.html")
    assert file.stat().st_size < 6e6
    assert "".join(whole(file)) == ""
    print(f"{name}: {resource.getrusage(resource.RUSAGE_SELF).ru_utime - before:.1f} s here")


@pytest.mark.parametrize("budget", ["-1", "nan", "inf"])
def test_a_budget_is_a_number_of_seconds(budget, tmp_path):
    arguments = ["z1", "--budget", budget, "--out", str(tmp_path)]
    result = runner.invoke(app, ["study", *arguments])
    assert result.exit_code == 2
    assert "budget is a number of seconds, zero or more" in result.stderr


def test_name_of_a_report_is_a_name_for_files():
    for text in ("tanh(z1)/2", "-z1", "(z1 + z2)**2 - 0.5"):
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", file_name(gd.Target(text)))
    assert file_name(gd.Target("z1 + 2*z2", noise=0.5)) == "z1-2-z2-noise-0.5"
    assert len(file_name(gd.Target("+".join(["tanh(z1)"] * 40)))) <= 60
