"""Zeros along lines, and breaks that move with other variables."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradone.targets.language.lines import Curved, bracketed_zeros, family_zeros, line_zeros
from gradone.targets.language.moving import moving_breaks
from gradone.targets.language.parser import parse


def test_crossing_touching_and_exact_zeros():
    zeros = line_zeros(lambda t: (t - 0.25) * (t - 1 / 3) ** 2 * (t + 7.123456789))
    np.testing.assert_allclose(zeros, [-7.123456789, 0.25, 1 / 3], atol=1e-6)


def test_zeros_are_exact_to_rounding():
    zeros = np.array(line_zeros(np.cos))
    expected = math.pi * (np.arange(-13, 13) + 0.5)
    np.testing.assert_allclose(zeros, expected, rtol=1e-15, atol=1e-14)


def test_zeros_denser_than_the_scan_are_refused():
    with pytest.raises(Curved):
        line_zeros(lambda t: np.sin(2000 * t))


def test_one_of_a_family_may_be_refused_alone():
    speeds = np.array([1.0, 2000.0, 2.0])
    found = family_zeros(lambda i, t: np.sin(speeds[i] * t), 3, reach=2.0)
    assert found[1] is None
    np.testing.assert_allclose(found[0], [0.0], atol=1e-12)
    np.testing.assert_allclose(found[2], [-math.pi / 2, 0.0, math.pi / 2], atol=1e-12)


@pytest.mark.parametrize("steepness", [1.0, 1e3, 1e8])
def test_brackets_of_steep_functions(steepness):
    root = bracketed_zeros(
        lambda t: np.tanh(steepness * (t - 0.1234)), np.array([0.0]), np.array([0.3])
    )
    assert abs(float(root[0]) - 0.1234) < 1e-14


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sign(z2 + 3*z1)", lambda u: [-3 * u]),
        ("abs((0.6*z1 + 0.8*z2)**3 + z1)", lambda u: [(-np.cbrt(u) - 0.6 * u) / 0.8]),
        ("relu(z2**2 - z1**2)*sign(z1)", lambda u: sorted([u, -u])),
        ("sign(z1*(z2 - 1))", lambda u: [1.0]),
        ("max(z2, z1)", lambda u: [u]),
        ("sign(exp(z2) - exp(z1))", lambda u: [u]),
        ("sign(tanh(z2 - z1))*abs(z1)", lambda u: [u]),
        ("step(relu(z2) - z1**2)", lambda u: [0.0, u * u]),
        ("tanh(z1*z2)", lambda u: []),
        ("sign(z2**2 + z1**2 + 1)", lambda u: []),
    ],
)
def test_breaks_that_move(text, expected):
    values = np.array([[0.37], [-1.21], [2.5]])
    for u, found in zip(values[:, 0], moving_breaks(parse(text), values), strict=True):
        missing = [x for x in expected(u) if min((abs(x - y) for y in found), default=9) > 1e-9]
        assert not missing, (u, found)
        assert len(found) <= len(expected(u)) + 1
