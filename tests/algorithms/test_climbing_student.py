"""A student that climbs a staircase: what its activation sees, and what it learns on data."""

import numpy as np
import pytest

import gradone as gd
from gradone.analysis.correlation.climbing import blind_degrees, staircase_degrees
from gradone.targets.activation import Activation

STAIRS = gd.Target("z1 + z1*z2 + z1*z2*z3")


@pytest.mark.parametrize(
    ("text", "degrees"),
    [
        ("z1 + z1*z2 + z1*z2*z3", (1, 2, 3)),
        ("z1 + He2(z1)*z2", (1, 3)),
        ("(z1+z2)/sqrt(2) + (z1+z2)*(z1-z2)", (1, 2)),
        ("z1*z2", ()),
    ],
)
def test_degrees_of_the_stairs(text, degrees):
    assert staircase_degrees(gd.Target(text).regression) == degrees


def test_what_activations_do_not_see():
    """Closed forms: relu has c_m = 0 for odd m >= 3, tanh for even m; a bias mends both."""
    every = range(1, 7)
    assert blind_degrees(Activation("relu(z)"), every) == (3, 5)
    assert blind_degrees(Activation("tanh(z)"), every) == (2, 4, 6)
    assert blind_degrees(Activation("sin(z + pi/4)"), every) == ()
    assert blind_degrees(Activation("relu(z)"), every, [0.5]) == ()


def test_theory_and_plan_name_the_condition():
    given = {"batch_ratio": 8.0, "step_size": 1.0, "readout": "signs", "points": 64}
    blind = gd.predict(STAIRS, "giant_steps", bias_scale=0.0, **given)
    assert "blind to terms of degree 3" in blind.attrs["notes"]
    assert "notes" not in gd.predict(STAIRS, "giant_steps", bias=0.5, bias_scale=0.0, **given).attrs
    note = gd.plan(STAIRS, d=1000).row("3 giant steps").note
    assert "Hermite coefficients of orders 1, 2, 3" in note


def test_without_a_linear_part_no_student_climbs():
    with pytest.raises(gd.OutOfRegime, match="no linear part"):
        gd.Student.for_target("z1*z2")


LIMITS = {  # of the error, in units of the variance; 0.3 is what a student that climbs attains
    "z1 + z1*z2 + z1*z2*z3": 0.3,
    "z1 + z1*z2": 0.3,
    "tanh(z1) + z1*z2": 0.3,
    "z1 + z2 + z1*z2*z3": 0.3,
    "2*z1 + z1*z2 + z2*z3": 0.3,
    "sign(z1) + z1*z2": 0.3,
    "relu(z1) + z1*z2": 0.3,
    "z1 + (z1 + z2)**2/2": 0.3,
    "z1 + z1*tanh(z2)": 0.3,
    # Heavy tails, which bounded features follow slowly.
    "z1 + He2(z1)*z2": 0.4,
    "z1 + He3(z1)*z2/2": 0.4,
}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, marks=pytest.mark.stat if i == 0 else pytest.mark.slow)
        for i, text in enumerate(LIMITS)
    ],
)
def test_it_climbs(text):
    """Would catch: the default student, which keeps the third term, 1/3 of the variance."""
    target, d = gd.Target(text), 200
    student = gd.Student.for_target(target)
    assert student.climbs
    batch = int(student.batch_ratio * d)
    n = student.steps * batch + 14_000
    s = target.sample(n=n + 8000, d=d, seed=0)
    learner = gd.learners.GiantStep(batch_size=batch, random_state=0, **student.giant_step)
    learner.fit(s.X[:n], s.y[:n])
    rest = s.y[n:] - learner.predict(s.X[n:])
    assert np.mean(rest**2) < LIMITS[text] * target.variance.value
    rows = learner.weights_ / np.linalg.norm(learner.weights_, axis=1, keepdims=True)
    cosines = np.sqrt(((rows @ s.W_star.T) ** 2).mean(axis=0))
    assert cosines == pytest.approx(student.cosines, abs=0.06)


@pytest.mark.slow
def test_a_student_that_does_not_climb_does_not_claim_it():
    """z2 and z3 of a leap of two are hidden from giant steps."""
    student = gd.Student.for_target("z1 + z1*z2*z3")
    assert not student.climbs
    assert max(student.cosines[1:]) < 0.05


@pytest.mark.slow
def test_the_prediction_does_not_depend_on_the_units_of_the_labels():
    """The learner centers and scales the labels."""
    plain, other = (gd.Student.for_target(text) for text in ("z1 + z1*z2", "5*z1 + 5*z1*z2 - 7"))
    assert plain.cosines == pytest.approx(other.cosines, abs=1e-3)
