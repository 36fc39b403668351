"""Fixed points and roots: the answer, and the honesty about it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradone.base.errors import BadData, NotConverged
from gradone.calculus.solvers import fixed_point, root


def test_curie_weiss_magnetization():
    """m = tanh(2 m) has the solution 0.957504... (Newton's method by hand)."""
    solution = fixed_point(lambda m: np.tanh(2 * m), np.array(0.5), tolerance=1e-13)
    m = 0.9
    for _ in range(50):
        m -= (m - math.tanh(2 * m)) / (1 - 2 / math.cosh(2 * m) ** 2)
    assert float(solution.value) == pytest.approx(m, abs=1e-12)
    assert solution.converged


def test_the_error_estimate_covers_slow_convergence():
    """Near criticality the residual is far smaller than the distance to the solution."""
    slow = fixed_point(lambda x: 0.999 * x + 0.001, np.array(0.0), tolerance=1e-6)
    distance = abs(float(slow.value) - 1.0)
    assert distance > 100 * slow.residual
    assert distance <= 2.1 * slow.error


def test_oscillation_is_cured_by_damping():
    def flip(x):
        return -1.0 * x + 2.0

    with pytest.raises(NotConverged, match="change damping") as caught:
        fixed_point(flip, np.array(3.0), max_iter=50)
    assert caught.value.last.n_iter == 50
    assert float(fixed_point(flip, np.array(3.0), damping=0.5).value) == pytest.approx(1.0)


def test_not_converged_is_marked_when_asked_not_to_raise():
    result = fixed_point(lambda x: x + 1, np.zeros(2), max_iter=5, throw=False)
    assert not result.converged
    assert result.n_iter == 5


def test_divergence_is_said():
    with pytest.raises(NotConverged, match="not finite after"), np.errstate(over="ignore"):
        fixed_point(lambda x: np.exp(x * x), np.array(3.0))


def test_root_and_its_error():
    found = root(lambda x: math.cos(x) - x, 0.0, 1.0)
    assert abs(found.value - 0.7390851332151607) <= found.error


def test_a_bracket_without_a_change_of_sign_is_refused():
    with pytest.raises(BadData, match="no change of sign"):
        root(lambda x: x * x + 1, -1.0, 1.0)
