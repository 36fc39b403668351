"""Where the level curves of a function of two variables change their shape.

At extrema and saddles, at those along a break, and where breaks cross each other. The density of
the label may be singular there, and small curves surround an extremum.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..calculus.integrand import Plane
from ..targets.language.tree import Node
from ..targets.signed_permutations import symmetries_of
from .smooth import Smooth

Break = tuple[np.ndarray, float]
"""Unit normal and offset of a straight kink or jump."""

_CELLS = 88  # of the grid on which critical points are looked for, along each axis
_ALONG = 400
_SHIFT = 0.0123  # so that no critical point of a simple formula is a point of the grid
_BESIDE = 1e-9
_MOST = 256
_NEWTON_STEPS = 24
_ZERO_STEPS, _HALVINGS = 9, 40  # of false position, and with the halvings that follow
_JUMP = 1e-3  # value at a zero, in units of those at the ends, that is none
_ROUNDING = 1e-9
_FLAT = 1e-6  # size of the gradient at a critical point, in units of its median
_SAME = 1e-6
_PARALLEL = 1e-9
_RAYS, _NEAR = 256, 1e-3  # by which an extremum is told, and their length
_LINE = 2e-3  # smallest rise over the largest, below which a line of points has one label
_MOST_EXTREMA = 64
_SHARP = 1e-3  # size of the gradient next to an extremum without one, in units of its median


class Extremum(NamedTuple):
    """A point around which level curves are closed."""

    place: np.ndarray
    """(2,)"""
    label: float
    slopes: np.ndarray
    """(rays,) of a law ``label + slope * distance**power`` along rays that leave the point."""
    powers: np.ndarray
    """(rays,)"""

    def distance(self, y: np.ndarray) -> np.ndarray:
        """Smallest distance (n,) of the curves of labels; NaN for labels that are not around it."""
        with np.errstate(invalid="ignore"):
            rays = ((y - self.label)[:, None] / self.slopes) ** (1 / self.powers)
        return np.asarray(rays.min(axis=1))


class Landscape:
    """A function of two variables with its breaks, critical labels and extrema.

    Parameters
    ----------
    tree : Node
        The function.
    planes : sequence of Plane
        Its straight kinks and jumps.
    radius : float
        Radius of the disc in which it is looked at.

    Attributes
    ----------
    axes : array (2, 2)
        Orthonormal rows: across the breaks, if those have one or two orthogonal directions.
    f : Smooth
        The function of the coordinates along the axes.
    breaks : list of Break
        In these coordinates.
    mirrors : array (k, 2, 2)
        Signed permutations of these coordinates that leave f as it is, the identity first.
    reversal : array (2, 2) or None
        Map of the variables that changes the sign of the function.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> found = Landscape(parse("z1**3 - 3*z1 + z2**2"), [], 5.0)
    >>> found.labels, [extremum.place.round(6).tolist() for extremum in found.extrema]
    (array([-2.,  2.]), [[1.0, 0.0]])
    >>> kinked = Landscape(parse("abs(z1 - 1) + z2**2"), [Plane((1.0, 0.0), 1.0)], 5.0)
    >>> kinked.labels, kinked.extrema[0].distance(np.array([0.01])).round(3)
    (array([0.]), array([0.01]))
    """

    def __init__(self, tree: Node, planes: Sequence[Plane], radius: float) -> None:
        normals = [np.array(p.normal) / np.linalg.norm(p.normal) for p in planes]
        self.axes = _axes(normals)
        self.f = Smooth(tree, self.axes)
        self.breaks: list[Break] = [
            (self.axes @ normal, plane.offset / float(np.linalg.norm(plane.normal)))
            for normal, plane in zip(normals, planes, strict=True)
        ]
        group = symmetries_of(tree, 2)
        self.reversal: np.ndarray | None = next(iter(group.maps[~group.keeps]), None)
        maps = self.axes @ group.maps[group.keeps] @ self.axes.T
        whole = np.minimum(np.abs(maps), np.abs(1 - np.abs(maps))) < _PARALLEL
        self.mirrors: np.ndarray = maps[whole.all(axis=(1, 2))].round()
        with np.errstate(all="ignore"):
            points = np.concatenate(
                [
                    _points(self.f, radius),
                    _sharp_points(self.f, radius),
                    _crossings(self.breaks),
                    *(_along(self.f, line, self.breaks, radius) for line in self.breaks),
                ],
                axis=1,
            )
            labels = self.f.value(points)
            known = np.isfinite(labels)
            labels, points = np.round(labels[known], 8) + 0.0, points[:, known]
            few = points.shape[1] <= _MOST_EXTREMA
            extrema = [_extremum(self.f, x) for x in points.T] if few else []
        values = np.unique(labels)
        self.labels: np.ndarray = values[
            np.diff(values, prepend=-np.inf) > _SAME * (1 + np.abs(values))
        ]
        """Critical labels, ascending."""
        self.extrema = list({tuple(e.place.round(6)): e for e in extrema if e is not None}.values())


def _axes(normals: list[np.ndarray]) -> np.ndarray:
    """Orthonormal rows, across the breaks if possible."""
    if not normals:
        return np.eye(2)
    first = normals[0]
    across = np.array([first, [-first[1], first[0]]]) + 0.0
    share = np.abs(np.array(normals) @ across.T)
    return across if (share.max(axis=1) > 1 - _PARALLEL).all() else np.eye(2)


def _extremum(f: Smooth, x: np.ndarray) -> Extremum | None:
    """Extremum at a point, None if it is none."""
    angle = 2 * np.pi * (np.arange(_RAYS) + 0.3) / _RAYS
    rays = np.stack([np.cos(angle), np.sin(angle)])
    near, far = (f.value(x[:, None] + d * rays) for d in (_NEAR, 2 * _NEAR))
    label = float(f.value(x[:, None])[0])
    rise, more = near - label, far - label
    smallest = max(_LINE * float(np.abs(rise).max()), 1e-13 * abs(label))
    if not ((rise > smallest).all() or (rise < -smallest).all()):
        return None
    powers = np.maximum(np.log2(more / rise), 0.5)
    return Extremum(x, label, rise / _NEAR**powers, powers)


def _grid(radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Points (2, n, n) of a grid, and whether they lie in the disc."""
    line = np.linspace(-radius, radius, _CELLS + 1) + _SHIFT
    grid = np.stack(np.meshgrid(line, line, indexing="ij"))
    return grid, (grid**2).sum(axis=0) < radius**2


def _lowest(values: np.ndarray) -> np.ndarray:
    """Smallest of the eight neighbors of each value of a grid."""
    n = len(values)
    padded = np.pad(np.nan_to_num(values, nan=np.inf), 1, constant_values=np.inf)
    moves = [m for m in itertools.product((0, 1, 2), repeat=2) if m != (1, 1)]
    return np.asarray(np.min([padded[a : a + n, b : b + n] for a, b in moves], axis=0))


def _points(f: Smooth, radius: float) -> np.ndarray:
    """Points (2, k) where the gradient vanishes, by Newton's steps from where it is small."""
    grid, inside = _grid(radius)
    size = (f.gradient(grid) ** 2).sum(axis=0)
    which = np.argwhere((size <= _lowest(size)) & inside)[:_MOST].T
    start = x = grid[:, which[0], which[1]]
    if not x.size:
        return np.zeros((2, 0))
    cell = 2 * radius / _CELLS
    for _ in range(_NEWTON_STEPS):
        hessian = np.nan_to_num(np.moveaxis(f.hessian(x), -1, 0))
        move = np.linalg.pinv(hessian, rcond=1e-10) @ np.nan_to_num(f.gradient(x).T[:, :, None])
        x = x - np.clip(move[:, :, 0].T, -cell, cell)
        if np.abs(move).max() < 1e-12:
            break
    flat = np.sqrt((f.gradient(x) ** 2).sum(axis=0)) < _FLAT * np.sqrt(np.nanmedian(size))
    return np.asarray(x[:, flat & (np.abs(x - start).max(axis=0) < 3 * cell)])


def _sharp_points(f: Smooth, radius: float) -> np.ndarray:
    """Points (2, k) of extrema that have no gradient, as the tip of a cone."""
    grid, inside = _grid(radius)
    values = f.value(grid)
    found = [np.zeros((2, 0))]
    star = np.stack(np.meshgrid(*2 * [np.linspace(-1.0, 1.0, 5)])).reshape(2, 1, -1)
    for side in (1.0, -1.0):
        which = np.argwhere((side * values < _lowest(side * values)) & inside)[:_MOST].T
        start, step = grid[:, which[0], which[1]], 2 * radius / _CELLS
        x, cell = start, step
        while step > 1e-10:
            around = x[:, :, None] + step * star
            best = (side * f.value(around)).argmin(axis=1)
            x, step = np.take_along_axis(around, best[None, :, None], axis=2)[:, :, 0], step / 2
        slope = np.sqrt((f.gradient(x + 1e-6) ** 2).sum(axis=0))
        sharp = slope > _SHARP * np.sqrt(np.nanmedian(f.gradient(grid) ** 2))
        found.append(x[:, sharp & (np.abs(x - start).max(axis=0) < 1.9 * cell)])
    return np.concatenate(found, axis=1)


def _crossings(breaks: list[Break]) -> np.ndarray:
    """Points (2, k) where two breaks cross, seen from all sides."""
    found = [np.zeros((2, 0))]
    for (normal, offset), (other, beyond) in itertools.combinations(breaks, 2):
        both = np.array([normal, other])
        if abs(np.linalg.det(both)) > _SAME:
            sides = np.array(list(itertools.product((-_BESIDE, _BESIDE), repeat=2))).T
            found.append(np.linalg.solve(both, np.array([[offset], [beyond]]) + sides))
    return np.concatenate(found, axis=1)


def _along(f: Smooth, line: Break, breaks: list[Break], radius: float) -> np.ndarray:
    """Points (2, k) of extrema along both sides of a break, between the other breaks."""
    normal, offset = line
    along = np.array([-normal[1], normal[0]])
    cuts = [
        (beyond - offset * float(other @ normal)) / float(other @ along)
        for other, beyond in breaks
        if abs(other @ along) > _SAME
    ]
    found = [np.zeros((2, 0))]
    for side in (-_BESIDE, _BESIDE):

        def place(s: np.ndarray, at: float = offset + side) -> np.ndarray:
            return np.asarray(normal[:, None] * at + along[:, None] * s)

        s = np.linspace(-radius, radius, _ALONG + 1) + _SHIFT
        s = np.sort(np.concatenate([s, *([c - 2 * _BESIDE, c + 2 * _BESIDE] for c in cuts)]))
        slope = along @ f.gradient(place(s))
        scale = _SAME * np.nanmedian(np.abs(slope))
        k = np.flatnonzero((slope[1:] * slope[:-1] < 0) & (np.diff(s) > 5 * _BESIDE))
        k = k[np.maximum(np.abs(slope[k]), np.abs(slope[k + 1])) > scale]
        zero = zeros(lambda s: along @ f.gradient(place(s)), s[k], s[k + 1], slope[k], slope[k + 1])
        found.append(place(zero))
    return np.concatenate(found, axis=1)


def zeros(
    function: Callable[[np.ndarray], np.ndarray],
    low: np.ndarray,
    high: np.ndarray,
    at_low: np.ndarray,
    at_high: np.ndarray,
) -> np.ndarray:
    """Zero of a function in each interval, by the false position of Illinois.

    Examples
    --------
    >>> one = np.ones(1)
    >>> zeros(lambda x: x**3 - 2, one, 2 * one, -one, 6 * one).round(6)
    array([1.259921])
    """
    ends = np.abs(at_low), np.abs(at_high)
    size = np.maximum(np.minimum(*ends), _ROUNDING * np.maximum(*ends))  # an end may be the zero
    before = np.zeros(np.shape(low))  # which end moved last
    x, found = low, np.zeros(np.shape(low), dtype=bool)
    for step in range(_HALVINGS):
        new = low - at_low * (high - low) / (at_high - at_low)
        halved = np.isnan(new) | (step >= _ZERO_STEPS)
        new = np.where(halved, (low + high) / 2, np.clip(new, low, high))
        x = np.where(found, x, new)
        at = function(x)
        moved = np.where((at > 0) == (at_low > 0), -1.0, 1.0)
        # An end that stays twice loses half of its value, so that it is left soon.
        loss = np.where(moved == before, 0.5, 1.0)
        is_low = moved < 0
        low, at_low, high, at_high = (
            np.where(is_low, x, low),
            np.where(is_low, at, at_low * loss),
            np.where(is_low, high, x),
            np.where(is_low, at_high * loss, at),
        )
        before = moved
        # Where the function jumps only halves of the interval converge.
        if step >= _ZERO_STEPS - 1:
            found = np.abs(at) <= _JUMP * size
            if found.all():
                break
    return np.asarray(x)
