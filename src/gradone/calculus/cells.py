r"""Hermite coefficients of the level sets of a function that is constant between planes.

Such a function takes finitely many values :math:`v_a`, each on a union of cells. Along one
variable a cell is an interval, on which

.. math:: \int_a^b \mathrm{he}_k\,\varphi\,dz = \Big[-\frac{\mathrm{he}_{k-1}\,\varphi}{\sqrt k}
          \Big]_a^b, \qquad \int_a^b \varphi\,dz = \Phi(b) - \Phi(a), \qquad [CE-1]

so one variable is integrated in closed form, and all of them if every plane is parallel to the
axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .grid import _contract_last, _integration_order, _panel_rule, _split
from .hermite import normal_density, orthonormal_hermite
from .integrand import Integrand, Plane

_LEVELS = (8, 11, 16, 22, 32, 44, 64, 90)
_MAX_NODES = 1 << 19
_MAX_VALUES = 64
_ROUGH = 1e-6
SAME = 1e-12  # difference of two values that rounding explains, in parts of the largest
_EPS = float(np.finfo(float).eps)


class LevelSets(NamedTuple):
    """Orthonormal Hermite coefficients of the indicators of the values of a function.

    Parameters
    ----------
    values : ndarray, shape (a,)
        The values, in increasing order.
    coefficients : ndarray, shape (degree + 1, ..., degree + 1, a)
        One axis for each variable, then the values.
    error : float
        Error of each coefficient.
    """

    values: np.ndarray
    coefficients: np.ndarray
    error: float


def level_sets(f: Integrand, degree: int, tolerance: float = 1e-10) -> LevelSets | None:
    """Coefficients of the level sets of a piecewise constant function; None if that fails.

    It fails if the function breaks on curved surfaces or on too many planes.

    Examples
    --------
    >>> from gradone.calculus.integrand import Plane
    >>> f = Integrand(lambda z: np.sign(0.6 * z[0] + 0.8 * z[1]), 2, (Plane((0.6, 0.8), 0.0),))
    >>> sets = level_sets(f, 1)
    >>> sets.values.tolist(), sets.coefficients[1, 0].round(6).tolist()  # 0.6 / sqrt(2 pi)
    ([-1.0, 1.0], [-0.239365, 0.239365])
    """
    if f.is_curved:
        return None
    if all(np.count_nonzero(plane.normal) == 1 for plane in f.planes):
        return _by_boxes(f, degree)
    order, splits = _integration_order(f)
    if splits is None:
        return None
    best: LevelSets | None = None
    coarser: tuple[np.ndarray, np.ndarray] | None = None
    before = math.inf
    for n in _LEVELS:
        outer, weights = _panel_rule(f, order[:-1], splits[:-1], degree, n)
        if math.prod(column.shape[-1] for column in outer) > _MAX_NODES:
            break
        values, found = _level(f, order, (outer, weights), splits[-1], degree)
        if len(values) > _MAX_VALUES:
            return None
        if coarser is not None and len(coarser[0]) == len(values):
            change = float(np.abs(found - coarser[1]).max())
            # A small change by accident does not pass for convergence.
            error = change + 1e-3 * min(before, 1.0) + 64 * _EPS * math.sqrt(degree + 1)
            best, before = LevelSets(values, found, error), change
            if error <= tolerance:
                break
        coarser = values, found
    return best if best is not None and best.error < _ROUGH else None


def _level(
    f: Integrand,
    order: Sequence[int],
    rule: tuple[list[np.ndarray], list[np.ndarray]],
    planes: Sequence[Plane],
    degree: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Values and coefficients when the outer variables are integrated by a rule."""
    outer, weights = rule
    depth = len(outer)
    full = [column.reshape(column.shape + (1,) * (depth - column.ndim)) for column in outer]
    shape = np.broadcast_shapes(*(column.shape for column in full)) if full else ()
    points = [np.broadcast_to(_split(p, order[-1], order, full), shape) for p in planes]
    edges = np.sort(np.stack(points, axis=-1), axis=-1) if points else np.zeros((*shape, 0))
    columns = [column[..., None] for column in full] + [_between(edges)]
    of_variable = [columns[list(order).index(axis)] for axis in range(len(order))]
    values, which = _classes(f(of_variable))
    total = _along_intervals(edges, which, len(values), degree)
    for z, w in zip(reversed(outer), reversed(weights), strict=True):
        total = _contract_last(total, z, w, degree)
    # The axes stand in the order of integration; bring them into the order of the variables.
    return values, np.transpose(total, [*np.argsort(list(order)), len(order)])


def _between(edges: np.ndarray) -> np.ndarray:
    """One point of every interval between sorted edges along the last axis, and beyond both."""
    if not edges.shape[-1]:
        return np.zeros((*edges.shape[:-1], 1))
    middle = (edges[..., 1:] + edges[..., :-1]) / 2
    return np.concatenate([edges[..., :1] - 1, middle, edges[..., -1:] + 1], axis=-1)


def _classes(found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Different values in increasing order, and which of them each found number is."""
    ordered = np.unique(found)
    new = np.diff(ordered) > SAME * np.abs(ordered).max(initial=0.0)
    values = ordered[np.concatenate([[True], new])]
    return values, np.searchsorted((values[1:] + values[:-1]) / 2, found)


def _along_intervals(edges: np.ndarray, which: np.ndarray, count: int, degree: int) -> np.ndarray:
    """Closed form along the last axis [CE-1]: shape (*outer, degree + 1, count).

    Summed by edges: at each, the value on its left gains what the value on its right loses.
    """
    from scipy.special import ndtr

    total = np.zeros((*edges.shape[:-1], degree + 1, count))
    density = normal_density(edges)
    primitives = [ndtr(edges)]
    for k, he in enumerate(orthonormal_hermite(edges, max(degree - 1, 0)), start=1):
        primitives.append(-he * density / math.sqrt(k))
    for value in range(count):
        is_here = (which == value).astype(np.float64)
        gain = is_here[..., :-1] - is_here[..., 1:]
        for k in range(degree + 1):
            total[..., k, value] = np.einsum("...e,...e->...", primitives[k], gain)
        total[..., 0, value] += is_here[..., -1]  # Phi at infinity
    return total


def _by_boxes(f: Integrand, degree: int) -> LevelSets | None:
    """Planes parallel to the axes: the cells are boxes and every integral has a closed form."""
    edges = [
        np.unique([p.offset / p.normal[axis] for p in f.planes if p.normal[axis]])
        for axis in range(f.r)
    ]
    shapes = [(1,) * axis + (-1,) + (1,) * (f.r - axis - 1) for axis in range(f.r)]
    columns = [_between(e).reshape(shape) for e, shape in zip(edges, shapes, strict=True)]
    if math.prod(column.size for column in columns) > _MAX_NODES:
        return None
    values, which = _classes(f(columns))
    if len(values) > _MAX_VALUES:
        return None
    total = (which[..., None] == np.arange(len(values))).astype(np.float64)
    for axis, e in enumerate(edges):
        intervals = _along_intervals(e, np.arange(len(e) + 1), len(e) + 1, degree)
        total = np.moveaxis(np.tensordot(intervals, total, axes=([1], [axis])), 0, axis)
    return LevelSets(values, total, 16 * _EPS)
