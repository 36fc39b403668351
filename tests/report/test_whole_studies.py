"""Every study is whole: each picture is there with its curves, whatever budget and target."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import gradone as gd
from gradone.base.children import Outcome
from gradone.experiments._common_quantities import common_quantities
from gradone.report.curves import fineness
from gradone.report.memory import remember
from gradone.report.study import Study, plan_ahead, theories_at_plan

from .completeness import shortcomings

DEMO = "He2(z1) + sign(z1*z2*z3)"
TYPED = (
    "z1", "z1**2 - z2**2", "z1*z2 + z3", "abs(z1)", "relu(z1) + relu(-z2)", "sign(z1) + z2",
    "sign(z1)*sign(z2)", "exp(-z1**2)", "cos(z1)", "sin(2*z1) + z2**2", "tanh(z1 + z2)",
    "tanh(3*z1*z2)", "He3(z1) + He2(z2)", "He4(z1)", "z1**3 - 3*z1 + z2", "erf(z1)*erf(z2)",
    "max(z1, z2)", "max(z1, 0) - max(z2, 0)", "sigmoid(z1 - z2)", "softplus(z1)", "gelu(z1) + z2",
    "sign(z1*z2 + 0.3*xi)", "z1 + 0.5*xi", "sign(z1 + z2 + z3)", "z1*z2*z3", "abs(z1) - abs(z2)",
    "sign(z1)*z2", "z1*exp(-z2**2)", "sqrt(1 + z1**2)", "sign(z1*z2*z3*z4)",
)  # fmt: skip
SECONDS = 60.0  # of two processors, with a budget of ten


@pytest.mark.stat
def test_a_coarse_study_is_whole():
    found = gd.study("z1", d=40, budget=0, workers=1, progress=False)
    assert shortcomings(found) == []
    assert "gradone study linear --d 40 --budget 30 --resume" in found.to_html()
    runs = {row.name: row.runs for row in fineness(found)}
    assert runs["one pass of SGD, simulation"] == found.curves["simulation:sgd"].sizes["replicate"]


def test_the_plan_has_the_error_of_the_curve():
    """State evolution at n = 5 d, without the noise of the labels."""
    target = gd.Target("sign(z1*z2)", noise=0.1)
    found = Study(target, d=50)
    plan_ahead(found)
    assert found.plan.row("Bayes-AMP").plateau is None
    curve = gd.predict(target, "bayes_amp", alpha=[4.0, 5.0])
    found.outcomes["theory:bayes_amp"] = Outcome(answers={0: common_quantities(curve, "alpha")})
    plan_ahead(found, theories_at_plan(found))
    error = found.plan.row("Bayes-AMP").plateau
    assert error.value == pytest.approx(curve.test_mse.values[1] - 0.1)
    assert 0.5 < error.value < 0.8
    overlaps = ", ".join(f"{q:.2f}" for q in curve.overlap.values[1].diagonal())
    assert found.plan.row("Bayes-AMP").here == f"in part, squared overlaps {overlaps}"


def test_a_line_of_few_points_is_not_drawn_but_remembered(tmp_path):
    """Two ends of the slow curve would look like a straight line."""
    found = Study(gd.Target("z1**2"), d=50)
    curve = gd.predict("z1**2", "bayes_amp", alpha=[1.0])
    for count, is_there in ((4, False), (5, True)):
        slow = {k: curve.assign_coords(alpha=[1.0 + k]) for k in range(count)}
        calls = {k: (dict, {"place": k}) for k in slow}
        found.outcomes = {
            "theory:bayes_amp": Outcome(answers={0: curve}),
            "theory:bayes_optimal": Outcome(answers=slow, calls=calls),
        }
        assert ("theory:bayes_optimal" in found.comparison.source.values) is is_there
        assert (
            "with more time: gradone study" in found.why_not("theory:bayes_optimal")
        ) is not is_there
        remember(found, tmp_path / "report.json")
        assert len(json.loads((tmp_path / "report.json").read_text())["answers"]) == count


@pytest.mark.slow
@pytest.mark.parametrize("name", [*gd.zoo(), *TYPED])
def test_studies_of_all_kinds_of_targets_are_whole(name):
    began = time.process_time()
    target = gd.zoo(name) if name in gd.zoo() else gd.Target(name)
    found = gd.study(target, budget=10, progress=False)
    found.to_html()
    assert shortcomings(found) == []
    # Of two processors, whatever else the machine does: what this process did alone, and the rest.
    assert time.process_time() - began + found.seconds / 2 < SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("budget", [0, 30])
def test_the_first_study_on_a_machine_is_whole(tmp_path, budget):
    """Empty caches: the package is copied, so that none of its compiled functions is there."""
    package = Path(gd.__file__).parent
    shutil.copytree(package, tmp_path / "gradone", ignore=shutil.ignore_patterns("__pycache__"))
    home = tmp_path / "home"
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "GRADONE_CACHE": str(home / "gradone"),
        "NUMBA_CACHE_DIR": "",
    }
    code = f"from tests.report.test_whole_studies import first_study; first_study({budget})"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert str(tmp_path) in found["package"]
    assert found["shortcomings"] == []
    names = [name for name, _, _ in found["compiled"]]
    assert names
    assert len(names) == len(set(names))  # nothing is compiled twice, nor in two processes
    assert sum(seconds for _, _, seconds in found["compiled"]) < 5  # in all processes
    assert re.fullmatch(r"(compiling, once on this machine: \d of \d\n?)+", found["said"])


def first_study(budget):
    """Study with a report of what was compiled; called in a process of its own."""
    from gradone.base.cache import compilations

    said = []

    def tell(study, done, known):
        if isinstance(known, str):
            said.append(known)

    study = gd.study(DEMO, budget=budget, progress=tell)
    found = {
        "package": gd.__file__,
        "shortcomings": shortcomings(study),
        "compiled": compilations(),
        "said": "\n".join(said),
    }
    print(json.dumps(found))
