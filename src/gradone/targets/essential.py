r"""Functions written with more directions than they depend on.

The linear forms of a text bound what a function depends on: ``max(z1, z2) - min(z1, z2)`` is
:math:`|z_1 - z_2|`, whatever its letters say. With P the projector on the directions in which the
function really changes (its gradients, and the normals of its jumps), and s a shift orthogonal to
them,

.. math:: g(z) = g(P z + s)  [ES-1]

is the same function, and its text names no other direction.
"""

from __future__ import annotations

import copy
from fractions import Fraction
from functools import lru_cache

import numpy as np

from .language.expression import Expression
from .language.functions import substitute
from .language.tree import Node, Variable, add, multiply, number
from .rotations import null_space
from .symmetries import Invariance
from .tangents import smooth_tangents, tangents
from .target import Target

_SIMPLE = 64  # largest denominator of a projector that is taken for exact
_GENERIC = (0.73, -0.58, 0.91, -0.67, 0.83, -0.71, 0.62, -0.94, 0.77)  # no jump passes here


@lru_cache(maxsize=256)
def essential(expression: Expression) -> Expression:
    """The same function, written in the directions that it depends on.

    The expression itself if its text names no others. The rewritten function is accepted only if
    it has the same values, to nine digits, at 4096 points of several widths.

    Examples
    --------
    >>> essential(Expression("exp(z1)*exp(z2)")).span.round(3).tolist()
    [[0.707, 0.707]]
    >>> essential(Expression("sign(z1)*sign(z1)*z2")).span.tolist()
    [[0.0, 1.0]]
    """
    typed = len(expression.span)
    if typed < 2 or expression.polynomial is not None:
        return expression
    r = expression.r
    others = null_space(smooth_tangents(expression).normals)
    if r - len(others) < typed:  # only then the jumps matter
        others = null_space(tangents(expression).normals)
    if r - len(others) >= typed:
        return expression
    P = np.eye(r) - others.T @ others
    keeps = Invariance(expression)
    for origin in (np.zeros(r), others.T @ others @ np.resize(_GENERIC, r)):
        # At the origin itself the function may jump, as sign(z1)*sign(z1)*z2 does.
        found = _moved(expression, P, origin)
        if keeps.is_kept_by(found) and len(found.span) < typed:
            return found
    return expression


def essential_target(target: Target) -> Target:
    """Target with the same labels whose function names only directions that it depends on."""
    found = essential(target.expression)
    if found == target.expression:
        return target
    same = copy.copy(target)
    object.__setattr__(same, "expression", found)
    return same


def _moved(expression: Expression, P: np.ndarray, origin: np.ndarray) -> Expression:
    """The function z -> g(P z + origin)."""
    letter, r = expression.letter, expression.r
    values: dict[Node, Node] = {}
    for i in expression.variables:
        terms = [
            multiply((number(_fraction(p)), Variable(letter, j)))
            for j, p in enumerate(P[i - 1], start=1)
            if abs(p) > 1e-12
        ]
        values[Variable(letter, i)] = add([*terms, number(Fraction(float(origin[i - 1])))])
    return Expression.from_tree(substitute(expression.tree, values), letter=letter, r=r)


def _fraction(x: float) -> Fraction:
    """A simple fraction that a number is up to rounding, or the number."""
    simple = Fraction(x).limit_denominator(_SIMPLE)
    return simple if abs(simple - x) < 1e-12 else Fraction(float(x))
