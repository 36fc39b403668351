"""Conditional coefficients of features after a giant step, against closed forms and sums."""

import numpy as np
import pytest
from scipy.special import erf

import gradone as gd


def test_the_sign_has_closed_forms():
    u, r, c = np.linspace(-3, 3, 13), 0.7, 1.4
    found = gd.theory.conditional_equivalent("sign(z)", u, spike=r, scale=c)
    x = r * u / np.sqrt(c)
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    mean, slope = erf(x / np.sqrt(2)), 2 * density / np.sqrt(c)
    np.testing.assert_allclose(found.mu_0, mean, atol=1e-10)
    np.testing.assert_allclose(found.mu_1, slope, atol=1e-10)
    np.testing.assert_allclose(found.mu_star**2, 1 - mean**2 - c * slope**2, atol=1e-9)


def test_without_a_spike_they_are_those_of_random_features():
    found = gd.theory.conditional_equivalent("relu(z)", [-2.0, 0.5], spike=0.0)
    np.testing.assert_allclose(found.mu_0, 1 / np.sqrt(2 * np.pi), atol=1e-12)
    np.testing.assert_allclose(found.mu_1, 0.5, atol=1e-12)
    np.testing.assert_allclose(found.mu_star**2, 0.25 - 1 / (2 * np.pi), atol=1e-12)


def test_energies_add_up(rng):
    """Mean, slope and noise are the parts of the second moment; here by a plain sum over z."""
    z, w = np.polynomial.hermite_e.hermegauss(120)
    w /= w.sum()
    found = gd.theory.conditional_equivalent("tanh(z)", [1.3], spike=0.9, scale=0.8)
    values = np.tanh(0.9 * 1.3 + np.sqrt(0.8) * z)
    parts = found.mu_0**2 + 0.8 * found.mu_1**2 + found.mu_star**2
    assert parts.item() == pytest.approx(w @ values**2, rel=1e-9)
    assert found.mu_0.item() == pytest.approx(w @ values, rel=1e-9)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"u": [np.nan]}, "u must be finite"),
        ({"spike": np.inf}, "spike must be a finite"),
        ({"scale": -1.0}, "scale must be"),
    ],
)
def test_bad_numbers_are_refused(more, message):
    with pytest.raises(gd.BadData, match=message):
        gd.theory.conditional_equivalent("tanh(z)", **({"u": [0.0]} | more))
