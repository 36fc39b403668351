"""Plateaus of hierarchical targets, and the noise stability behind them.

"Canonical" is the published example: P = He2/2 + He3/6, g = tanh(3h), D about sqrt(d).
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradone.analysis.depth import (
    LEARNERS,
    energies,
    plateau,
    plateau_steps,
)
from gradone.analysis.depth.noise_stability import pair_mean
from gradone.analysis.depth.scaled_function import ScaledFunction
from gradone.targets.hierarchical import Might, Sight
from gradone.targets.language.expression import Expression
from gradone.targets.target import Target

P = "He2(z)/2 + He3(z)/6"
LEGENDRE = np.polynomial.legendre.leggauss(300)
HERMITE = np.polynomial.hermite_e.hermegauss(100)


@pytest.fixture
def canonical():
    return Sight("tanh(3*h)", P, exponent=0.5)


OUTERS = ["tanh(3*h)", "sign(h)", "relu(h)", "h + He2(h)/2", "exp(h/3)", "abs(h) + h"]
INNERS = [P, "z + He2(z)/2", "He2(z)/sqrt(2)", "He2(z) - He4(z)/10", "abs(z) - sqrt(2/pi)"]


@pytest.mark.stat
@settings(max_examples=8, deadline=None)
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
        assert plateau(three, kappa, learner).value == pytest.approx(expected, rel=1e-13)
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
