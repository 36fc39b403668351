"""Energies of hierarchical targets, level by level, and at finite inner dimension.

"Canonical" is the published example: P = He2/2 + He3/6, g = tanh(3h), D about sqrt(d).
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import t as student

from gradone.analysis.depth import (
    energies,
    level_exponents,
    non_gaussianity,
    plateau,
    required_exponent,
)
from gradone.analysis.depth.chain import chain
from gradone.base.seeds import stream
from gradone.targets.hierarchical import Might, QuadraticForms, Sight, Tree
from gradone.targets.language.expression import Expression

P = "He2(z)/2 + He3(z)/6"


@pytest.fixture
def canonical():
    return Sight("tanh(3*h)", P, exponent=0.5)


# ---- energies: reference values of the note


def test_variance_and_shares_of_the_canonical_inner_function(canonical):
    found = chain(canonical)
    assert found.inners[0].exact_null == Fraction(2, 3)
    assert found.shares(0, 3).value == [0, 0, Fraction(3, 4), Fraction(1, 4)]


def test_null_error_and_coefficients_of_the_canonical_target(canonical):
    """Would catch: g evaluated at u instead of s u (the feature is not standardized)."""
    g = chain(canonical).outer
    assert energies(canonical, 0).null.value == pytest.approx(0.693922, abs=1e-5)
    found = [g.coefficient(m).value for m in (1, 3, 5)]
    assert found == pytest.approx([0.749734, -0.271236, 0.161961], abs=1e-5)
    assert g.coefficient(1).value / math.sqrt(2 / 3) == pytest.approx(0.918233, abs=1e-5)
    assert g.coefficient(2).is_zero


def test_polynomial_residuals_of_the_canonical_target(canonical):
    found = energies(canonical, 8)
    expected = {2: 0.272346, 3: 0.131821, 6: 0.100784, 7: 0.069747, 8: 0.059401}
    assert {q: found.residual(q).value for q in expected} == pytest.approx(expected, abs=1e-5)
    assert found.residual(1).value == found.null.value
    assert [q for q in range(1, 9) if found.energy(q).value > 1e-12] == [2, 3, 6, 7, 8]


def test_three_layer_residuals_of_the_canonical_target():
    """The feature is known up to its quadratic part, then entirely, whatever the tail of tanh."""
    target = Sight("tanh(3*h)", P, exponent=0.7)
    assert plateau(target, 1.8).value == pytest.approx(0.232636, abs=1e-4)
    assert plateau(target, 2.11).value == 0


def test_polynomial_target_is_exact():
    target = Sight("h + He2(h)/2", "He2(z)/2", exponent=0.6)
    found = energies(target, 4)
    assert (found.null.value, found.residual(2).value, found.residual(4).value) == (0.625, 0.125, 0)
    assert {found.null.kind, *(e.kind for e in found.phi)} == {"exact"}


def test_sign_has_unit_null_error():
    """Would catch: a rule with a node at the jump, which loses 4e-4."""
    assert energies(Sight("sign(h)", P), 0).null.value == pytest.approx(1, abs=1e-14)


def test_energy_hidden_by_rounding_is_found_exactly():
    """mu_1 of h**3 - 2*h at variance 2/3 is s (3 s^2 - 2) = 0; in floats it is 1e-16."""
    exponents = level_exponents(Sight("h**3 - 2*h", P))
    assert exponents.outer.value == 3
    assert exponents.compositional[0].value == 6


def test_irrational_coefficients_make_a_polynomial_too():
    root = Sight("tanh(h)", "He2(z)/sqrt(2)", exponent=0.7)
    assert required_exponent(root) == pytest.approx(1.7)
    energy = energies(Sight("h + He2(h)", "He2(z)/sqrt(2)"), 4)
    assert [e.value for e in energy.phi] == pytest.approx([0, 1, 0, 2], abs=1e-13)
    assert energy.residual(4).value == 0


# ---- finite inner dimension


@pytest.mark.parametrize("D", [2, 8])
def test_leak_of_the_square_is_eight_over_the_dimension(D):
    """He2(h) has energy 8/D at degree 2, exactly; the limit has none."""
    h = "(" + " + ".join(f"He2(z{i})" for i in range(1, D + 1)) + f")/{math.isqrt(2 * D)}"
    exact = Expression(f"He2({h})").hermite(4)
    assert exact.exact_energies()[2] == Fraction(8, D)
    limit = energies(Sight("He2(h)", "He2(z)/sqrt(2)"), 4)
    assert limit.energy(2).value == pytest.approx(0, abs=1e-14)
    assert limit.energy(4).value == pytest.approx(2, abs=1e-12)


def test_energies_at_finite_dimension_approach_the_limit_like_one_over_it():
    """y = h + He2(h)/2, h of D = 4 or 9 directions: exact polynomials of D variables."""
    limit = energies(Sight("h + He2(h)/2", "He2(z)/2"), 4)
    gaps = []
    for D in (4, 9):
        h = "(" + " + ".join(f"He2(z{i})" for i in range(1, D + 1)) + f")/{2 * math.isqrt(D)}"
        exact = Expression(f"{h} + He2({h})/2").hermite(4).exact_energies()
        gaps.append([float(exact[q]) - limit.energy(q).value for q in (2, 4)])
    # a = 1: the leak of He2(h) adds to the quadratic part, of order D^(-1/2).
    assert abs(gaps[1][0]) < abs(gaps[0][0]) * math.sqrt(4 / 9) * 1.1
    assert abs(gaps[1][1]) < abs(gaps[0][1]) * 4 / 9 * 1.1


def test_correction_of_the_second_hermite_polynomial(canonical):
    """Var(xi^2) = 48.125 for the canonical inner function."""
    (found,) = non_gaussianity(canonical, 64)
    assert found.value == pytest.approx(48.125 / 16, rel=1e-9)
    committee = Might("tanh(3*h)", P, branches=3)
    assert non_gaussianity(committee, 64) == non_gaussianity(canonical, 64)
    tree = Tree("tanh(h)", [P, "z + He2(z)/2"], [0.8, 0.4])
    widths = tree.widths(256)
    lower, upper = non_gaussianity(tree, 256)
    assert lower.value == pytest.approx(48.125 / (2 * widths[0] // widths[1]))
    assert upper.value < lower.value
    assert non_gaussianity(QuadraticForms("tanh(h)"), 64)[0].value == pytest.approx(14 / 128)


def covariances(target, d, t, replicate, n):
    """Covariance of labels at inputs with correlations t and -t."""
    found = target.realization(d, replicate=replicate)
    rng = stream(0, "data", d=d, replicate=replicate, test="noise_stability")
    z, noise = rng.standard_normal((2, n, len(found.W_star)))
    y = found.label(z @ found.W_star)[0]
    result = []
    for sign in (1, -1):
        again = sign * t * z + math.sqrt(1 - t * t) * noise
        other = found.label(again @ found.W_star)[0]
        result.append(float(np.mean((y - y.mean()) * (other - other.mean()))))
    return result


@pytest.mark.stat
@pytest.mark.parametrize(
    "target",
    [
        Sight("tanh(2*h)", "z/2 + He2(z)/2", exponent=1.0),
        Sight("h + relu(h)", "z + He3(z)/3", exponent=1.0),
        Might("h1*h2 + tanh(h1)", "He2(z)/2 + z/2", branches=2, exponent=0.85),
        Tree("tanh(h)", ["z/2 + He2(z)/2", "z + He2(z)/4"], [1.0, 0.5]),
    ],
    ids=["tanh", "relu", "might", "tree"],
)
def test_energies_agree_with_the_noise_stability_of_samples(target):
    r"""Cov(y, y') at correlation t is sum_q Phi_q t^q; t and -t separate even from odd degrees.

    Would catch: shares w_j without j! (case "relu", tried).
    The features are Gaussian up to Var(xi^2)/B in He_2: the allowance is 1/8 of that, summed over
    the levels and relative to the variance of the label; it vanishes like 1/B.
    """
    d, t, replicates, n = 225, 0.8, 20, 2000
    runs = np.array([covariances(target, d, t, i, n) for i in range(replicates)])
    mean, sem = runs.mean(axis=0), runs.std(axis=0, ddof=1) / math.sqrt(replicates)
    found = energies(target, 40)
    theory = [sum(e.value * x**q for q, e in enumerate(found.phi, 1)) for x in (t, -t)]
    left = found.residual(40).value * t**41
    bias = sum(e.value for e in non_gaussianity(target, d)) / 4 * found.null.value
    allowed = student.ppf(1 - 5e-7, replicates - 1) * sem + bias + left
    assert (np.abs(mean - theory) < allowed).all()
