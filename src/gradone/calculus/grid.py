r"""Hermite coefficients of a block of two to five variables by product rules.

Smooth functions: tensor Gauss-Hermite. Functions that break on planes: iterated Gauss-Legendre,
where the innermost variable is split at every plane it meets, and the outer variables also where
two planes cross, so that each integral sees a smooth function only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from ..base.estimate import Estimate
from .coefficients import BlockCoefficients
from .hermite import hermite_table, normal_density, orthonormal_hermite
from .integrand import Integrand, Plane
from .line import gauss_legendre

MAX_SPLITS = 24
_ALIGNED = 1e-14  # component of a unit normal that is rounding
_STEEP, _LAYER = 4.0, 7.0
_CHUNK = 1 << 20
_EPS = float(np.finfo(float).eps)
_HERMITE_LEVELS = (12, 17, 24, 34, 48, 68, 96)  # beyond that the weights underflow
_PANEL_LEVELS = (10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 320)

_Columns = list[np.ndarray]
_Rule = tuple[_Columns, _Columns]  # nodes and weights of each axis, outermost first


def grid_coefficients(
    f: Integrand, degree: int, tolerance: float, points: int, *, squared: bool = False
) -> BlockCoefficients | None:
    """Coefficients of a block by refining product rules; None if its breaks cannot be followed.

    Smooth functions begin with Gauss-Hermite, which is exact for polynomials; where poles near the
    real axis slow it down, panels take over. Each rule is refined until its error is below the
    tolerance or the next level would exceed the number of `points`; where the mean of the square is
    wanted (`squared`), until that is below it as well.
    """
    order, splits = _integration_order(f)
    if f.is_curved or splits is None:
        return None
    ladders = [_panel_rules(f, order, splits, degree, points)]
    if not f.planes:
        ladders.insert(0, _hermite_rules(f.r, points))
    best: BlockCoefficients | None = None
    for rules in ladders:
        found, is_enough = _refine(f, order, rules, degree, tolerance, squared)
        if best is None or (found and found.error.max() < best.error.max()):
            best = found
        if is_enough:
            break
    return best


def _refine(
    f: Integrand,
    order: Sequence[int],
    rules: Iterator[_Rule],
    degree: int,
    tolerance: float,
    squared: bool,
) -> tuple[BlockCoefficients | None, bool]:
    """Finest coefficients of a ladder of rules, and whether they reach the tolerance.

    The error is the last change, plus a thousandth of the change before, plus rounding. Where the
    changes do not keep shrinking the rule has not begun to converge, and a small one is an
    accident: then it is the sum of the last three.
    """
    last: tuple[np.ndarray, float] | None = None
    best: BlockCoefficients | None = None
    changes: list[np.ndarray] = []
    squares: list[float] = []
    before = before_square = math.inf
    for rule in rules:
        new, size, square = _contract(f, order, rule, degree)
        if last is not None:
            change = np.abs(new - last[0])
            change_square = abs(square - last[1]) if math.isfinite(square) else math.inf
            largest = float(change.max())
            error = np.maximum(change, 0.1 * largest) + 1e-3 * min(before, size)
            error += 64 * _EPS * size * math.sqrt(degree + 1)
            # One number may agree by accident: the square is not known better than the function.
            rest = max(change_square, largest * size) + 1e-3 * min(before_square, square)
            share, height = f.thin
            rest += (64 * _EPS + f.beyond_reach) * square + share * height**2
            error += f.beyond_reach * size + share * height
            is_enough = float(error.max()) <= tolerance * size
            is_enough &= not squared or rest <= tolerance * square
            changes, squares = [*changes[-2:], change], [*squares[-2:], change_square]
            if not is_enough and not _shrink(changes, squares):
                error, rest = error + sum(changes[:-1]), rest + sum(squares[:-1])
            known = Estimate(square, rest, "quadrature") if math.isfinite(rest) else None
            best = BlockCoefficients(new, error, size=size, square=known)
            before, before_square = largest, change_square
            if is_enough:
                return best, True
        last = new, square
    return best, False


def _shrink(changes: list[np.ndarray], squares: list[float]) -> bool:
    """Whether each change of a ladder of rules is at most half of the one before."""
    sizes = [float(change.max()) for change in changes]
    pairs = [*itertools.pairwise(sizes), *itertools.pairwise(squares)]
    return len(sizes) > 1 and all(new <= old / 2 for old, new in pairs)


def product_rule(f: Integrand, n: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Points (m, r) and weights (m,) for standard Gaussian variables, split where `f` breaks.

    `n` nodes in each panel of each axis; None if the breaks cannot be followed.

    Examples
    --------
    >>> points, weights = product_rule(Integrand(lambda c: c[0] * c[1], 2), 20)
    >>> round(float(weights @ (points[:, 0] * points[:, 1]) ** 2), 9)
    1.0
    """
    order, splits = _integration_order(f)
    if f.is_curved or splits is None:
        return None
    columns, weights = _panel_rule(f, order, splits, 0, n)
    columns, weights = (
        [x.reshape(x.shape + (1,) * (f.r - x.ndim)) for x in part] for part in (columns, weights)
    )
    shape = np.broadcast_shapes(*(c.shape for c in columns))
    points = np.stack(
        [np.broadcast_to(columns[order.index(axis)], shape).ravel() for axis in range(f.r)], axis=1
    )
    return points, np.broadcast_to(math.prod(weights), shape).ravel()


# ---- where to split


def _integration_order(f: Integrand) -> tuple[tuple[int, ...], list[list[Plane]] | None]:
    """Order of the axes, outermost first, and the planes at which each is split."""
    best: tuple[float, tuple[int, ...], list[list[Plane]]] | None = None
    for order in itertools.permutations(range(f.r)):
        splits = _eliminate(f.planes, order)
        if splits is not None:
            cost = math.prod(len(s) + 1 for s in splits)
            # Ties: constant splits first, they cost nothing to follow.
            moving = sum(np.count_nonzero(p.normal) > 1 for s in splits for p in s)
            if best is None or (cost + 1e-3 * moving) < best[0]:
                best = (cost + 1e-3 * moving, order, splits)
        if not f.planes:
            break
    return (tuple(range(f.r)), None) if best is None else (best[1], best[2])


def _eliminate(planes: Sequence[Plane], order: Sequence[int]) -> list[list[Plane]] | None:
    """Planes that split each axis, outermost first.

    The integral over the innermost variable is smooth in the others except where two of its split
    points cross: these crossings are planes in the remaining variables (Fourier-Motzkin).
    """
    current = list(planes)
    splits: list[list[Plane]] = []
    for axis in reversed(order):
        here = [p for p in current if abs(p.normal[axis]) > _ALIGNED]
        rest = [p for p in current if abs(p.normal[axis]) <= _ALIGNED]
        for p, q in itertools.combinations(here, 2):
            a, b = np.array(p.normal) / p.normal[axis], np.array(q.normal) / q.normal[axis]
            normal = a - b
            normal[axis] = 0.0
            length = float(np.linalg.norm(normal))
            if length > 1e-12:
                offset = p.offset / p.normal[axis] - q.offset / q.normal[axis]
                rest.append(Plane(tuple(normal / length), offset / length))
        rest += [crossing for p in here for crossing in _leaving(p, axis)]
        splits.append(here)
        current = _different(rest)
        if len(current) > MAX_SPLITS or len(here) > MAX_SPLITS:
            return None
    return splits[::-1]


def _leaving(plane: Plane, axis: int) -> list[Plane]:
    """Where the split of a steep plane leaves the range that matters along `axis`.

    The integral over this axis then changes fast, within a layer of the other variables.
    """
    others = np.array(plane.normal)
    others[axis] = 0.0
    length = float(np.linalg.norm(others))
    if length < _STEEP * abs(plane.normal[axis]):
        return []
    reach = _LAYER * plane.normal[axis]
    normal = tuple(others / length)
    return [Plane(normal, (plane.offset + s * reach) / length) for s in (-1.0, 1.0)]


def _different(planes: list[Plane]) -> list[Plane]:
    found: dict[tuple[int, ...], Plane] = {}
    for plane in planes:
        sign = 1.0 if next(x for x in plane.normal if abs(x) > 1e-12) > 0 else -1.0
        key = tuple(round(1e9 * sign * x) for x in (*plane.normal, plane.offset))
        found.setdefault(key, plane)
    return list(found.values())


# ---- rules: nodes and weights for each axis, outermost first, that broadcast


@lru_cache(maxsize=64)
def gauss_hermite(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the Gauss-Hermite rule for the standard normal law."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    return nodes, weights / weights.sum()


def _hermite_rules(r: int, points: int) -> Iterator[_Rule]:
    for n in _HERMITE_LEVELS:
        if n**r > points:
            return
        nodes, weights = gauss_hermite(n)
        shapes = [(1,) * axis + (n,) for axis in range(r)]
        yield [nodes.reshape(s) for s in shapes], [weights.reshape(s) for s in shapes]


def _panel_rules(
    f: Integrand, order: Sequence[int], splits: list[list[Plane]], degree: int, points: int
) -> Iterator[_Rule]:
    panels = math.prod(max(len(s), 1) + 1 for s in splits)
    for level, n in enumerate(_PANEL_LEVELS):
        if level > 1 and n**f.r * panels > points:
            return
        yield _panel_rule(f, order, splits, degree, n)


def _panel_rule(
    f: Integrand, order: Sequence[int], splits: list[list[Plane]], degree: int, n: int
) -> _Rule:
    t, w = gauss_legendre(n)
    if f.is_singular:
        t, w = _graded(t, w)
    reach = f.reach(degree)
    columns: _Columns = []
    weights: _Columns = []
    for depth, axis in enumerate(order):
        outer = [c.reshape(c.shape + (1,) * (depth - c.ndim)) for c in columns]
        # With nothing to split, two panels resolve the Gaussian better than one.
        points = [_split(p, axis, order, outer) for p in splits[depth]] or [np.zeros((1,) * depth)]
        shape = np.broadcast_shapes(*(np.shape(p) for p in points))
        inside = np.sort(np.stack([np.broadcast_to(p, shape) for p in points], axis=-1), axis=-1)
        ends = [
            np.full((*shape, 1), -reach),
            np.clip(inside, -reach, reach),
            np.full((*shape, 1), reach),
        ]
        edges = np.concatenate(ends, axis=-1)
        width = np.diff(edges, axis=-1)[..., None]
        nodes = (edges[..., :-1, None] + width * t).reshape(*shape, -1)
        columns.append(nodes)
        weights.append((width * w).reshape(*shape, -1) * normal_density(nodes))
    return columns, weights


def _split(plane: Plane, axis: int, order: Sequence[int], outer: _Columns) -> np.ndarray:
    """Where a plane meets the line along `axis`, for each outer node."""
    point: np.ndarray = np.full((1,) * len(outer), plane.offset)
    for column, other in zip(outer, order, strict=False):
        if abs(plane.normal[other]) > _ALIGNED:
            point = point - plane.normal[other] * column
    return point / plane.normal[axis]


def _graded(t: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes crowded at both ends: a root or logarithm there becomes smooth.

    The map is the incomplete beta function with parameters (6, 6), whose first five derivatives
    vanish at the ends.
    """
    from scipy.special import betainc

    density = t**5 * (1 - t) ** 5 * 2772.0  # 1 / B(6, 6)
    return betainc(6.0, 6.0, t), w * density


# ---- sums


def _contract(
    f: Integrand, order: Sequence[int], rule: _Rule, degree: int
) -> tuple[np.ndarray, float, float]:
    """Coefficients (degree + 1,) * r in the order of the variables, and means of |f| and f^2."""
    total: np.ndarray | float = 0.0
    size = square = 0.0
    for columns, weights in _chunks(*rule):
        r = len(columns)
        full = [c.reshape(c.shape + (1,) * (r - c.ndim)) for c in columns]
        values = f([full[order.index(axis)] for axis in range(r)])
        size += _mean(np.abs(values), weights)
        with np.errstate(over="ignore", invalid="ignore"):  # the square may have no mean
            square += _mean(values * values, weights)
        for z, w in zip(reversed(columns), reversed(weights), strict=True):
            values = _contract_last(values, z, w, degree)
        total = total + values
    # The axes stand in the order of integration; bring them into the order of the variables.
    assert isinstance(total, np.ndarray)
    return np.transpose(total, np.argsort(list(order))), max(size, 1e-300), square


def _mean(values: np.ndarray, weights: _Columns) -> float:
    for w in reversed(weights):
        values = (values * w).sum(axis=-1)
    return float(values)


def _contract_last(values: np.ndarray, z: np.ndarray, w: np.ndarray, degree: int) -> np.ndarray:
    """Replace axis ``z.ndim - 1`` of nodes by an axis of degrees.

    `values` has shape (nodes..., degrees...): the node axes come first, contracted ones last.
    """
    depth = z.ndim - 1
    if z.shape[:-1] == (1,) * depth:
        table = hermite_table(z.ravel(), degree) * w.ravel()
        moved = np.tensordot(values, table, axes=([depth], [1]))
        return np.moveaxis(moved, -1, depth)
    extra = (1,) * (values.ndim - z.ndim)
    z, weighted = z.reshape(z.shape + extra), values * w.reshape(w.shape + extra)
    parts = [(weighted * he).sum(axis=depth) for he in orthonormal_hermite(z, degree)]
    return np.stack(parts, axis=depth)


def _chunks(columns: _Columns, weights: _Columns) -> Iterator[_Rule]:
    """Pieces along the outermost axis, small enough for the cache and the memory."""
    inner = math.prod(c.shape[-1] for c in columns[1:])
    n = columns[0].shape[0]
    step = max(1, _CHUNK // inner)
    for start in range(0, n, step):
        part = slice(start, start + step)

        def cut(x: np.ndarray, part: slice = part) -> np.ndarray:
            return x[part] if x.shape[0] == n else x

        yield [cut(c) for c in columns], [cut(w) for w in weights]
