"""Every name that ``gradone list`` shows is accepted by its command, with a picture."""

import pytest
from typer.testing import CliRunner

from gradone.algorithms import ALGORITHMS
from gradone.cli import app
from gradone.learners import LEARNERS
from gradone.theory import THEORIES

runner = CliRunner()
# Options that a theory needs, by the name of the option.
NEEDED = {
    "alpha": "1,3",
    "kappa": "1,2",
    "step-size": "0.1",
    "batch-ratio": "4",
    "readout-ratio": "2",
    "width-ratio": "2",
    "ridge": "0.1",
    "steps": "3",
    "time": "0.5,1",
    "d": "100",
}
DEEP = ("depth", "layerwise", "two_layers")
DEAR = (
    *("bayes_amp", "bayes_optimal", "feature_spectrum", "sgd_flow", "sgd", "extragradient"),
    *("one_step", "giant_step", "giant_steps", "normalized_sgd", "huber_sgd"),
)


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
        return ["--kappa", "1,2"] if name in DEEP else ["--alpha", "2,4", "--d", "100"]
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


@pytest.mark.parametrize("name", marked(SIMULATED, ("feature_classifier", "feature_regressor")))
def test_simulate(name, tmp_path):
    target = "sight" if name in DEEP else "sign(z1)" if name.endswith("classifier") else "tanh(z1)"
    sizes = ["--d", "16", "--alpha", "4,8", "--replicates", "2", "--test-samples", "50"]
    picture = tmp_path / "curve.svg"
    result = answers(["simulate", target, name, *sizes, "--plot", str(picture)])
    assert picture.stat().st_size > 0
    assert "Traceback" not in result.output
