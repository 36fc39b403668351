"""Breaks along an axis against a dense look at the same lines."""

from __future__ import annotations

import numpy as np
import pytest

from gradone.base.seeds import stream
from gradone.channels.axis import AxisLines, middles
from gradone.targets.language.expression import Expression

DISCRETE = [
    ("sign(z1 + z2**2 - 1)", 0),
    ("sign(z1 + z2**2 - 1)", 1),
    ("sign(z1*z2*z3)", 2),
    ("sign(sin(3*z1) + z2)", 0),
    ("sign(sin(3*z1) + z2)", 1),
    ("sign(abs(z1) - relu(z2) + z1**3)", 0),
    ("step(z1*z2 - 1) + sign(max(z1, z2 - z3))", 0),
    ("sign(sign(z1)*z2 + z1/2)", 0),
    ("sign(z1**3 - z1 + z2/3)", 0),
]


@pytest.mark.parametrize(("text", "axis"), DISCRETE)
def test_values_between_breaks_are_constant(text: str, axis: int) -> None:
    """On 20 lines with 4001 points each; would catch a break that is missed or misplaced."""
    expression = Expression(text)
    perpendicular = stream(0, "test", text=text).standard_normal((20, expression.r - 1))
    lines = AxisLines(expression, axis)
    breaks = lines.breaks(perpendicular)
    assert np.all(breaks[:, 1:] >= breaks[:, :-1])
    known = lines.values(middles(breaks), perpendicular)
    fine = np.linspace(-6, 6, 4001) + 1e-5
    for row, edges, point in zip(known, breaks, perpendicular, strict=True):
        z = np.insert(np.tile(point, (len(fine), 1)), axis, fine, axis=1)
        far = np.abs(fine[:, None] - edges).min(axis=1, initial=np.inf) > 1e-9
        np.testing.assert_array_equal(expression(z)[far], row[np.searchsorted(edges, fine)][far])


def test_two_zeros_within_one_step_of_the_scan() -> None:
    """cosh-like minimum just below zero: the zeros are 2e-3 apart, the scan is 30 times coarser."""
    lines = AxisLines(Expression("sign(exp(z1) + exp(-z1) - 2 - z2)"), 0)
    found = lines.breaks(np.array([[1e-6], [-1e-6]]))
    np.testing.assert_allclose(found[0], [-1e-3, 1e-3], rtol=1e-6)
    assert np.isinf(found[1]).all()


def test_kinks_of_continuous_functions() -> None:
    lines = AxisLines(Expression("max(z1, z2) + abs(z1*z2 - 1)"), 0)
    np.testing.assert_allclose(lines.breaks(np.array([[0.5], [-2.0]])), [[0.5, 2.0], [-2.0, -0.5]])


def test_zeros_of_a_derivative() -> None:
    expression = Expression("z1**3 - 3*z1*z2**2")
    lines = AxisLines(expression, 0)
    zeros = lines.zeros(expression.derivative(1).tree, np.array([[0.7], [-1.5]]))
    np.testing.assert_allclose(zeros, [[-0.7, 0.7], [-1.5, 1.5]])
