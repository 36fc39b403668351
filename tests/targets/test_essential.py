"""A function is judged by what it depends on, not by the letters of its text."""

import numpy as np
import pytest

import gradone as gd
from gradone.targets.essential import essential
from gradone.targets.language.expression import Expression

# What was typed, the same function written plainly, and the directions on which it depends.
DISGUISED = [
    ("exp(z1)*exp(z2)", "exp(z1 + z2)", [[1, 1]]),
    ("max(z1, z2) - min(z1, z2)", "abs(z1 - z2)", [[1, -1]]),
    ("max(z1, z2) + min(z1, z2)", "z1 + z2", [[1, 1]]),
    ("max(z1, z2) - z1", "relu(z2 - z1)", [[1, -1]]),
    ("sin(z1)*cos(z2) + cos(z1)*sin(z2)", "sin(z1 + z2)", [[1, 1]]),
    ("cos(z1)*cos(z2) - sin(z1)*sin(z2)", "cos(z1 + z2)", [[1, 1]]),
    ("sign(z1)*sign(z1)*z2", "z2", [[0, 1]]),
    ("sign(z1*z2)*sign(z1)*sign(z3)", "sign(z2*z3)", [[0, 1, 0], [0, 0, 1]]),
    ("min(z1, max(z1, z2))", "z1 + 0*z2", [[1, 0]]),
    ("sigmoid(z1) + sigmoid(-z1) + z2**2", "1 + z2**2", [[0, 1]]),
    ("max(z1, z2) - z1 + z3**2", "relu(z2 - z1) + z3**2", [[1, -1, 0], [0, 0, 1]]),
]


@pytest.mark.parametrize(("typed", "plain", "rows"), DISGUISED)
def test_a_disguised_function_keeps_its_values_and_loses_its_directions(
    typed: str, plain: str, rows: list[list[float]]
) -> None:
    found = essential(Expression(typed))
    B = np.array(rows) / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(found.span.T @ found.span, B.T @ B, atol=1e-9)
    z = np.random.default_rng(5).standard_normal((1000, found.r))
    np.testing.assert_allclose(found(z), Expression(typed)(z), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("typed", "plain", "rows"), DISGUISED)
def test_a_disguise_does_not_make_a_function_hard(
    typed: str, plain: str, rows: list[list[float]]
) -> None:
    found, expected = gd.analyze(typed), gd.analyze(plain)
    assert found.learnability == expected.learnability != "hard"
    assert found.never.dim == 0
    assert found.unused.dim == found.target.r - len(rows)
    assert found.full_threshold.agrees_with(expected.full_threshold)


@pytest.mark.parametrize(
    "text",
    ["sign(z1*z2*z3)", "z1 + step(z2 - 5)", "tanh(z1*z2)", "sign(z1) + sign(z2)", "max(z1, z2)",
     "relu(z1) + relu(z2) - z1", "z1 + 1e-6*tanh(z2)"],
)  # fmt: skip
def test_what_is_used_stays(text: str) -> None:
    expression = Expression(text)
    assert essential(expression) == expression


def test_state_evolution_sees_through_a_disguise() -> None:
    """Labels without noise that determine a form: its overlap is n/d, half of it in each axis."""
    found = gd.predict("exp(z1)*exp(z2)", "bayes_amp", alpha=0.5)
    np.testing.assert_allclose(found.overlap.values.ravel(), 0.25, atol=1e-5)
