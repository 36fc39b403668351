"""An analysis has a budget of processor time, and answers with what it knows by then."""

import time

import numpy as np
import pytest

import gradone as gd
from gradone.analysis.analyze import BUDGET, Analysis

from .hard_expressions import composition, many_kinks, mixture

LATE = 2.0  # seconds of one step of the work, after which the budget is looked at
LONG = "step(z2+z5+z4+z1+z3-0.5) + step(z2+z5-0.5) + max(z5, z2, z3, z1, z5*0.5) + He2(z5)"


def seconds(text: str, noise: float = 0.0, **options: float) -> tuple[float, Analysis]:
    """Processor time of an analysis and its summary, and the analysis."""
    target = gd.Target(text, noise=noise)
    began = time.process_time()
    found = gd.analyze(target, **options)
    found.summary()
    return time.process_time() - began, found


def test_an_analysis_stops_when_its_budget_is_spent():
    """Took a minute before."""
    used, found = seconds(LONG, budget=0.9)
    assert used < 0.9 + LATE
    assert found.information_exponent is None
    assert found.learnability is None
    for what in ("information_exponent", "leap_exponent", "filtration"):
        assert found.notes[what].startswith("undecided: ")
        assert "seconds of processor time were spent" in found.notes[what]
    assert not np.isfinite(found.full_threshold.value)


def test_a_cut_analysis_is_not_remembered_for_a_longer_budget():
    text = "tanh(3.17*z1*z2)"  # that no other test has analyzed: what is finished is remembered
    assert seconds(text, budget=1e-9)[1].generative_exponent is None
    assert seconds(text)[1].generative_exponent == 2


def test_a_hierarchical_analysis_stops_when_its_budget_is_spent():
    """Took 40 seconds before."""
    outer = "+".join(f"abs(h-{i}/7)" for i in range(1, 40))
    inner = "+".join(f"abs(z-{i}/7)-abs(z+{i}/7)" for i in range(1, 30))
    target = gd.Sight(outer=outer, inner=inner)
    with pytest.raises(gd.TooLarge, match="take more than"):
        gd.analyze(target, budget=1e-3)
    began = time.process_time()
    found = gd.analyze(target, budget=2.0)
    text = found.summary()
    assert time.process_time() - began < 2.0 + LATE
    assert found.information_exponent == 1
    assert "undecided: 1 seconds of processor time were spent" in " ".join(text.split())
    assert found.plateaus["deep"] == ()


def test_many_kinks_take_no_budget():
    """Took 54 seconds before."""
    used, found = seconds("+".join(f"abs(z1-{i}/7)" for i in range(1, 70)))
    assert used < 5.0
    assert found.information_exponent == 1


def test_a_square_of_a_sign_takes_no_budget():
    """Took 4 seconds before."""
    used, found = seconds("exp(-(1-sign(z1))**2)")
    assert used < 1.0
    assert found.learnability == "trivial"


def test_the_lab_gives_a_question_more_time_than_an_analysis_takes():
    settings = pytest.importorskip("gradone.lab.settings").Settings()
    assert BUDGET + LATE < settings.slow_processor_seconds


def test_a_budget_is_positive():
    with pytest.raises(gd.BadData, match="positive number of seconds, got 0"):
        gd.analyze("z", budget=0)


@pytest.mark.slow
@pytest.mark.parametrize("make", [many_kinks, composition, mixture])
def test_no_expression_exceeds_the_budget(make):
    """Twenty-five accepted expressions of each kind, a third of them with noise."""
    rng = np.random.default_rng(7)
    seen = 0
    while seen < 25:
        text, noise = make(rng), float(rng.choice([0.0, 0.0, 0.1]))
        try:
            used, _ = seconds(text, noise)
        except gd.GradoneError:
            continue
        seen += 1
        assert used < BUDGET + LATE, text
