"""What a label reveals depends on its level sets alone, however its values are rounded."""

import math

import mpmath
import numpy as np
import pytest

from gradone.analysis.analyze import analyze
from gradone.analysis.queries.learnability import learnability
from gradone.channels.conditional.labels import relabeled
from gradone.targets.language.expression import Expression
from gradone.targets.language.parser import parse
from gradone.targets.language.rounding import with_rounding

FUNCTIONS_OF_SIZE = [  # all increase or decrease strictly with |u|
    "max(tanh(10*{u}), tanh(-10*{u}))",
    "sigmoid(10*{u})*(1 - sigmoid(10*{u}))",
    "(1 - tanh(10*{u}))*(1 + tanh(10*{u}))",
    "relu(tanh(10*{u})) + relu(-tanh(10*{u}))",
    "tanh(({u})**4)**2",
    "erf(5*{u})**2",
    "tanh(30*{u})**2",
    "tanh(1000000*{u})**2",
    "1/(1 + exp(({u})**2))",
    "exp(-20*({u})**2)",
    "exp(-3*abs({u})) - tanh(9*abs({u}))",
    "min(1 - tanh(9*{u}), 1 + tanh(9*{u}))",
    "softplus(9*{u}) + softplus(-9*{u})",
    "log(exp(9*{u}) + exp(-9*{u}))",
    "gelu(5*{u}) + gelu(-5*{u})",
    "tanh({u}*tanh(9*{u}))**3",
    "erf(3*{u})*tanh(20*{u})",
    "({u})**2/(1 + ({u})**2)",
    "abs(erf(0.1*He3(2 + abs({u}))) - 2)",
    "sqrt(1 + tanh(8*{u})**2)",
    "sin(tanh(20*{u})**2)",
    "1 - sigmoid(12*abs({u}) - 3)",
    "abs(tanh(100*({u})**3))",
    "exp(10*{u})/(1 + exp(10*{u}))**2",
    "tanh(7*{u})**2 + tanh(2*{u})**4",
]


@pytest.mark.parametrize("pattern", FUNCTIONS_OF_SIZE)
@pytest.mark.parametrize("u", ["z1", "(0.6*z1 - 0.8*z2)"])
def test_strictly_monotone_functions_of_the_size_have_the_threshold_one_half(pattern, u):
    """Would catch: labels that rounding merges, and symmetry that the form hides."""
    found = learnability(Expression(pattern.format(u=u)))
    assert found.classes == ("easy",)
    threshold = found.stages[0].threshold
    assert abs(threshold.value - 0.5) <= threshold.error < 1e-6


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("tanh(30*He3(z1)) - 2", "He3(z1)"),
        ("sigmoid(20*z1*z2)", "z1*z2"),
        ("tanh(9*z1) + erf(20*z1)", "z1"),
        ("z1 - tanh(z1)/2", "z1"),
        ("tanh(10*sin(z1))**2", "abs(sin(z1))"),
        ("exp(-5*(z1 + z2)**2)", "abs(z1 + z2)"),
        ("tanh(relu(20*z1))", "relu(20*z1)"),
        ("cos(z1)", "cos(z1)"),
        ("tanh(10*z1)*z2", "tanh(10*z1)*z2"),
    ],
)
def test_simpler_labels(text, same):
    assert relabeled(Expression(text)).tree == parse(same)


def test_a_label_and_its_simpler_form_have_the_same_level_sets():
    """Would catch: a function that is taken off although it merges or splits labels."""
    rng = np.random.default_rng(5)
    for pattern in FUNCTIONS_OF_SIZE:
        label = Expression(pattern.format(u="0.3*z1"))
        simpler = relabeled(label)
        z = rng.uniform(-1.5, 1.5, (200, 1))
        order = np.argsort(simpler(z))
        steps = np.diff(label(z)[order])
        assert (steps >= -1e-13).all() or (steps <= 1e-13).all(), pattern


@pytest.mark.parametrize("text", ["tanh(20*z1)*tanh(20*z2)", "tanh(10*z1)*sin(3*tanh(9*z1))"])
def test_what_rounding_merges_is_said(text):
    """The label of the first is close to that of a sign, and reveals more."""
    found = learnability(Expression(text))
    doubtful = [s.threshold for s in found.stages if s.order == 2]
    assert found.undecided or all(t.error > 0.05 * t.value for t in doubtful)


def test_what_is_merged_far_apart_is_in_the_error():
    """The label and z1 + z2 tell |z1 - z2|, but for the saturated sums that round to zero."""
    threshold = learnability(Expression("tanh(10*z1) + tanh(10*z2)")).stages[1].threshold
    assert abs(threshold.value - 0.5) <= threshold.error
    assert threshold.error > 0.01 * threshold.value


def test_what_is_merged_close_together_hides_nothing():
    """Around z = 0 the label is flat to the eighth order, which only merges what is alike.

    The reference: with x = z**4 the labels |He4(x)| are shared by the roots x**2 = 3 ± sqrt(a) and
    3 ± sqrt(12 - a) for a = (x**2 - 3)**2, in closed form, on graded panels.
    """
    threshold = analyze("tanh(He4(z1**4))**2").weak_threshold
    assert abs(threshold.value - 0.5036243239880102) <= threshold.error < 1e-3


def test_rounding_errors_are_bounded():
    z = np.random.default_rng(8).uniform(0, 5, 50)
    cases = {
        "1 - tanh(z1)": lambda x: 1 - mpmath.tanh(x),
        "(1 - erf(z1))*z1**3": lambda x: (1 - mpmath.erf(x)) * x**3,
        "He5(z1)*exp(-z1)": lambda x: (x**5 - 10 * x**3 + 15 * x) * mpmath.exp(-x),
    }
    for text, exact in cases.items():
        value, error = with_rounding(parse(text), lambda i: z)
        with mpmath.workdps(60):
            gaps = [
                abs(mpmath.mpf(v) - exact(mpmath.mpf(x))) for v, x in zip(value, z, strict=True)
            ]
        gap = np.array(gaps, dtype=float)
        assert (gap <= 4 * error).all()
        assert np.median(error / (gap + 1e-17)) < 1e3


@pytest.mark.parametrize(
    ("text", "threshold"),
    [("exp(0.24*z1**2)", 0.5), ("exp(0.2*(z1**2 + z2**2 + z3**2))", 1.5)],
)
def test_labels_with_barely_a_second_moment_have_thresholds(text, threshold):
    """Labels that tell |z|: E[zz' - I | y] is (|z|^2/r - 1) I, and n/d = r/2."""
    found = analyze(text).weak_threshold
    assert abs(found.value - threshold) <= found.error < 1e-3


@pytest.mark.parametrize("text", ["sign(z1**2 - z2**2)", "sign(z1**2 + 3*z1*z2 - z2**2)"])
def test_the_sign_of_a_product_of_linear_forms_is_a_parity(text):
    threshold = analyze(text).weak_threshold
    assert abs(threshold.value - math.pi**2 / 4) <= threshold.error < 1e-9
