"""Expressions in other coordinates."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .expression import Expression
from .functions import substitute
from .structure import affine_form, typed_forms
from .tree import Node, Variable, add, multiply, nodes, number

# Products of typed decimals cancel up to their rounding; such remainders are no dependence.
_ROUNDING = 1e-12
_SIMPLE = 64  # largest denominator of a number that is taken for exact


def linear_forms(expression: Expression) -> list[np.ndarray]:
    """Directions of the linear forms typed in an expression, each once, as unit vectors.

    Examples
    --------
    >>> [w.round(3).tolist() for w in linear_forms(Expression("tanh(z1 + z2) + z1"))]
    [[0.707, 0.707], [1.0, 0.0]]
    """
    return typed_forms(expression.tree, expression.r)


def rewrite(
    expression: Expression, rows: np.ndarray, origin: np.ndarray | None = None
) -> Expression:
    r"""Expression in the coordinates :math:`t = B z` of some rows, free of rounding.

    The function :math:`t \mapsto g(B^\top t + s)`, which is g itself where the rows are
    orthonormal and span all that it depends on. Every linear form of the tree is rewritten as a
    whole, so what cancels in it cancels exactly.

    Parameters
    ----------
    expression : Expression
        Function g of z.
    rows : ndarray (k, r)
        B; also a projector, in whose coordinates a function is written in z again.
    origin : ndarray (r,), optional
        s, zero by default.

    Examples
    --------
    >>> c, s = np.cos(0.3), np.sin(0.3)
    >>> f = Expression(f"sign({c:.15f}*z1 + {s:.15f}*z2) + ({c:.15f}*z2 - {s:.15f}*z1)**2")
    >>> rewrite(f, np.array([[c, s], [-s, c]])).canonical
    'sign(z1) + z2**2'
    >>> rewrite(Expression("sign(z2 + z3**2)"), np.eye(3)[1:]).canonical
    'sign(z1 + z2**2)'
    """
    r, letter = expression.r, expression.letter
    if origin is None:
        if rows.shape == (r, r) and np.array_equal(rows, np.eye(r)):
            return expression
        origin = np.zeros(r)
    values: dict[Node, Node] = {}
    for part in nodes(expression.tree):
        form = affine_form(part, r)
        if form is None or not form[0].any():
            continue
        w, offset = form
        limit = _ROUNDING * float(np.linalg.norm(w))
        terms: list[Node] = [
            multiply((number(_fraction(b)), Variable(letter, j)))
            for j, b in enumerate(rows @ w, start=1)
            if abs(b) > limit
        ]
        values[part] = add([*terms, number(Fraction(offset) + Fraction(float(w @ origin)))])
    tree = substitute(expression.tree, values)
    return Expression.from_tree(tree, letter=letter, r=max(len(rows), 1))


def _fraction(x: float) -> Fraction:
    """A simple fraction that a number is up to rounding, or the number."""
    simple = Fraction(float(x)).limit_denominator(_SIMPLE)
    return simple if abs(simple - x) < 1e-13 else Fraction(float(x))
