"""Exponents of hierarchical targets, and the samples that learners need.

"Canonical" is the published example: P = He2/2 + He3/6, g = tanh(3h), D about sqrt(d).
"""

import itertools
import math

import pytest

from gradone.analysis.depth import (
    LEARNERS,
    energies,
    learning_stages,
    level_exponents,
    obstacles,
    plateau,
    plateau_steps,
    required_exponent,
)
from gradone.analysis.depth.chain import chain
from gradone.targets.hierarchical import QuadraticForms, Sight, Tree

P = "He2(z)/2 + He3(z)/6"


@pytest.fixture
def canonical():
    return Sight("tanh(3*h)", P, exponent=0.5)


# ---- exponents


@pytest.mark.parametrize(
    ("outer", "inner", "expected"),
    [
        ("tanh(h)", "He2(z) + He3(z)", [2, 1]),
        ("He2(h)", "He2(z)/sqrt(2)", [4, 2]),
        ("He2(h)", "z", [2, 2]),
        # At variance 2/3 instead of 1, He3 has a linear part.
        ("He3(h)", P, [2, 1]),
        ("He3(h)", "He2(z)/sqrt(2)", [6, 3]),
        ("cos(h)", "He3(z)/6", [6, 2]),
        ("relu(h)", "abs(z) - sqrt(2/pi)", [2, 1]),
    ],
)
def test_compositional_exponents(outer, inner, expected):
    found = level_exponents(Sight(outer, inner)).compositional
    assert [e.value for e in found] == expected
    assert all(e.note for e in found)


def test_first_nonzero_energy_is_the_product_of_the_exponents():
    outers, inners = ("tanh(h)", "cos(h)", "h**3 - 2*h"), (P, "He3(z)", "z + He2(z)")
    for outer, inner in itertools.product(outers, inners):
        target = Sight(outer, inner)
        exponent = level_exponents(target).compositional[0].value
        phi = energies(target, exponent).phi
        assert all(e.value <= e.error for e in phi[:-1])
        assert phi[-1].value > 1e-6


def test_tree_composes_exponents_and_energies():
    tree = Tree("tanh(h)", ["He2(z)/sqrt(2)", "0.6*z + 0.8*He2(z)/sqrt(2)"], [0.8, 0.5])
    found = level_exponents(tree)
    assert [e.value for e in found.inner] == [2, 1]
    assert [e.value for e in found.compositional] == [2, 1, 1]
    # w = 0.36 t^2 + 0.64 t^4.
    shares = chain(tree).composed(4).value
    assert [float(w) for w in shares] == pytest.approx([0, 0, 0.36, 0, 0.64], abs=1e-13)


def test_tree_with_one_level_is_a_sight(canonical):
    tree = Tree("tanh(3*h)", [P], [0.5])
    assert energies(tree, 8) == energies(canonical, 8)
    assert level_exponents(tree) == level_exponents(canonical)
    for learner in LEARNERS:
        assert plateau_steps(tree, learner) == plateau_steps(canonical, learner)


def test_variance_of_the_weights_counts():
    double = energies(Sight("tanh(h)", "He2(z)/2", signs=[2.0, -2.0, 2.0, -2.0]), 2)
    same = energies(Sight("tanh(2*h)", "He2(z)/2"), 2)
    assert double.null.value == pytest.approx(same.null.value, abs=1e-13)
    assert double.energy(2).value == pytest.approx(same.energy(2).value, abs=1e-13)


def test_rounding_of_typed_constants_is_no_signal():
    rounded = Sight("abs(h) + 1e-9*sin(h)", "z")
    assert level_exponents(rounded).outer.value == 2


# ---- sample exponents


@pytest.mark.parametrize(
    ("epsilon", "inner", "kappa"),
    [(0.5, P, 1.5), (0.5, "He2(z) + He4(z)", 2.0), (0.7, "He2(z)", 1.7)],
)
def test_exponent_of_three_layers(epsilon, inner, kappa):
    target = Sight("tanh(h)", inner, exponent=epsilon)
    assert required_exponent(target) == pytest.approx(kappa, abs=1e-12)
    assert plateau(target, kappa + 1e-6).value == 0
    assert required_exponent(target, "lazy") == math.inf
    assert plateau(target, kappa - 1e-6).value > 0.01


def test_exponents_of_polynomials():
    target = Sight("h + h**2", P, exponent=0.6)  # k = 3, m = 2
    assert required_exponent(target, "lazy") == 6
    assert required_exponent(target, "two_layer") == pytest.approx(3.6)
    assert required_exponent(target, "three_layer") == pytest.approx(1.8)
    assert [required_exponent(target, "two_layer", q) for q in (1, 2, 3)] == pytest.approx(
        [1, 1.6, 1.8]
    )
    assert [required_exponent(target, "lazy", q) for q in (2, 5)] == [2, 5]


def test_many_quadratic_forms_need_the_cube():
    target = QuadraticForms("tanh(h)")
    assert required_exponent(target) == 3
    assert required_exponent(QuadraticForms("tanh(h)", count=3)) == 2
    found = energies(target, 4)
    reference = energies(Sight("tanh(h)", "He2(z)"), 4)
    assert [e.value for e in found.phi] == pytest.approx([e.value for e in reference.phi])


def test_deep_learner_needs_less_than_three_layers():
    tree = Tree("tanh(h)", ["He2(z)/sqrt(2)", "z + He3(z)"], [0.8, 0.4])
    assert required_exponent(tree, "three_layer") == pytest.approx(6 * 0.8)
    assert required_exponent(tree, "deep") == pytest.approx(2 * 0.8 + 0.4)
    assert [s.exponent for s in learning_stages(tree, "deep")] == pytest.approx([1.8, 2, 1.2, 0])
    assert plateau(tree, 2.01, "deep").value == 0 < plateau(tree, 2.01, "three_layer").value


def test_directions_that_are_not_found_count_as_unknown():
    """CIE(1) = 4: the formulas with d^(1 + eps) would promise too much."""
    target = Sight("He2(h)", "He2(z)/sqrt(2)", exponent=0.5)
    assert "CIE(1) = 4" in obstacles(target).directions
    assert plateau(target, 2.5, "three_layer").value == plateau(target, 2.5, "lazy").value
    assert "CIE(1) = 4" in plateau(target, 2.5).note
    assert required_exponent(target) == 4
    # The directions are found, but the label does not correlate with the feature.
    square = Sight("He2(h)", "z + He2(z)/sqrt(2)", exponent=0.5)
    assert obstacles(square).directions == ""
    assert plateau(square, 1.6).value == plateau(square, 1.6, "two_layer").value > 0
    assert "IE(g) = 2" in plateau(square, 1.6).note
