r"""The part of a target that is linear, which every posterior channel integrates in closed form.

Given the directions u that matter otherwise, a target is affine in the rest,

.. math:: g(z) = h(u) + \langle \beta(u), t\rangle                                     [LP-1]

with :math:`\beta` constant (``tanh(z1*z2) + z3``, and ``max(z1, z2)`` along (1, 1)) or not
(``z1*z2`` with u = z1, t = z2). Given u and the label, t is Gaussian.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..base.seeds import stream
from ..targets.language.breaks import break_planes, kinks
from ..targets.language.evaluate import evaluate_columns
from ..targets.language.expression import Expression
from ..targets.language.functions import FUNCTIONS
from ..targets.language.structure import linear_span
from ..targets.language.tree import Node

_POINTS = 2048
_SAME = 1e-9  # second differences below this size, relative to the values, are rounding
_STEPS = (0.37, 1.9)


@dataclass(frozen=True, eq=False)
class LinearPart:
    r"""Decomposition [LP-1] of a function in an orthonormal frame.

    Directions on which the function does not depend at all belong neither to u nor to t.

    Parameters
    ----------
    tree : Node
        The function g.
    frame : array (k + s, r)
        Orthonormal rows: the directions of u, then those of t.
    k : int
        Dimension of u.
    slope : float
        Coefficient of the last direction of t, along which :math:`\beta` is constant; 0 if there
        is no such direction.
    """

    tree: Node
    frame: np.ndarray
    k: int
    slope: float

    @property
    def s(self) -> int:
        """Dimension of t."""
        return len(self.frame) - self.k

    @property
    def is_constant(self) -> bool:
        r"""Whether :math:`\beta` does not depend on u."""
        return self.s == (self.slope != 0)

    def __call__(self, u: Sequence[np.ndarray]) -> tuple[np.ndarray, list[Any]]:
        """Values of h and of each entry of beta at the columns `u`; a constant stays a number."""
        h = self._values(u, None)
        varying = self.k + self.s - (self.slope != 0)
        beta: list[Any] = [self._values(u, row) - h for row in range(self.k, varying)]
        return h, [*beta, self.slope] if self.slope else beta

    def _values(self, u: Sequence[np.ndarray], unit: int | None) -> np.ndarray:
        """The function at (u, 0), or with the coordinate `unit` of t set to 1."""

        def column(index: int) -> Any:
            # Plain numbers, which leave columns in single precision as they are.
            total: Any = 0.0 if unit is None else float(self.frame[unit, index - 1])
            for row, values in zip(self.frame[:, index - 1].tolist(), u, strict=False):
                if row:
                    term = values if row == 1.0 else row * values
                    total = term if isinstance(total, float) and not total else total + term
            return total

        return np.asarray(evaluate_columns(self.tree, column))


@lru_cache(maxsize=64)
def linear_part(expression: Expression) -> LinearPart:
    r"""Largest linear part of a function.

    Parameters
    ----------
    expression : Expression
        The function g of r variables.

    Notes
    -----
    Directions of constant :math:`\beta` are those along which the gradient does not change and no
    break is crossed; further ones are looked for among the axes of what remains. Both are found
    from values at 2048 points and hold to nine digits there.

    Examples
    --------
    >>> part = linear_part(Expression("max(z1, z2)"))
    >>> part.k, part.s, round(part.slope, 6), abs(part.frame.round(3)).tolist()
    (1, 1, 0.707107, [[0.707, 0.707], [0.707, 0.707]])
    >>> part = linear_part(Expression("z1*z2 + 3*z3"))
    >>> part.k, part.frame.tolist(), part.slope
    (1, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], 3.0)
    """
    r = expression.r
    points = 1.5 * stream(0, "points", r=r, what="linear part").standard_normal((_POINTS, r))
    gradients = np.stack(
        [np.broadcast_to(expression.derivative(i + 1)(points), (_POINTS,)) for i in range(r)], 1
    )
    gradients = gradients[np.isfinite(gradients).all(axis=1)]
    mean = gradients.mean(axis=0)
    size = np.abs(gradients).max()
    varying = (gradients - mean) / (size or 1.0)
    basis = _basis(np.vstack([varying, *_break_normals(expression)]))
    rest = mean - basis.T @ (basis @ mean)
    slope = float(np.linalg.norm(rest))
    if slope <= _SAME * size:
        slope, constant = 0.0, np.zeros((0, r))
    else:
        constant = rest[None] / slope
        if np.abs(rest).max() >= slope * (1 - 1e-12):  # an axis, exactly
            constant = np.where(np.abs(constant) > 0.5, np.sign(constant), 0.0)
    free = _affine_rows(expression, basis, points)
    u = [i for i in range(len(basis)) if i not in free]
    frame = np.vstack([basis[u], basis[list(free)], constant]) + 0.0
    return LinearPart(expression.tree, frame, len(u), slope)


def _break_normals(expression: Expression) -> list[np.ndarray]:
    """Directions that cross the breaks of the function."""
    planes, is_curved = break_planes(expression.tree, expression.r)
    rows = [np.array([plane.normal]) for plane in planes]
    if is_curved:
        for part in kinks(expression.tree):
            inside = FUNCTIONS[part.name].break_of(*part.arguments)
            rows.append(linear_span(inside, expression.r))
    return rows


def _basis(rows: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the span of some rows: axes that lie in it, then anything."""
    _, singular, basis = np.linalg.svd(rows, full_matrices=False)
    basis = basis[singular > _SAME * np.sqrt(len(rows))]
    projector = basis.T @ basis
    r = rows.shape[1]
    axes = [i for i in range(r) if projector[i, i] > 1 - _SAME]
    projector[axes] = projector[:, axes] = 0.0
    values, others = np.linalg.eigh(projector)
    return np.vstack([np.eye(r)[axes], others.T[values > 0.5]])


def _affine_rows(expression: Expression, basis: np.ndarray, points: np.ndarray) -> tuple[int, ...]:
    """Largest set of basis directions in which the function is affine jointly."""
    for size in range(len(basis) - 1, 0, -1):
        # The last axes first: z1*z2 is then read as a function of z1 times z2.
        for rows in itertools.combinations(reversed(range(len(basis))), size):
            if _is_affine(expression, basis[list(rows)], points):
                return tuple(sorted(rows))
    return ()


def _is_affine(expression: Expression, rows: np.ndarray, points: np.ndarray) -> bool:
    """Whether second differences along random combinations of the rows vanish."""
    mix = stream(0, "points", rows=len(rows), what="affine").standard_normal((_POINTS, len(rows)))
    for step in _STEPS:
        ends = [np.asarray(expression(points + sign * step * mix @ rows)) for sign in (1, 0, -1)]
        size = np.abs(ends).max(axis=0)
        finite = np.isfinite(size)
        bend = np.abs(ends[0] - 2 * ends[1] + ends[2])[finite]
        if (bend > _SAME * np.maximum(size[finite], 1e-300)).any():
            return False
    return True
