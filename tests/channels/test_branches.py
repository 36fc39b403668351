"""Conditional moments given a noiseless output of one variable."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq

from gradone.calculus.monotone import inverse, monotone_pieces
from gradone.channels.conditional import branches
from gradone.channels.conditional.branches import RootBudget, branch_grams, family_grams


def check(found, expected):
    value, error = float(found.value[0, 0]), float(np.max(found.bias))
    assert abs(value - expected) <= error + 1e-12
    assert error < 1e-6


def test_an_increasing_function_reveals_everything():
    grams = branch_grams(lambda z: z**3 + z, lambda z: 3 * z**2 + 1, [], [1, 2, 5])
    for gram in grams.values():
        check(gram, 1.0)


def test_relu_has_an_atom_of_probability_one_half():
    relu = branch_grams(lambda z: np.maximum(z, 0), lambda z: (z > 0) * 1.0, [0.0], [1, 2])
    check(relu[1], 0.5 + 1 / math.pi)  # E[z | z < 0]^2 = 2/pi
    check(relu[2], 0.5)


def test_two_linear_branches_of_different_slope():
    """g = 2 z for z > 0, -z for z < 0: roots y/2 and -y with densities phi(y/2)/2 and phi(y)."""
    grams = branch_grams(
        lambda z: np.where(z > 0, 2 * z, -z), lambda z: np.where(z > 0, 2.0, -1.0), [0.0], [1, 2]
    )
    y, step = np.linspace(0, 24, 400_001, retstep=True)
    right, left = (np.exp(-(r**2) / 2) / math.sqrt(2 * math.pi) for r in (y / 2, y))
    density = right / 2 + left
    for k, he in ((1, lambda z: z), (2, lambda z: (z * z - 1) / math.sqrt(2))):
        moment = (right / 2 * he(y / 2) + left * he(-y)) / density
        integrand = moment**2 * density
        expected = step * (integrand.sum() - (integrand[0] + integrand[-1]) / 2)
        check(grams[k], expected)


@pytest.mark.parametrize("frequency", [3.0, 10.0])
def test_extrema_of_the_same_height_leave_no_trace(frequency):
    """Output sin(a z): E[z sqrt(2) sin(a z)] = sqrt(2) a exp(-a^2/2) is nearly all it shows."""
    grams = branch_grams(
        lambda z: np.sin(frequency * z), lambda z: frequency * np.cos(frequency * z), [], [1, 2, 4]
    )
    leading = 2 * frequency**2 * math.exp(-(frequency**2))
    assert float(grams[1].value[0, 0]) == pytest.approx(leading, rel=1e-5, abs=1e-12)
    assert float(grams[2].value[0, 0]) < 1e-12
    assert float(grams[4].value[0, 0]) < 1e-9


def test_an_even_function_whose_second_moment_is_lost_as_well():
    """z^2 exp(-z^2): orders 1, 2 and 3 vanish, order 4 does not (generative exponent 4)."""
    grams = branch_grams(
        lambda z: z**2 * np.exp(-(z**2)),
        lambda z: 2 * z * (1 - z**2) * np.exp(-(z**2)),
        [],
        [1, 2, 3, 4],
    )
    for k in (1, 2, 3):
        assert float(grams[k].value[0, 0]) < 1e-10
    assert float(grams[4].value[0, 0]) > 0.01


def test_a_stretch_of_equal_numbers_is_an_atom_without_being_told():
    """relu(z - c) = 0 below c, with no break declared there."""
    c = 0.5
    gram = branch_grams(lambda z: np.maximum(z - c, 0), lambda z: (z > c) * 1.0, [], [1])[1]
    density = math.exp(-c * c / 2) / math.sqrt(2 * math.pi)
    below = 0.5 * math.erfc(-c / math.sqrt(2))
    expected = density**2 / below + (1 - below) + c * density
    assert float(gram.value[0, 0]) == pytest.approx(expected, abs=2e-3)


def test_members_of_a_family_do_not_see_each_other():
    scales = np.array([0.3, 1.0, 2.5])
    shifts = np.array([0.0, -0.7, 1.1])

    def g(i, z):
        return np.sin(scales[i] * z) + (z - shifts[i]) ** 2 / 4

    def slope(i, z):
        return scales[i] * np.cos(scales[i] * z) + (z - shifts[i]) / 2

    together = family_grams(g, slope, [[]] * 3, [1, 2])
    for i, grams in enumerate(together):
        alone = branch_grams(
            lambda z, i=i: g(np.full(z.shape, i), z), lambda z, i=i: slope(i, z), [], [1, 2]
        )
        for k in (1, 2):
            assert float(grams[k].value[0, 0]) == pytest.approx(
                float(alone[k].value[0, 0]), abs=1e-13
            )


def test_inverses_are_exact_next_to_an_extremum():
    def square(_, z):
        return z * z

    pieces = monotone_pieces(square, [[]], 3.0)
    y = np.array([1e-14, 1e-9, 1e-3, 0.5, 8.99])
    roots = inverse(square, lambda _, z: 2 * z, pieces, np.ones(5, dtype=int), y)
    np.testing.assert_allclose(roots, np.sqrt(y), rtol=1e-12)


def test_pieces_end_at_extrema_and_breaks():
    pieces = monotone_pieces(lambda _, z: np.abs(z**3 - 3 * z), [[-math.sqrt(3), 0, 3**0.5]], 2.5)
    expected = [-math.sqrt(3), -1, 0, 1, math.sqrt(3), 2.5]
    np.testing.assert_allclose(pieces.ends[:, 1], expected, atol=1e-7)


def test_many_branches_agree_with_the_lattice_sum_of_their_roots():
    # Given Y = sin(a z) the roots are (arcsin y + 2 pi j)/a and (pi - arcsin y + 2 pi j)/a, all
    # with the same slope: sums over j and a trapezoid in the angle, which is periodic.
    a = 10.0
    angle = (np.arange(4000) + 0.5) * 2 * np.pi / 4000
    turns = 2 * np.pi * np.arange(-20, 21)[:, None]
    roots = np.concatenate([angle + turns, np.pi - angle + turns]) / a
    density = np.exp(-(roots**2) / 2)
    mean = (roots * density).sum(axis=0) / density.sum(axis=0)
    expected = (mean**2 * density.sum(axis=0)).sum() / density.sum()
    square = ((roots**2 - 1) / np.sqrt(2) * density).sum(axis=0) / density.sum(axis=0)
    second = (square**2 * density.sum(axis=0)).sum() / density.sum()
    grams = branch_grams(lambda z: np.sin(a * z), lambda z: a * np.cos(a * z), [], [1, 2])
    assert abs(grams[1].value[0, 0] - expected) <= grams[1].bias + 1e-12
    assert abs(grams[2].value[0, 0] - second) <= grams[2].bias + 1e-12


def test_extrema_of_very_different_heights_lose_no_mass():
    def g(z):
        return np.exp(z * z / 2) * np.sin(3 * z)

    def slope(z):
        return np.exp(z * z / 2) * (z * np.sin(3 * z) + 3 * np.cos(3 * z))

    # The slope vanishes where tan(3 z) = -3/z, once for each 3 z between (k - 1/2) pi and k pi. All
    # roots of g = y by bisection between these points; y between the values there, with a
    # substitution that takes the square roots out of both ends.
    extrema = [
        brentq(lambda z: z * math.sin(3 * z) + 3 * math.cos(3 * z), k - 0.5236, k, xtol=1e-15)
        for k in np.arange(1, 8) * math.pi / 3
    ]
    ends = np.array([-8.0, *(-e for e in reversed(extrema)), *extrema, 8.0])
    values = g(ends)
    low, high = np.minimum(values[1:], values[:-1]), np.maximum(values[1:], values[:-1])
    t, w = np.polynomial.legendre.leggauss(40)
    angle = np.pi / 4 * (t + 1)
    mass = expected = 0.0
    for bottom, top in itertools.pairwise(np.unique(values)):
        y = bottom + (top - bottom) * np.sin(angle) ** 2
        dy = (top - bottom) * np.sin(2 * angle) * np.pi / 4 * w
        exists = (low[:, None] < y) & (y < high[:, None])
        a, b = (np.repeat(side[:, None], len(y), axis=1) for side in (ends[:-1], ends[1:]))
        for _ in range(60):
            middle = (a + b) / 2
            is_below = (g(middle) < y) == (values[1:] > values[:-1])[:, None]
            a, b = np.where(is_below, middle, a), np.where(is_below, b, middle)
        weight = np.exp(-(a**2) / 2) / math.sqrt(2 * math.pi) / np.abs(slope(a)) * exists
        mass += (weight.sum(axis=0) * dy).sum()
        expected += ((weight * a).sum(axis=0) ** 2 / weight.sum(axis=0) * dy).sum()
    assert mass == pytest.approx(1, abs=1e-12)
    gram = branch_grams(g, slope, [], [1])[1]
    assert abs(gram.value[0, 0] - expected) <= gram.bias + 1e-11
    assert np.max(gram.bias) < 1e-7


def test_functions_that_oscillate_too_fast_are_refused():
    def g(i, z):
        return np.where(i == 0, np.sin(np.exp(3 * z)), z)

    def slope(i, z):
        return np.where(i == 0, 3 * np.exp(3 * z) * np.cos(np.exp(3 * z)), 1.0)

    wild, tame = family_grams(g, slope, [[], []], [1])
    assert wild is None
    check(tame[1], 1.0)


def test_unimportant_members_may_be_less_exact_but_say_so():
    def g(i, z):
        return np.sin((i + 1) * z) + z / 4

    def slope(i, z):
        return (i + 1) * np.cos((i + 1) * z) + 0.25

    exact = family_grams(g, slope, [[], []], [1, 2])
    rough = family_grams(g, slope, [[], []], [1, 2], np.array([1.0, 1e-6]))
    for k in (1, 2):
        assert rough[0][k].value == pytest.approx(exact[0][k].value, abs=1e-12)
        off = np.max(np.abs(rough[1][k].value - exact[1][k].value))
        assert off <= rough[1][k].bias + exact[1][k].bias
        assert rough[1][k].bias < 1e-3


RATES = np.array([1.0, 2.0, 3.0, 6.0])  # of the phases below: the last one has most branches


def wave(i, z):
    return np.cos(RATES[i] * z * z) + z * z / 9


def wave_slope(i, z):
    return -2 * RATES[i] * z * np.sin(RATES[i] * z * z) + 2 * z / 9


def test_half_the_line_is_enough_for_even_functions():
    whole = family_grams(wave, wave_slope, [[0.3], []], [1, 2, 4])
    half = family_grams(wave, wave_slope, [[0.3], []], [1, 2, 4], is_even=True)
    for one, other in zip(whole, half, strict=True):
        assert not other[1].value.any()
        for k in (2, 4):
            assert abs(one[k].value - other[k].value) <= one[k].bias + other[k].bias
            assert other[k].bias <= 1.5 * one[k].bias


def test_half_of_an_atom():
    def flat_below_one(_, z):
        return np.maximum(np.abs(z), 1)

    (half,) = family_grams(
        flat_below_one, lambda _, z: np.sign(z), [[-1.0, 1.0]], [2], is_even=True
    )
    # Above 1 the label shows |z|; below it is one atom: E[he_2] over |z| < 1 is -2 phi(1)/sqrt(2).
    inside, density = math.erf(math.sqrt(0.5)), math.exp(-0.5) / math.sqrt(2 * math.pi)
    atom = 2 * density**2 / inside
    second, fourth = inside - 2 * density, 3 * inside - 8 * density  # E[z^2; |z| < 1], E[z^4; .]
    within = (fourth - 2 * second + inside) / 2
    check(half[2], atom + 1 - within)


def test_a_budget_is_kept_and_the_error_says_what_it_cost(monkeypatch):
    found = []

    def counted(g, slope, pieces, which, y):
        found.append(len(which))
        return inverse(g, slope, pieces, which, y)

    exact = family_grams(wave, wave_slope, [[]] * 3, [1, 2])
    ample = family_grams(wave, wave_slope, [[]] * 4, [1, 2], budget=RootBudget(10_000_000))
    assert ample[3] is not None
    monkeypatch.setattr(branches, "inverse", counted)
    monkeypatch.setattr(branches, "_FEWEST_ROOTS", 0)
    budget = RootBudget(200_000)
    rough = family_grams(wave, wave_slope, [[]] * 4, [1, 2], budget=budget)
    assert rough[3] is None
    # A quarter may be spent; the preimages of critical values are not roots of a rule.
    assert sum(found[2:]) <= 50_000
    assert 150_000 <= budget.left < 190_000
    for one, other in zip(exact, rough[:3], strict=True):
        for k in (1, 2):
            assert abs(one[k].value - other[k].value) <= one[k].bias + other[k].bias
            assert other[k].bias < 1e-2
