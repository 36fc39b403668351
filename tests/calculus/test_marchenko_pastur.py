"""The spectrum of Wishart matrices against algebra and a random matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from gradone.base.errors import BadData
from gradone.calculus import marchenko_pastur as mp

ratios = st.floats(0.05, 20.0)
points = st.floats(1e-6, 1e4)


@settings(max_examples=200)
@given(points, ratios)
def test_the_transform_solves_its_equation(z, ratio):
    """Both branches of the stable form; would catch a sign in one of them."""
    g = float(mp.resolvent_trace(z, ratio))
    terms = [z * g * g, (z + ratio - 1) * g, -1.0]
    assert abs(sum(terms)) <= 1e-11 * sum(map(abs, terms))
    assert g > 0


@pytest.mark.parametrize("ratio", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("z", [0.1, 1.0, 7.0])
def test_the_transform_is_that_of_the_density(z, ratio):
    low, high = mp.edges(ratio)

    # x = low + (high - low) sin^2: the square-root edges become smooth.
    def integrand(t):
        x = low + (high - low) * np.sin(t) ** 2
        return float(mp.density(x, ratio)) / (x + z) * (high - low) * np.sin(2 * t)

    value, error = quad(integrand, 0, np.pi / 2, epsabs=1e-12)
    value += mp.atom_at_zero(ratio) / z
    assert value == pytest.approx(float(mp.resolvent_trace(z, ratio)), abs=10 * error + 1e-9)


@pytest.mark.parametrize("ratio", [0.4, 1.6])
def test_the_derivative_is_that_of_a_finite_difference(ratio):
    z, h = np.array([0.2, 1.0, 5.0]), 1e-5
    slope = (mp.resolvent_trace(z + h, ratio) - mp.resolvent_trace(z - h, ratio)) / (2 * h)
    np.testing.assert_allclose(mp.resolvent_trace_derivative(z, ratio), slope, rtol=1e-7)


@pytest.mark.stat
@pytest.mark.parametrize("ratio", [0.5, 2.0])
def test_a_random_matrix_has_this_spectrum(ratio, rng):
    """One 600-dimensional matrix: traces of resolvents fluctuate by O(1/d), edges by d^(-2/3)."""
    d = 600
    W = rng.standard_normal((int(ratio * d), d)) / np.sqrt(d)
    eigenvalues = np.linalg.eigvalsh(W.T @ W)
    for z in (0.3, 1.0):
        trace = float(np.mean(1 / (eigenvalues + z)))
        assert trace == pytest.approx(float(mp.resolvent_trace(z, ratio)), abs=10 / d)
    assert eigenvalues[-1] == pytest.approx(mp.edges(ratio)[1], abs=6 * d ** (-2 / 3))
    assert np.mean(eigenvalues < 1e-9) == pytest.approx(mp.atom_at_zero(ratio), abs=1e-12)


def test_bad_arguments_are_refused():
    with pytest.raises(BadData, match="positive number"):
        mp.edges(-1.0)
    with pytest.raises(BadData, match="z > 0"):
        mp.resolvent_trace(0.0, 1.0)
