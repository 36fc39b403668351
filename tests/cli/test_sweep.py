"""``gradone sweep`` as users run it: processes, exit codes, files."""

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import gradone as gd
from gradone.cli import app
from gradone.cli._sweep_bar import SweepBar, described, duration

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "small.toml"
SPEC = """\
name = "tiny"
targets = ["sign(z1*z2)"]
replicates = 2

[[algorithms]]
learner = "random_features"
width = 10
ridge = 0.1

[[algorithms]]
theory = "random_features"
width_ratio = 0.5
ridge = 0.1

[[algorithms]]
engine = "sgd"
width = 1
steps = 20
step_size = 0.01
record = 5

[grid]
d = 20
alpha = [2, 4]

[sizes.small]
replicates = 1
"""
FAILING = """\
name = "failing"
targets = ["z1"]
[[algorithms]]
learner = "spectral_directions"
n_permutations = 9
n_components = [1, 50]
[grid]
d = 20
n = 50
"""
BAD = """\
name = "bad"
seed = -1
targets = ["sgn(z1)"]
[[algorithms]]
learner = "giant_stepp"
[grid]
d = []
"""


def gradone(folder, *arguments):
    """A real process; its exit code, output and errors."""
    code = "from gradone.cli import main; main()"
    command = [sys.executable, "-c", code, "sweep", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def invoke(folder, *arguments):
    """The same command within this process, which has its imports already."""
    return CliRunner().invoke(
        app, ["sweep", *map(str, arguments), "--store", str(folder / "runs.db")]
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which the spec was run with two processes."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "tiny.toml").write_text(SPEC)
    first = gradone(folder, "tiny.toml", "--workers", 2, "--quiet")
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.splitlines()[1:] == [
        "done     8  computed now",
        "failed   0  computed now, without a result",
        "skipped  0  in the store already",
    ]
    return folder


@pytest.mark.stat
def test_a_second_run_computes_nothing(folder):
    again = gradone(folder, "tiny.toml", "--json", "--executor", "serial")
    assert again.returncode == 0
    found = json.loads(again.stdout)
    assert (found["done"], found["failed"], found["skipped"]) == (0, 0, 8)


@pytest.mark.stat
def test_exports_are_those_of_python(folder):
    run = gradone(folder, "tiny.toml", "--export", "out.nc")
    assert run.stdout == "8 of 8 cells written to out.nc.\n"
    invoke(folder, folder / "tiny.toml", "--export", folder / "out.csv")
    found = gd.run(folder / "tiny.toml", store=folder / "runs.db", executor="serial")
    with xr.open_dataset(folder / "out.nc") as exported:
        xr.testing.assert_identical(exported.load(), found)
    assert (folder / "out.csv").read_text().startswith("source,alpha,replicate,")


@pytest.mark.stat
def test_shards_merge_to_the_same_store(folder, tmp_path):
    spec = shutil.copy(folder / "tiny.toml", tmp_path)
    for i in range(2):
        (tmp_path / str(i)).mkdir()
        part = invoke(tmp_path / str(i), spec, "--executor", "serial", "--shard", f"{i}/2")
        assert part.exit_code == 0, part.stderr
    merged = gradone(tmp_path, "tiny.toml", "--merge", "0/runs.db", "1/runs.db", "0/runs.db")
    assert merged.stdout == (
        "8 cells were added, 4 were known already. "
        "Of the 8 cells of tiny, 8 are done, 0 failed, 0 missing.\n"
    )
    for name in ("merged.csv", "merged.nc"):
        assert invoke(tmp_path, tmp_path / "tiny.toml", "--export", tmp_path / name).exit_code == 0
        invoke(folder, folder / "tiny.toml", "--export", folder / name)
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


@pytest.mark.stat
def test_a_damaged_store_is_salvaged_and_completed(folder, tmp_path):
    spec = shutil.copy(folder / "tiny.toml", tmp_path)
    with contextlib.closing(sqlite3.connect(folder / "runs.db")) as whole:
        whole.execute("VACUUM INTO ?", (str(tmp_path / "runs.db"),))
    size = (tmp_path / "runs.db").stat().st_size
    os.truncate(tmp_path / "runs.db", size - 3 * 4096)
    refused = invoke(tmp_path, spec, "--executor", "serial", "--quiet")
    assert refused.exit_code == 2
    assert "--salvage --store" in refused.stderr
    saved = invoke(tmp_path, spec, "--salvage")
    match = re.search(r"(\d+) cells are saved in (\S+), (?:at least )?(\d+) are lost", saved.stdout)
    assert int(match[1]) + int(match[3]) == 8
    again = gradone(tmp_path, spec, "--store", match[2], "--executor", "serial", "--json")
    assert json.loads(again.stdout)["done"] == int(match[3])


@pytest.mark.stat
def test_a_dry_run_writes_nothing(tmp_path):
    (tmp_path / "tiny.toml").write_text(SPEC)
    run = gradone(tmp_path, "tiny.toml", "--dry-run", "--workers", 2)
    assert run.returncode == 0
    assert run.stdout.splitlines()[-2].split() == ["all", "8", "0", "1", "s", "50.0", "MB"]
    assert run.stdout.endswith("8 cells to compute, about 1 s with 2 workers. Nothing was run.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.toml"]


@pytest.mark.stat
def test_all_defects_of_a_bad_spec_and_nothing_written(tmp_path):
    (tmp_path / "bad.toml").write_text(BAD)
    run = gradone(tmp_path, "bad.toml")
    assert (run.returncode, run.stdout) == (2, "")
    lines = [line for line in run.stderr.splitlines() if line.startswith("  line")]
    assert [line.partition(",")[0] for line in lines] == [
        *("  line 2", "  line 3", "  line 5", "  line 7")
    ]
    assert "Traceback" not in run.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["bad.toml"]


@pytest.mark.stat
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_control_c_keeps_what_is_done_and_says_how_to_go_on(tmp_path):
    spec = SPEC.replace("replicates = 2", "replicates = 2000").replace("steps = 20", "steps = 2000")
    (tmp_path / "long.toml").write_text(spec)
    code = "from gradone.cli import main; main()"
    command = [sys.executable, "-c", code, "sweep", "long.toml", "--executor", "serial"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        deadline = time.monotonic() + 120
        while not stored(tmp_path / "runs.db") and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    command = "gradone sweep long.toml --store runs.db --executor serial\n"
    assert f"The sweep was interrupted; finished cells are stored. To continue: {command}" in err
    assert out.splitlines()[1].split()[:2] == ["done", str(stored(tmp_path / "runs.db"))]


def stored(path):
    """Number of cells of a store that may not be there yet."""
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            found = connection.execute("SELECT count(*) FROM cell").fetchone()[0]
        connection.close()
        return found
    except sqlite3.OperationalError:
        return 0


def test_failures_have_their_exit_code_and_their_reasons(tmp_path):
    path = tmp_path / "failing.toml"
    path.write_text(FAILING)
    run = invoke(tmp_path, path, "--executor", "serial")
    assert run.exit_code == 3
    assert "failed: spectral_directions at d = 20, n = 50, n_components = 50" in run.stderr
    assert "--retry-failed" in run.stderr
    status = invoke(tmp_path, path, "--status")
    assert [line.split()[:2] for line in status.stdout.splitlines()[1:5]] == [
        *(["done", "1"], ["failed", "1"], ["missing", "0"], ["cells", "2"])
    ]
    assert "BadData: n_components = 50 directions cannot be found" in status.stdout
    again = invoke(tmp_path, path, "--executor", "serial", "--json", "--quiet")
    assert again.exit_code == 3
    assert json.loads(again.stdout)["skipped"] == 2
    retried = invoke(tmp_path, path, "--executor", "serial", "--json", "--quiet", "--retry-failed")
    assert json.loads(retried.stdout) | {"store": ""} == {
        **{"sweep": "failing", "store": "", "done": 0, "failed": 1, "skipped": 1},
        **{"failed_in_store": 1, "interrupted": False},
    }


@pytest.mark.stat
def test_status_and_sizes(folder):
    status = json.loads(invoke(folder, folder / "tiny.toml", "--status", "--json").stdout)
    assert status == {"cells": 8, "done": 8, "failed": 0, "missing": 0, "failures": []}
    small = invoke(folder, folder / "tiny.toml", "--status", "--json", "--size", "small")
    assert json.loads(small.stdout)["cells"] == 5
    dry = invoke(folder, folder / "tiny.toml", "--dry-run", "--json", "--size", "small")
    assert (json.loads(dry.stdout)["cells"], json.loads(dry.stdout)["stored"]) == (5, 5)


@pytest.mark.stat
def test_a_job_array_runs_shards(folder):
    script = invoke(folder, "tiny.toml", "--slurm-script")
    assert script.exit_code == 2  # the spec is not in this folder
    script = invoke(folder, folder / "tiny.toml", "--slurm-script", "--workers", 3)
    assert "#SBATCH --array=0-2\n" in script.stdout
    assert '--shard "$SLURM_ARRAY_TASK_ID/3" --store "$store" --workers 1' in script.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--status", "--dry-run"], "--dry-run and --status exclude each other"),
        (["--merge"], "write --merge FILES"),
        (["other.db"], "write --merge FILES"),
        (["--export", "a.xlsx"], "export to a file .nc or .csv"),
        (["--size", "paper"], "'tiny' has no size 'paper'. It has small."),
        (["--shard", "x"], "--shard is I/K"),
        (["--shard", "2/2"], "a share must be one of 0 ... 1, got 2"),
        (["--executor", "proceses"], "unknown executor 'proceses'"),
        (["--merge", "none.db"], "there is no store none.db"),
    ],
)
def test_mistakes_have_one_message_and_write_nothing(tmp_path, arguments, message):
    (tmp_path / "tiny.toml").write_text(SPEC)
    run = invoke(tmp_path, tmp_path / "tiny.toml", *arguments)
    assert run.exit_code == 2
    assert message in run.stderr
    assert "Traceback" not in run.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.toml"]


def test_what_does_not_fit_is_refused(tmp_path):
    path = tmp_path / "huge.toml"
    path.write_text(FAILING.replace("n = 50", "n = 1_000_000_000_000"))
    for more in ([], ["--dry-run"]):
        run = invoke(tmp_path, path, *more)
        assert run.exit_code == 2
        assert "Use a smaller n or d. Nothing was run." in run.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["huge.toml"]


# ---- the example of the README and of the documentation


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """A folder in which all commands of the documentation were run, and what each printed."""
    folder = tmp_path_factory.mktemp("example")
    (folder / "examples").mkdir()
    shutil.copy(EXAMPLE, folder / "examples")
    text = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    [block] = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    shown = re.findall(r"^\$ gradone (.*)\n((?:[^$].*\n)*)", block, re.MULTILINE)
    seconds, printed = 0.0, []
    with contextlib.chdir(folder):
        for command, _ in shown:
            start = time.process_time()
            # In this process, which has its imports already; the page shows the default.
            words = [*shlex.split(command), "--executor", "serial", "--quiet"]
            printed.append(CliRunner().invoke(app, words).stdout)
            seconds += time.process_time() - start
    # Dots stand for the table of results, which --quiet leaves out.
    return folder, [expected.removesuffix("...\n") for _, expected in shown], printed, seconds


@pytest.mark.stat
def test_the_documentation_shows_what_the_commands_print(example):
    folder, expected, printed, seconds = example
    assert len(expected) == 5
    assert printed == expected
    assert seconds < 60
    assert (folder / "small.nc").exists()


@pytest.mark.stat
def test_the_example_gives_the_numbers_of_the_verbs(example):
    """Would catch: values at the wrong place; theory and simulation at different sizes."""
    target, settings = gd.Target("z1 + He2(z2)/2", noise=0.1), {"width_ratio": 1.0, "ridge": 0.1}
    theory = gd.predict(target, "random_features", alpha=[2.0, 4.0, 8.0], **settings)
    runs = gd.simulate(target, "random_features", d=50, alpha=4.0, replicates=4, **settings)
    with xr.open_dataset(example[0] / "small.nc") as found:
        assert (found.status == "").all()
        assert set(found.data_vars) >= {"test_mse", "test_mse_err", "recovery"}
        part = found.isel(target=1).test_mse
        predicted = part.sel(source="theory:random_features", d=100, replicate=0)
        np.testing.assert_allclose(predicted, theory.test_mse.squeeze(), rtol=1e-12)
        simulated = part.sel(source="simulation:random_features", d=50, alpha=4.0)
        np.testing.assert_array_equal(simulated, runs.test_mse.squeeze())
        assert found.recovery.sel(source="simulation:sgd").notnull().any()


def test_a_log_gets_a_line_now_and_then(monkeypatch, capsys):
    bar = SweepBar("x")
    assert bar.step(1, 10, rate=2.0, seconds_left=100.0) is False
    monkeypatch.setattr("gradone.cli._sweep_bar._BETWEEN_LINES", -1.0)
    bar.step(2, 10, rate=2.0, seconds_left=100.0, failed=1)
    bar.close()
    assert capsys.readouterr().err == "x: 2 of 10 cells, 2 cells/s, 1 min 40 s left, 1 failed\n"


def test_a_terminal_gets_a_bar(monkeypatch, capsys):
    from rich.console import Console

    bar = SweepBar("x")
    bar.console = Console(stderr=True, force_terminal=True, width=100)
    bar.step(1, 10, rate=2.0, seconds_left=100.0)
    bar.step(10, 10, rate=2.0, seconds_left=0.0)
    bar.close()
    shown = capsys.readouterr().err
    assert "10/10" in shown
    assert "2 cells/s, 0 s left" in shown


def test_words_for_times_and_cells():
    assert [duration(s) for s in (0, 0.2, 59.6, 3600)] == ["0 s", "1 s", "1 min 0 s", "1 h 0 min"]
    theory = '{"parameters":{"alpha":2},"recipe":"theory:bayes_amp/1"}'
    assert described(theory) == "bayes_amp at alpha = 2"


@pytest.mark.slow
def test_the_status_of_a_large_store_is_quick(tmp_path):
    from gradone.experiments.spec_text import read_spec, text_mark
    from gradone.experiments.status import remember_cells
    from gradone.experiments.store import Store
    from gradone.experiments.task import Result

    path = tmp_path / "large.toml"
    grid = f"[grid]\nd = [20, 40]\nn = {list(range(100, 600))}\n"
    path.write_text(SPEC.partition("[[")[0].replace("= 2", "= 100") + "[[algorithms]]\n"
                    'learner = "random_features"\n' + grid)  # fmt: skip
    cells = gd.Experiment.read(path).cells()
    assert len(cells) == 100_000
    arrays = {"test_mse": np.array(0.5), "curve(step)": np.zeros(50)}
    with Store(tmp_path / "runs.db") as store:
        for start in range(0, len(cells), 5000):
            part = cells[start : start + 5000]
            results = [Result(cell.key, "done", arrays) for cell in part]
            store.put(results, sweep="x", parameters={cell.key: cell.text for cell in part})
        remember_cells(store, text_mark(read_spec(path)[0], None), [cell.key for cell in cells])
    before = os.times()
    run = gradone(tmp_path, path, "--status", "--json")
    after = os.times()
    assert json.loads(run.stdout)["done"] == 100_000
    spent = after.children_user + after.children_system
    assert spent - before.children_user - before.children_system < 1.0


def test_the_result_of_a_sweep_has_numbers_also_in_a_narrow_terminal(monkeypatch, capsys):
    """One row for each number: not for every value of an axis that another quantity has."""
    from gradone.base.curves import curve
    from gradone.cli._curves import show_curve

    monkeypatch.setenv("COLUMNS", "60")
    values = {
        "test_mse": (("source", "d"), [[0.25, 0.5], [float("nan")] * 2]),
        "test_mse_err": (("source", "d"), [[0.0, 0.0]] * 2),
        "recovery": (("source", "d", "step"), [[[float("nan")] * 3] * 2] * 2),
        "recovery_err": (("source", "d", "step"), [[[0.0] * 3] * 2] * 2),
    }
    names = ["simulation:" + "very_" * 12 + "long", "theory:nothing"]
    axes = {"source": names, "d": [50, 100], "step": [1, 2, 3]}
    show_curve(curve(values, axes, source="experiment:x", target="z1"), 10)
    rows = [line for line in capsys.readouterr().out.splitlines() if "simulation" in line]
    assert [row.split()[1:] for row in rows] == [["50", "0.25"], ["100", "0.5"]]
    assert all(len(row) <= 60 for row in rows)
