"""Strengths of queries by slices against integrals that use no slices."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermeroots, hermeval
from scipy.special import k0, k1

from gradone.analysis.queries.operators import query_strength
from gradone.channels.conditional.slicing import sliced_grams

from .exact_strengths import normal, on_panels, strength


def linear_times(g, roots, shift, order, top):
    r"""Strength of y = (a + shift) g(b): p(y) = \int N(y/g - shift) N(b) / |g| db."""
    near = [root + side * 0.5**k for root in roots for side in (1, -1) for k in range(1, 36)]
    b, weight = on_panels(np.concatenate([np.linspace(-9, 9, 61), roots, near]))
    weight = weight * normal(b) / np.abs(g(b))
    log_y, step = on_panels(np.linspace(-20, math.log(top), 56), 8)
    y, step = np.exp(log_y), step * np.exp(log_y)
    moments, density = [], []
    for sign in (1, -1):
        a = sign * y[:, None] / g(b) - shift
        mass = normal(a) * weight
        rows = (a, b + 0 * a) if order == 1 else (a * a - 1, a * b, b * b - 1 + 0 * a)
        moments.append(np.array([(row * mass).sum(axis=1) for row in rows]))
        density.append(mass.sum(axis=1))
    density = np.concatenate(density)
    steps = np.tile(step, 2)
    assert density @ steps == pytest.approx(1, abs=1e-6)
    seen = density > 1e-200
    return strength(np.concatenate(moments, axis=1)[:, seen], density[seen], steps[seen], order)


def sign_times_quadratic(c):
    """Strength of order 1 of y = sign(a) (b^2 + c b): four roots at most for each y.

    Under y -> -y the mean of a changes its sign and that of b does not: y = g(b) is enough.
    """
    lowest, away = c * c / 4, c / 2 * math.sqrt(2)
    breaks = [-c / 2, 0, -c, -c / 2 + away, -c / 2 - away]
    near = [x + side * 0.5**k for x in breaks for side in (1, -1) for k in range(1, 36)]
    b, weight = on_panels(np.concatenate([np.linspace(-9, 9, 61), breaks, near]))
    y = b * b + c * b
    mass = total = last = 0.0
    for sign in (1, -1):
        square = lowest + sign * y  # of the distance of the roots from the middle
        root = np.sqrt(np.maximum(square, 1e-300))
        for side in (1, -1):
            at = -c / 2 + side * root
            share = np.where(square > 0, normal(at) / (2 * root), 0.0)
            mass, total, last = mass + share, total + sign * share, last + at * share
    first = 2 / math.pi * (total / mass) ** 2
    weight = weight * normal(b)
    return max(float(first @ weight), float((last / mass) ** 2 @ weight))


def largest_of_two():
    """y = max(a, b): either is y, or below it, with mean -N(y)/Phi(y)."""
    y, weight = on_panels(np.linspace(-7, 9, 81))
    below = np.array([math.erfc(-x / math.sqrt(2)) / 2 for x in y])
    mean = (y - normal(y) / below) / 2
    return float(2 * mean**2 @ (weight * 2 * normal(y) * below))


def hermite(n):
    return lambda z: hermeval(z, [0.0] * n + [1.0])


def zeros(n):
    return hermeroots([0.0] * n + [1.0])


TARGETS = {
    # logarithms in the density at zero
    "z1*z2": (lambda z: z[0] * z[1], 2, lambda: linear_times(hermite(1), [0.0], 0, 2, 60)),
    "z1*He3(z2)": (
        lambda z: z[0] * hermite(3)(z[1]),
        2,
        lambda: linear_times(hermite(3), zeros(3), 0, 2, 3e3),
    ),
    "z1*He5(z2)": (
        lambda z: z[0] * hermite(5)(z[1]),
        2,
        lambda: linear_times(hermite(5), zeros(5), 0, 2, 1e5),
    ),
    "He4(z1)*(1+z2)": (
        lambda z: hermite(4)(z[0]) * (1 + z[1]),
        1,
        lambda: linear_times(hermite(4), zeros(4), 1, 1, 2e4),
    ),
    "tanh(z1)*(2+z2)": (
        lambda z: np.tanh(z[0]) * (2 + z[1]),
        1,
        lambda: linear_times(np.tanh, [0.0], 2, 1, 20),
    ),
    # jumps of the conditional means, where the density is infinite
    "sign(z1)*(z2**2+0.3*z2)": (
        lambda z: np.sign(z[0]) * (z[1] ** 2 + 0.3 * z[1]),
        1,
        lambda: sign_times_quadratic(0.3),
    ),
    "sign(z1)*(z2**2+z2)": (
        lambda z: np.sign(z[0]) * (z[1] ** 2 + z[1]),
        1,
        lambda: sign_times_quadratic(1.0),
    ),
    # smooth
    "max(z1, z2)": (lambda z: np.maximum(z[0], z[1]), 1, largest_of_two),
}


def test_the_integrals_are_right():
    """z1 z2 has the density K_0(y)/pi, E[z1^2 | y] = y K_1/K_0, and M = I is the strongest."""
    y, weight = on_panels(np.concatenate([0.5 ** np.arange(40), np.linspace(1, 60, 60)]))
    g = y * k1(y) / k0(y) - 1
    second = float((g * g + y * y) @ (weight * 2 * k0(y) / math.pi))
    assert TARGETS["z1*z2"][2]() == pytest.approx(second, abs=1e-6)


@pytest.mark.parametrize("name", TARGETS)
def test_stated_errors_of_slices_cover(name):
    """Would catch: random edges that all replicates share, wide slices, shares that correlate."""
    g, order, exact = TARGETS[name]
    truth = exact()
    for points, most in ((1 << 16, 0.02), (1 << 19, 0.003)):
        found = query_strength(sliced_grams(g, 2, [order], points=points)[order], 2, order)
        assert abs(found.value - truth) <= found.error <= most * truth


def test_labels_that_almost_underflow_are_numbers():
    """Half of the labels are below 1e-300; failed before with a raw ValueError in `analyze`."""
    found = sliced_grams(lambda z: np.exp(-1600 * z[0] ** 2) * (2 + z[1]), 2, [1], points=1 << 15)
    assert np.isfinite(found[1].value).all()
