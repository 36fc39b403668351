"""Arguments of the student: read once, for all dynamics."""

import dataclasses
from functools import partial

import numpy as np
import pytest
import xarray as xr

import gradone as gd
from gradone.base.seeds import canonical
from gradone.targets.training import GEOMETRIES, LOSSES, RULES, read_training


def test_defaults():
    student = read_training(width=3)
    assert student.step_size == "auto"
    assert student.a == (1.0, -1.0, 1.0)
    assert student.b == (0.0, 0.0, 0.0)
    assert (student.rule, student.loss, student.geometry) == (RULES[0], LOSSES[0], GEOMETRIES[0])
    with pytest.raises(gd.BadData, match="must be replaced by a number"):
        _ = student.eta


def test_students_are_values():
    one, two = (read_training(width=2, step_size=0.1, readout=[1, 2]) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert dataclasses.replace(one, step_size=0.2).eta == 0.2
    assert '"activation":"relu(z)"' in canonical(one.params)


def test_inner_steps_have_the_sign_of_their_rule():
    for given in (0.1, -0.1):
        assert read_training(step_size=1.0, rule="sam", inner_step_size=given).inner_eta == -0.1
        extra = read_training(step_size=1.0, rule="extragradient", inner_step_size=given)
        assert extra.inner_eta == given
    assert read_training(step_size=0.3, rule="k_steps").inner_eta == 0.3
    ahead = {"rule": "look_ahead", "interpolation": 0.5, "step_size": 0.3}
    assert read_training(**ahead).inner_eta == 0.3
    assert read_training(**ahead, inner_step_size=0.2).inner_eta == 0.2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rule": "look_ahead", "step_size": 0.1}, "needs interpolation"),
        ({"rule": "sam_normalized", "step_size": 0.1}, "needs radius"),
        (
            {"rule": "adam", "step_size": 0.1},
            r"unknown rule 'adam'; .*'look_ahead'\.$",
        ),  # not 'sam'
        ({"rule": "k_steps", "inner_step_size": 0.1}, "inner_step_size has no meaning"),
        ({"rule": "extragradient", "inner_step_size": 0.0}, "finite number other than 0"),
        ({"step_size": "large"}, 'step_size must be a finite number > 0.*"auto" chooses'),
        ({"step_size": True}, "step_size must be"),
        ({"readout": "sign"}, "Did you mean 'signs'"),
        ({"readout": [[1.0]], "width": 1}, "readout needs 1 finite numbers"),
        ({"train_readout": 0.0}, "train_readout must be a finite number > 0"),
        ({"weight_decay": -1.0}, "weight_decay must be"),
    ],
)
def test_what_has_no_meaning_is_refused(arguments, message):
    with pytest.raises(gd.BadData, match=message):
        read_training(**arguments)


def test_a_student_is_a_value_that_its_text_rebuilds():
    student = gd.Student(3, "tanh(z + 0.2)", readout=[1, 2, -0.5], init={"M": np.zeros((3, 2))})
    again = eval(repr(student), {"Student": gd.Student})  # noqa: S307
    assert (again, hash(again)) == (student, hash(student))
    assert student != dataclasses.replace(student, init="orthogonal")
    assert gd.Student() == gd.Student(4, gd.Activation("relu(z)"), "signs", 0.0, "random")
    with pytest.raises(dataclasses.FrozenInstanceError):
        student.width = 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"width": 0}, "width must be an integer >= 1"),
        ({"activation": "z1*z2"}, "an activation is a function of z alone"),
        ({"bias": [0.1, 0.2]}, "bias needs 4 finite numbers, one for each neuron"),
        ({"readout": 0.0}, "readout must not be 0 for every neuron"),
        ({"init": "spherical"}, "unknown init 'spherical'; it is one of 'random', 'orthogonal'"),
        ({"init": [[1.0, 0.0]]}, "init: the weights must be finite numbers, 4 rows"),
    ],
)
def test_a_student_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(gd.GradoneError, match=message):
        gd.Student(**arguments)


def test_given_starts():
    start = {"M": [[0.5, 0.0], [0.5, 0.0]], "Q": np.ones((2, 2))}
    _, Q = gd.Student(2, init=start).start(2)
    np.testing.assert_array_equal(Q, 1.0)
    assert gd.Student(2, init="orthogonal").start(2) == "orthogonal"
    with pytest.raises(gd.BadData, match="a column for each of the 3 directions"):
        gd.Student(2, init=start).start(3)
    with pytest.raises(gd.BadData, match="an array of weights starts a learner"):
        gd.Student(1, init=[[1.0, 0.0]]).start(2)
    for bad in ({"Q": [[1.0]]}, {"M": [[0.1]], "L": [[1.0]]}):
        with pytest.raises(gd.BadData, match="needs the key 'M'"):
            gd.Student(1, init=bad)
    with pytest.raises(gd.BadData, match="symmetric"):
        gd.Student(2, init={"M": np.zeros((2, 1)), "Q": [[1.0, 0.5], [0.0, 1.0]]})
    with pytest.raises(gd.BadData, match="norm Q_jj > 0"):
        gd.Student(1, init={"M": [[0.0]], "Q": [[0.0]]})


SMALL = {"d": 30, "steps": 5, "step_size": 0.01, "replicates": 2}


@pytest.mark.parametrize(
    "verb",
    [
        partial(gd.dynamics.sgd, "z1*z2", **SMALL),
        partial(gd.dynamics.reused_batch, "z1*z2", alpha=1.0, test_samples=9, **SMALL),
        partial(gd.predict, "z1*z2", "sgd_flow", time=1.0, step_size=0.1, points=64),
        partial(gd.predict, "z1*z2", "reused_batch", alpha=1.0, steps=2, step_size=0.1, points=64),
    ],
)
def test_its_keywords_say_the_same_as_a_student(verb):
    network = {"width": 2, "activation": "tanh(z)", "bias": 0.1, "init": {"M": np.eye(2) / 5}}
    given = verb(student=gd.Student(**network))
    xr.testing.assert_identical(given, verb(**network))
    with pytest.raises(gd.BadData, match="give width=... in the student or alone, not both"):
        verb(student=gd.Student(), width=2)
    with pytest.raises(gd.BadData, match=r"no parameter 'witdh'.* Did you mean 'width'\?"):
        verb(witdh=2)
    with pytest.raises(gd.BadData, match=r"student must be a gd.Student.*, got 'relu\(z\)'"):
        verb(student="relu(z)")


@pytest.mark.parametrize("learner", [gd.learners.OnlineSGD, gd.learners.ReusedBatch])
def test_learners_refuse_what_a_student_refuses(learner):
    """Their parameters are flat; the student that they build is the same."""
    sample = gd.Target("z1").sample(n=20, d=3, seed=0)
    for given, message in [
        ({"readout": "sign"}, "Did you mean 'signs'"),
        ({"init": {"M": np.zeros((4, 1))}}, "overlaps start a theory or an engine"),
        ({"init": np.ones((4, 2))}, "init must have 3 columns"),
    ]:
        with pytest.raises(gd.BadData, match=message):
            learner(**given).fit(sample.X, sample.y)


def test_one_neuron_hits():
    of_one = partial(gd.theory.hitting_time, "He2(z)", d=1000, step_size=1e-4)
    assert of_one(readout=2.0) == of_one(gd.Student(1, readout=2.0))
    with pytest.raises(gd.BadData, match="one neuron without a bias"):
        of_one(gd.Student(2))
    with pytest.raises(gd.BadData, match="weight_decay has no meaning here"):
        of_one(weight_decay=0.1)
