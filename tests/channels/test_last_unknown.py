"""Many conditions at once say the same as each condition alone."""

from __future__ import annotations

import numpy as np
import pytest

from gradone.channels.conditional.given import conditional_grams, output_grams
from gradone.channels.conditional.last_unknown import last_unknown_grams
from gradone.targets.language.coordinates import rewrite
from gradone.targets.language.expression import Expression
from gradone.targets.language.transform import given
from gradone.targets.subspace import Subspace

KNOWN = np.array([[0.31], [-1.4], [2.2]])
TEXTS = [
    "z1*z2",
    "tanh(z1*z2**2 + z1) - 3",
    "relu(z1)*z2",
    "sign(z2 - sin(2*z1))",
    "abs(z2 - z1) + z2/3",
    "He3(0.8*z1 + 0.6*z2) + z1*z2",
    "sign(z1 + z2**3/2) + z2",
    "exp(z1)*cos(3*z2) + z1**2",
    "max(z1, z2)",
    "z1 + z1**2",
]


def same(a, b):
    margin = float(np.max(a.bias)) + float(np.max(b.bias)) + 1e-12
    return abs(float(a.value[0, 0]) - float(b.value[0, 0])) <= margin


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("text", TEXTS)
def test_all_conditions_at_once(text, noise):
    f = Expression.from_tree(Expression(text).tree, r=2)
    together = last_unknown_grams(f, noise, KNOWN, [1, 2], lambda u, w: {})
    for u, grams in zip(KNOWN, together, strict=True):
        alone = output_grams(given(f, {1: float(u[0])}), noise, [1, 2])
        assert same(grams[1], alone[1])
        assert same(grams[2], alone[2])


def test_a_factor_that_vanishes_leaves_nothing():
    positive, negative = last_unknown_grams(
        Expression("relu(z1)*z2"), 0.0, np.array([[0.5], [-0.5]]), [1], lambda u, w: {}
    )
    assert float(positive[1].value[0, 0]) == pytest.approx(1.0, abs=1e-9)
    assert float(negative[1].value[0, 0]) == 0.0


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize(
    "text", ["erf(z1) + erf(z2)", "gelu(z1*z2)", "relu(z1)*relu(z2)", "sign(z1) + sign(z2)"]
)
def test_half_the_line_is_enough_where_two_variables_may_change_places(text, noise):
    """Given z1 + z2 nothing changes with the sign of z1 - z2, which the form does not show."""
    f, known = Expression(text), Subspace.span([[1.0, 1.0]])
    grams = conditional_grams(f, noise, known, [1, 2])
    assert not grams[1].value.any()
    assert not grams[1].entry_error().any()
    turned = rewrite(f, np.vstack([known.basis, known.complement().basis]))
    half, whole = (
        last_unknown_grams(turned, noise, KNOWN, [1, 2], lambda u, w: {}, is_even=is_even)
        for is_even in (True, False)
    )
    for a, b in zip(half, whole, strict=True):
        assert abs(float(b[1].value[0, 0])) <= float(np.max(b[1].bias))
        assert same(a[2], b[2])
