"""Exponents, checklist and plateaus of hierarchical targets.

"Canonical" is the published example: P = He2/2 + He3/6, g = tanh(3h), D about sqrt(d).
"""

import itertools
import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import t as student

from gradone.analysis.depth import (
    LEARNERS,
    checklist,
    energies,
    learning_stages,
    level_exponents,
    non_gaussianity,
    obstacles,
    plateau,
    plateau_steps,
    random_bias_energies,
    required_exponent,
)
from gradone.analysis.depth.chain import chain
from gradone.analysis.depth.noise_stability import pair_mean
from gradone.analysis.depth.scaled_function import ScaledFunction
from gradone.base.errors import BadData, OutOfRegime, TargetError
from gradone.base.seeds import stream
from gradone.targets.hierarchical import Might, QuadraticForms, Sight, Tree
from gradone.targets.language.expression import Expression
from gradone.targets.target import Target

P = "He2(z)/2 + He3(z)/6"
LEGENDRE = np.polynomial.legendre.leggauss(300)
HERMITE = np.polynomial.hermite_e.hermegauss(100)
COMPLIANT = "abs(z) - 1.98582208*tanh(z)"


@pytest.fixture
def canonical():
    return Sight("tanh(3*h)", P, exponent=0.5)


def verdicts(*arguments, **options):
    return {c.id: c.verdict for c in checklist(*arguments, **options)}


def value(conditions, name):
    return next(c for c in conditions if c.id == name).value


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


# ---- checklist: facts of the note


def test_canonical_example_breaks_technical_conditions_only(canonical):
    found = verdicts(canonical, bias=1.0)
    assert [found[i] for i in ("E1", "E2", "E3", "T4")] == ["holds"] * 4
    assert [found[i] for i in ("T1", "T6")] == ["fails"] * 2
    condition = next(c for c in checklist(canonical) if c.id == "T6")
    assert condition.value.value == pytest.approx(-0.2712, abs=1e-4)
    assert verdicts(canonical, k=2)["T6"] == "holds"  # tanh is odd


@pytest.mark.parametrize(
    ("activation", "first", "second", "tolerance"),
    [
        ("relu(z)", 0.5, 0.398942, 1e-5),
        ("gelu(z)", 0.4294, 0.4211, 1e-4),
        ("tanh(z)", 0.4976, 0.0, 1e-4),
        (COMPLIANT, 0.0, 0.3772, 1e-3),
    ],
)
def test_twice_applied_activation(canonical, activation, first, second, tolerance):
    found = checklist(canonical, activation)
    assert value(found, "T5a").value == pytest.approx(first, abs=tolerance)
    # E[P He_2] = 1 for the canonical inner function.
    assert value(found, "T5b").value == pytest.approx(second, abs=tolerance)


@pytest.mark.parametrize(
    ("activation", "expressive", "linear"),
    [
        ("relu(z)", "fails", "fails"),
        ("tanh(z)", "fails", "fails"),
        ("softplus(z)", "fails", "fails"),
        ("gelu(z)", "fails", "fails"),
        ("abs(z)", "fails", "holds"),
        (COMPLIANT, "holds", "holds"),
    ],
)
def test_expressive_activations(canonical, activation, expressive, linear):
    found = verdicts(canonical, activation)
    assert (found["E3"], found["T5a"]) == (expressive, linear)


def test_compliant_activation_meets_every_condition_with_a_linear_outer_function():
    target = Sight("h", P, signs="ones")
    assert set(verdicts(target, COMPLIANT).values()) == {"holds"}
    sigma = [value(checklist(target, COMPLIANT, k=k), "E3").value for k in (1, 2)]
    assert sigma == pytest.approx([-1.2028, 0.7979], abs=1e-4)


def test_relu_is_expressive_up_to_degree_two(canonical):
    assert verdicts(canonical, k=2)["E3"] == "holds"
    assert verdicts(canonical, k=3)["E3"] == "fails"


def test_random_biases_restore_expressivity(canonical):
    found = [e.value for e in random_bias_energies("relu(z)", 4)]
    assert found == pytest.approx([0.300170, 0.293986, 0.118861, 0.030155, 0.074508], abs=1e-5)
    assert verdicts(canonical, k=4, bias=1.0)["E3"] == "holds"


def test_random_bias_energies_against_the_closed_form():
    nodes, weights = np.polynomial.legendre.leggauss(40)
    b, phi = 0.7 * nodes, np.exp(-0.5 * (0.7 * nodes) ** 2) / math.sqrt(2 * math.pi)
    closed = [b * ndtr(b) + phi, ndtr(b), phi, -b * phi, (b**2 - 1) * phi]
    for e, c in zip(random_bias_energies("relu(z)", 4, 0.7), closed, strict=True):
        assert abs(e.value - float(weights @ c**2) / 2) <= e.error + 1e-15


def test_conditions_on_training_and_weights(canonical):
    assert verdicts(canonical)["T2"] == "holds"
    found = verdicts(canonical, loss="square", reinitialized=False, signs="ones")
    assert (found["T1"], found["T2"], found["T3"]) == ("holds", "fails", "fails")
    assert verdicts(canonical, signs=[1.0, 1.0])["T1"] == "holds"
    assert verdicts(canonical, signs=[1.0, -1.0])["T1"] == "fails"


def test_essential_conditions_fail_where_they_must():
    found = verdicts(Sight("He2(h)", "He3(z)/sqrt(6)"))
    assert (found["E1"], found["E2"]) == ("fails", "fails")
    assert verdicts(Sight("tanh(h)", "z + He2(z)"))["T4"] == "fails"
    assert verdicts(Sight("tanh(h)", "-He2(z)"))["T5b"] == "fails"
    assert verdicts(Sight("tanh(h)", "abs(z) - sqrt(2/pi)"), "exp(z)")["E3"] == "fails"


def test_what_cannot_be_decided_says_so():
    smooth = Sight("h", "sin(z) + He2(z)")
    assert verdicts(smooth, COMPLIANT)["E3"] == "cannot be decided"  # infinitely many degrees
    assert verdicts(smooth)["T6"] == "holds"
    tree = Tree("tanh(h)", ["He2(z)/2", "z"], [0.7, 0.4])
    assert verdicts(tree)["T5b"] == "cannot be decided"
    assert verdicts(tree, "exp(z)")["T5a"] == "cannot be decided"


def test_every_kind_of_target_has_a_checklist():
    for target in (Might("h1*h2", "He2(z)", branches=2), QuadraticForms("tanh(h)")):
        found = checklist(target)
        ids = ["E1", "E2", "E3", "T1", "T2", "T3", "T4", "T5a", "T5b", "T6"]
        assert [c.id for c in found] == ids
    assert verdicts(QuadraticForms("tanh(h)"))["T1"] == "fails"
    assert verdicts(Might("h1*h2", "He2(z)", branches=2))["E1"] == "fails"


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


# ---- properties of the plateaus

OUTERS = ["tanh(3*h)", "sign(h)", "relu(h)", "h + He2(h)/2", "exp(h/3)", "abs(h) + h"]
INNERS = [P, "z + He2(z)/2", "He2(z)/sqrt(2)", "He2(z) - He4(z)/10", "abs(z) - sqrt(2/pi)"]


@settings(max_examples=20, deadline=None)
@given(
    outer=st.sampled_from(OUTERS),
    inner=st.sampled_from(INNERS),
    epsilon=st.sampled_from([0.3, 0.5, 0.75, 1.0]),
    kappas=st.lists(st.floats(0, 4), min_size=2, max_size=4),
)
def test_more_data_and_more_depth_never_hurt(outer, inner, epsilon, kappas):
    target = Sight(outer, inner, exponent=epsilon)
    null = energies(target, 0).null.value
    before = dict.fromkeys(LEARNERS, math.inf)
    for kappa in sorted(kappas):
        found = {name: plateau(target, kappa, name) for name in LEARNERS}
        order = [found[name] for name in LEARNERS]
        for more, less in itertools.pairwise(order):
            assert less.value <= more.value + more.error + less.error
        for name, e in found.items():
            assert -1e-12 <= e.value <= null + 1e-12
            assert e.value <= before[name] + e.error + 1e-12
            before[name] = e.value + e.error
        assert found["deep"].value == pytest.approx(found["three_layer"].value, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(
    c=st.tuples(*[st.integers(-3, 3)] * 3).filter(any),
    g=st.tuples(*[st.integers(-3, 3)] * 3).filter(any),
)
def test_energies_of_polynomials_sum_to_the_null_error(c, g):
    inner = " + ".join(f"({a})*He{j}(z)" for j, a in enumerate(c, 1))
    outer = " + ".join(f"({a})*h**{m}" for m, a in enumerate(g, 1))
    found = energies(Sight(outer, inner), 9)
    assert sum(e.value for e in found.phi) == pytest.approx(found.null.value, rel=1e-12)
    assert found.residual(9).value == 0


@pytest.mark.parametrize("learner", LEARNERS)
def test_steps_are_the_plateaus(canonical, learner):
    steps = plateau_steps(canonical, learner, limit=5)
    kappas = [s.kappa for s in steps]
    assert kappas == sorted(kappas)
    for step, following in itertools.pairwise([*steps, None]):
        assert plateau(canonical, step.kappa + 1e-6, learner).value == step.error.value
        if following:
            middle = (step.kappa + following.kappa) / 2
            assert plateau(canonical, middle, learner).value == step.error.value
            assert following.error.value < step.error.value


def test_committee_has_the_plateaus_of_one_branch():
    one, three = Sight("tanh(3*h)", P, 0.7), Might("tanh(3*h)", P, branches=3, exponent=0.7)
    typed = Might("(tanh(3*h1) + tanh(3*h2) + tanh(3*h3))/sqrt(3)", P, branches=3, exponent=0.7)
    for kappa, learner in itertools.product((1.0, 1.8, 2.5), ("lazy", "two_layer", "three_layer")):
        expected = plateau(one, kappa, learner).value
        assert plateau(three, kappa, learner).value == expected
        assert plateau(typed, kappa, learner).value == pytest.approx(expected, abs=1e-9)
    assert "sees only their sum" in plateau(three, 1.8).note


@pytest.mark.parametrize("text", ["tanh(z)", "relu(z) + z", "z**2 + z/3", "exp(z/2)"])
@pytest.mark.parametrize("rho", [0.1, 0.5, 0.9, 0.999])
def test_noise_stability_against_a_plain_double_integral(text, rho):
    """Two methods: Mehler series or kink-aware planes against a dense product rule."""
    g = ScaledFunction(Expression(text), Fraction(2, 3))
    u, wu = LEGENDRE
    u, wu = 9 * u, 9 * wu * np.exp(-0.5 * (9 * u) ** 2) / math.sqrt(2 * math.pi)
    x, w = HERMITE
    f = Target(text).link
    s = math.sqrt(2 / 3)
    inner = f(s * (rho * u[:, None] + math.sqrt(1 - rho**2) * x)) @ (w / w.sum())
    mean = float(wu @ f(s * u))
    expected = float(wu @ (f(s * u) * inner)) - mean**2
    found = g.stability(rho)
    rough = 1e-3 if "relu" in text else 1e-9  # of the product rule, which ignores the kink
    assert abs(found.value - expected) <= found.error + rough
    assert found.error < 1e-9


@pytest.mark.parametrize("rho", [0.2, 0.75, 0.97, 1 - 1e-4])
def test_noise_stability_of_signs_is_the_arcsine_law(rho):
    arcsine = 2 / math.pi * math.asin(rho)
    single = ScaledFunction(Expression("sign(z)"), Fraction(1)).stability(rho)
    assert abs(single.value - arcsine) <= single.error + 1e-15
    product = pair_mean(Expression("sign(z1*z2*z3)").form, rho)
    assert abs(product.value - arcsine**3) <= product.error
    assert max(single.error, product.error) < 1e-6


def test_noise_stability_close_to_one_is_bracketed():
    """Near 1 the residual of a jump is of order sqrt(1 - rho), far above rounding."""
    rho = 1 - 1e-9
    found = ScaledFunction(Expression("sign(z)"), Fraction(1)).stability(rho)
    assert abs(found.value - 2 / math.pi * math.asin(rho)) <= found.error


def test_outer_function_that_does_not_separate_reports_its_error():
    target = Might("max(h1, h2)", P, branches=2, exponent=0.7)
    found = plateau(target, 1.8)
    # max = (h1 + h2)/2 + |h1 - h2|/2, two independent Gaussians of variance 2 Var P.
    s2, rho = 2 / 3, 0.75
    stability_abs = 2 / math.pi * (math.sqrt(1 - rho**2) + rho * math.asin(rho) - 1)
    expected = s2 * (1 / 2 + (1 - 2 / math.pi) / 2) - s2 * (rho / 2 + stability_abs / 2)
    assert abs(found.value - expected) <= found.error < 3e-3


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
    d, t, replicates, n = 225, 0.8, 20, 5000
    runs = np.array([covariances(target, d, t, i, n) for i in range(replicates)])
    mean, sem = runs.mean(axis=0), runs.std(axis=0, ddof=1) / math.sqrt(replicates)
    found = energies(target, 40)
    theory = [sum(e.value * x**q for q, e in enumerate(found.phi, 1)) for x in (t, -t)]
    left = found.residual(40).value * t**41
    bias = sum(e.value for e in non_gaussianity(target, d)) / 4 * found.null.value
    allowed = student.ppf(1 - 5e-7, replicates - 1) * sem + bias + left
    assert (np.abs(mean - theory) < allowed).all()


# ---- bad input


def test_impossible_sizes_are_refused():
    with pytest.raises(OutOfRegime, match="with exponent 1 only one branch"):
        energies(Might("tanh(h)", P, branches=2, exponent=1.0), 2)
    with pytest.raises(BadData, match=r"branches \* D <= d"):
        non_gaussianity(Might("tanh(h)", P, branches=3, exponent=0.9), 64)
    with pytest.raises(TargetError, match="must have mean 0"):
        Sight("tanh(h)", "z**2")
    with pytest.raises(OutOfRegime, match="standardize=True"):
        energies(Tree("tanh(h)", ["He2(z)", "He2(z)"], [0.8, 0.4], standardize=False), 2)
    with pytest.raises(OutOfRegime, match="equal ones"):
        energies(Might("tanh(h)", P, branches=2, signs=[[1.0, 1.0], [2.0, 2.0]]), 2)
    with pytest.raises(OutOfRegime, match=r"\+1 or -1"):
        energies(Tree("tanh(h)", ["z", "z"], [0.8, 0.4], signs=[[1.0, 2.0], [1.0]]), 2)


def test_levels_without_standardization_use_their_variance():
    """An odd middle function stays centered at any variance."""
    free = Tree("tanh(h)", ["He2(z)", "z + He3(z)"], [0.8, 0.4], standardize=False)
    middle = "sqrt(2)*z + (2*sqrt(2)*z**3 - 3*sqrt(2)*z)"
    same = Tree("tanh(h)", ["He2(z)", middle], [0.8, 0.4])
    for a, b in zip(energies(free, 6).phi, energies(same, 6).phi, strict=True):
        assert a.value == pytest.approx(b.value, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: plateau(t, -0.1), "kappa"),
        (lambda t: plateau(t, math.nan), "kappa"),
        (lambda t: plateau(t, 1.0, "three_layers"), "Did you mean 'three_layer'"),
        (lambda t: required_exponent(t, "lazy", 0), "degree"),
        (lambda t: energies(t, -1), "degree"),
        (lambda t: energies(t, 1.5), "degree"),
        (lambda t: checklist(t, k=0), "k must be"),
        (lambda t: checklist(t, loss="hinge"), "loss"),
        (lambda t: checklist(t, bias=-1.0), "bias"),
        (lambda t: checklist(t, "z1*z2"), "activation"),
    ],
)
def test_bad_arguments_are_named(canonical, call, message):
    with pytest.raises((BadData, TargetError), match=message):
        call(canonical)


def test_plain_targets_are_refused():
    with pytest.raises(BadData, match="hierarchical target"):
        energies(Target("tanh(z)"), 2)


def test_import_is_light():
    code = (
        "import sys, gradone.analysis.depth as h;"
        "from gradone.targets.hierarchical import Sight;"
        "t = Sight('tanh(3*h)', 'He2(z)/2'); h.checklist(t); h.plateau_steps(t);"
        "print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    heavy = {"scipy.stats", "scipy.optimize", "sympy", "xarray", "numba", "pandas", "sklearn"}
    assert heavy.isdisjoint(run.stdout.split())
