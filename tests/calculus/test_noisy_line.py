"""Conditional moments given a noisy output of one variable."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradone.calculus.noisy_line import noisy_family_grams, noisy_line_grams


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


@pytest.mark.stat
def test_noise_that_is_too_small_to_integrate_over_is_refused():
    assert noisy_line_grams(lambda z: z**3, [], 1e-8, [1]) is None
