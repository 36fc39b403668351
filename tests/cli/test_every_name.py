"""Every name that ``gradone list`` shows is accepted by its command, with a picture.

The figures are in ``tests/gallery/test_figures.py``, beside their claims.
"""

import pytest
from typer.testing import CliRunner

from gradone.algorithms import ALGORITHMS
from gradone.cli import app
from gradone.learners import LEARNERS
from gradone.targets.zoo import zoo
from gradone.theory import THEORIES

runner = CliRunner()
# Options that a theory needs, by the name of the option.
NEEDED = {
    "alpha": "1,3",
    "kappa": "1.5,2",
    "step-size": "0.1",
    "batch-ratio": "4",
    "readout-ratio": "2",
    "width-ratio": "2",
    "ridge": "0.1",
    "steps": "3",
    "time": "0.5,1",
    "d": "100",
}
TABLES = ("feature_classifier", "feature_regressor", "table_classifier", "table_regressor")
DEEP = ("depth", "layerwise", "neural_lofi", "two_layers")
OPTIMIZERS = ("huber_sgd", "momentum_sgd", "normalized_sgd", "sign_sgd")
DEAR = (
    *("bayes_amp", "bayes_optimal", "feature_spectrum", "sgd_flow", "sgd", "extragradient"),
    *("one_step", "giant_step", "giant_steps"),
    *OPTIMIZERS,
)
# What starts child processes takes some seconds.
CHEAP_TOGETHER = ("random_features", "save")
# One target for each kind of report: linear, sparse, staircase, latent noise, hierarchies.
REPORTED = ("linear-noisy", "parity3", "staircase3", "sign-committee3", "sight-relu", "tree")


def marked(names, slow):
    return [pytest.param(n, marks=pytest.mark.slow) if n in slow else n for n in names]


def answers(words):
    """Output of a command that must not stop by anything but an error made for people."""
    result = runner.invoke(app, words)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert result.exit_code == 0, result.output
    return result


def needed_by(name):
    """Options without a default, from the message that names them."""
    target = "sight" if name in DEEP else "z1"
    said = runner.invoke(app, ["predict", target, name]).stderr
    if "along alpha or kappa" in said:
        return ["--kappa", "1.5,2"] if name in DEEP else ["--alpha", "2,4", "--d", "100"]
    if "needs --" not in said:
        return []
    options = said.split("needs ")[1].split(". ")[0].split(", ")
    return [word for o in options for word in (o, NEEDED[o.removeprefix("--")])]


PREDICTED = [*THEORIES, *(a for a in ALGORITHMS if ALGORITHMS[a].theory and a not in THEORIES)]
SIMULATED = [*LEARNERS, *(a for a in ALGORITHMS if ALGORITHMS[a].learner and a not in LEARNERS)]


@pytest.mark.parametrize("name", marked(PREDICTED, DEAR))
def test_predict(name, tmp_path):
    target = "sight" if name in DEEP else "z1"
    picture = tmp_path / "curve.svg"
    result = answers(["predict", target, name, *needed_by(name), "--plot", str(picture)])
    assert picture.stat().st_size > 0
    assert "Traceback" not in result.output


@pytest.mark.parametrize("name", marked(SIMULATED, (*TABLES, *OPTIMIZERS)))
def test_simulate(name, tmp_path):
    target = "sight" if name in DEEP else "sign(z1)" if name.endswith("classifier") else "tanh(z1)"
    sizes = ["--d", "16", "--alpha", "4,8", "--replicates", "2", "--test-samples", "50"]
    picture = tmp_path / "curve.svg"
    result = answers(["simulate", target, name, *sizes, "--plot", str(picture)])
    assert picture.stat().st_size > 0
    assert "Traceback" not in result.output


def compared(name):
    """Target and axis of a comparison with an algorithm."""
    if name in DEEP:
        return ["sight", name, "--kappa", "1,1.5"]
    return ["sign(z1)" if name.endswith("classifier") else "tanh(z1)", name, "--alpha", "2,4"]


@pytest.mark.parametrize(
    "name", marked(ALGORITHMS, [name for name in ALGORITHMS if name not in CHEAP_TOGETHER])
)
def test_compare(name, tmp_path):
    picture = tmp_path / "curves.svg"
    sizes = ["--d", "16", "--replicates", "1", "--budget", "600"]
    words = ["compare", *compared(name), *sizes, "--plot", str(picture)]
    if name == "giant_steps":  # its curves have no axis in common with those of others
        assert "single neurons during the steps" in runner.invoke(app, words).stderr
        return
    assert name in answers(words).stdout
    assert picture.stat().st_size > 0


CHEAP_TARGETS = ("linear", "tail-indicator", "staircase2", "sight-he2")


@pytest.mark.parametrize("name", marked(zoo(), [n for n in zoo() if n not in CHEAP_TARGETS]))
def test_what_study_knows_at_once(name):
    said = answers(["study", name, "--no-report"]).stdout
    assert f"{name}: " in said
    assert "nan" not in said


@pytest.mark.slow
@pytest.mark.parametrize("name", REPORTED)
def test_study(name, tmp_path):
    """The whole report: its panels are the pictures."""
    answers(["study", name, "--budget", "0", "--out", str(tmp_path)])
    page = (tmp_path / f"{name}.html").read_text()
    assert page.count("<svg") + page.count("Plotly.newPlot") > 1
    assert "Traceback" not in page
