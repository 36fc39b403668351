"""Activations: one-variable expressions that know their derivatives and Hermite coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.arrays import as_floats
from ..base.errors import TargetError
from ..base.estimate import Estimate
from ..calculus.bivariate import bivariate_expectation
from .language.evaluate import evaluate_columns
from .language.expression import Expression


class Activation:
    """Scalar function of one variable, typed as text.

    Parameters
    ----------
    text : str
        Expression in ``z``: ``"relu(z)"``, ``"tanh(z)"``, ``"He2(z)/2 + He3(z)/6"``.

    Examples
    --------
    >>> relu = Activation("relu(z)")
    >>> relu([-1.0, 2.0]), relu.derivative().text, relu.kinks
    (array([0., 2.]), 'step(z1)', (0.0,))
    >>> relu.hermite(2)
    0.398942280401433 ± 7e-16 (quadrature)
    """

    def __init__(self, text: str) -> None:
        expression = Expression(text, what="the activation")
        if expression.variables != (1,):
            raise TargetError(
                f"an activation is a function of z alone, but '{text}' uses "
                + ", ".join(f"z{i}" for i in expression.variables)
            )
        self.expression = expression

    @classmethod
    def of(cls, expression: Expression) -> Activation:
        """Activation of an expression of one variable that was derived from a checked one."""
        activation = cls.__new__(cls)
        activation.expression = expression
        return activation

    @property
    def text(self) -> str:
        """Text of the function."""
        return self.expression.text

    @property
    def latex(self) -> str:
        """LaTeX of the function."""
        return self.expression.latex

    @property
    def kinks(self) -> tuple[float, ...]:
        """Points where the function or its derivative jumps."""
        return self.expression.kinks

    def __call__(self, x: Any) -> Any:
        """Values at an array of any shape and library."""
        xp, x = as_floats(x)
        value = evaluate_columns(self.expression.tree, lambda index: x, xp)
        return xp.zeros_like(x) + value if isinstance(value, float) else value

    def derivative(self, order: int = 1) -> Activation:
        """Derivative, valid away from jumps."""
        expression = self.expression
        for _ in range(order):
            expression = expression.derivative()
        return Activation.of(expression)

    def hermite(self, k: int) -> Estimate:
        r"""Hermite coefficient :math:`c_k = \mathbb{E}[\sigma(z)\,\mathrm{He}_k(z)]`."""
        return self.expression.hermite(k).coefficient(k)

    def covariance_with(self, other: Activation, correlation: float) -> Estimate:
        r"""Mean :math:`\mathbb{E}[\sigma(u)\tau(v)]`, u and v standard with this correlation."""
        matrix = np.array([[1.0, correlation], [correlation, 1.0]])
        return bivariate_expectation(self.expression.form, other.expression.form, matrix)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Activation) and self.expression == other.expression

    def __hash__(self) -> int:
        return hash(self.expression)

    def __repr__(self) -> str:
        return f"Activation({self.text!r})"
