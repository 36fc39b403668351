"""What is left of a target given some of its directions."""

import numpy as np
import pytest

import gradone as gd
from gradone.channels.averages.general import ChannelAverages
from gradone.channels.averages.moments import total
from gradone.channels.averages.rest import rest_given
from gradone.channels.rules import channel_averages

CASES = [  # target, known variables, what is left, mean square slope
    ("He2(z1) + sign(z1*z2*z3)", [0], "sign(z1*z2)", 1.0),
    ("z1 + z1*z2 + z1*z2*z3", [0], "z1 + z1*z2", 1.0),
    ("z1 + z1*z2 + z1*z2*z3", [0, 1], "z1", 1.0),
    ("exp(z1)*z2*z3", [0], "z1*z2", np.exp(2.0)),
    ("z2**2 + 3*z2*sign(z1*z3)", [1], "sign(z1*z2)", 9.0),
]


@pytest.mark.parametrize(("text", "known", "left", "scale"), CASES)
def test_what_is_left(text, known, left, scale):
    target = gd.Target(text)
    rest = rest_given(target, np.eye(target.r)[known])
    assert rest.target == gd.Target(left)
    assert rest.scale == pytest.approx(scale, rel=1e-9)


@pytest.mark.parametrize(
    "text", ["z1**2 + sign(z1 + z2)", "z1 + relu(z1)*z2", "z1 + tanh(z1*z2)", "z1 + sign(z1-4)*z2"]
)
def test_what_depends_on_the_values_that_are_known(text):
    """sign(z1 - 4)*z2 is z2 up to its sign; its jump is not looked across."""
    assert rest_given(gd.Target(text), np.eye(2)[:1]) is None


@pytest.mark.stat
def test_values_that_are_known_are_sampled_with_an_honest_error():
    """z1^2 + sign(z1 z2 z3) given z1, where the exact answer is known, by sampling values of z1."""
    target, M = gd.Target("z1**2 + sign(z1*z2*z3)"), 0.3 * np.eye(2)
    found, sources = ChannelAverages(target, np.eye(3)[:1]).estimate(M)
    exact = channel_averages(gd.Target("sign(z1*z2)")).at(M)
    error = total(sources).information.max()
    assert np.abs(found.information - exact.information).max() < 2 * error < 0.02
