"""The command line as a whole: help, version, errors and exit codes; and the doctor."""

import json
import os
import signal
import subprocess
import sys
from importlib.metadata import version

import pytest
import typer
from typer.testing import CliRunner

from gradone.base.errors import BadData
from gradone.cli import _app, app, doctor

runner = CliRunner()


@pytest.fixture
def failing():
    """Application of the same kind as gradone's, whose commands go wrong in each known way."""
    other = typer.Typer(cls=_app.Commands, pretty_exceptions_enable=False)
    other.callback()(_app.gradone)

    @other.command()
    def mistake():
        raise BadData("n = -3 is not a number of samples. Use n >= 1.")

    @other.command()
    def interrupted():
        raise KeyboardInterrupt

    @other.command()
    def broken():
        raise ZeroDivisionError

    return other


def test_version():
    result = runner.invoke(app, ["--version"])
    assert (result.exit_code, result.output) == (0, f"gradone {version('gradone')}\n")


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_lists_the_commands(flag):
    result = runner.invoke(app, [flag])
    assert result.exit_code == 0
    assert "doctor" in result.output


def test_every_command_has_a_line_of_help():
    group = typer.main.get_command(app)
    assert [name for name, command in group.commands.items() if not command.help] == []


def test_unknown_command_is_a_mistake():
    result = runner.invoke(app, ["nonsense"])
    assert result.exit_code == 2
    assert "nonsense" in result.stderr


def test_mistake_gives_one_message_and_no_traceback(failing):
    result = runner.invoke(failing, ["mistake"])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr == "BadData: n = -3 is not a number of samples. Use n >= 1.\n"


@pytest.mark.parametrize("arguments", [["--debug", "mistake"], ["mistake", "--debug"]])
def test_debug_lets_the_error_through(failing, arguments):
    result = runner.invoke(failing, arguments)
    assert isinstance(result.exception, BadData)


def test_debug_after_two_dashes_is_text(failing):
    @failing.command()
    def echo(text: str):
        typer.echo(text)

    assert runner.invoke(failing, ["echo", "--", "--debug"]).output == "--debug\n"


def test_interrupt_has_its_exit_code(failing):
    result = runner.invoke(failing, ["interrupted"])
    assert (result.exit_code, result.stderr) == (130, "Interrupted.\n")


def test_a_bug_is_not_hidden(failing):
    assert isinstance(runner.invoke(failing, ["broken"]).exception, ZeroDivisionError)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_interrupt_of_a_running_process():
    code = """
import time
from gradone.cli import app, main
@app.command()
def wait():
    print("ready", flush=True)
    time.sleep(60)
main()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code, "wait"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 130
        assert process.stderr.read() == "Interrupted.\n"


def test_doctor_reports_what_is_installed():
    result = runner.invoke(app, ["doctor", "--json"])
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    findings = {finding["name"]: finding for finding in report["findings"]}
    for library in doctor.LIBRARIES:
        assert findings[library]["value"] == version(library)
    assert int(findings["cores"]["value"]) >= 1
    assert report["problems"] == sum(bool(finding["advice"]) for finding in report["findings"])


def test_doctor_text_has_the_same_lines():
    text = runner.invoke(app, ["doctor"]).stdout
    for finding in json.loads(runner.invoke(app, ["doctor", "--json"]).stdout)["findings"]:
        assert finding["name"] in text


def test_doctor_names_the_threads_that_were_chosen(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    assert "3 threads (OPENBLAS_NUM_THREADS)" in runner.invoke(app, ["doctor"]).stdout


def test_doctor_says_what_to_do_about_a_missing_library(monkeypatch):
    monkeypatch.setattr(doctor, "LIBRARIES", ("no_such_library",))
    result = runner.invoke(app, ["doctor"])
    line = next(line for line in result.stdout.splitlines() if "no_such_library" in line)
    assert line.startswith("!")
    assert line.endswith("pip install --upgrade no_such_library")


def test_doctor_says_what_to_do_about_a_cache_that_cannot_be_written(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("GRADONE_CACHE", str(tmp_path / "file" / "cache"))
    line = next(
        line
        for line in runner.invoke(app, ["doctor"]).stdout.splitlines()
        if "cache folder" in line
    )
    assert line.startswith("!")
    assert line.endswith("set GRADONE_CACHE to a folder of yours")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/data/x", "ext4"),
        ("/scratch", "lustre"),
        ("/scratch/me/cache", "lustre"),
        ("/scratch2/me", "ext4"),
        ("/with space/x", "nfs4"),
        ("/twice", "tmpfs"),
    ],
)
def test_filesystem_kind_is_that_of_the_nearest_mount(tmp_path, path, kind):
    """Would catch: comparing texts instead of folders (``/scratch2``); the first line winning."""
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "disk / ext4 rw 0 0\n"
        "server /scratch lustre rw 0 0\n"
        "server /with\\040space nfs4 rw 0 0\n"
        "disk /twice ext4 rw 0 0\n"
        "memory /twice tmpfs rw 0 0\n"
    )
    assert doctor.filesystem_kind(doctor.Path(path), mounts=mounts) == kind


def test_filesystem_kind_is_unknown_without_a_table(tmp_path):
    assert doctor.filesystem_kind(tmp_path, mounts=tmp_path / "none") == "unknown"


@pytest.mark.parametrize("text", ["-z1", "-(z1 + z2)", "-2*z1**2", "-tanh(z1)", "-He2(z1)"])
def test_an_expression_may_begin_with_a_minus(text):
    result = runner.invoke(app, ["analyze", text])
    assert result.exit_code == 0, result.output
    assert text in result.stdout
