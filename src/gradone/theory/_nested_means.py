r"""Nested rules over prior means in one or two directions, denser next to the breaks of a target.

A posterior of width w changes its shape with the prior mean on the scale w next to a break of the
target, and on the scale of the target itself far away. Along an axis the nodes are therefore
equidistant in

.. math:: t(a) = \frac{a}{s} + \frac{1}{\tau} \sum_c \mathrm{arsinh}\frac{a - c}{w_c},     [NM-1]

with the breaks c, where the trapezoidal rule of a smooth function keeps its fast convergence. Every
second node of the square lattice in t, like the fields of one color of a chessboard, is a square
lattice again, with a step larger by the square root of two: a rule contains all coarser ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..calculus.integrand import Plane
from ..targets.language.expression import Expression
from ._prior_means import PERFECT, cut

_FAR = 0.73  # step s far from the breaks
_PER_DEVIATION = 0.7  # the same in standard deviations of the prior mean, if that is less
_TURN = 0.63  # step tau of the inverse hyperbolic sine
_COARSEST = -4  # resolution of the coarsest rule
_FINER_LINE = 2  # of a single axis: added to the resolution
_LITTLE = 0.1  # an overlap below it moves the breaks along the other axis by less than their width
_SAME = 1e-9
_TABLE, _NEWTON_STEPS = 257, 4


class Axis(NamedTuple):
    """Coordinate along which prior means are placed."""

    direction: np.ndarray
    """Unit vector (r,)."""
    overlap: float
    """Variance of the prior mean."""
    centers: np.ndarray
    """Where the target breaks, or 0."""
    widths: np.ndarray
    """Of the posterior across each break, along the axis."""


def nesting_axes(expression: Expression, M: np.ndarray) -> list[Axis] | None:
    """Axes of nested rules for a target at the overlap matrix `M`, None if there are none.

    The eigenvectors of M as long as one overlap at most is not small, else the normals of the
    breaks, to which the other direction is added.

    Examples
    --------
    >>> for axis in nesting_axes(Expression("relu(z1 - 1) + z2"), 0.5 * np.eye(2)):
    ...     axis.direction.tolist(), axis.centers.tolist()
    ([1.0, 0.0], [1.0])
    ([0.0, 1.0], [0.0])
    """
    planes, is_curved = expression.breaks
    overlaps, Q = np.linalg.eigh(M)
    learned = overlaps > 1e-15
    count = int(learned.sum())
    if is_curved or count not in (1, 2) or overlaps[-1] > PERFECT:
        return None
    if overlaps[learned][0] < _LITTLE or count == 1:
        return [_axis(direction, planes, M) for direction in Q[:, learned].T]
    if len(M) > 2:
        return None
    families: list[tuple[np.ndarray, list[Plane]]] = []
    for plane in planes:
        normal = np.array(plane.normal) / np.linalg.norm(plane.normal)
        for direction, members in families:
            if abs(direction @ normal) > 1 - _SAME:
                members.append(plane)
                break
        else:
            families.append((normal, [plane]))
    if len(families) > 2:
        return None
    if not families:
        families = [(np.array([1.0, 0.0]), [])]
    if len(families) == 1:
        x, y = families[0][0]
        families.append((np.array([0.0 - y, x]), []))
    return [_axis(direction, members, M) for direction, members in families]


def _axis(direction: np.ndarray, planes: Sequence[Plane], M: np.ndarray) -> Axis:
    """Axis with the breaks that it crosses, or with one at 0."""
    overlap = float(direction @ M @ direction)
    found = set()
    for plane in planes:
        normal = np.array(plane.normal)
        along = float(normal @ direction)
        if abs(along) > _SAME * np.linalg.norm(normal):
            width = math.sqrt(normal @ normal - normal @ M @ normal) / abs(along)
            found.add((round(plane.offset / along, 9) + 0.0, round(width, 9)))
    centers, widths = np.array(sorted(found) or [(0.0, math.sqrt(1 - overlap))]).T
    return Axis(direction, overlap, centers, widths)


def nested_means(
    axes: list[Axis],
    M: np.ndarray,
    resolution: int = 0,
    *,
    around: np.ndarray | None = None,
    beyond: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Nodes (m, r) and weights (m,) of a rule for omega ~ N(0, M), up to a common factor.

    Parameters
    ----------
    axes : list of Axis
        What :func:`nesting_axes` gives for M, or for `around`.
    M : array (r, r)
        Overlap matrix.
    resolution : int
        Number of times that the step is divided by the square root of two.
    around : array (r, r), optional
        Overlap matrix close to M whose nodes are used, with the weights of M.
    beyond : int, optional
        Resolution of a rule whose nodes are left out: the others are what is new.

    Examples
    --------
    >>> M = np.diag([0.9, 0.5])
    >>> axes = nesting_axes(Expression("relu(z1)*z2"), M)
    >>> nodes, weights = nested_means(axes, M, 0)
    >>> round(float(weights @ nodes[:, 0] ** 4 / weights.sum()), 4)
    2.4299
    >>> new = nested_means(axes, M, 0, beyond=-1)[0]
    >>> len(new) == len(nodes) - len(nested_means(axes, M, -1)[0])
    True
    """
    D = np.array([axis.direction for axis in axes])
    finest = resolution + resolution % 2  # a square lattice along the axes that contains the rule
    lines = [
        _line(axis, finest + (_FINER_LINE if len(axes) == 1 else 0), cut(resolution))
        for axis in axes
    ]
    index, place, factor = (
        np.stack(np.meshgrid(*column, indexing="ij"), axis=-1).reshape(-1, len(axes))
        for column in zip(*lines, strict=True)
    )
    distance = np.sqrt(_squares(place, D @ (M if around is None else around) @ D.T))
    level = _levels(index, distance, resolution, finest)
    kept = level <= resolution
    if beyond is not None:
        kept &= level > beyond
    place = place[kept]
    weights = factor[kept].prod(axis=1) * np.exp(-_squares(place, D @ M @ D.T) / 2)
    return place @ np.linalg.pinv(D).T, weights


def _squares(place: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Squared distances from 0 in standard deviations."""
    return np.einsum("mi,ij,mj->m", place, np.linalg.inv(covariance), place)


def _levels(index: np.ndarray, distance: np.ndarray, resolution: int, finest: int) -> np.ndarray:
    """Resolution of the coarsest rule that contains each node, more than `resolution` if none."""
    level = np.full(len(index), resolution + 1)
    for coarser in range(resolution, _COARSEST - 1, -1):
        odd = coarser % 2
        stride = 2 ** ((finest - coarser - odd) // 2)
        contained = (index % stride == 0).all(axis=1) & (distance <= cut(coarser))
        if odd and index.shape[1] == 2:  # one color of the chessboard
            contained &= (index.sum(axis=1) // stride) % 2 == 0
        level[contained] = coarser
    return level


def _line(axis: Axis, resolution: int, reach: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers, places and weights of the nodes along an axis [NM-1], without the common step."""
    deviation = math.sqrt(axis.overlap)
    far, end = min(_FAR, _PER_DEVIATION * deviation), reach * deviation

    def t(a: np.ndarray) -> np.ndarray:
        return a / far + np.arcsinh((a[:, None] - axis.centers) / axis.widths).sum(axis=1) / _TURN

    def slope(a: np.ndarray) -> np.ndarray:
        return 1 / far + (1 / np.hypot(axis.widths, a[:, None] - axis.centers)).sum(axis=1) / _TURN

    step = math.sqrt(2) ** -resolution
    first, last = t(np.array([-end, end])) / step
    index = np.arange(math.ceil(first), math.floor(last) + 1)
    # Newton's steps from a table that is as dense as the nodes.
    farthest = np.arcsinh((end + np.abs(axis.centers)) / axis.widths)
    table = axis.centers + axis.widths * np.sinh(np.linspace(-farthest, farthest, _TABLE))
    table = np.unique(table)
    a = np.interp(index * step, t(table), table)
    for _ in range(_NEWTON_STEPS):
        a = a - (t(a) - index * step) / slope(a)
    return index, a, 1 / slope(a)
