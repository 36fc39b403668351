"""``gradone predict``: options from the signature of the theory, and every form of the answer."""

import csv
import io
import json
import re
import time

import pytest
import xarray as xr
from typer.testing import CliRunner

import gradone as gd
from gradone.base.errors import BadData
from gradone.cli import app

runner = CliRunner()


def predict(*arguments):
    return runner.invoke(app, ["predict", *arguments])


FEATURES = ["random_features", "--alpha", "0.5:2:4", "--width-ratio", "2", "--ridge=0.1,1"]


def expected():
    alpha = [0.5, 1.0, 1.5, 2.0]
    given = {"alpha": alpha, "width_ratio": 2, "ridge": [0.1, 1]}
    return gd.predict(gd.zoo("linear-noisy"), "random_features", **given)


def test_json_is_the_curve_of_the_verb():
    result = predict("linear-noisy", *FEATURES, "--json")
    assert result.exit_code == 0, result.output
    found = xr.Dataset.from_dict(json.loads(result.stdout))
    curve = expected()
    xr.testing.assert_allclose(found.test_mse, curve.test_mse)
    assert found.attrs["source"] == "theory:random_features"
    assert json.loads(found.attrs["params"]) == json.loads(curve.attrs["params"])


def test_csv_has_a_row_for_each_point_and_a_column_for_each_number():
    rows = list(csv.DictReader(io.StringIO(predict("linear-noisy", *FEATURES, "--csv").stdout)))
    assert len(rows) == 8
    curve = expected()
    for row in rows:
        place = {name: float(row[name]) for name in ("alpha", "width_ratio", "ridge")}
        assert float(row["test_mse"]) == curve.test_mse.sel(place).item()
        assert float(row["overlap[1]"]) == curve.overlap.sel(place | {"direction": 1}).item()


def test_table_shows_the_error_and_names_what_does_not_fit():
    text = predict("linear-noisy", *FEATURES).stdout
    assert "theory:random_features of z" in text
    assert f"{expected().test_mse.values[0, 0, 0]:.5g}" in text
    assert "Also computed: " in text
    assert max(map(len, text.splitlines())) <= 80


def test_texts_reach_the_theory_as_texts():
    arguments = ["lazy", "--kappa", "1.5", "--activation", "tanh(z)", "--fit-intercept", "false"]
    found = json.loads(predict("He2(z1) + z2", *arguments, "--json").stdout)
    expected = gd.predict(
        "He2(z1) + z2", "lazy", kappa=1.5, activation="tanh(z)", fit_intercept=False
    )
    assert found["data_vars"]["excess_mse"]["data"] == expected.excess_mse.values.tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["z1", "astrology"], "BadData: unknown theory 'astrology'"),
        (["z1", "lazy"], "BadData: 'lazy' needs --kappa."),
        (["z1", "lazy", "--kapa", "1"], "'lazy' has no option --kapa. Did you mean --kappa?"),
        (["z1", "lazy", "--kappa"], "BadData: --kappa has no value"),
        (["z1", "lazy", "1.5"], "BadData: '1.5' belongs to no option"),
        (["z1", "lazy", "--kappa", "1", "--kappa=2"], "BadData: --kappa is given twice"),
        (["z1", "lazy", "--kappa", "a,b"], "BadData: kappa must be a number"),
        (["z1", "lazy", "--kappa", "0:1:1e9"], "BadData: --kappa has 1000000000 points"),
        (["z1", "lazy", "--kappa", "1", "--d", "x"], "BadData: --d takes a whole number, got 'x'"),
        (["z1", "lazy", "--kappa", "1", "--ridge", "x"], "BadData: --ridge takes a number"),
        (["z1*z2", "one_step", "--readout-ratio", "1", "--batch-ratio", "2", "--step-size", "1"],
         "OutOfRegime: 'one_step' does not cover this target"),
        (["parity33", "lazy", "--kappa", "1"], "BadData: no target of the zoo is named"),
    ],
)  # fmt: skip
def test_mistakes_are_one_message_and_exit_code_2(arguments, message):
    result = predict(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_points_without_a_number_are_told_and_the_exit_code_is_3(monkeypatch):
    from gradone.theory import THEORIES

    kind = THEORIES["lazy"]
    whole = kind.predict

    def sometimes(self, target, *, kappa):
        found = whole(self, target, kappa=kappa)
        lost = found.kappa > 1
        return found.assign(converged=~lost, status=xr.where(lost, "lost its way", "").astype(str))

    monkeypatch.setattr(kind, "predict", sometimes)
    result = predict("z1", "lazy", "--kappa", "0.5,1.5")
    assert result.exit_code == 3
    assert "1 of 2 points did not converge" in result.stdout
    assert "lost its way" in result.stdout


def test_plot_draws_and_keeps_the_numbers(tmp_path):
    file = tmp_path / "curve.svg"
    result = predict("linear-noisy", *FEATURES, "--plot", str(file))
    assert result.exit_code == 0, result.output
    assert file.read_text().startswith("<?xml")
    assert file.with_suffix(".csv").exists()
    assert json.loads(file.with_suffix(".json").read_text())["series"]


def test_interrupted_prediction_shows_what_it_has(monkeypatch):
    from gradone.theory import predict as module

    calls = iter(range(100))
    compute = module.predict

    def interrupted(*arguments, **named):
        if next(calls) == 2:
            raise KeyboardInterrupt
        return compute(*arguments, **named)

    monkeypatch.setattr(module, "predict", interrupted)
    result = predict("linear-noisy", *FEATURES)
    assert result.exit_code == 130
    # Quick points come two at a time: alpha = 0.5, 1 and perhaps 1.5, with two ridges each.
    assert re.search(r"Interrupted: [46] of 8 points were computed\.", result.stdout)
    assert f"{expected().test_mse.values[0, 0, 0]:.5g}" in result.stdout


def test_pieces_are_the_whole():
    given = {"alpha": [2.0, 0.5, 1.0], "width_ratio": 2.0, "ridge": 0.1}
    whole = gd.predict("tanh(z)", "random_features", **given)
    xr.testing.assert_identical(
        gd.predict("tanh(z)", "random_features", progress=True, **given), whole
    )


def test_ranges_have_three_parts():
    result = predict("z1", "bayes_amp", "--alpha", "1:2")
    assert result.exit_code == 2
    assert "start:stop:count, for example 1:2:5" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "sight", "depth", "--kappa", "1:3:9"],
        ["predict", "z+He3(z)", "gradient_spike", "--step-size", "1:3:3", "--batch-ratio", "2"],
        ["predict", "z", "random_features", "--alpha", "3", "--width-ratio", "0.3:6:5",
         "--ridge", "1e-3"],
    ],
    ids=lambda arguments: arguments[2],
)  # fmt: skip
def test_whatever_was_varied_is_drawn(arguments, tmp_path):
    file = tmp_path / "picture.svg"
    answer = runner.invoke(app, [*arguments, "--plot", str(file)])
    assert answer.exit_code == 0, answer.output
    series = json.loads(file.with_suffix(".json").read_text())["series"]
    assert all(len(one["x"]) >= 3 for one in series)


def test_a_picture_of_an_unknown_kind_is_refused_before_the_work(monkeypatch, tmp_path):
    work = lambda *a, **k: pytest.fail("the simulation began")  # noqa: E731
    monkeypatch.setattr("gradone.experiments.simulate.simulate", work)
    given = ["simulate", "z", "sir", "--d", "10", "--alpha", "4", "--plot", "out.xyz"]
    answer = runner.invoke(app, given)
    assert isinstance(answer.exception, BadData) or "a picture ends in" in answer.output
    assert "out.xyz" in f"{answer.exception} {answer.output}"


def test_the_table_of_depth_has_all_networks_in_80_columns(monkeypatch):
    """Would catch: its main column among what does not fit."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = predict("sight", "depth", "--kappa", "1.5,2.5").stdout
    heads = next(line for line in shown.splitlines() if "three_layer" in line).split()
    assert heads == ["lazy", "two_layer", "three_layer", "deep"]
    assert max(map(len, shown.splitlines())) <= 80


def test_a_bar_appears_while_the_first_point_is_at_work(monkeypatch):
    from gradone.base.progress import TerminalBar
    from gradone.theory import predict as module

    opened, seen = [], []
    compute = module.predict

    def slow(*arguments, **named):
        for _ in range(400):
            if opened:
                break
            time.sleep(0.01)
        seen.append(list(opened))
        return compute(*arguments, **named)

    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("gradone.base.progress._PATIENCE", 0.01)
    monkeypatch.setattr(TerminalBar, "_open", lambda bar, total: opened.append(total))
    monkeypatch.setattr(module, "predict", slow)
    gd.predict("z1", "random_features", alpha=[1.0, 2.0], progress=True)
    assert seen[0] == [2]
