"""Directions in which a function changes: gradients where it is smooth, normals where it jumps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..base.seeds import stream
from .language.derivative import derivative
from .language.evaluate import evaluate
from .language.expression import Expression
from .language.functions import FUNCTIONS
from .language.tree import Call, Node, Quotient, is_constant, nodes

_SCALES = np.array([0.25, 1.0, 2.0, 4.0])  # a wide cloud sees what happens rarely
_POINTS = 512
_LINES = 128
_STEPS = np.linspace(-8.0, 8.0, 129)  # along each line
_FLAT = 1e-5  # gradients that are smaller than this share of the typical one are mostly rounding


class Tangents(NamedTuple):
    """Points, and a unit vector at each along which the function changes fastest there.

    A motion that keeps the function keeps every such vector orthogonal to its velocity.
    """

    points: np.ndarray
    """(m, r)"""
    normals: np.ndarray
    """(m, r)"""


def random_points(count: int, r: int, *, part: str) -> np.ndarray:
    """Gaussian points (count, r) of several widths, always the same for one `part`."""
    rng = stream(0, "points", r=r, part=part)
    return rng.standard_normal((count, r)) * np.resize(_SCALES, count)[:, None]


def tangents(expression: Expression) -> Tangents:
    """Gradients at random points, and normals at random points of the jumps.

    Examples
    --------
    >>> found = tangents(Expression("sign(z2 - 1)"))
    >>> bool(np.allclose(found.points[:, 1], 1)), np.unique(found.normals, axis=0).tolist()
    (True, [[0.0, 1.0]])
    """
    r, tree = expression.r, expression.tree
    parts = [smooth_tangents(expression)]
    for surface in _break_surfaces(tree):
        parts.append(_jumps(tree, surface, r))
    points, normals = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Tangents(points, normals)


def smooth_tangents(expression: Expression) -> Tangents:
    """Gradients at random points."""
    z = random_points(_POINTS, expression.r, part="gradients")
    slopes = gradient(expression.tree, z)
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.linalg.norm(slopes, axis=1)
        change = size * np.linalg.norm(z, axis=1)
    usable = np.isfinite(change) & (change > 0)
    usable &= change >= _FLAT * np.median(change[usable]) if usable.any() else False
    return Tangents(z[usable], slopes[usable] / size[usable, None])


def gradient(tree: Node, z: np.ndarray) -> np.ndarray:
    """Gradients (n, r) of a function at points (n, r), away from its jumps."""
    return np.stack([evaluate(derivative(tree, i), z) for i in range(1, z.shape[1] + 1)], axis=1)


def _break_surfaces(tree: Node) -> list[Node]:
    """Nodes whose zeros are the only places where the function may jump."""
    found: dict[Node, None] = {}
    for part in nodes(tree):
        if isinstance(part, Call):
            found[FUNCTIONS[part.name].break_of(*part.arguments)] = None
        elif isinstance(part, Quotient):
            found[part.denominator] = None
    return [node for node in found if not is_constant(node)]


def _jumps(tree: Node, surface: Node, r: int) -> Tangents:
    """Points of a surface at which the function has different limits on the two sides."""
    points = _zeros(surface, r)
    slopes = gradient(surface, points)
    size = np.linalg.norm(slopes, axis=1)
    usable = np.isfinite(size) & (size > 0)
    points, normals = points[usable], slopes[usable] / size[usable, None]

    def gap(step: float) -> np.ndarray:
        return np.abs(
            evaluate(tree, points + step * normals) - evaluate(tree, points - step * normals)
        )

    near, nearer = gap(1e-6), gap(1e-7)
    # Where the function is continuous the gap shrinks with the step.
    height = 1e-9 * (1 + np.abs(evaluate(tree, points + 1e-6 * normals)))
    is_jump = (nearer > 0.5 * near) & (nearer > height)
    return Tangents(points[is_jump], normals[is_jump])


def _zeros(surface: Node, r: int) -> np.ndarray:
    """Zeros (m, r) of a node on random lines."""
    rng = stream(0, "points", r=r, part="lines")
    start = rng.standard_normal((_LINES, 1, r))
    along = rng.standard_normal((_LINES, 1, r))
    along /= np.linalg.norm(along, axis=2, keepdims=True)
    values = evaluate(surface, start + _STEPS[:, None] * along)
    line, step = np.nonzero(np.sign(values[:, :-1]) * np.sign(values[:, 1:]) < 0)
    start, along = start[line, 0], along[line, 0]
    low, high = _STEPS[step], _STEPS[step + 1]
    side = np.sign(values[line, step])
    for _ in range(60):
        middle = (low + high) / 2
        is_left = np.sign(evaluate(surface, start + middle[:, None] * along)) == side
        low, high = np.where(is_left, middle, low), np.where(is_left, high, middle)
    return start + low[:, None] * along
