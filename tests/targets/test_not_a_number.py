"""Not-a-number in, not-a-number out: no function of the language makes a number of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradone.targets.language.compiled import compiled
from gradone.targets.language.expression import Expression
from gradone.targets.language.functions import FUNCTIONS
from gradone.targets.target import Target

# In both orders: a comparison with not-a-number is false.
TWO_ARGUMENTS = ("max", "min")
APART = ("log", "sqrt", "He0")  # two need a positive argument, one is constant
TEXTS = [
    *(f"{name}(z1) + z2" for name in FUNCTIONS if name not in (*TWO_ARGUMENTS, *APART)),
    *(f"{name}({pair})" for name in TWO_ARGUMENTS for pair in ("z1, z2", "z2, z1")),
    *("log(1 + abs(z1)) + z2", "sqrt(abs(z1)) + z2", "1/(1 + z1**2) + z2", "z1*sign(z2)"),
    *("step(z1)*step(z2)", "sign(z1)**2*z2", "He3(z1)*z2"),
]


@pytest.mark.parametrize("text", TEXTS)
def test_targets_pass_it_on(text):
    """As NumPy does; `step` once gave 0."""
    z = np.array([[math.nan, 0.3], [0.3, 0.4]])
    values = Target(text)(z)
    assert math.isnan(values[0])
    assert math.isfinite(values[1])


COMPARING = ("sign(", "step(", "relu(", "max(", "min(", "sqrt(", "softplus(")


@pytest.mark.parametrize("text", [text for text in TEXTS if text.startswith(COMPARING)])
def test_scalar_source_passes_it_on(text):
    f = compiled(Expression(text))
    assert math.isnan(f(math.nan, 0.3))
    assert f(0.3, 0.4) == pytest.approx(float(Target(text)(np.array([0.3, 0.4]))), rel=1e-12)
