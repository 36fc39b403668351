"""Functions that stand for a formula: their values against other definitions, what is refused."""

import re

import numpy as np
import pytest
from scipy import special

import gradone as gd
from gradone.targets.language.abbreviations import ABBREVIATIONS
from gradone.targets.language.compiled import compiled
from gradone.targets.language.expression import Expression
from gradone.targets.language.printing import text_of

from .grammar import samples
from .oracle import NUMPY, Algebra, read

# Definitions by cases, which share no form with ours.
BY_CASES = {
    "clip": np.clip,
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0))),
    "hardtanh": lambda x: np.where(np.abs(x) < 1, x, np.sign(x)),
    "leaky_relu": lambda x, a: np.where(x > 0, x, a * x),
    "silu": lambda x: x * special.expit(x),
    "max": lambda *values: np.max(np.broadcast_arrays(*values), axis=0),
    "min": lambda *values: np.min(np.broadcast_arrays(*values), axis=0),
}
TWIN = Algebra(NUMPY.number, NUMPY.pi, NUMPY.functions | BY_CASES)
TEXTS = [
    "clip(z1*z2, -1, 2)", "clip(z1, z2, z2 + 1)", "elu(2*z1 - z2)", "hardtanh(3*z1)",
    "leaky_relu(z1, 0.1)", "leaky_relu(z1, 3)", "leaky_relu(z1, -1)", "leaky_relu(z1, 0)",
    "leaky_relu(z2, sqrt(2))", "leaky_relu(z1, z2)", "silu(z1 - z2**2)", "max(z1, z2, 1 - z1)",
    "min(z1, z2, z1*z2, 0.3)", "max(0.2, min(z1, z2, 1), z1, -1)",
]  # fmt: skip


def test_every_abbreviation_is_tried():
    assert all(any(name in text for text in TEXTS) for name in ABBREVIATIONS)


@pytest.mark.parametrize("text", TEXTS)
def test_values_slopes_and_round_trip(text, rng):
    """Would catch: the wrong branch above slope 1, bounds exchanged, text that reads wrongly."""
    f = Expression(text)
    z = rng.standard_normal((200, 2)) * 2
    expected = read(text, TWIN, [z[:, 0], z[:, 1]])
    np.testing.assert_allclose(f(z[:, : f.r]), expected, rtol=1e-13, atol=1e-14)
    scalar = compiled(f)
    np.testing.assert_allclose(
        [scalar(*point) for point in z[:20, : f.r]], expected[:20], rtol=1e-13, atol=1e-14
    )
    assert Expression(text_of(f.tree)) == f
    for i in range(f.r):
        step = 1e-6 * np.eye(2)[i]
        ends = [read(text, TWIN, list((z + sign * step).T)) for sign in (1, -1)]
        slope, difference = f.derivative(i + 1)(z[:, : f.r]), (ends[0] - ends[1]) / 2e-6
        assert np.mean(np.abs(slope - difference) > 1e-6 * (1 + np.abs(slope))) < 0.01  # kinks


def test_random_expressions(rng):
    """Would catch: an abbreviation inside others that is put together wrongly."""
    names = iter(rng.choice(["elu", "hardtanh", "silu"], size=1000))
    tried = 0
    for plain in samples(400, seed=5, depth=3):
        text = re.sub(
            r"\b(?:tanh|relu|gelu|sign|step|sin|cos)\(", lambda _: f"{next(names)}(", plain
        )
        if text == plain:
            continue
        try:
            f = Expression(text)
        except gd.TargetSyntaxError:  # none of these texts is large
            raise
        except gd.TargetError:  # a constant, a pole, a root of something negative
            continue
        z = rng.standard_normal((50, 3))
        with np.errstate(all="ignore"):
            expected = np.broadcast_to(read(text, TWIN, list(z.T)), 50)
        moved = f(z[:, : f.r] * (1 + 1e-9)) - f(z[:, : f.r])
        scale = 1 + np.abs(expected) + np.abs(moved) * 1e9
        assert np.all(np.abs(f(z[:, : f.r]) - expected) < 1e-11 * scale), text
        assert Expression(text_of(f.tree)) == f
        tried += 1
    assert tried > 50


def test_facts_follow_from_the_formula():
    """Increasing functions of one projection are learned at any n/d; elu and hardtanh by values."""
    for text in ("leaky_relu(z, 0.1)", "leaky_relu(z, 3)", "elu(z)", "hardtanh(z)"):
        found = gd.analyze(text)
        assert (found.generative_exponent, found.learnability) == (1, "trivial")
    # E[z^2; |z| < 1] + P(|z| > 1)
    phi, tail = np.exp(-0.5) / np.sqrt(2 * np.pi), special.ndtr(-1)
    second = (1 - 2 * tail - 2 * phi) + 2 * tail
    assert float(gd.Target("hardtanh(z)").variance) == pytest.approx(second, abs=1e-12)
    largest = gd.Target("max(z1, z2, z3)").variance  # of order statistics, in closed form
    assert abs(largest.value - (4 * np.pi - 9 + 2 * np.sqrt(3)) / (4 * np.pi)) <= 3 * largest.error
    assert largest.error < 1e-4


def test_a_maximum_is_printed_flat():
    """Failed before: a balanced maximum of 32 parts had a text of 31 brackets, which none reads."""
    parts = [f"z1 - {i}*z2" for i in range(32)]
    while len(parts) > 1:
        parts = [f"max({a}, {b})" for a, b in zip(parts[::2], parts[1::2], strict=True)]
    f = Expression(gd.Target(parts[0]).canonical)
    assert f.text.count("max") == 1
    assert f == Expression(parts[0])
    assert gd.Target("min(z1, max(z3, z2, z1), 2)").canonical == "min(2, max(z1, z2, z3), z1)"
    assert Expression("max(z1, z2, z3)").latex == r"\max\left(z_{1}, z_{2}, z_{3}\right)"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("clip(z1, z2)", r"'clip' takes 3 arguments, got 2[\s\S]*Write clip\(z1, -1, 2\)"),
        ("leaky_relu(z1)", r"takes 2 arguments, got 1[\s\S]*Write leaky_relu\(z1, 0.1\)"),
        ("max(z1)", "takes 2 arguments or more, got 1"),
        ("silu + z1", "'silu' is a function"),
        ("eluu(z1)", "Did you mean 'elu'"),
        ("clip(z1, 2, 1)", "is a constant: it is 1"),
        ("silu(" * 20 + "z" + ")" * 20, "more than 600 parts"),
        ("hardtanh(" * 13 + "z" + ")" * 13, "written out.*brackets are nested more than 25 deep"),
        ("max(" + ",".join(f"{i}*z" for i in range(1, 130)) + ")", "more than 100 deep"),
    ],
)
def test_what_is_refused(text, problem):
    """Would catch: a formula that doubles twenty times, a text that cannot be read back."""
    with pytest.raises(gd.TargetError, match=problem):
        gd.Target(text)


def test_slopes_where_arguments_are_equal_in_a_region():
    """Failed before: the slope of max(z, relu(z)) was 0 for z > 0, where the two are equal."""
    z = np.array([[-1.5], [0.7]])
    assert Expression("max(z, relu(z))").derivative(1)(z).tolist() == [0.0, 1.0]
    assert Expression("min(z, abs(z))").derivative(1)(z).tolist() == [1.0, 1.0]
    assert Expression("max(z, 0)").derivative(1).text == "step(z1)"
