"""Coordinates in which a function is simplest: the linear forms through which it sees z."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..targets.essential import essential
from ..targets.language.expression import Expression
from ..targets.language.functions import substitute
from ..targets.language.structure import affine_form, typed_forms
from ..targets.language.tree import Node, Variable, add, multiply, nodes, number
from .subspace import Subspace

# Products of typed decimals cancel up to their rounding; such remainders are no dependence.
_ROUNDING = 1e-12


class Framed(NamedTuple):
    """Function in the coordinates of orthonormal rows (k, r) that span all it depends on."""

    expression: Expression
    rows: np.ndarray


def linear_forms(expression: Expression) -> list[np.ndarray]:
    """Directions of the linear forms typed in an expression, each once, as unit vectors.

    Examples
    --------
    >>> [w.round(3).tolist() for w in linear_forms(Expression("tanh(z1 + z2) + z1"))]
    [[0.707, 0.707], [1.0, 0.0]]
    """
    return typed_forms(expression.tree, expression.r)


def rewrite(expression: Expression, rows: np.ndarray) -> Expression:
    r"""Expression in the coordinates :math:`t = B z` of orthonormal rows, free of rounding.

    Every linear form of the tree is rewritten as a whole, so what cancels in it cancels exactly.

    Examples
    --------
    >>> c, s = np.cos(0.3), np.sin(0.3)
    >>> f = Expression(f"sign({c:.15f}*z1 + {s:.15f}*z2) + ({c:.15f}*z2 - {s:.15f}*z1)**2")
    >>> rewrite(f, np.array([[c, s], [-s, c]])).canonical
    'sign(z1) + z2**2'
    """
    r, letter = expression.r, expression.letter
    if rows.shape == (r, r) and np.array_equal(rows, np.eye(r)):
        return expression
    values: dict[Node, Node] = {}
    for part in nodes(expression.tree):
        form = affine_form(part, r)
        if form is None or not form[0].any():
            continue
        w, offset = form
        slopes = [(j, _rounded(b)) for j, b in enumerate(rows @ w, start=1)]
        limit = _ROUNDING * float(np.linalg.norm(w))
        terms: list[Node] = [
            multiply((number(Fraction(b)), Variable(letter, j)))
            for j, b in slopes
            if abs(b) > limit
        ]
        values[part] = add([*terms, number(Fraction(offset))])
    tree = substitute(expression.tree, values)
    return Expression.from_tree(tree, letter=letter, r=max(len(rows), 1))


def _rounded(x: float) -> float:
    return round(x) if abs(x - round(x)) < 1e-13 else float(x)


@lru_cache(maxsize=64)
def natural_frame(expression: Expression) -> Framed:
    """Function in as few coordinates as it needs, along its linear forms if they are orthogonal.

    A rotated function comes back in its unrotated coordinates, where its terms separate and its
    jumps are parallel to the axes.

    Examples
    --------
    >>> natural_frame(Expression("abs(z1 + z2) * tanh(z1 - z2)")).rows.round(3).tolist()
    [[0.707, 0.707], [0.707, -0.707]]
    """
    return typed_frame(essential(expression))


@lru_cache(maxsize=64)
def typed_frame(expression: Expression) -> Framed:
    """The same, where the text is trusted to name no more directions than the function has."""
    r = expression.r
    forms = linear_forms(expression)
    matrix = np.array(forms).reshape(-1, r)
    gram = matrix @ matrix.T
    span = expression.span
    if len(forms) == len(span) and np.abs(gram - np.eye(len(forms))).max(initial=0.0) < 1e-9:
        rows = _in_order(matrix)
    elif len(span) < len(expression.variables):
        rows = Subspace.span(span, r).basis
    else:
        rows = np.eye(r)[[i - 1 for i in expression.variables]]
    # Typed decimals are orthonormal up to their rounding only.
    u, _, v = np.linalg.svd(rows, full_matrices=False)
    rows = rows if np.array_equal(rows @ rows.T, np.eye(len(rows))) else u @ v
    return Framed(rewrite(expression, rows), rows)


def _in_order(matrix: np.ndarray) -> np.ndarray:
    """Rows sorted by their first variable, with the first entry positive."""
    signs = [np.sign(row[np.flatnonzero(np.abs(row) > _ROUNDING)[0]]) for row in matrix]
    rows = matrix * np.array(signs).reshape(-1, 1)
    order = sorted(range(len(rows)), key=lambda i: tuple(-np.round(rows[i], 9)))
    return rows[order]
