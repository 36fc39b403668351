"""Targets of more than five directions: what needs no integral in all of them is known."""

import math

import numpy as np
import pytest

import gradone as gd
from gradone.analysis.correlation.leap import leap_record

SPLIT = "tanh(z1)+z1*abs(z2)+z2*tanh(z3)+z4*z3*sign(z5)+relu(z6)*z1"


def test_polynomial_of_six_directions():
    a = gd.analyze("z1*z2*z3+z1*z2*z3*z4*z5*z6")
    assert a.leaps.orders == ((3, 3), (3, 3))
    assert (a.information_exponent, a.leap_exponent, a.generative_exponent) == (3, 3, None)
    assert "6 directions" in a.queries.undecided
    assert "undecided, at most 3" in a.summary()
    assert a.summary().count("function values") == 1  # one reason, said once


def test_plan_for_six_directions():
    found = gd.plan("z1*z2*z3+z1*z2*z3*z4*z5*z6", d=100)
    assert found.row("one-pass SGD").exponent == 2
    assert float(found.row("kernel, random features").plateau) == 2.0
    amp = found.row("Bayes-AMP")
    assert (amp.needs, amp.plateau) == ("unknown", None)
    assert "6 directions" in amp.note


def test_staircase_of_six_directions():
    a = gd.analyze("z1+z1*z2+z1*z2*z3+z1*z2*z3*z4+z5*z4+z6*z5")
    assert [u.dim for u in a.staircase] == [1, 2, 3, 4, 5, 6]


def test_parts_that_separate():
    """Linear part of the label by hand: E[tanh'(z)] + sqrt(2/pi) + 1/sqrt(2 pi) along z1."""
    record = leap_record(gd.Target(SPLIT).regression)
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    slope = weights @ (1 / np.cosh(nodes) ** 2) / math.sqrt(2 * math.pi)
    c1 = slope + math.sqrt(2 / math.pi) + 1 / math.sqrt(2 * math.pi)
    assert record.steps[0].new.dim == 1
    assert abs(float(record.steps[0].strength) - c1**2) < 1e-8
    assert record.exponent.value == 2


@pytest.mark.parametrize("r", [6, 7, 8])
def test_parity_of_many_signs(r):
    text = "sign(" + "*".join(f"z{i}" for i in range(1, r + 1)) + ")"
    record = leap_record(gd.Target(text).regression)
    assert record.information.value == record.exponent.value == r
    assert abs(float(record.steps[0].strength) - (2 / math.pi) ** r) < 1e-10


def test_what_does_not_separate_is_refused():
    with pytest.raises(gd.OutOfRegime, match="do not separate"):
        gd.analyze("tanh(z1+z2*z3+z4*z5*z6)")
