"""Gaussian means against closed forms that share no code with the rules."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradone.calculus.expansion import expectation
from gradone.calculus.sobol import sobol_coefficients
from gradone.targets.language.expression import Expression

PI = math.pi

CLOSED = {
    # one variable
    "log(abs(z1))": -(math.log(2) + np.euler_gamma) / 2,
    "sqrt(abs(z1))": 2**0.25 * math.gamma(0.75) / math.sqrt(PI),
    "exp(z1**2/5)": 1 / math.sqrt(1 - 2 / 5),
    "exp(3*z1)": math.exp(4.5),
    "step(abs(z1) - 1)": math.erfc(1 / math.sqrt(2)),
    "sign(sin(3*z1))*z1": None,  # below, by the alternating series
    # planes
    "max(z1, z2)": 1 / math.sqrt(PI),
    "max(max(z1, z2), z3)": 3 / (2 * math.sqrt(PI)),
    "step(z1)*step(z1 + z2)": 1 / 4 + math.asin(1 / math.sqrt(2)) / (2 * PI),
    "step(z1)*step(z1 + z2)*step(z2 + z3)": (
        1 / 8 + (math.asin(1 / math.sqrt(2)) + math.asin(1 / 2)) / (4 * PI)
    ),
    "relu(z1)*relu((z1 + sqrt(3)*z2)/2)": (math.sqrt(3) / 2 + (PI - PI / 3) / 2) / (2 * PI),
    "abs(z1 - z2)": 2 / math.sqrt(PI),
    # smooth
    "exp(z1*z2/3)": 1 / math.sqrt(1 - 1 / 9),
    "cos(z1*z2)": 1 / math.sqrt(2),
    "1/(1 + z1**2)": math.sqrt(PI / 2) * math.exp(0.5) * math.erfc(1 / math.sqrt(2)),
    # curved
    "sign(z1**2 + z2**2 - 1)": 2 * math.exp(-0.5) - 1,
    "sqrt(z1**2 + z2**2 + z3**2)": 2 * math.sqrt(2 / PI),
    "log(z1**2 + z2**2)": math.log(2) - np.euler_gamma,
    "relu(z1*z2)": 1 / PI,
    "max(z1**2, z2**2)": 1 + 2 / PI,
}
CLOSED["sign(sin(3*z1))*z1"] = (2 / math.sqrt(2 * PI)) * (
    1 + 2 * sum((-1) ** k * math.exp(-((k * PI / 3) ** 2) / 2) for k in range(1, 60))
)


@pytest.mark.parametrize("text", CLOSED)
def test_mean_equals_the_closed_form_within_its_error(text):
    """Would catch: a missed break, a wrong weight, an error estimate that flatters."""
    mean = Expression(text).mean()
    assert abs(mean.value - CLOSED[text]) <= mean.error
    assert mean.error < (1e-9 if mean.kind != "monte_carlo" else 3e-4)


def test_trivariate_orthant_probability():
    """P(all positive) = 1/8 + (asin r12 + asin r13 + asin r23)/(4 pi)."""
    rows = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [-0.5, 0.5, math.sqrt(0.5)]])
    text = "step(z1)*step(3*z1 + 4*z2)*step(-z1 + z2 + sqrt(2)*z3)"
    corr = rows @ rows.T
    exact = 1 / 8 + sum(math.asin(corr[i, j]) for i, j in [(0, 1), (0, 2), (1, 2)]) / (4 * PI)
    mean = Expression(text).mean()
    assert abs(mean.value - exact) <= mean.error
    assert mean.error < 1e-9


def test_tolerance_is_met_when_it_is_asked_for():
    loose = expectation(Expression("max(z1, z2*1.5 + z3)").form, tolerance=1e-3)
    tight = expectation(Expression("max(z1, z2*1.5 + z3)").form, tolerance=1e-12)
    assert tight.error < loose.error <= 1e-2
    assert loose.agrees_with(tight)


@pytest.mark.stat
def test_sobol_intervals_cover_99_percent():
    """The reported half-width is that of a 99 % interval: 64 integrands, each known exactly."""
    misses = 0
    for i in range(64):
        a, b = 0.3 + 0.04 * i, 1.0 + 0.1 * (i % 7)
        f = Expression(f"sign(z1**2 + z2**2 - {a:.2f})*{b:.1f}").form.terms[0].blocks[0].integrand
        found = sobol_coefficients(f, 0, tolerance=0.0, points=1 << 15)
        exact = b * (2 * math.exp(-round(a, 2) / 2) - 1)
        misses += abs(found.value[0, 0] - exact) > found.error[0, 0]
    # Binomial(64, 0.01): more than 7 misses has probability below 1e-6.
    assert misses <= 7


def test_more_points_give_a_smaller_sobol_error():
    f = Expression("relu(z1*z2 + z3)").form.terms[0].blocks[0].integrand
    errors = [float(sobol_coefficients(f, 0, 0.0, 1 << k).error.item()) for k in (14, 17, 20)]
    assert errors[2] < errors[1] / 3 < errors[0] / 9


@pytest.mark.parametrize("rate", [10**3, 10**5, 10**6])
@pytest.mark.parametrize("center", ["-1.4", "0.3183", "1.1863"])
def test_narrow_bumps_are_not_stepped_over(rate, center):
    """Would catch: an error of 1e-17 on a mean that missed the whole function."""
    mean = Expression(f"exp(-{rate}*(z - {center})**2)").mean()
    variance = 1 / (2 * rate)
    exact = math.sqrt(variance / (1 + variance)) * math.exp(
        -(float(center) ** 2) / (2 * (1 + variance))
    )
    assert abs(mean.value - exact) <= mean.error + 1e-17
    assert mean.error < 1e-10


def test_a_steep_step_is_a_sign():
    """tanh(1e5 (z - c)) differs from sign(z - c) by less than 1e-9 in the mean."""
    steep = Expression("tanh(100000*(z - 0.7654))").mean()
    assert steep.value == pytest.approx(-math.erf(0.7654 / math.sqrt(2)), abs=1e-9)
    assert steep.error < 1e-12


def test_correlations_next_to_one():
    """The arcsine law down to 1 - 1e-10: the layer between two almost parallel planes."""
    from gradone.targets.activation import Activation

    sign = Activation("sign(z)")
    for gap in (1e-3, 1e-5, 1e-7, 1e-10):
        found = sign.covariance_with(sign, 1 - gap)
        assert abs(found.value - 2 / PI * math.asin(1 - gap)) <= found.error + 2e-14
