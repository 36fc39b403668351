"""Proximal maps against direct minimization, and accelerated fixed points."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from gradone.calculus.acceleration import accelerated_fixed_point
from gradone.calculus.proximal import (
    HINGE,
    LOGISTIC,
    huber_loss,
    huber_proximal,
    logistic_proximal,
    margin_loss,
    margin_output,
    margin_proximal,
)

LOSSES = {
    LOGISTIC: lambda x: float(np.logaddexp(0.0, -x)),
    HINGE: lambda x: max(0.0, 1.0 - x),
}


@pytest.mark.parametrize("kind", list(LOSSES))
@pytest.mark.parametrize("V", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("t", [-60.0, -3.0, 0.2, 0.7, 5.0])
def test_margin_maps_minimize(kind, V, t):
    def objective(x):
        return (x - t) ** 2 / (2 * V) + LOSSES[kind](x)

    low, high = t - 1e-9, t + V + 1e-9
    best = minimize_scalar(objective, bounds=(low, high), method="bounded",
                           options={"xatol": 1e-12}).x  # fmt: skip
    x = margin_proximal(kind, t, V)
    assert x == pytest.approx(best, abs=2e-6 * (1 + V))
    assert objective(x) <= objective(best) + 1e-12
    assert margin_loss(kind, x) == pytest.approx(LOSSES[kind](x), rel=1e-14)
    assert margin_output(kind, t, V, x) == pytest.approx((x - t) / V, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("V", [1e-6, 1.0, 1e4, 1e9])
def test_the_logistic_map_solves_its_equation_everywhere(V):
    """Newton's iteration from a bad start cycles at V of about 50."""
    for t in np.concatenate([np.linspace(-3 * V - 40, 3 * V + 40, 201), np.linspace(-9, 9, 201)]):
        x = logistic_proximal(t, V)
        slope = 1 / (1 + math.exp(min(x, 700.0)))
        # Rounding of x times the slope of the equation.
        assert abs(x - t - V * slope) <= 1e-14 * (1 + abs(x)) * (1 + V * slope) + 1e-14 * abs(t)


@pytest.mark.parametrize("e", [-7.0, -0.3, 0.0, 1.9, 2.1, 30.0])
def test_the_huber_map_minimizes(e):
    V, delta = 0.8, 1.1
    best = minimize_scalar(
        lambda x: (e - x) ** 2 / (2 * V) + huber_loss(x, delta), bounds=(-40, 40),
        method="bounded", options={"xatol": 1e-12},
    ).x  # fmt: skip
    assert huber_proximal(e, V, delta) == pytest.approx(best, abs=1e-5)
    assert huber_loss(1.1, 1.1) == pytest.approx(1.1**2 / 2)


def test_acceleration_finds_the_fixed_point_of_a_slow_linear_map():
    """Rate 0.999: plain iteration would need 20 000 steps."""
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    A = Q @ np.diag([0.999, 0.9, 0.5, -0.7]) @ Q.T
    b = rng.standard_normal(4)
    found = accelerated_fixed_point(lambda x: A @ x + b, np.zeros(4))
    assert found.converged
    assert found.n_iter < 20
    assert found.value == pytest.approx(np.linalg.solve(np.eye(4) - A, b), rel=1e-6)


def test_acceleration_marks_what_does_not_converge():
    found = accelerated_fixed_point(lambda x: x + 1.0, np.zeros(1), max_iter=30)
    assert not found.converged
    assert found.n_iter == 30
    lost = accelerated_fixed_point(lambda x: x * np.nan, np.zeros(1))
    assert not lost.converged
    steps = []

    def far(x):
        steps.append(float(x[0]))
        return 0.5 * x + 50.0

    accelerated_fixed_point(far, np.zeros(1), largest=1.0)
    assert max(np.abs(np.diff(steps))) <= 1.0 + 1e-12
