"""The frame of the gallery: figures by name, memory of what was computed, the command."""

import json
import os

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import gradone as gd
from gradone.base.curves import curve
from gradone.base.errors import BadData
from gradone.base.progress import Unwatched
from gradone.charts import Axis, Chart, line, points
from gradone.cli import app
from gradone.experiments.store import Store
from gradone.gallery import FIGURES, Claim, GalleryFigure
from gradone.gallery._memo import Memo, packed, unpacked

runner = CliRunner()
CALLS = []


def piece(alpha):
    """Curve that counts how often it is computed."""
    CALLS.append(alpha)
    values = {"q": ("alpha", [alpha**2]), "q_err": ("alpha", [0.0])}
    return curve(values, {"alpha": [alpha]}, source="theory:square", target="z1", seed=3)


class Example(GalleryFigure):
    """A small figure that fails at its third piece as long as the test says so."""

    title = "squares"
    sentence = r"The square of $\alpha$."
    cites = ("troiani2024limits",)
    budget = {"small": 10.0, "paper": 20.0}
    broken = False
    holds = True

    def compute(self, size, memo):
        found = {}
        for alpha in (1.0, 2.0, 3.0):
            if alpha == 3.0 and Example.broken:
                raise BadData("out of luck")
            found[f"{alpha:g}"] = memo(piece, alpha)
        return found

    def draw(self, data):
        x, y = np.array([(c.alpha.item(), c.q.item()) for c in data.values()]).T
        return Chart("", Axis("x"), Axis("y"), (line("theory", x, y), points("runs", x, y)))

    def claims(self, data):
        return [Claim("squares grow", Example.holds, "1 < 4 < 9")]


@pytest.fixture
def example():
    """The small figure, in the table for the time of a test."""
    list(FIGURES)
    FIGURES.add("example-squares")(Example)
    Example.broken, Example.holds = False, True
    CALLS.clear()
    yield "example-squares"
    del FIGURES._things["example-squares"]


def test_a_figure_comes_with_charts_data_sentence_and_cost(example):
    made = gd.gallery.reproduce(example)
    assert made.sentence == r"The square of $\alpha$."
    assert [one.kind for one in made.charts[0].series] == ["line", "points"]
    assert made.data["2"].q.item() == 4
    assert 0 <= made.seconds < made.budget == 10
    assert made.picture.origin["command"] == "gradone figure example-squares --size small"
    assert made.picture.origin["curves"]["1"]["source"] == "theory:square"
    assert made.picture.origin["curves"]["1"]["seed"] == 3


def test_an_interrupted_figure_goes_on_where_it_was(example, tmp_path):
    Example.broken = True
    with Store(tmp_path / "a.db") as store, pytest.raises(BadData, match="luck"):
        gd.gallery.reproduce(example, store=store)
    Example.broken = False
    with Store(tmp_path / "a.db") as store:
        again = gd.gallery.reproduce(example, store=store)
    assert CALLS == [1.0, 2.0, 3.0]
    assert again.data["1"].q.item() == 1


def test_a_bar_appears_while_the_first_piece_is_at_work(example):
    class Watch:
        told = []

        def step(self, i, total, **scalars):
            self.told.append((i, total, list(CALLS)))
            return False

        def close(self):
            pass

    gd.gallery.reproduce(example, progress=Watch())
    assert Watch.told[0] == (0, 10.0, [])  # after which a bar waits two seconds


def runs_of(kind):
    """Two runs of a learner or of an engine, as figures ask for them."""
    if kind == "sgd":
        return gd.dynamics.sgd("z1", d=20, steps=10**7, replicates=2, width=1, progress=False)
    if kind == "reuse":
        sizes = {"d": 20, "alpha": 2.0, "steps": 2, "step_size": 0.1, "replicates": 2}
        return gd.dynamics.reused_batch("z1", **sizes, progress=False)
    sizes = {"d": 4, "n": 20, "replicates": 2, "progress": False}
    return gd.simulate("z1", "sir", **sizes, executor=kind)


@pytest.mark.parametrize("kind", ["serial", "processes", "sgd", "reuse"])
def test_ctrl_c_ends_a_figure_and_half_a_curve_is_not_kept(kind, monkeypatch, tmp_path):
    """Would catch: a simulation that returns what it has, which is then remembered as a whole."""

    def press(self, i, total, **scalars):
        raise KeyboardInterrupt

    monkeypatch.setattr(Unwatched, "step", press)
    with Store(tmp_path / "a.db") as store:
        with pytest.raises(KeyboardInterrupt):
            Memo(store)(runs_of, kind)
        assert not store.keys()


def test_the_cost_of_remembered_pieces_counts(tmp_path):
    with Store(tmp_path / "a.db") as store:
        Memo(store)(burn, 0.2)
        memo = Memo(store)
        memo(burn, 0.2)
    assert 0.19 < memo.seconds < 2


def burn(seconds):
    start = sum(os.times()[:2])
    while sum(os.times()[:2]) < start + seconds:
        pass
    return piece(seconds)


def test_a_curve_comes_back_from_the_store_as_it_was():
    runs = gd.simulate("z1", "spectral_directions", d=20, alpha=[2.0], replicates=2, progress=False)
    xr.testing.assert_identical(unpacked(packed(runs)), runs)


def test_simulations_are_remembered_for_each_sample_size(tmp_path):
    settings = {"d": 20, "replicates": 2, "progress": False}
    whole = gd.simulate("z1", "spectral_directions", alpha=[2.0, 4.0], **settings)
    settings.pop("progress")
    with Store(tmp_path / "a.db") as store:
        memo = Memo(store)
        found = memo.simulate("z1", "spectral_directions", alpha=[2.0, 4.0], **settings)
        assert len(store.keys()) == 2
    xr.testing.assert_equal(found, whole)
    with pytest.raises(BadData, match="either alpha or n"):
        Memo().simulate("z1", "spectral_directions", **settings)


def test_other_arguments_are_another_curve(tmp_path):
    CALLS.clear()
    with Store(tmp_path / "a.db") as store:
        memo = Memo(store)
        assert [memo(piece, alpha).q.item() for alpha in (1.0, 2.0, 1.0)] == [1, 4, 1]
    assert CALLS == [1.0, 2.0]


def test_unknown_names_and_sizes_are_refused(example):
    with pytest.raises(BadData, match="Did you mean 'example-squares'"):
        gd.gallery.reproduce("example-square")
    with pytest.raises(BadData, match="small or paper, got 'large'"):
        gd.gallery.reproduce(example, "large")


def test_the_command_writes_files_and_a_table(example, tmp_path):
    result = runner.invoke(app, ["figure", example, "--out", str(tmp_path / "new")])
    assert result.exit_code == 0, result.output
    names = {path.name for path in (tmp_path / "new").iterdir() if ".db" not in path.name}
    assert names == {f"{example}.{suffix}" for suffix in ("pdf", "png", "csv", "json")}
    assert "The square of α." in result.stdout
    lines = [line for line in result.stdout.splitlines() if line]
    assert any("squares grow" in line and "1 < 4 < 9" in line for line in lines)
    head, row = next((a, b) for a, b in zip(lines, lines[1:], strict=False) if "budget" in a)
    assert head.split() == ["figure", "budget", "s", "CPU", "s", "claims", "files"]
    assert [row.split()[i] for i in (0, 1, 3)] == [example, "10", "1/1"]
    stored = json.loads((tmp_path / "new" / f"{example}.json").read_text())
    assert stored["origin"]["command"] == f"gradone figure {example} --size small"


def test_the_command_answers_in_json(example, tmp_path):
    result = runner.invoke(app, ["figure", example, "--out", str(tmp_path), "--json"])
    (row,) = json.loads(result.stdout)
    assert row["ok"]
    assert row["claims"] == [{"text": "squares grow", "holds": True, "found": "1 < 4 < 9"}]
    assert all((tmp_path / path).exists() for path in row["files"])
    assert 0 <= row["cpu_seconds"] < row["budget"] == 10
    listed = json.loads(runner.invoke(app, ["figure", "--list", "--json"]).stdout)
    assert listed[example] == "The square of α."


@pytest.mark.parametrize("trouble", ["broken", "holds"])
def test_the_command_tells_what_failed(example, tmp_path, trouble):
    setattr(Example, trouble, trouble == "broken")
    result = runner.invoke(app, ["figure", example, "--out", str(tmp_path)])
    assert result.exit_code == 3
    assert ("out of luck" if trouble == "broken" else "squares grow: NO") in result.output


def test_the_command_lists_figures(example):
    result = runner.invoke(app, ["figure", "--list"])
    assert result.exit_code == 0
    assert all(name in result.stdout for name in gd.gallery.names())


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "--all"),
        (["parity-amq"], "Did you mean 'parity-amp'"),
        (["parity-amp", "--size", "x"], "small or paper, got 'x'"),
    ],
)
def test_the_command_refuses_what_it_cannot_make(words, problem, tmp_path):
    result = runner.invoke(app, ["figure", *words, "--out", str(tmp_path / "a")])
    assert result.exit_code == 2
    assert problem in result.output
    assert not (tmp_path / "a").exists()
