r"""Strengths of queries of oscillating labels from integrals over their phases.

A phase :math:`\theta = c z` has the Fourier coefficients :math:`\mathbb{E}[h(z) e^{-in\theta}]`,
Gaussian integrals in closed form; sines are folded, two angles for each value.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import k0, k1

from .exact_strengths import normal, on_panels, strength

PI = math.pi
# Angles from 0 to pi/2, dense next to 0, where some integrands are singular; and of both signs.
ANGLES = on_panels(np.append(0.0, PI / 2 * 0.5 ** np.arange(30)), 9)
AROUND = np.concatenate([-ANGLES[0], ANGLES[0]]), np.tile(ANGLES[1], 2)


# Degrees in both variables of 1, and of the features of an order.
FEATURES = {1: [(0, 0), (1, 0), (0, 1)], 2: [(0, 0), (2, 0), (1, 1), (0, 2)]}


def on_circle(coefficients):
    """Function on the circle from its Fourier coefficients for n = 0, 1, ... (rows of features)."""

    def values(theta):
        n = np.arange(1, coefficients.shape[-1])
        waves = np.exp(1j * n * np.asarray(theta)[..., None])
        return (coefficients[:, 0].real + 2 * (waves @ coefficients[:, 1:].T).real) / (2 * PI)

    return values


def wave(c):
    """Features 1, z, z^2 - 1 of one variable on the circle of c z."""
    w = c * np.arange(math.ceil(9 / c) + 1)
    return on_circle(np.exp(-w * w / 2) * np.array([np.ones_like(w), -1j * w, -w * w]))


def sine_of_phase(a, c, order):
    """y = sin(a z1 + c z2^2)."""
    n = np.arange(math.ceil(9 / a) + 1)
    one = np.exp(-((n * a) ** 2) / 2) * np.array([np.ones(len(n)), -1j * n * a, -((n * a) ** 2)])
    root = (1 + 2j * n * c) ** -0.5
    two = np.array([root, 0 * root, (root**2 - 1) * root])
    moments = on_circle(np.array([one[i] * two[j] for i, j in FEATURES[order]]))
    theta, weight = AROUND
    density, *rows = (moments(theta) + moments(PI - theta)).T
    return strength(rows, density, weight, order)


def product_of_sines(a, b, order):
    r"""y = sin(a z1) sin(b z2): along a level, with cos(a z1) = sqrt(1 - y^2) sin t."""
    first, second = wave(a), wave(b)
    y, weight = AROUND
    y, weight = np.sin(y), weight * np.cos(y)
    # In t = pi/2 - s the sine of the first angle is about sqrt(s^2 + y^2).
    s, step = ANGLES
    cosine = np.sqrt(1 - y[:, None] ** 2) * np.cos(s)
    sine = np.sqrt(np.sin(s) ** 2 + (y[:, None] * np.cos(s)) ** 2)
    total = np.zeros((len(FEATURES[order]), len(y)))
    for sign in (1, -1):
        for end in (1, -1):
            left = first(sign * np.arctan2(sine, end * cosine))
            angle = np.arcsin(np.clip(sign * y[:, None] / sine, -1, 1))
            right = second(angle) + second(PI - angle)
            for row, (i, j) in zip(total, FEATURES[order], strict=True):
                row += (left[..., i] * right[..., j] / sine) @ step
    density, *rows = total
    assert density @ weight == pytest.approx(1, abs=1e-6)
    return strength(rows, density, weight, order)


def sine_of_product(c):
    """y = sin(c z1 z2), order 2: z1 z2 = w has the density K_0(w)/pi, E[z1^2 | w] = w K_1/K_0."""
    lifts = 2 * PI * np.arange(-math.ceil(7 * c), math.ceil(7 * c) + 1)
    theta, weight = AROUND

    def moments(angle):
        w = np.abs(angle[:, None] + lifts) / c
        square = (w * k1(w) - k0(w)) / PI
        mixed = (angle[:, None] + lifts) / c * k0(w) / PI
        return np.array([k0(w) / PI, square, mixed, square]).sum(axis=-1) / c

    density, *rows = moments(theta) + moments(PI - theta)
    assert density @ weight == pytest.approx(1, abs=1e-6)
    return strength(rows, density, weight, 2)


def sine_times_linear(shift, order):
    r"""y = sin(theta) (z2 + shift), theta uniform, with \|sin\| = 1/cosh u: d theta/sin = du."""
    u, step = on_panels(np.linspace(0, 30, 301))
    y, weight = AROUND
    y, weight = 6 * y, 6 * weight
    total = np.zeros((3, len(y)))
    for sign in (1, -1):
        z = sign * y[:, None] * np.cosh(u) - shift
        mass = normal(np.clip(z, -40, 40)) * step / PI
        total += np.array([mass.sum(1), (z * mass).sum(1), ((z * z - 1) * mass).sum(1)])
    density, mean, square = total
    assert density @ weight == pytest.approx(1, abs=1e-6)
    zero, seen = np.zeros_like(y), density > 1e-200
    rows = np.array([mean, zero] if order == 1 else [square, zero, zero])[:, seen]
    return strength(rows, density[seen], weight[seen], order)
