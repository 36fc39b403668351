"""Coordinates in which a function is simplest: the linear forms through which it sees z."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .essential import essential
from .language.coordinates import linear_forms, rewrite
from .language.expression import Expression
from .rotations import spanning_rows

_ROUNDING = 1e-12


class Framed(NamedTuple):
    """Function in the coordinates of orthonormal rows (k, r) that span all it depends on."""

    expression: Expression
    rows: np.ndarray


@lru_cache(maxsize=64)
def natural_frame(expression: Expression, latent: int = 0) -> Framed:
    """Function in as few coordinates as it needs, along its linear forms if they are orthogonal.

    A rotated function comes back in its unrotated coordinates, where its terms separate and its
    jumps are parallel to the axes.

    Parameters
    ----------
    expression : Expression
        The function.
    latent : int
        How many of the last variables are latent noise: they stay what they are.

    Examples
    --------
    >>> natural_frame(Expression("abs(z1 + z2) * tanh(z1 - z2)")).rows.round(3).tolist()
    [[0.707, 0.707], [0.707, -0.707]]
    >>> natural_frame(Expression("tanh(z1 + z2 + 2*z3)"), latent=1).rows.round(3).tolist()
    [[0.707, 0.707, 0.0], [0.0, 0.0, 1.0]]
    """
    return _latent_frame(expression, latent) if latent else typed_frame(essential(expression))


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
        rows = spanning_rows(span)
    else:
        rows = np.eye(r)[[i - 1 for i in expression.variables]]
    # Typed decimals are orthonormal up to their rounding only.
    u, _, v = np.linalg.svd(rows, full_matrices=False)
    rows = rows if np.array_equal(rows @ rows.T, np.eye(len(rows))) else u @ v
    return Framed(rewrite(expression, rows), rows)


def _latent_frame(expression: Expression, latent: int) -> Framed:
    """The same for z alone, where the last variables are latent noise and stay what they are."""
    r = expression.r - latent
    used = [i - 1 for i in expression.variables if i <= r]
    seen = spanning_rows(expression.span[:, :r])
    rows = np.eye(expression.r)[[*used, *range(r, expression.r)]]
    if len(seen) < len(used):
        rows = np.vstack([np.pad(seen, ((0, 0), (0, latent))), rows[len(used) :]])
    return Framed(rewrite(expression, rows), rows)


def _in_order(matrix: np.ndarray) -> np.ndarray:
    """Rows sorted by their first variable, with the first entry positive."""
    signs = [np.sign(row[np.flatnonzero(np.abs(row) > _ROUNDING)[0]]) for row in matrix]
    rows = matrix * np.array(signs).reshape(-1, 1)
    order = sorted(range(len(rows)), key=lambda i: tuple(-np.round(rows[i], 9)))
    return rows[order]
