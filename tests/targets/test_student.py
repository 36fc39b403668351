"""Arguments of the student: read once, for all dynamics."""

import dataclasses

import numpy as np
import pytest

import gradone as gd
from gradone.base.seeds import canonical
from gradone.targets.student import GEOMETRIES, LOSSES, RULES, read_start, read_student


def test_defaults():
    student = read_student(width=3)
    assert student.step_size == "auto"
    assert student.readout == (1.0, -1.0, 1.0)
    assert student.bias == (0.0, 0.0, 0.0)
    assert (student.rule, student.loss, student.geometry) == (RULES[0], LOSSES[0], GEOMETRIES[0])
    with pytest.raises(gd.BadData, match="must be replaced by a number"):
        _ = student.eta


def test_students_are_values():
    one, two = (read_student(width=2, step_size=0.1, readout=[1, 2]) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert dataclasses.replace(one, step_size=0.2).eta == 0.2
    assert '"activation":"relu(z)"' in canonical(one.params)


def test_inner_steps_have_the_sign_of_their_rule():
    for given in (0.1, -0.1):
        assert read_student(step_size=1.0, rule="sam", inner_step_size=given).inner_eta == -0.1
        extra = read_student(step_size=1.0, rule="extragradient", inner_step_size=given)
        assert extra.inner_eta == given
    assert read_student(step_size=0.3, rule="k_steps").inner_eta == 0.3
    ahead = {"rule": "look_ahead", "interpolation": 0.5, "step_size": 0.3}
    assert read_student(**ahead).inner_eta == 0.3
    assert read_student(**ahead, inner_step_size=0.2).inner_eta == 0.2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rule": "look_ahead", "step_size": 0.1}, "needs interpolation"),
        ({"rule": "sam_normalized", "step_size": 0.1}, "needs radius"),
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
        read_student(**arguments)


def test_given_starts():
    M, Q = read_start({"M": [[0.5, 0.0], [0.5, 0.0]], "Q": np.ones((2, 2))}, width=2, r=2)
    np.testing.assert_array_equal(Q, 1.0)
    assert read_start("orthogonal", width=2, r=2) == "orthogonal"
    for bad in ({"Q": [[1.0]]}, {"M": [[0.1]], "L": [[1.0]]}):
        with pytest.raises(gd.BadData, match="needs the key 'M'"):
            read_start(bad, width=1, r=1)
    with pytest.raises(gd.BadData, match="symmetric"):
        read_start({"M": np.zeros((2, 1)), "Q": [[1.0, 0.5], [0.0, 1.0]]}, width=2, r=1)
    with pytest.raises(gd.BadData, match="norm Q_jj > 0"):
        read_start({"M": [[0.0]], "Q": [[0.0]]}, width=1, r=1)
