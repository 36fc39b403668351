"""The checklist of the depth theorem.

"Canonical" is the published example: P = He2/2 + He3/6, g = tanh(3h), D about sqrt(d).
"""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from gradone.analysis.depth import (
    checklist,
    random_bias_energies,
)
from gradone.targets.hierarchical import Might, QuadraticForms, Sight, Tree

P = "He2(z)/2 + He3(z)/6"
COMPLIANT = "abs(z) - 1.98582208*tanh(z)"


@pytest.fixture
def canonical():
    return Sight("tanh(3*h)", P, exponent=0.5)


def verdicts(*arguments, **options):
    return {c.id: c.verdict for c in checklist(*arguments, **options)}


def value(conditions, name):
    return next(c for c in conditions if c.id == name).value


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


def test_conditions_on_several_inner_functions_name_each():
    target = Tree("tanh(1.5*h)", ["He2(z)/sqrt(2)", "0.6*z + 0.8*He2(z)/sqrt(2)"], [0.7, 0.4])
    condition = next(c for c in checklist(target) if c.id == "T4")
    first, second = condition.why.split(", ")
    assert first.startswith("E[P_1(u) u] = ")
    assert second.startswith("E[P_2(u) u] = 0.6 ")
