"""Latent noise in the language: one text for one law, and means that are exact formulas."""

import math
import re

import numpy as np
import pytest
from hypothesis import assume, given

import gradone as gd
from gradone.base.errors import GradoneError, OutOfRegime, TargetError, TargetSyntaxError
from gradone.targets.activation import Activation
from gradone.targets.language.average import averaged
from gradone.targets.language.expression import Expression
from gradone.targets.language.latent import read_formula

from .grammar import latent_expressions


def formula_or_none(text):
    try:
        return read_formula(text)
    except GradoneError:
        return None


@given(text=latent_expressions())
def test_canonical_text_reads_back_to_the_same_function(text):
    """Would catch: names that move when the canonical text is read again."""
    found = formula_or_none(text)
    assume(found is not None)
    again = read_formula(found.canonical)
    # A direction that is not used loses its number r, so the trees are compared.
    assert again.canonical == found.canonical
    assert (again.joint.tree, again.q, again.noise) == (found.joint.tree, found.q, 0.0)
    assert read_formula(found.text).joint == found.joint


@given(text=latent_expressions())
def test_reflected_and_renamed_noise_is_the_same_target(text):
    """Would catch: a sign of the noise, or its number, that is kept."""
    found = formula_or_none(text)
    assume(found is not None)
    renamed = re.sub(r"xi(\d)", lambda m: f"(-xi{8 - int(m[1])})", text)
    other = formula_or_none(renamed)
    assume(other is not None)
    assert other.noise == pytest.approx(found.noise, rel=1e-14)
    assert (other.q, other.r) == (found.q, found.r)
    if found.q == 0:
        assert other.canonical == found.canonical
        return
    rng = np.random.default_rng(3)
    z, xi = rng.standard_normal((64, found.r)), rng.standard_normal((64, found.q))
    orders = [(0, 1), (1, 0)] if found.q == 2 else [(0,)]
    signs = [np.array(s) for s in np.ndindex(*(2,) * found.q)]
    values = [
        other.joint(np.hstack([z, (xi * (1 - 2 * s))[:, list(o)]])) for o in orders for s in signs
    ]
    own = found.joint(np.hstack([z, xi]))
    assert any(np.allclose(own, v, rtol=1e-9, atol=1e-9, equal_nan=True) for v in values)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("sign(z1*z2 - 0.3*xi)", "sign(3*xi1/10 + z1*z2)"),
        ("-z*xi7", "z1*xi1"),
        ("tanh(z - xi)", "tanh(z1 + xi1)"),
        ("z1*xi2 + z2*xi1", "z1*xi1 + z2*xi2"),
        ("exp(-xi)*z", "exp(xi1)*z1"),
    ],
)
def test_names_and_signs_are_canonical(text, canonical):
    assert gd.Target(text).canonical == canonical
    assert gd.Target(text) == gd.Target(canonical)


@pytest.mark.parametrize(
    ("text", "plain", "noise"),
    [
        ("z1*z2 + 0.3*xi", "z1*z2", 0.09),
        ("z - sqrt(0.5)*xi2", "z", 0.5),
        ("(z + xi)/2", "z/2", 0.25),
        ("z + 0.3*xi + 0.4*xi2", "z", 0.25),
    ],
)
def test_added_noise_is_label_noise_bit_for_bit(text, plain, noise):
    target = gd.Target(text)
    assert target == gd.Target(plain, noise=noise)
    assert (target.q, target.noise) == (0, noise)
    assert np.array_equal(target.sample(50, 7).y, gd.Target(plain, noise=noise).sample(50, 7).y)


def test_noise_that_stands_elsewhere_too_is_not_label_noise():
    assert (gd.Target("z + xi + z*xi").q, gd.Target("z + xi + z*xi").noise) == (1, 0.0)
    mixed = gd.Target("tanh(z + xi) + xi2/2", noise=0.5)
    assert (mixed.q, mixed.noise) == (1, 0.75)


def test_errors_speak_of_the_noise_as_it_was_typed():
    with pytest.raises(TargetError, match="depends on latent noise alone"):
        gd.Target("xi**2 + 1")
    with pytest.raises(TargetError, match=r"denominator 'xi1' vanishes"):
        gd.Target("z1 + 1/xi")
    with pytest.raises(TargetSyntaxError, match=r"latent noise 'xi'"):
        Activation("tanh(z + xi)")
    with pytest.raises(TargetSyntaxError, match="unknown name 'xi10'"):
        gd.Target("z + xi10")
    with pytest.raises(TargetSyntaxError, match="latent noise 'xi2'"):
        gd.Sight(outer="tanh(h + xi2)", inner="He2(z)", exponent=0.5)


def test_latex_writes_the_letter():
    assert gd.Target("z*xi2").latex == r"z_{1} \, \xi_{1}"


# ---- means over the noise

MEANS = {
    "sign(z + sqrt(0.5)*xi)": "erf(z1)",
    "step(z - 2*xi)": "erf(z1/sqrt(8))/2 + 0.5",
    "sign(z1*z2)*sign(xi)": "0",
    "z*xi": "0",
    "(z + xi/2)**2": "z1**2 + 0.25",
    "He3(z + xi)": "z1**3",
    "exp(z + xi)": "exp(z1 + 0.5)",
    "sin(z + 2*xi)": "exp(-2)*sin(z1)",
    "erf(z + xi)": "erf(z1/sqrt(3))",
    "z1*step(xi) + z2*step(-xi)": "z1/2 + z2/2",
    "sign(z + xi)**2*z": "z1",
    "sign(z)*exp(xi1 + xi2)": "2.718281828459045*sign(z1)",
}


@pytest.mark.parametrize(("text", "mean"), MEANS.items())
def test_means_that_have_a_formula_are_that_formula(text, mean):
    assert gd.Target(text).regression.canonical == mean


TEXTS = [
    *MEANS, "relu(z + xi/2)", "abs(z - xi)", "max(z1, z2 + xi)", "relu(z + xi)**2", "gelu(z + xi)",
    "tanh(z1*z2 + 0.3*xi)", "tanh(z - xi)*xi", "sigmoid(2*z + xi1)*xi2**2", "softplus(z*xi)",
    "sign(z*(1 + xi/2))", "abs(z - xi)**3", "min(xi, z)*z", "cos(z*xi)",
    "step(z + xi)*xi", "sign(z1 + (1 + z2**2)*xi)", "z/(1 + z**2 + xi**2)",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_means_are_those_of_gauss_legendre_panels(text):
    """An independent rule: 4000 panels of two nodes, product over the latent variables."""
    target = gd.Target(text)
    edges = np.linspace(-9, 9, 4001)
    nodes, weights = np.polynomial.legendre.leggauss(2)
    x = ((edges[1:] + edges[:-1])[:, None] + np.diff(edges)[:, None] * nodes).ravel() / 2
    w = (
        (np.diff(edges)[:, None] / 2 * weights).ravel()
        * np.exp(-(x**2) / 2)
        / math.sqrt(2 * math.pi)
    )
    if target.q == 2:  # fewer panels for each
        x, w = np.polynomial.hermite_e.hermegauss(60)
        w = w / w.sum()
        x, w = np.stack(np.meshgrid(x, x), -1).reshape(-1, 2), np.outer(w, w).ravel()
    x = x.reshape(len(w), -1)
    for z in ([0.3, -1.1], [-0.7, 0.2], [2.0, 1.5]):
        points = np.broadcast_to(z[: target.r], (len(x), target.r))
        known = float(w @ target(points, x))
        # A jump inside a panel costs at most its weight.
        allowed = 2e-3 if "sign" in text or "step" in text else 1e-6
        assert float(target.mean([z[: target.r]])[0]) == pytest.approx(known, abs=allowed)


@pytest.mark.parametrize("text", ["sign(z1 + z2*xi)", "sqrt(z**2 + xi**2)", "sign(z + xi**2)"])
def test_a_mean_without_a_formula_is_refused_in_the_words_of_the_text(text):
    target = gd.Target(text)
    with pytest.raises(OutOfRegime, match=r"xi1.*no formula"):
        target.mean(np.zeros((1, target.r)))
    assert target.sample(100, 5).y.shape == (100,)


def test_the_mean_of_nothing_is_the_function():
    f = Expression("tanh(z1)*z2")
    assert averaged(f, 2) == f
