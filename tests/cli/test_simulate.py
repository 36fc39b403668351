"""``gradone simulate``: a learner on samples, in every form of the answer."""

import json
import math

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import gradone as gd
from gradone.cli import app

runner = CliRunner()
SIZES = ["--d", "30", "--alpha", "1,4", "--replicates", "3", "--test-samples", "200"]
FEATURES = ["random_features", *SIZES, "--ridge", "0.1,1", "--width", "40"]


def simulate(*arguments):
    return runner.invoke(app, ["simulate", *arguments])


def expected():
    sizes = {"d": 30, "alpha": [1, 4], "replicates": 3, "test_samples": 200}
    return gd.simulate("tanh(z)", "random_features", **sizes, ridge=[0.1, 1], width=40)


def test_json_is_the_curve_of_the_verb():
    result = simulate("tanh(z)", *FEATURES, "--json")
    assert result.exit_code == 0, result.output
    found = xr.Dataset.from_dict(json.loads(result.stdout))
    xr.testing.assert_identical(found.test_mse.drop_attrs(), expected().test_mse.drop_attrs())


def test_table_has_means_and_standard_errors_over_replicates():
    text = simulate("tanh(z)", *FEATURES).stdout
    values = expected().test_mse.sel(alpha=4, ridge=1).values
    mean, error = values.mean(), values.std(ddof=1) / math.sqrt(3)
    digits = 1 - math.floor(math.log10(error))
    assert "mean ± standard error over 3 replicates" in text
    assert f"{mean:.{digits}f} ± {error:.{digits}f}" in text


def test_csv_has_all_replicates():
    lines = simulate("tanh(z)", *FEATURES, "--csv").stdout.splitlines()
    assert lines[0].startswith("alpha,ridge,replicate,")
    assert len(lines) == 1 + 2 * 2 * 3


def test_a_learner_that_must_know_the_link_gets_it():
    arguments = ["bayes_amp", "--d", "30", "--n", "150", "--replicates", "1", "--max-iter", "20"]
    result = simulate("tanh(z)", *arguments, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert json.loads(found["attrs"]["params"])["max_iter"] == 20
    assert np.shape(found["data_vars"]["overlap"]["data"]) == (1, 1, 1, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing", *SIZES], "BadData: unknown algorithm 'nothing'"),
        (["giant_step", "--d", "30"], "BadData: give either --alpha or --n"),
        (["giant_step", *SIZES, "--n", "3"], "BadData: give either --alpha or --n"),
        (["giant_step", *SIZES, "--setps", "2"], "no option --setps. Did you mean --steps?"),
        (["giant_step", *SIZES, "--steps", "2.5"], "--steps takes a whole number, got '2.5'"),
        (["giant_step", *SIZES, "--reuse", "maybe"], "--reuse takes true or false, got 'maybe'"),
        (["giant_step", *SIZES, "--dtype", "float16"], "dtype must be 'float64' or 'float32'"),
        (["giant_step", *SIZES, "--random-state", "3"], "no option --random-state"),
    ],
)
def test_mistakes_are_one_message_and_exit_code_2(arguments, message):
    result = simulate("tanh(z)", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_a_failed_fit_is_shown_and_the_exit_code_is_3():
    arguments = ["online_sgd", *SIZES, "--step-size", "1e9", "--geometry", "euclidean"]
    result = simulate("He3(z)", *arguments)
    assert result.exit_code == 3
    assert "NotConverged" in result.stdout


@pytest.mark.parametrize(
    ("target", "options", "said"),
    [
        ("z1", ["random_features", "--d", "16", "--width", "0"], "width must be an integer >= 1"),
        ("z1*z2*z3", ["giant_step", "--d", "2"], "3 orthonormal directions do not fit"),
        ("z1", ["giant_step", "--d", "9", "--step-size", "1,2"], "gradone sweep varies any"),
    ],
)
def test_one_mistake_is_one_message(target, options, said):
    result = simulate(target, *options, "--alpha", "4", "--replicates", "3")
    assert result.exit_code == 2
    assert said in result.stderr
    assert len(result.output.strip().splitlines()) == 1


def test_interrupted_table_says_what_was_done(monkeypatch):
    from gradone.experiments import simulate as module

    calls = iter(range(100))
    fit = module.run_learner

    def interrupted(*arguments, **named):
        if next(calls) == 3:
            raise KeyboardInterrupt
        return fit(*arguments, **named)

    monkeypatch.setattr(module, "run_learner", interrupted)
    result = simulate("tanh(z)", "random_features", *SIZES, "--width", "40")
    assert result.exit_code == 130
    assert "over 1 to 2 of 3 replicates" in result.stdout
    assert "Interrupted: 3 of 6 points were computed." in result.stdout


def test_several_dimensions_are_a_sweep():
    for text in ("20,30", "20:40:3"):
        result = runner.invoke(app, ["simulate", "z1", "sir", "--d", text, "--alpha", "2"])
        assert result.exit_code == 2
        assert "gd.Experiment (gradone sweep) varies any parameter" in result.stderr
    result = runner.invoke(app, ["simulate", "z1", "sir", "--d", "ten", "--alpha", "2"])
    assert result.exit_code == 2
    assert "d must be an integer >= 1, got 'ten'" in result.stderr


def test_a_table_does_not_average_arbitrary_signs():
    """Would catch: directions with a squared cosine of 0.99 and a mean overlap of 0.00 ± 0.44."""
    result = simulate("z1", "sir", "--d", "20", "--alpha", "6", "--replicates", "6")
    row = result.stdout.splitlines()[-1].split()
    means = [float(word) for before, word in zip(["±", *row], row, strict=False)
             if word != "±" and before != "±"]  # fmt: skip
    assert "|overlap|[1,1]" in result.stdout
    assert len(means) == 3
    assert min(means) > 0.95
