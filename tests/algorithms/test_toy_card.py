"""An algorithm of a user: one card in a module of his own, and it is on every surface."""

import json
import os
import subprocess
import sys

import pytest

MODULE = '''
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from gradone.algorithms import Algorithm
from gradone.analysis.plan import PlanRow
from gradone.base.cost import Cost, Need


class ToyMean(RegressorMixin, BaseEstimator):
    """Predicts the mean label."""

    cites = ()
    cost = Cost("4e10 n operations", lambda s: 4e10 * s.n, lambda s: [Need(1e9, "a toy", "n")])

    def fit(self, X, y):
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class ToyCard(Algorithm):
    """The mean label, whatever the inputs are."""

    label, color, family = "mean of the labels", "#123456", "toys"
    learner = "toy_mean"

    def needs(self, case):
        return [PlanRow("a toy", "n ~ 1", 0.0, case.sizes.data_exponent, "nothing")]
'''
ENTRY_POINTS = """
[gradone.algorithms]
toy = toy_cards:ToyCard
[gradone.learners]
toy_mean = toy_cards:ToyMean
"""
SCRIPT = """
import json
from typer.testing import CliRunner
import gradone as gd
from gradone.analysis.analyze import analyze
from gradone.base.children import Outcome
from gradone.cli import app
from gradone.experiments.costs import cost
from gradone.lab.answers import answer
from gradone.lab.streams import stream
from gradone.report.study import Study
from gradone.report.page import page
from gradone.report.tasks import tasks_of

found = {}
listed = json.loads(CliRunner().invoke(app, ["list", "--json"]).stdout)
found["list"] = listed["algorithms"]["toy"]

where = {"d": 20, "alpha": [2.0], "replicates": 1, "budget": 600, "progress": False}
compared = gd.compare("z", ["random_features", "toy"], **where)
one = compared.sel(source="simulation:toy")
found["compare"] = [one.outcome.item(), one.test_mse.item(), one.label.item(), one.color.item()]
found["legend"] = [[s.name, s.style.color] for s in gd.draw("error-vs-alpha", compared).series]
found["simulate"] = gd.simulate("z", "toy", d=20, n=40, replicates=1, progress=False).attrs["color"]

sweep = gd.Experiment(name="e", targets=["z"], algorithms=[{"algorithm": "toy"}],
                      grid={"d": 20, "n": 40})
swept = gd.run(sweep, executor="serial", progress=False)
found["sweep"] = [swept.source.values.tolist(), swept.color.values.tolist(), swept.test_mse.item()]
estimate = cost(sweep.cells()[0])
found["cost"] = [estimate.seconds, estimate.bytes, estimate.largest.what]

found["plan"] = gd.plan("z", d=100).row("a toy").needs

target = gd.Target("z")
study = Study(target, d=20, verdicts={"analysis": analyze(target)})
tasks = {task.name: task for task in tasks_of(study)}
function, arguments = tasks["simulation:toy"].pieces[0]
study.outcomes["simulation:toy"] = Outcome(answers={0: function(**arguments)})
html = page(study, stills=False)
found["report"] = ["mean of the labels, simulation" in html, "#123456" in html]

sources = answer("sources", {"target": "z", "noise": None})
found["lab"] = next(who for who in sources["race"] if who["key"] == "toy")
parameters = {"target": "z", "noise": None, "d": 20, "seed": 0, "seeds": 1, "view": "samples",
              "algorithms": ["toy"], "top": 2.0, "axis": "alpha"}
events = [event for event in stream(parameters) if event["kind"] == "curve"]
found["race"] = [events[0]["source"], events[0]["label"], events[0]["color"]]
print("@@" + json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What the surfaces say when the package of the toy is installed beside gradone."""
    folder = tmp_path_factory.mktemp("toys")
    folder.joinpath("toy_cards.py").write_text(MODULE)
    package = folder / "toy_cards-1.0.dist-info"
    package.mkdir()
    package.joinpath("METADATA").write_text(
        "Metadata-Version: 2.1\nName: toy-cards\nVersion: 1.0\n"
    )
    package.joinpath("entry_points.txt").write_text(ENTRY_POINTS)
    paths = [str(folder), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    script = folder / "surfaces.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.rpartition("@@")[2])


def test_it_is_listed(found):
    assert found["list"].startswith("mean of the labels: The mean label")


def test_it_is_compared_and_has_its_color_and_name(found):
    outcome, error, label, color = found["compare"]
    assert (outcome, label, color) == ("done", "mean of the labels", "#123456")
    assert error == pytest.approx(1.0, abs=0.4)  # the variance of z, and that of the mean
    assert ["mean of the labels, simulation $d=20$", "#123456"] in found["legend"]
    assert found["simulate"] == "#123456"


def test_it_is_swept_at_the_cost_that_it_states(found):
    sources, colors, error = found["sweep"]
    assert (sources, colors) == (["simulation:toy"], ["#123456"])
    assert error == pytest.approx(1.0, abs=0.4)
    seconds, size, what = found["cost"]
    assert seconds == pytest.approx(80.0, rel=1e-3)  # 4e10 n operations, 2e10 in a second
    assert size > 1e9
    assert what == "a toy"


def test_it_has_its_row_of_the_plan(found):
    assert found["plan"] == "n ~ 1"


def test_it_is_in_the_report(found):
    assert found["report"] == [True, True]


def test_it_races_in_the_lab(found):
    assert found["lab"] == {
        "key": "toy", "label": "mean of the labels", "color": "#123456", "is_there": True,
        "theory": "it has no theory", "simulation": None, "is_first": True,
    }  # fmt: skip
    assert found["race"] == ["simulation:toy", "mean of the labels", "#123456"]
