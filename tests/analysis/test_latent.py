"""Latent noise: what is linear in y sees its mean, what conditions on y sees its law."""

import math

import numpy as np
import pytest
from scipy.special import kve, ndtri

import gradone as gd


def threshold(text, noise=0.0):
    return gd.analyze(gd.Target(text, noise=noise)).weak_threshold


@pytest.mark.parametrize(
    ("D", "alpha"),
    [(0.01, 2.53192507), (0.09, 2.84291528), (0.25, 3.29754575), (1, 4.92255754), (4, 10.20601694)],
)
def test_noisy_product_of_signs_has_its_bessel_functions(D, alpha):
    found = threshold(f"sign(z1*z2 + {math.sqrt(D)}*xi)")
    c = D / (2 * math.pi) * (kve(1, D / 4) - kve(0, D / 4))
    assert found.value == pytest.approx(alpha, rel=1e-7)
    assert found.value == pytest.approx(1 / c**2, rel=1e-7)


@pytest.mark.parametrize(
    ("text", "alpha"),
    [
        ("z1*z2*exp(0.1*xi)", 0.60086363),
        ("z1*z2*exp(0.2*xi)", 0.62091092),
        ("z1*z2*exp(0.5*xi)", 0.73118620),
        ("z*xi", 1.46154512),
    ],
)
def test_thresholds_of_multiplied_noise(text, alpha):
    """Slices of the label in r + q variables, with the error that they state."""
    found = threshold(text)
    assert abs(found.value - alpha) < found.error
    assert found.error < 1e-3 * alpha


def test_noise_of_the_index_widens_it():
    """alpha_c = (1 + D)^2/2 for (z + sqrt(D) xi)^2; orders k lose (1 + D)^-k."""
    assert threshold("(z + 0.5*xi)**2").value == pytest.approx(0.78125, abs=1e-7)


@pytest.mark.parametrize(("p", "alpha"), [(0.1, 1.5254081), (0.25, 4.1273584)])
def test_flips_of_unbalanced_labels_are_not_a_factor(p, alpha):
    """Would catch: alpha_c/(1 - 2p)^2, which holds for balanced labels only."""
    found = threshold(f"sign(z**2 - 1)*sign(xi + {-ndtri(p):.16f})")
    assert found.value == pytest.approx(alpha, rel=1e-6)
    balanced = threshold(f"sign(z1*z2)*sign(xi + {-ndtri(p):.16f})")
    assert balanced.value == pytest.approx(math.pi**2 / 4 / (1 - 2 * p) ** 2, rel=1e-9)


@pytest.mark.parametrize(
    ("text", "limit"),
    [("(z + 0.001*xi)**2", 0.5), ("sign(z1*z2 + 0.001*xi)", math.pi**2 / 4)],
)
def test_little_noise_is_no_noise(text, limit):
    assert threshold(text).value == pytest.approx(limit, rel=3e-3)


def test_an_invertible_function_of_noise_and_signal_is_the_signal_with_label_noise():
    """The shortcut T(h + c xi), bit for bit the same rule."""
    assert threshold("tanh(z1*z2 + 0.3*xi)") == threshold("z1*z2", noise=0.09)


def test_noise_that_hides_the_mean_leaves_the_generative_exponent():
    a = gd.analyze("z*xi")
    assert (a.information_exponent, a.leap_exponent, a.generative_exponent) == (None, None, 2)
    assert "does not depend on z" in a.notes["information_exponent"]
    assert a.staircase == ()
    rows = {row.algorithm: row for row in gd.plan("z*xi", d=1000).rows}
    assert rows["Bayes-AMP"].constant.value == pytest.approx(1.4615, rel=1e-3)


def test_probit_labels_are_trivial_and_noise_is_no_direction():
    a = gd.analyze("sign(z1 + z2 + xi)")
    assert (a.information_exponent, a.learnability) == (1, "trivial")
    assert a.grand_staircase[-1].subspace.basis.shape == (1, 2)
    assert np.allclose(a.grand_staircase[-1].subspace.basis, math.sqrt(0.5))


def test_the_grand_staircase_climbs_over_noise():
    """z1 opens z2: given z1 the label z1 + z1 z2 xi has the threshold of z2 xi."""
    a = gd.analyze("z1 + z1*z2*xi")
    assert a.classes == ("trivial", "easy")
    last = a.grand_staircase[-1]
    assert abs(last.threshold.value - 1.46154512) < last.threshold.error
    assert last.subspace.dim == 2


def test_thresholds_of_one_direction_are_a_block_of_those_of_two():
    """T_2 of z*xi is the z1-z1 entry of T_2 of z1*z2: two independent codes."""
    from gradone.channels.conditional.given import output_grams
    from gradone.targets.language.expression import Expression

    gram = output_grams(Expression("z1*z2"), 0.0, [2])[2]
    indices = [tuple(i) for i in np.array([[2, 0], [1, 1], [0, 2]])]
    assert (2, 0) in indices
    strength = 2 * float(gram.value[0, 0])
    assert 1 / threshold("z*xi").value == pytest.approx(strength, rel=1e-9)


def test_too_many_variables_are_refused():
    with pytest.raises(gd.OutOfRegime, match="over the latent noise has no formula"):
        gd.analyze("sign(z1*z2*z3 + xi1*xi2*xi3)")
