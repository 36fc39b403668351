"""Stated errors of strengths of oscillating labels against integrals over their phases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradone.analysis.queries.operators import query_strength
from gradone.channels.conditional.branches import branch_grams
from gradone.channels.conditional.slicing import sliced_grams

from .exact_oscillations import (
    AROUND,
    PI,
    product_of_sines,
    sine_of_phase,
    sine_of_product,
    sine_times_linear,
    wave,
)
from .exact_strengths import on_panels

TARGETS = {
    "sin(8*z1)*sin(7*z2)": (
        lambda z: np.sin(8 * z[0]) * np.sin(7 * z[1]),
        2,
        lambda: product_of_sines(8, 7, 2),
    ),
    "sin(2*z1)*sin(1.5*z2)": (
        lambda z: np.sin(2 * z[0]) * np.sin(1.5 * z[1]),
        2,
        lambda: product_of_sines(2, 1.5, 2),
    ),
    "cos(6*z1)*z2": (lambda z: np.cos(6 * z[0]) * z[1], 2, lambda: sine_times_linear(0, 2)),
    "sin(7*z1)*(1+z2)": (
        lambda z: np.sin(7 * z[0]) * (1 + z[1]),
        1,
        lambda: sine_times_linear(1, 1),
    ),
    "sin(2*z1+3*z2**2)": (
        lambda z: np.sin(2 * z[0] + 3 * z[1] ** 2),
        2,
        lambda: sine_of_phase(2, 3, 2),
    ),
    "sin(1.5*z1+z2**2)": (
        lambda z: np.sin(1.5 * z[0] + z[1] ** 2),
        1,
        lambda: sine_of_phase(1.5, 1, 1),
    ),
    "sin(10*z1*z2)": (lambda z: np.sin(10 * z[0] * z[1]), 2, lambda: sine_of_product(10)),
    "sin(30*z1*z2)": (lambda z: np.sin(30 * z[0] * z[1]), 2, lambda: sine_of_product(30)),
}


@pytest.mark.parametrize("name", TARGETS)
def test_stated_errors_of_slices_cover(name):
    """Would catch: turned points with features that are not turned, or turned the other way."""
    g, order, exact = TARGETS[name]
    truth = exact()
    for points, most in ((1 << 16, 0.005), (1 << 19, 1e-3), (1 << 21, 6e-4)):
        found = query_strength(sliced_grams(g, 2, [order], points=points)[order], 2, order)
        assert abs(found.value - truth) <= found.error <= most


def test_more_points_say_more():
    """Four times as many points, turned, have a quarter of the error where there is no signal."""
    g, order, _ = TARGETS["sin(8*z1)*sin(7*z2)"]
    few, many = (
        query_strength(sliced_grams(g, 2, [order], points=points)[order], 2, order).error
        for points in (1 << 19, 1 << 21)
    )
    assert many < 0.4 * few


def folded_line(c, d):
    """T_1 and T_2 of y = sin(c z + d)."""
    theta, weight = AROUND
    moments = wave(c)
    density, mean, square = (moments(theta - d) + moments(PI - theta - d)).T
    return float(mean**2 / density @ weight), float(square**2 / density @ weight) / 2


def folded_square(c):
    """T_2 of y = sin(c z^2): z^2 - 1 at all angles c z^2 that have this sine."""
    root, weight = on_panels(np.linspace(0, math.sqrt(PI / 2), 60))
    angle, weight = root**2, 2 * root * weight  # the density of z^2 is infinite at zero
    total = 0.0
    for sign in (1, -1):
        lifts = 2 * PI * np.arange(math.ceil(81 * c / (2 * PI)))
        first = sign * angle[:, None] + lifts + (0 if sign > 0 else 2 * PI)
        square = np.concatenate([first, PI - sign * angle[:, None] + lifts], axis=1) / c
        mass = np.exp(-square / 2) / np.sqrt(2 * PI * square) / c
        total += float(((square - 1) * mass).sum(1) ** 2 / mass.sum(1) @ weight) / 2
    return total


@pytest.mark.parametrize(("c", "d"), [(1.5, 0.7), (3.0, 0.4), (math.hypot(5, 4), 0.0)])
def test_errors_of_a_sine_on_the_line_cover(c, d):
    found = branch_grams(lambda z: np.sin(c * z + d), lambda z: c * np.cos(c * z + d), [], [1, 2])
    for k, truth in enumerate(folded_line(c, d), start=1):
        assert abs(float(found[k].value[0, 0]) - truth) <= found[k].bias + 1e-15
        assert found[k].bias < 1e-7


def test_errors_of_the_sine_of_a_square_cover():
    found = branch_grams(
        lambda z: np.sin(5 * z * z), lambda z: 10 * z * np.cos(5 * z * z), [], [2]
    )[2]
    assert abs(float(found.value[0, 0]) - folded_square(5.0)) <= found.bias + 1e-9
    assert found.bias < 1e-6
