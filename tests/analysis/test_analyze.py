"""gd.analyze: every verdict with its reason, on one screen, as data, as HTML."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time

import pytest

import gradone as gd


@pytest.mark.stat
def test_the_example_of_the_readme():
    a = gd.analyze(gd.Target("He2(z1) + sign(z1*z2*z3)"))
    assert (a.information_exponent, a.leap_exponent, a.generative_exponent) == (2, 2, 2)
    assert a.learnability == "easy"
    assert a.classes == ("easy", "easy")
    assert float(a.weak_threshold) == pytest.approx(0.575166, abs=1e-3)
    assert float(a.full_threshold) == pytest.approx(math.pi**2 / 4, abs=1e-6)
    assert a.staircase == ()
    assert [stage.subspace.dim for stage in a.grand_staircase] == [1, 3]
    assert float(a.hermite_energy.energy.sel(degree=2)) == pytest.approx(2.0)


def test_the_worst_direction_gives_the_class():
    assert gd.analyze("sign(z1)").learnability == "trivial"
    assert gd.analyze("z1 + sign(z2*z3*z4)").learnability == "hard"
    assert gd.analyze("He3(z1)").information_exponent == 3
    assert gd.analyze("He3(z1)").generative_exponent == 1


def test_hard_targets_have_infinite_thresholds():
    a = gd.analyze("sign(z1*z2*z3)")
    assert math.isinf(float(a.weak_threshold))
    assert math.isinf(float(a.full_threshold))
    assert a.never.dim == 3


def test_a_trivial_direction_opens_at_zero_and_a_hard_one_never():
    a = gd.analyze("z1 + sign(z2*z3*z4)")
    assert float(a.weak_threshold) == 0.0
    assert math.isinf(float(a.full_threshold))
    assert a.never.dim == 3


def test_every_verdict_names_the_quantity_that_decided():
    notes = gd.analyze("He4(z1) + sign(z1*z2*z3)").notes
    assert "C_3" in notes["information_exponent"]
    assert "He_2" in notes["generative_exponent"]
    assert "stage 2" in notes


@pytest.mark.parametrize(
    "text", ["z1**2", "sign(z1) + sign(z2)", "sign(z1*z2*z3)", "tanh(z1 + z2)"]
)
def test_views(text):
    a = gd.analyze(gd.Target(text, noise=0.0))
    assert len(a.summary().splitlines()) < 40
    assert max(map(len, a.summary().splitlines())) <= 110
    data = json.loads(json.dumps(a.to_dict(), allow_nan=False))
    assert data["learnability"] == a.learnability
    assert data["grand_staircase"][0]["order"] == a.grand_staircase[0].order
    assert "<table>" in a._repr_html_()


def test_markup_in_a_text_does_not_reach_the_page():
    assert "<script" not in gd.analyze("z1**2")._repr_html_()


def test_noise_moves_the_threshold():
    clean, noisy = gd.analyze("z1**2"), gd.analyze(gd.Target("z1**2", noise=1.0))
    assert float(noisy.weak_threshold) == pytest.approx(0.646591, abs=1e-5)
    assert float(clean.weak_threshold) == pytest.approx(0.5, abs=1e-6)


def test_too_many_variables_that_do_not_separate_are_refused():
    start = time.process_time()
    with pytest.raises(gd.OutOfRegime, match="mixes 6 variables"):
        gd.analyze("tanh(z1*z2*z3*z4*z5*z6)")
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize("wrong", [3, None, ["z1"]])
def test_what_is_not_a_target_is_refused(wrong):
    with pytest.raises(gd.BadData, match="takes a target or its text"):
        gd.analyze(wrong)


def test_bad_noise_is_refused():
    with pytest.raises(gd.BadData):
        gd.Target("z1", noise=-1.0)
    with pytest.raises(gd.BadData):
        gd.Target("z1", noise=math.nan)


def test_hierarchical_targets_are_analyzed_level_by_level():
    a = gd.analyze(gd.Sight(outer="tanh(3*h)", inner="He2(z)/2 + He3(z)/6", exponent=0.5))
    assert a.information_exponent == 2
    assert a.data_exponents["three_layer"] == 1.5
    assert "E1" in a.summary()
    json.dumps(a.to_dict(), allow_nan=False)
    assert "<table>" in a._repr_html_()


def test_a_cold_analysis_imports_numpy_and_special_functions_only():
    code = (
        "import sys, gradone as gd; gd.analyze('He2(z1) + sign(z1*z2*z3)').summary();"
        "print(*sorted({m for m in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    heavy = {
        "scipy.stats",
        "scipy.optimize",
        "scipy.integrate",
        "xarray",
        "pandas",
        "numba",
        "sympy",
    }
    assert not heavy & loaded
