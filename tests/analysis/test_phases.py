"""Labels that see their variables through fast phases only reveal next to nothing."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from gradone.analysis.analyze import analyze
from gradone.analysis.queries.learnability import _learnability
from gradone.analysis.queries.next_stage import next_stage
from gradone.analysis.queries.phases import Phases, largest_strength, phases
from gradone.channels.conditional.given import output_grams
from gradone.targets.language.expression import Expression
from gradone.targets.subspace import Subspace

from ..channels.exact_oscillations import product_of_sines, sine_of_phase

NOTHING = Subspace.zero(2)
FIRST = Subspace.span([[1.0, 0.0]])

# target, what is known, number of phases and the slowest wave
PHASES = [
    ("sin(8*z1)*sin(7*z2)", NOTHING, 2, 7.0),
    ("cos(8*z1 + 1)/(2 + sin(-7*z2))", NOTHING, 2, 7.0),
    ("sign(sin(5*z1 + 4*z2))", NOTHING, 1, math.hypot(5, 4)),
    ("sin(3*(z1 + z2)) + cos(5*(z1 - z2))", NOTHING, 2, 3 * math.sqrt(2)),
    # parallel waves: multiples of the largest common part
    ("sin(8*z1)*cos(12*z1) + sin(6*z2)", NOTHING, 2, 4.0),
    ("sin(8*z1)*cos(4*z1/3) + sin(6*z2)", NOTHING, 2, 4 / 3),
    # what is added to a phase
    ("sin(10*z1 + 3*z2**2)", NOTHING, 1, 10.0),
    ("sin(10*z1 + z2 + z2**2)*cos(5*z1 + exp(z2))", NOTHING, 1, 5.0),
    ("sin(8*z2 + z1**2)*z1", FIRST, 1, 8.0),
    ("cos(z1**3*exp(z1) - 6*z2) + tanh(z1)", FIRST, 1, 6.0),
]
NO_PHASES = [
    ("z1*z2", NOTHING),
    ("sin(8*z1)*z2", NOTHING),
    ("sin(8*z1*z2)", NOTHING),
    ("sin(8*z1) + sin(9*z1 + z2**2)*tanh(z1)", NOTHING),
    # the ratio of the waves is irrational, or there are more waves than variables
    ("sin(8*z1)*cos(sqrt(2)*z1) + sin(7*z2)", NOTHING),
    ("sin(8*z1)*sin(7*z2)*sin(5*z1 + 6*z2)", NOTHING),
    # z2 is added to one phase, and is another one
    ("sin(10*z1 + z2**2)*sin(7*z2)", NOTHING),
    ("sin(10*z1 + z1**2)*cos(8*z2)", NOTHING),
    ("sin(8*z1*z2)", FIRST),
    ("sin(8*z1)*cos(6*z2)*z2", FIRST),
]


@pytest.mark.parametrize(("text", "known", "number", "slowest"), PHASES)
def test_phases_are_found(text, known, number, slowest):
    found = phases(Expression(text), known)
    assert found is not None
    assert found.number == number
    assert found.slowest == pytest.approx(slowest, rel=1e-12)


@pytest.mark.parametrize(("text", "known"), NO_PHASES)
def test_other_labels_have_none(text, known):
    assert phases(Expression(text), known) is None


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("sin(5*z1 + z2**2/10)", lambda k: sine_of_phase(5, 0.1, k)),
        ("sin(4*z1 + z2**2)", lambda k: sine_of_phase(4, 1, k)),
        ("sin(3*z1 + 2*z2**2)", lambda k: sine_of_phase(3, 2, k)),
        ("sin(2.5*z1 + z2**2)", lambda k: sine_of_phase(2.5, 1, k)),
        ("sin(3*z1)*sin(2.5*z2)", lambda k: product_of_sines(3, 2.5, k)),
        ("sin(4*z1)*sin(5*z2)", lambda k: product_of_sines(4, 5, k)),
    ],
)
def test_the_bound_covers_exact_strengths(text, exact, order):
    assert exact(order) < largest_strength(phases(Expression(text), NOTHING), order)


def test_the_bound_is_sharp():
    """A slow change of the phase: the label is nearly a sine of one variable.

    Would catch: lattice vectors counted twice, the wave in place of its square.
    """
    bound = largest_strength(phases(Expression("sin(5*z1 + z2**2/10)"), NOTHING), 1)
    assert bound < 1.1 * sine_of_phase(5, 0.1, 1)


def test_lattice_sums():
    """Poisson probabilities over all integer vectors, one by one."""
    for number in (1, 2, 3):
        axes = np.meshgrid(*[np.arange(-5, 6)] * number)
        mean = 3.0**2 * sum(a * a for a in axes).ravel().astype(float)
        mean = mean[mean > 0]
        few = sum(np.exp(-mean) * mean**j / math.factorial(j) for j in range(5)).sum()
        expected = few / (1 - np.exp(-mean / 2).sum())
        assert largest_strength(Phases(number, 3.0), 4) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("order", [2, 4])
def test_the_bound_agrees_with_slices(order):
    """Slices that know nothing of phases find no more than the bound."""
    f = Expression("cos(4*z1)*exp(sin(4*z2))")
    gram = output_grams(f, 0.0, [order])[order]
    most = largest_strength(phases(f, NOTHING), order)
    assert np.trace(gram.value) < most + 3 * gram.entry_error().max()


@pytest.mark.parametrize(
    "text",
    [
        "sin(8*z1)*sin(7*z2)",
        "sin(12*z1)*cos(9*z2)",
        "cos(10*z1)*exp(sin(9*z2))",
        "sin(10*z1 + 3*z2**2)",
        "sin(9*(z1 + z2))*sin(8*(z1 - z2))",
    ],
)
def test_nothing_is_integrated_that_is_known_to_vanish(text, monkeypatch):
    def integrate(*arguments, **options):
        raise AssertionError("no integral is needed")

    monkeypatch.setattr("gradone.analysis.queries.next_stage.conditional_grams", integrate)
    found = _learnability.__wrapped__(Expression(text), 0.0, 0, 60.0)
    assert found.undecided.startswith("undecided: > 8, or too small to see: all are below")
    assert float(found.undecided.split()[-1]) < 1e-10
    assert not found.stages


def test_slow_phases_are_integrated():
    """The bound of the second order, 0.5, says nothing; the label shows that order itself."""
    found = next_stage(Expression("sin(3*z1)*sin(2.5*z2)"), 0.0, NOTHING)
    assert found.order == 2


def test_a_tiny_strength_that_quadrature_sees_is_not_left_out():
    """Given z2 the label is cos(6 z1), the cosine of a uniform angle up to e^-36.

    Order 4 has the strength 2 E[he_4(z) cos(6 z)]^2 = 2 (6^4 e^-18)^2/4!, below the bound.
    """
    answer = next_stage(Expression("cos(6*z1)*z2"), 0.0, Subspace.span([[0.0, 1.0]]))
    strength = 2 * (6**4 * math.exp(-18)) ** 2 / math.factorial(4)
    shown = re.search(r"the strength of order 4, (\d\.\d\d)\((\d)\)e-11", answer)
    assert shown is not None, answer
    assert abs(float(shown[1]) - strength * 1e11) <= int(shown[2]) * 1e-2


@pytest.mark.parametrize("text", ["sin(100*z1)", "tanh(1000000*sin(1000*tanh(1000*sin(100*z1))))"])
def test_a_bound_that_underflows_proves_no_zero(text):
    """Failed before: all orders were said to vanish by symmetry, and the summary did not print."""
    found = analyze(text)
    assert found.summary()
    assert found.generative_exponent is None
    assert found.learnability is None
