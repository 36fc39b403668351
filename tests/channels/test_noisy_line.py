"""Conditional moments given a noisy output of one variable."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradone.channels.conditional.noisy_line import noisy_family_grams, noisy_line_grams


@pytest.mark.parametrize("noise", [2.0, 0.1, 9e-4])
@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_a_linear_function_is_a_correlated_pair(noise, k):
    """y = z + noise has correlation rho with z, and T_k = rho^(2k)."""
    gram = noisy_line_grams(lambda z: z, [], noise, [k])[k]
    assert abs(float(gram.value[0, 0]) - (1 + noise) ** -k) <= float(gram.bias)
    assert float(gram.bias) < 1e-6


@pytest.mark.parametrize("noise", [1.0, 0.05])
def test_a_noisy_sign(noise):
    """E[z | y] = sqrt(2/pi) tanh(y / noise)."""
    gram = noisy_line_grams(np.sign, [0.0], noise, [1])[1]
    y, step = np.linspace(-12, 12, 200_001, retstep=True)
    density = sum(np.exp(-((y - s) ** 2) / (2 * noise)) for s in (-1, 1))
    density /= 2 * math.sqrt(2 * math.pi * noise)
    expected = step * float((2 / math.pi * np.tanh(y / noise) ** 2 * density).sum())
    assert abs(float(gram.value[0, 0]) - expected) <= float(gram.bias) + 1e-10


def test_members_of_a_family_do_not_see_each_other():
    slopes = np.array([0.2, 1.0, 5.0])
    family = noisy_family_grams(lambda i, z: slopes[i] * z, [[], [0.3], []], 0.5, [1])
    for slope, grams in zip(slopes, family, strict=True):
        expected = slope**2 / (slope**2 + 0.5)
        assert abs(float(grams[1].value[0, 0]) - expected) <= float(grams[1].bias)


FUNCTIONS = {
    "a wide range": (lambda z: z**3, []),
    "fast": (lambda z: np.sin(20 * z), []),
    "steep": (lambda z: np.tanh(8 * z), []),
    "a kink and an atom": (lambda z: np.maximum(z - 0.2, 0.0), [0.2]),
    "two atoms": (lambda z: np.sign(z - 0.5), [0.5]),
}


def second_moments(g, noise):
    """T_1 and T_2 by the middles of short intervals of z, and a fine grid of y."""
    z = (np.arange(-7000, 7000) + 0.5) * 1e-3
    weight = 1e-3 * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    features = np.array([weight, z * weight, (z * z - 1) / math.sqrt(2) * weight])
    order = np.argsort(g(z))
    values, features, sigma = g(z)[order], features[:, order], math.sqrt(noise)
    outputs = np.arange(values[0] - 9 * sigma, values[-1] + 9 * sigma, sigma / 5)
    total = np.zeros(3)
    for y in outputs:
        near = slice(*np.searchsorted(values, [y - 9 * sigma, y + 9 * sigma]))
        density = np.exp(-0.5 * ((y - values[near]) / sigma) ** 2)
        a = features[:, near] @ density / math.sqrt(2 * math.pi * noise)
        total += sigma / 5 * a * a / max(a[0], 1e-280)
    return total[1:]


@pytest.mark.parametrize("tolerance", [0.0, 1e-5])
@pytest.mark.parametrize("noise", [0.5, 0.05])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_against_a_plain_sum(name, noise, tolerance):
    g, breaks = FUNCTIONS[name]
    members = [breaks, []]  # the second has another function next to it
    family = noisy_family_grams(
        lambda i, z: np.where(i == 0, g(z), 0.3 * z), members, noise, [1, 2], tolerance=tolerance
    )
    expected = second_moments(g, noise)
    for k in (1, 2):
        error = abs(float(family[0][k].value[0, 0]) - expected[k - 1])
        assert error <= float(family[0][k].bias) + 2e-7  # what the sum has of its own
        assert error < (3e-5 if tolerance else 1e-6)


def test_members_of_little_importance_end_earlier():
    def g(i, z):
        return (1 + i) * z

    sure, rough = noisy_family_grams(g, [[], []], 0.1, [1, 2], np.array([1.0, 1e-6]))
    for slope, grams in ((1, sure), (2, rough)):
        for k in (1, 2):
            expected = (slope**2 / (slope**2 + 0.1)) ** k
            assert abs(float(grams[k].value[0, 0]) - expected) <= float(grams[k].bias)
    assert float(sure[2].bias) < 1e-9 < float(rough[2].bias) < 1e-5


@pytest.mark.stat
def test_noise_that_is_too_small_to_integrate_over_is_refused():
    assert noisy_line_grams(lambda z: z**3, [], 1e-8, [1]) is None
