"""Rules for quadratic functions, products and planes against closed forms, and the general rule."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import i0, i1, k0
from scipy.stats import multivariate_normal, ncx2, norm

from gradone import Target
from gradone.base.seeds import stream
from gradone.channels.samples.channel import SampleChannel
from gradone.channels.samples.grids import root
from gradone.channels.samples.signs import sign_moments

COVARIANCE = np.array([[0.5, 0.2, -0.1], [0.2, 0.7, 0.15], [-0.1, 0.15, 0.4]])


def test_a_product_of_two_is_a_bessel_function():
    """Z = K0(|y|)/pi for independent standard variables, logarithmic at 0."""
    y = np.array([-3.0, -0.4, 1e-4, 0.02, 1.0, 8.0])
    out = SampleChannel(Target("z1*z2")).posterior(y, np.zeros((6, 2)), np.eye(2))
    np.testing.assert_allclose(np.exp(out.log_z), k0(np.abs(y)) / math.pi, rtol=3e-4)
    np.testing.assert_allclose(out.g, 0.0, atol=1e-9)


@pytest.mark.parametrize("v", [1.0, 0.1, 1e-3])
def test_a_sum_of_squares_is_a_noncentral_chi_square(v):
    """With mean omega the direction of z follows exp(<z, omega>/v) on the circle."""
    omega = np.array([[0.5, 0.0], [1.2, -0.9], [-0.1, 0.2]])
    size = np.linalg.norm(omega, axis=1)
    y = (size + np.sqrt(v) * np.array([0.3, -0.8, 1.0])) ** 2
    out = SampleChannel(Target("z1**2 + z2**2")).posterior(y, omega, v * np.eye(2))
    np.testing.assert_allclose(
        out.log_z, ncx2.logpdf(y / v, 2, size**2 / v) - math.log(v), atol=1e-4
    )
    at = np.sqrt(y) * size / v
    mean = (np.sqrt(y) * np.array([_ratio(a) for a in at]) / size)[:, None] * omega
    np.testing.assert_allclose(out.g * np.sqrt(v), (mean - omega) / np.sqrt(v), atol=1e-3)


def _ratio(a: float) -> float:
    """I1/I0, by its expansion where they overflow."""
    return float(i1(a) / i0(a)) if a < 500 else 1 - 1 / (2 * a) - 1 / (8 * a * a)


@pytest.mark.parametrize("y", [-2.0, 0.05, 0.7, 6.0])
def test_a_product_of_three(y):
    """The density of a product of two, scaled by the third."""
    total = (
        2
        * quad(
            lambda z: norm.pdf(z) * k0(abs(y) / z) / (math.pi * z), 0, 12, limit=400, epsabs=1e-12
        )[0]
    )
    out = SampleChannel(Target("z1*z2*z3")).posterior(np.array([y]), np.zeros((1, 3)), np.eye(3))
    assert math.exp(out.log_z[0]) == pytest.approx(total, rel=3e-4)
    np.testing.assert_allclose(out.g, 0.0, atol=1e-9)


def test_a_noisy_square():
    """One integral over z."""
    omega, v, noise = 0.4, 0.3, 1e-3
    for y in (0.0, 0.3, 2.5):
        z = np.linspace(-6, 6, 400_001)
        weight = np.exp(-((z - omega) ** 2) / (2 * v) - (y - z * z) ** 2 / (2 * noise))
        mean = float(weight @ z / weight.sum())
        Z = weight.sum() * (z[1] - z[0]) / (2 * math.pi * math.sqrt(v * noise))
        out = SampleChannel(Target("z**2", noise=noise)).posterior(
            np.array([y]), np.array([[omega]]), np.array([[v]])
        )
        assert out.log_z[0] == pytest.approx(math.log(Z), abs=3e-4)
        assert v * out.g[0, 0] == pytest.approx(mean - omega, abs=3e-4)


def test_signs_against_orthants_of_four_correlated_forms():
    """Probability of each orthant, and its gradient by differences of the plain integral."""
    V = np.pad(COVARIANCE, ((0, 1), (0, 1)))
    V[3, 3], V[0, 3], V[3, 0] = 0.6, 0.25, 0.25
    mean = np.array([[0.3, -0.5, 0.2, 0.4]])
    for signs in ((1, 1, 1, 1), (1, 0, 1, 0)):
        table = np.zeros((1, 2, 2, 2, 2))
        table[(0, *signs)] = 1.0
        mass, gradient, _, _ = sign_moments(table, mean, V)
        s = 2.0 * np.array(signs) - 1
        law = multivariate_normal(np.zeros(4), V * np.outer(s, s), abseps=1e-6, releps=1e-6)
        assert mass[0] == pytest.approx(float(law.cdf(s * mean[0])), abs=1e-5)
        step = 1e-3 * np.eye(4)
        slopes = [
            (sign_moments(table, mean + e, V)[0][0] - sign_moments(table, mean - e, V)[0][0]) / 2e-3
            for e in step
        ]
        np.testing.assert_allclose(gradient[0], slopes, atol=1e-6)


@pytest.mark.parametrize(
    ("text", "noise"),
    [
        ("sign(z1) + sign(z2) + sign(z3)", 0.0),
        ("sign(z1*z2*(z1 + z2))", 0.0),
        ("max(z1, z2) + sign(z3)", 0.1),
        ("z1**2 + sign(z1*z2*z3)", 0.0),
        ("z1*z2", 0.0),
        ("z1**2 - z2*z1 + z2", 0.01),
        ("tanh(z1*z2 + z3**2)", 0.0),
        ("z1*z2**2", 0.0),
        ("z1*z2*z3", 0.0),
    ],
)
def test_exact_and_general_rules_agree(text, noise):
    """Within three times what both state, for labels drawn from the target.

    Where the general rule states more than 0.1, as for products close to 0, it knows nothing.
    """
    target = Target(text, noise=noise)
    r, n = target.r, 40
    V, rng = COVARIANCE[:r, :r], stream(0, "test", text=text)
    omega = 0.7 * rng.standard_normal((n, r))
    y = target.draw(omega + rng.standard_normal((n, r)) @ np.linalg.cholesky(V).T, rng)
    exact, general = (SampleChannel(target, exact=i).posterior(y, omega, V) for i in (True, False))
    S = root(V)
    gaps = (
        np.abs(exact.log_z - general.log_z),
        np.abs((exact.g - general.g) @ S).max(axis=1),
        np.abs(S @ (exact.dg - general.dg) @ S).max(axis=(1, 2)),
    )
    is_known = general.error < 0.1
    assert np.all((np.max(gaps, axis=0) < 3 * (exact.error + general.error))[is_known])
    assert is_known.mean() > 0.8
    assert exact.error.max() <= 3e-3 + 1e-12


def test_order_and_signs_of_the_factors_do_not_matter():
    V = COVARIANCE
    rng = stream(0, "test", text="order")
    omega = rng.standard_normal((20, 3))
    y = rng.standard_normal(20)
    channel = SampleChannel(Target("z1*z2*z3"))
    a = channel.posterior(y, omega, V)
    for order, flip in itertools.product(([1, 2, 0], [2, 1, 0]), ([1, -1, -1], [-1, 1, -1])):
        s = np.array(flip)
        b = channel.posterior(y, (omega * s)[:, order], (V * np.outer(s, s))[np.ix_(order, order)])
        np.testing.assert_allclose(b.log_z, a.log_z, atol=1e-3)
        np.testing.assert_allclose(b.g * s[order], a.g[:, order], atol=1e-2)


def test_a_switch_that_never_switches_leaves_no_planes():
    """A region without an edge: the label is z + 1, or a function of one form."""
    y, omega, V = np.array([1.4]), np.array([[0.3]]), np.array([[0.5]])
    found = SampleChannel(Target("sign(pi/(1 + z**2)) + z", noise=0.1)).posterior(y, omega, V)
    assert found.g[0, 0] == pytest.approx((1.4 - 1.3) / 0.6, abs=1e-9)
    target = Target("sqrt(abs(exp(-(z3 + z2)**2/3)))")
    out = SampleChannel(target).posterior(np.array([0.7]), np.zeros((1, 3)), 0.5 * np.eye(3))
    assert np.isfinite(out.log_z[0])
