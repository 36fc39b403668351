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

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...calculus.integrand import Plane
from ...targets.language.expression import Expression
from ._prior_means import PERFECT, cut

_FAR = 0.73  # step s far from the breaks
_PER_DEVIATION = 0.7  # the same in standard deviations of the prior mean, if that is less
_TURN = 0.63  # step tau of the inverse hyperbolic sine, times the root of the number of breaks
_COARSEST = -4  # resolution of the coarsest rule
_FINER_LINE = 2  # of a single axis: added to the resolution
_LITTLE = 0.1  # an overlap below it moves the breaks along the other axis by less than their width
_SAME = 1e-9


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
    slopes: np.ndarray
    """Of the breaks, by which they move with the first axis."""


def nesting_axes(expression: Expression, M: np.ndarray) -> list[Axis] | None:
    """Axes of nested rules for a target at the overlap matrix `M`, None if there are none.

    The normals of the breaks, to which the other direction is added. The eigenvectors of M as long
    as one overlap at most is not small, and if the breaks have more than two directions.

    Examples
    --------
    >>> for axis in nesting_axes(Expression("relu(z1 - 1) + z2"), 0.5 * np.eye(2)):
    ...     axis.direction.tolist(), axis.centers.tolist()
    ([1.0, 0.0], [1.0])
    ([0.0, 1.0], [0.0])
    """
    axes = _axes(expression, M)
    return None if any(axis.overlap > PERFECT for axis in axes) else axes or None


def _axes(expression: Expression, M: np.ndarray) -> list[Axis]:
    """The same, also for a posterior that is a point; empty if there are none."""
    planes, is_curved = expression.breaks
    overlaps, Q = np.linalg.eigh(M)
    learned = overlaps > 1e-15
    count = int(learned.sum())
    if is_curved or count not in (1, 2):
        return []
    if overlaps[learned][0] < _LITTLE or count == 1:
        return [_axis(direction, planes, M) for direction in Q[:, learned].T]
    if len(M) > 2:
        return []
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
        return _crossed(Q.T, planes, M)
    if not families:
        families = [(np.array([1.0, 0.0]), [])]
    if len(families) == 1:
        x, y = families[0][0]
        families.append((np.array([0.0 - y, x]), []))
    return [_axis(direction, members, M) for direction, members in families]


def _axis(
    direction: np.ndarray, planes: Sequence[Plane], M: np.ndarray, other: np.ndarray | None = None
) -> Axis:
    """Axis with the breaks that it crosses, or with one at 0; they move along `other`."""
    found = {}
    for plane in planes:
        normal = np.array(plane.normal)
        along = float(normal @ direction)
        if abs(along) > _SAME * np.linalg.norm(normal):
            width = math.sqrt(normal @ normal - normal @ M @ normal) / abs(along)
            slope = 0.0 if other is None else -float(normal @ other) / along
            found[round(plane.offset / along, 9) + 0.0, round(slope, 9) + 0.0] = width
    overlap = float(direction @ M @ direction)
    if not found:
        found[0.0, 0.0] = math.sqrt(1 - overlap)
    centers, slopes = np.array(sorted(found)).T
    return Axis(direction, overlap, centers, np.array([found[k] for k in sorted(found)]), slopes)


def _crossed(D: np.ndarray, planes: Sequence[Plane], M: np.ndarray) -> list[Axis]:
    """Axes along the rows of D where breaks have any direction.

    The first is dense where the breaks of the second cross each other, and at those that the second
    does not cross.
    """
    first, second = D
    parallel = [p for p in planes if abs(second @ p.normal) <= _SAME * np.linalg.norm(p.normal)]
    inner = _axis(second, planes, M, first)
    outer = _axis(first, parallel, M)
    found = dict(zip(outer.centers, outer.widths, strict=True)) if parallel else {}
    for (c, s, w), (d, t, v) in itertools.combinations(
        zip(inner.centers, inner.slopes, inner.widths, strict=True), 2
    ):
        if abs(s - t) > _SAME:
            center, width = round((d - c) / (s - t), 9) + 0.0, (w + v) / abs(s - t)
            found[center] = min(width, found.get(center, np.inf))
    centers, widths = np.array(sorted(found.items())).T
    return [outer._replace(centers=centers, widths=widths, slopes=0 * centers), inner]


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
    from ._nested_kernels import lattice_lines

    D = np.array([axis.direction for axis in axes])
    finest = resolution + resolution % 2  # a square lattice along the axes that contains the rule
    step = math.sqrt(2) ** -(finest + (_FINER_LINE if len(axes) == 1 else 0))
    index, place = np.zeros((1, 0), np.int64), np.zeros((1, 0))
    factor = np.ones(1)
    for axis in axes:
        deviation = math.sqrt(axis.overlap)
        far = min(_FAR, _PER_DEVIATION * deviation)
        outer = place[:, 0].copy() if place.shape[1] else np.zeros(1)
        line, i, a, weight = lattice_lines(
            outer, axis.centers, axis.slopes, axis.widths, far,
            _TURN * math.sqrt(len(axis.centers)), cut(resolution) * deviation, step,
        )  # fmt: skip
        index, place = np.column_stack([index[line], i]), np.column_stack([place[line], a])
        factor = factor[line] * weight
    distance = np.sqrt(_squares(place, D @ (M if around is None else around) @ D.T))
    level = _levels(index, distance, resolution, finest)
    kept = level <= resolution
    if beyond is not None:
        kept &= level > beyond
    place = place[kept]
    weights = factor[kept] * np.exp(-_squares(place, D @ M @ D.T) / 2)
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
