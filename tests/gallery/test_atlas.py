"""The atlas: what a claim states, how it is judged, and that its check can fail."""

import ast
import importlib
import json
import re
import shlex
from dataclasses import replace

import click
import pytest
import typer
from typer.testing import CliRunner

import gradone as gd
from gradone.base.errors import BadData
from gradone.base.estimate import Estimate
from gradone.base.references import references
from gradone.cli import app
from gradone.experiments.store import Store
from gradone.gallery import FIGURES, Entry, Number
from gradone.gallery._verdict import CORRECTED, FAILS, HOLDS, OPEN, SKIPPED, compare, found, mean_of

runner = CliRunner()
ATLAS = gd.atlas()
CHECKED = [name for name, entry in ATLAS.items() if entry.check]
KINDS = {"theorem", "conjecture", "figure", "table", "example"}
CHEAP = [
    "phase-retrieval",
    "grand-staircase",
    "degree-theorem",
    "arc-cosine-kernel",
    "he3-extragradient",
    "linear-escape",
    "learned-terms",
    "risk-bounds",
    "plateaus",
    "first-layer-threshold",
]
MOST_SECONDS = 900.0


@pytest.fixture(params=ATLAS, ids=str)
def entry(request):
    return ATLAS[request.param]


def test_there_are_claims_of_every_family():
    assert len(ATLAS) >= 80
    assert list(ATLAS.families()) == ["bayes", "lazy", "sgd", "giant", "depth"]
    assert min(map(len, ATLAS.families().values())) >= 10


def test_a_claim_states_what_it_must(entry):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry.name)
    assert entry.kind in KINDS
    assert entry.statement.endswith(".")
    assert len(entry.statement) < 300
    assert entry.formula
    assert entry.regime
    assert not entry.regime.endswith(".")
    assert entry.cites
    assert set(entry.cites) <= set(references())
    assert not entry.figure or entry.figure in FIGURES
    if entry.check:
        assert entry.claimed
        assert entry.planted or entry.planted_of
        assert set(entry.planted) <= set(entry.claimed)
        assert set(entry.corrected) <= set(entry.claimed)
        module = importlib.import_module(f"gradone.gallery.{entry.family}._claims")
        assert getattr(module, entry.check).__doc__
    else:
        assert entry.why


def test_a_claim_is_shown_by_a_command_or_by_a_few_lines(entry):
    text = entry.show.strip()
    if not text.startswith("gradone "):
        assert 1 <= len(ast.parse(text).body) <= 5
        return
    command = typer.main.get_command(app)
    name, subcommand, rest = command.resolve_command(click.Context(command), shlex.split(text)[1:])
    subcommand.make_context(name, rest)


PYTHON = [name for name, entry in ATLAS.items() if not entry.show.startswith("gradone ")]


@pytest.mark.slow
@pytest.mark.parametrize("name", PYTHON)
def test_the_lines_that_show_a_claim_run(name):
    """Would catch: an argument that a function does not take."""
    exec(ATLAS[name].show, {})  # noqa: S102


def test_the_record_has_a_verdict_for_every_claim(entry):
    row = ATLAS.recorded()["claims"][entry.name]
    assert {one["name"] for one in row["numbers"]} == (set(entry.claimed) if entry.check else set())
    if row["verdict"] != HOLDS:
        assert len(entry.why) > 80


def test_the_record_says_when_it_was_made():
    last = ATLAS.recorded()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", last["date"])
    assert last["version"]
    assert set(last["claims"]) == set(ATLAS)


@pytest.mark.parametrize("name", CHEAP)
def test_cheap_claims_have_the_verdict_on_record_and_notice_an_error(name):
    entry = ATLAS[name]
    assert entry.verdict().word == ATLAS.recorded()["claims"][name]["verdict"]
    assert entry.with_planted_error().verdict().word == FAILS


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with Store(tmp_path_factory.mktemp("atlas") / "atlas.db") as store:
        yield store


@pytest.mark.slow
def test_every_claim_has_the_verdict_on_record_in_time(store):
    verdicts = ATLAS.check(store=store)
    last = ATLAS.recorded()["claims"]
    words = {name: verdict.word for name, verdict in verdicts.items()}
    assert words == {name: row["verdict"] for name, row in last.items()}
    assert sum(verdict.seconds for verdict in verdicts.values()) < MOST_SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKED)
def test_a_planted_error_is_noticed(name, store):
    entry = ATLAS[name]
    planted = gd.gallery.Atlas({name: entry.with_planted_error()})
    assert planted.check(store=store)[name].word == FAILS


CLAIM = Entry(
    "bayes", "example", "theorem", "Half.", "any", ("ba2022onestep",), "gradone list",
    check="threshold", of={"target": "z**2"}, claimed={"alpha_c": 0.6}, corrected={"alpha_c": 0.5},
    within=1e-3, planted={"alpha_c": 0.7},
)  # fmt: skip


@pytest.mark.parametrize(
    ("measured", "word"), [(0.6005, HOLDS), (0.4995, CORRECTED), (0.55, FAILS), (0.602, FAILS)]
)
def test_the_verdict_follows_from_the_numbers(measured, word):
    assert CLAIM.judge(found(alpha_c=measured)).word == word


def test_the_planted_error_takes_the_place_of_the_claim_and_of_its_correction():
    wrong = CLAIM.with_planted_error()
    assert wrong.judge(found(alpha_c=0.5)).word == FAILS
    assert wrong.judge(found(alpha_c=0.6)).word == FAILS


def test_without_a_check_a_claim_is_open():
    assert Entry("depth", "x", "conjecture", "X.", "any", (), "gradone list").verdict().word == OPEN


def test_a_claim_whose_package_is_missing_is_not_checked(monkeypatch, tmp_path):
    entry = replace(ATLAS["parity-threshold"], needs="no_such_package")
    assert entry.verdict().word == SKIPPED
    monkeypatch.setitem(gd.gallery._atlas._table(), "parity-threshold", entry)
    place = ["--check", "--store", str(tmp_path / "a.db")]
    result = runner.invoke(app, ["atlas", "bayes", "parity-threshold", *place])
    assert result.exit_code == 0, result.output
    assert SKIPPED in result.stdout


@pytest.mark.parametrize(
    ("claimed", "measured", "error", "agrees"),
    [
        ("< 1", 0.9, 0.05, True),
        ("< 1", 0.9, 0.2, False),
        ("> 1", 1.1, 0.05, True),
        ("> 1", 0.9, 0.0, False),
        ("easy", "easy", 0.0, True),
        ("easy", "hard", 0.0, False),
        (float("inf"), float("inf"), 0.0, True),
        (float("inf"), 3.0, 9.0, False),
        (1.0, 1.2, 0.25, True),
        (1.0, 1.2, 0.15, False),
    ],
)
def test_numbers_words_and_bounds(claimed, measured, error, agrees):
    assert Number("x", claimed, measured, error).agrees == agrees


def test_a_number_that_was_not_measured_is_an_error():
    with pytest.raises(BadData, match="does not measure b; it measures a"):
        compare(found(a=1.0), {"b": 1.0}, 0.0)
    with pytest.raises(BadData, match="is a word"):
        _ = Number("a", "< 1", "easy").agrees


def test_errors_of_means_are_five_standard_errors():
    estimate = Estimate(1.0, 2.576, "monte_carlo")
    assert found(x=estimate).x_err.item() == pytest.approx(5.15, abs=0.01)
    runs = [0.0, 1.0] * 500
    assert mean_of(runs).error == pytest.approx(2.576 * 0.5 / 1000**0.5, rel=0.01)


def test_what_was_measured_is_not_measured_again(tmp_path, monkeypatch):
    chosen = gd.atlas("bayes", "phase-retrieval")
    with Store(tmp_path / "a.db") as store:
        before = chosen.check(store=store)
        monkeypatch.setattr("gradone.gallery.bayes._claims.analyze", None)
        assert chosen.check(store=store)["phase-retrieval"].numbers == (
            before["phase-retrieval"].numbers
        )


def test_the_progress_is_told_and_can_stop_a_check():
    class Watching:
        seen = ()

        def step(self, i, total, **scalars):
            self.seen += ((i, total),)
            return i >= 1

        def close(self):
            self.closed = True

    watching = Watching()
    chosen = gd.gallery.Atlas({name: ATLAS[name] for name in ("phase-retrieval", "energies")})
    assert list(chosen.check(progress=watching)) == ["phase-retrieval"]
    assert watching.seen == ((0, 2), (1, 2))
    assert watching.closed


def test_families_and_claims_that_do_not_exist_are_refused():
    with pytest.raises(BadData, match="bayes, lazy, sgd, giant or depth, got 'deep'"):
        gd.atlas("deep")
    with pytest.raises(BadData, match="Did you mean 'phase-retrieval'"):
        gd.atlas(claim="phase-retrival")
    with pytest.raises(BadData, match="stands in the family 'bayes'"):
        gd.atlas("sgd", "phase-retrieval")


def test_the_command_lists_claims_with_their_verdicts():
    result = runner.invoke(app, ["atlas"])
    assert result.exit_code == 0, result.output
    assert [name for name in ATLAS if name not in result.stdout] == []
    assert f"{len(ATLAS)} claims, checked on {ATLAS.recorded()['date']}" in result.stdout
    one = runner.invoke(app, ["atlas", "depth"]).stdout
    assert "gram-levels" in one
    assert "phase-retrieval" not in one


def test_the_command_shows_one_claim():
    text = runner.invoke(app, ["atlas", "bayes", "threshold-of-a-later-stage"]).stdout
    for words in ("Aubin", "amp_thresholds", "Verdict: holds with a correction", "1.43083", "2.05"):
        assert words in text


def test_the_command_answers_in_json():
    result = runner.invoke(app, ["atlas", "depth", "conjugate-kernel-conditioning", "--json"])
    (row,) = json.loads(result.stdout)["claims"]
    assert row["verdict"] == HOLDS
    assert row["kind"] == "conjecture"


def test_the_command_checks(tmp_path):
    place = ["--check", "--store", str(tmp_path / "a.db")]
    result = runner.invoke(app, ["atlas", "bayes", "parity-threshold", *place])
    assert result.exit_code == 0, result.output
    assert "claimed 2.4674, measured 2.4674" in result.stdout
    result = runner.invoke(app, ["atlas", "bayes", "parity-threshold", *place, "--json"])
    (row,) = json.loads(result.stdout)["claims"]
    assert row["verdict"] == HOLDS
    assert row["numbers"][0]["claimed"] == 2.4674011003


def test_a_verdict_that_moved_ends_with_an_error(tmp_path, monkeypatch):
    wrong = ATLAS["parity-threshold"].with_planted_error()
    monkeypatch.setitem(gd.gallery._atlas._table(), "parity-threshold", wrong)
    place = ["--check", "--store", str(tmp_path / "a.db")]
    result = runner.invoke(app, ["atlas", "bayes", "parity-threshold", *place])
    assert result.exit_code == 3
    assert "parity-threshold: holds before, does not hold at these sizes now" in result.output


@pytest.mark.parametrize("words", [["nope"], ["bayes", "nope"], ["sgd", "phase-retrieval"]])
def test_the_command_refuses_what_it_does_not_know(words):
    result = runner.invoke(app, ["atlas", *words])
    assert result.exit_code == 2
    assert "BadData" in result.output
