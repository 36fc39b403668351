r"""Probabilities of regions: lines on which the region is a union of intervals.

Along a line the standard Gaussian has the mass :math:`\Phi(b) - \Phi(a)` on an interval, exactly;
over the directions across the lines a lattice is enough, because what is left of planes and curves
that the lines cross is continuous.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable

import numpy as np
from scipy.special import ndtr

from ...targets.language.bounds import interval
from ...targets.language.breaks import zero_planes
from ...targets.language.derivative import derivative
from ...targets.language.evaluate import evaluate_columns
from ...targets.language.lines import Curved, bracketed_zeros
from ...targets.language.polynomials import polynomial_of
from ...targets.language.tree import Node, Power, Product, variables
from .grids import lattice

_REACH = 7.0  # no interval begins farther out, in standard deviations
_SCAN, _STEP = np.linspace(-_REACH, _REACH, 57, retstep=True)
_CANDIDATES = 256
_FAR = 38.0  # beyond, not even the tail is a number
_NODES = 2**14  # lines that are looked at together
_RADIUS = {0: 1.0, 1: 6.0, 2: 5.0, 3: 5.0}
Weight = Callable[[Callable[[int], np.ndarray], slice], np.ndarray]
"""Columns of z (m, points, lines) inside of intervals of some points -> their weights."""
Moments = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Mass (n,), mean (n, d) and second moment (n, d, d)."""


class Lines:
    """Lines in the space of some variables, cut where functions change their sign.

    Parameters
    ----------
    functions : iterable of Node
        The functions whose signs make the region.
    k : int
        Number of all variables.
    free : sequence of int
        The variables that are integrated over, counted from 0; the others are known.
    """

    def __init__(self, functions: Iterable[Node], k: int, free: list[int]) -> None:
        self.k, self.free = k, free
        planes: dict[tuple[int, ...], np.ndarray] = {}
        self.curved: list[Node] = []
        for node in functions:
            try:
                for plane in zero_planes(node, k):
                    row = np.array([*plane.normal, plane.offset])
                    if np.abs(row[free]).max(initial=0.0) > 1e-12:
                        planes.setdefault(tuple(np.round(row * 1e9).astype(np.int64)), row)
            except Curved:
                self.curved += [part for part in _factors(node) if part not in self.curved]
        self.planes = np.array(list(planes.values())).reshape(-1, k + 1)
        self._axis = next((i for i, a in enumerate(free) if self._is_crossed_once(a)), None)

    def _is_crossed_once(self, axis: int) -> bool:
        """Whether lines along an axis cross every plane and every curved surface exactly once."""
        slopes = [derivative(node, axis + 1) for node in self.curved]
        return (
            all(axis + 1 not in variables(slope) and is_never_zero(slope) for slope in slopes)
            and bool(self.curved)
            and bool((np.abs(self.planes[:, axis]) > 1e-12).all())
        )

    def sums(
        self, weight: Weight, center: np.ndarray, spread: np.ndarray, h: float
    ) -> list[Moments]:
        """Mass (n,), first and second moments of the free variables in units of their prior.

        Parameters
        ----------
        weight : callable
            The weight of every interval.
        center : array (n, k)
            Prior means of the free variables, and the others.
        spread : array (f, d)
            Square root of the prior covariance of the free variables, without its null space.
        h : float
            Step of the lattice across the lines.

        Returns
        -------
        list of two tuples
            With step h, and with step 2 h.
        """
        n, d = len(center), spread.shape[1]
        frame = self._frame(spread)
        grid = lattice(d - 1, h, _RADIUS[d - 1])
        features = grid.features()  # all moments across the lines are products with these columns
        offset = grid.x @ frame[1:] @ spread.T
        step = np.zeros(self.k)
        step[self.free] = spread @ frame[0]
        totals = np.zeros((3, n, features.shape[1]))
        block = max(_NODES // len(offset), 1)
        for start in range(0, n, block):
            rows = slice(start, start + block)
            base = [center[rows, axis, None] for axis in range(self.k)]
            for i, axis in enumerate(self.free):
                base[axis] = base[axis] + offset[:, i]
            shape = (len(base[0]), len(offset))
            totals[:, rows] = self._along(weight, base, step, rows, shape) @ features
        fine, coarse = (_assembled(half, frame) for half in np.split(totals, 2, axis=2))
        return [fine, coarse]

    def _frame(self, spread: np.ndarray) -> np.ndarray:
        """Orthonormal rows, the first one along the lines, which are parallel to no plane."""
        d = spread.shape[1]
        rng = np.random.default_rng(d)
        rest = rng.standard_normal((d, d - 1))
        if self._axis is not None and d == len(spread):
            along = np.linalg.inv(spread)[:, self._axis]
            return np.ascontiguousarray(np.linalg.qr(np.column_stack([along, rest]))[0].T)
        candidates = rng.standard_normal((_CANDIDATES, d))
        candidates /= np.linalg.norm(candidates, axis=1)[:, None]
        best = 0
        if len(self.planes):
            normals = self.planes[:, self.free] @ spread
            length = np.linalg.norm(normals, axis=1)
            normals = normals[length > 1e-12] / length[length > 1e-12, None]
            best = int(np.abs(candidates @ normals.T).min(axis=1, initial=1.0).argmax())
        frame = np.linalg.qr(np.column_stack([candidates[best], rest]))[0].T
        return np.ascontiguousarray(frame)

    def _along(
        self,
        weight: Weight,
        base: list[np.ndarray],
        step: np.ndarray,
        rows: slice,
        shape: tuple[int, int],
    ) -> np.ndarray:
        """Mass, first and second moment (3, n, lines) along every line of some samples."""
        at = np.clip(self._breaks(base, step, shape), -_FAR, _FAR)
        m = len(at)
        for i, j in itertools.combinations(range(m), 2):  # few: faster than a sort along an axis
            at[i], at[j] = np.minimum(at[i], at[j]), np.maximum(at[i], at[j])
        inside = np.zeros((m + 1, *shape))
        if m:
            inside[0], inside[-1] = at[0] - 1, at[-1] + 1
            np.add(at[1:], at[:-1], out=inside[1:-1])
            inside[1:-1] *= 0.5
        share = weight(lambda i: base[i - 1] + step[i - 1] * inside, rows)
        share = np.broadcast_to(share, inside.shape)
        tail, density = ndtr(-np.abs(at)), np.exp(-(at**2) / 2) / math.sqrt(2 * math.pi)
        # The weight at 0, and what changes from there on in both directions: tails do not cancel.
        moments = np.zeros((3, *shape))
        middle = share[-1].copy()
        for j in range(m):
            change = share[j + 1] - share[j]
            middle -= change * ~np.signbit(at[j])
            moments[0] += change * np.copysign(tail[j], at[j])
            change *= density[j]
            moments[1] += change
            moments[2] += change * at[j]
        moments[0] += middle
        moments[2] += moments[0]
        return moments

    def _breaks(
        self, base: list[np.ndarray], step: np.ndarray, shape: tuple[int, int]
    ) -> np.ndarray:
        """Places (m, n, lines) along the lines where a function changes its sign."""
        planes, scale = np.empty((len(self.planes), *shape)), np.abs(step).max()
        for place, (*normal, offset) in zip(planes, self.planes, strict=True):
            height = sum(c * x for c, x in zip(normal, base, strict=True) if c)
            slope = float(step @ normal)
            place[...] = (offset - height) / slope if abs(slope) > 1e-12 * scale else np.inf
        moving = np.flatnonzero(np.abs(step) > 1e-9 * scale)
        is_axis = self._axis is not None and list(moving) == [self.free[self._axis]]
        curved = []
        for node in self.curved:
            polynomial = polynomial_of(node, self.k)
            if is_axis or (polynomial is not None and polynomial.degree <= 2):
                curved.append(_quadratic(node, base, step, shape))
            else:
                curved.append(_scanned(node, base, step, shape))
        return np.concatenate([planes, *curved])


def _quadratic(
    node: Node, base: list[np.ndarray], step: np.ndarray, shape: tuple[int, int]
) -> np.ndarray:
    """Places (2, n, lines) where a function of degree at most 2 along the lines vanishes."""

    def at(t: float) -> np.ndarray:
        values = evaluate_columns(node, lambda i: base[i - 1] + t * step[i - 1])
        return np.broadcast_to(values, shape)

    low, middle, high = at(-1.0), at(0.0), at(1.0)
    a, b = (low + high) / 2 - middle, (high - low) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        # The sum of two numbers of one sign: nothing cancels.
        q = -(b + np.copysign(np.sqrt(b * b - 4 * a * middle), b)) / 2
        zeros = np.stack([q / a, middle / q])
    return np.where(np.isfinite(zeros), zeros, np.inf)


def _scanned(
    node: Node, base: list[np.ndarray], step: np.ndarray, shape: tuple[int, int]
) -> np.ndarray:
    """Places (m, n, lines) where a function changes its sign between the points of a scan."""
    values = evaluate_columns(node, lambda i: base[i - 1][..., None] + step[i - 1] * _SCAN)
    values = np.broadcast_to(values, (*shape, len(_SCAN)))
    is_up = values > 0
    i, j, place = np.nonzero(is_up[..., 1:] != is_up[..., :-1])
    low, high = _SCAN[place], _SCAN[place + 1]
    # Two zeros between points of one sign: there |f| has a minimum, at the vertex of a parabola.
    size = np.abs(values)
    left, middle, right = size[..., :-2], size[..., 1:-1], size[..., 2:]
    is_dip = (middle <= left) & (middle < right) & (is_up[..., :-2] == is_up[..., 1:-1])
    dip = np.nonzero(is_dip & (is_up[..., 1:-1] == is_up[..., 2:]))
    bend = left[dip] - 2 * middle[dip] + right[dip]
    vertex = _SCAN[dip[2] + 1] + _STEP * (left[dip] - right[dip]) / (2 * bend)

    def along(i: np.ndarray, j: np.ndarray, t: np.ndarray) -> np.ndarray:
        own = [np.broadcast_to(column, shape)[i, j] for column in base]
        return np.asarray(evaluate_columns(node, lambda a: own[a - 1] + step[a - 1] * t))

    two = (along(dip[0], dip[1], vertex) > 0) != is_up[dip[0], dip[1], dip[2] + 1]
    i, j = (np.concatenate([a, b[two], b[two]]) for a, b in ((i, dip[0]), (j, dip[1])))
    low = np.concatenate([low, _SCAN[dip[2]][two], vertex[two]])
    high = np.concatenate([high, vertex[two], _SCAN[dip[2] + 2][two]])
    order = np.lexsort((j, i))
    i, j, low, high = i[order], j[order], low[order], high[order]
    zeros = bracketed_zeros(lambda t: along(i, j, t), low, high)
    line = i * shape[1] + j
    counts = np.bincount(line, minlength=shape[0] * shape[1])
    rank = np.arange(len(line)) - (np.cumsum(counts) - counts)[line]
    table = np.full((shape[0] * shape[1], int(counts.max(initial=0))), np.inf)
    table[line, rank] = zeros
    return table.T.reshape(-1, *shape)


def is_never_zero(node: Node) -> bool:
    """Whether a function is known to keep its sign."""
    low, high = interval(node)
    return low > 0 or high < 0


def _factors(node: Node) -> list[Node]:
    """Parts of a product, each of which may change its sign."""
    match node:
        case Product(factors=factors):
            return [part for factor in factors for part in _factors(factor)]
        case Power(base=base, exponent=exponent):
            return _factors(base) if exponent % 2 else []
    return [node]


def _assembled(totals: np.ndarray, frame: np.ndarray) -> Moments:
    """Mass and moments in the coordinates of the free variables."""
    (total, first, second), (n, d) = totals, (totals.shape[1], len(frame))
    mean, square = np.empty((n, d)), np.empty((n, d, d))
    mean[:, 0], mean[:, 1:] = first[:, 0], total[:, 1:d]
    square[:, 0, 0] = second[:, 0]
    square[:, 0, 1:] = square[:, 1:, 0] = first[:, 1:d]
    square[:, 1:, 1:] = total[:, d:].reshape(n, d - 1, d - 1)
    return total[:, 0], mean @ frame, frame.T @ square @ frame
