"""What is kept between calls changes no number, and takes no more than its share of memory."""

import numpy as np
import pytest

import gradone as gd
from gradone.channels.memory import MEMORY, Memory
from gradone.channels.rules import channel_averages


def test_answers_do_not_depend_on_what_was_asked_before():
    """Would catch: a table chosen because it is there."""
    target, M = gd.Target("relu(z1) + relu(z2)", noise=0.01), np.array([[0.4, 0.1], [0.1, 0.4]])
    MEMORY.forget()
    fresh = channel_averages(target).at(M)
    MEMORY.forget()
    for m in (0.1, 0.39, 0.41, 0.8):
        channel_averages(target).at(m * np.eye(2))
        channel_averages(target).at(np.array([[m, 0.05], [0.05, m]]))
    again = channel_averages(target).at(M)
    assert np.array_equal(fresh.information, again.information)
    assert fresh.log_evidence == again.log_evidence


@pytest.mark.stat
def test_a_point_is_the_same_to_the_last_bit_in_any_order():
    MEMORY.forget()
    alone = gd.predict("z1*z2", "bayes_amp", alpha=[0.7])
    for alpha in (0.9, 0.65):
        gd.predict("z1*z2", "bayes_amp", alpha=[alpha])
    again = gd.predict("z1*z2", "bayes_amp", alpha=[0.7])
    assert np.array_equal(alone.overlap.values, again.overlap.values)
    assert np.array_equal(alone.test_mse.values, again.test_mse.values)


def test_memory_is_bounded():
    kept = Memory(1000)
    for i in range(10):
        kept.get(i, lambda: np.zeros(40))
    assert kept.nbytes <= 1000
    assert MEMORY.limit <= 200_000_000
