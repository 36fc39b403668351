r"""Probabilities of regions: lines on which the region is a union of intervals.

Along a line the standard Gaussian has the mass :math:`\Phi(b) - \Phi(a)` on an interval, exactly;
over the directions across the lines a lattice is enough, because what is left of planes and curves
that the lines cross is continuous.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
from scipy.special import ndtr

from ..targets.language.breaks import zero_planes
from ..targets.language.evaluate import evaluate_columns
from ..targets.language.lines import Curved, bracketed_zeros
from ..targets.language.tree import Node, Power, Product
from .grids import lattice

_REACH = 7.0  # no interval begins farther out, in standard deviations
_SCAN = np.linspace(-_REACH, _REACH, 57)
_CANDIDATES = 256
_NODES = 2**15  # points on lines that are looked at together
Weight = Callable[[Callable[[int], np.ndarray], slice], np.ndarray]
"""Columns of z on the intervals of some samples -> the weights of the intervals."""


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
        self._curved: list[Node] = []
        for node in functions:
            try:
                for plane in zero_planes(node, k):
                    row = np.array([*plane.normal, plane.offset])
                    if np.abs(row[free]).max() > 1e-12:
                        planes.setdefault(tuple(np.round(row * 1e9).astype(np.int64)), row)
            except Curved:
                self._curved += [part for part in _factors(node) if part not in self._curved]
        self._planes = np.array(list(planes.values())).reshape(-1, k + 1)

    def sums(
        self, weight: Weight, center: np.ndarray, spread: np.ndarray, h: float
    ) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Mass (n,), first and second moments of the free variables in units of their prior.

        Parameters
        ----------
        weight : callable
            The weight of every interval.
        center : array (n, k)
            Prior means of the free variables, and the others.
        spread : array (f, f)
            Square root of the prior covariance of the free variables.
        h : float
            Step of the lattice across the lines.

        Returns
        -------
        list of two tuples
            With step h, and with step 2 h.
        """
        f, n = len(self.free), len(center)
        frame = self._frame(spread)
        if f > 1:
            grid = lattice(f - 1, h)
            across, weights = grid.x, np.stack([grid.weight, grid.coarse], axis=1)
        else:
            across, weights = np.zeros((1, 0)), np.ones((1, 2))
        # All moments across the lines are products with these columns.
        features = np.concatenate(
            [np.ones((len(across), 1)), across, _products(across)], axis=1
        )
        columns = (features[:, None, :] * weights[:, :, None]).reshape(len(across), -1)
        offset = across @ frame[1:] @ spread.T
        direction = spread @ frame[0]
        totals = [np.zeros((n, 2, features.shape[1])) for _ in range(3)]
        block = max(_NODES // (len(across) * (3 + len(self._planes))), 1)
        for start in range(0, n, block):
            rows = slice(start, min(start + block, n))
            base = {
                axis: (center[rows, axis, None] + offset[:, i]) for i, axis in enumerate(self.free)
            }
            known = [base.get(axis, center[rows, axis, None]) for axis in range(self.k)]
            moments = self._along(weight, known, direction, rows, (rows.stop - start, len(across)))
            for total, moment in zip(totals, moments, strict=True):
                total[rows] = (moment @ columns).reshape(-1, 2, features.shape[1])
        return [_assembled(*(total[:, which] for total in totals), frame) for which in (0, 1)]

    def _frame(self, spread: np.ndarray) -> np.ndarray:
        """Orthonormal rows, the first one along the lines: none of the planes is parallel to it."""
        f = len(self.free)
        rng = np.random.default_rng(f)
        candidates = rng.standard_normal((_CANDIDATES, f))
        candidates /= np.linalg.norm(candidates, axis=1)[:, None]
        best = 0
        if len(self._planes):
            normals = self._planes[:, self.free] @ spread
            normals /= np.linalg.norm(normals, axis=1)[:, None]
            best = int(np.abs(candidates @ normals.T).min(axis=1).argmax())
        rest = rng.standard_normal((f, f - 1))
        frame = np.linalg.qr(np.column_stack([candidates[best], rest]))[0].T
        return np.ascontiguousarray(frame)

    def _along(
        self,
        weight: Weight,
        base: list[np.ndarray],
        direction: np.ndarray,
        rows: slice,
        shape: tuple[int, int],
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mass, first and second moment along every line of some samples."""
        step = np.zeros(self.k)
        step[self.free] = direction
        at = self._breaks(base, step, shape)
        at.sort(axis=2)
        np.clip(at, -40.0, 40.0, out=at)
        inside = np.empty((*shape, at.shape[2] + 1))
        if at.shape[2]:
            inside[..., 0], inside[..., -1] = at[..., 0] - 1, at[..., -1] + 1
            inside[..., 1:-1] = (at[..., 1:] + at[..., :-1]) / 2
        else:
            inside[...] = 0.0
        share = weight(lambda i: base[i - 1][..., None] + step[i - 1] * inside, rows)
        tail, density = ndtr(-np.abs(at)), np.exp(-(at**2) / 2) / math.sqrt(2 * math.pi)
        # Masses of intervals from the smaller tails: nothing cancels far out.
        upper = np.concatenate([at, np.full((*shape, 1), np.inf)], axis=2)
        lower = np.concatenate([np.full((*shape, 1), -np.inf), at], axis=2)
        zero = np.zeros((*shape, 1))
        high = np.concatenate([tail, zero], axis=2)
        low = np.concatenate([zero, tail], axis=2)
        mass = np.where(lower >= 0, low - high, np.where(upper <= 0, high - low, 1 - low - high))
        drop = np.diff(share, axis=2)
        first = (drop * density).sum(axis=2)
        second = (drop * density * at).sum(axis=2)
        total = (share * mass).sum(axis=2)
        return total, first, total + second

    def _breaks(
        self, base: list[np.ndarray], step: np.ndarray, shape: tuple[int, int]
    ) -> np.ndarray:
        """Places (n, lines, m) along the lines where a function changes its sign."""
        found = [np.empty((*shape, 0))]
        if len(self._planes):
            normals, offsets = self._planes[:, :-1], self._planes[:, -1]
            height = np.zeros((*shape, len(normals)))
            for axis in range(self.k):
                if normals[:, axis].any():
                    height += base[axis][..., None] * normals[:, axis]
            with np.errstate(divide="ignore", invalid="ignore"):
                found.append(np.nan_to_num((offsets - height) / (normals @ step), nan=np.inf))
        for node in self._curved:
            found.append(self._scanned(node, base, step, shape))
        return np.concatenate(found, axis=2)

    def _scanned(
        self, node: Node, base: list[np.ndarray], step: np.ndarray, shape: tuple[int, int]
    ) -> np.ndarray:
        values = evaluate_columns(node, lambda i: base[i - 1][..., None] + step[i - 1] * _SCAN)
        values = np.broadcast_to(values, (*shape, len(_SCAN)))
        i, j, place = np.nonzero((values[..., 1:] > 0) != (values[..., :-1] > 0))
        own = [np.broadcast_to(column, shape)[i, j] for column in base]

        def along(t: np.ndarray) -> np.ndarray:
            return np.asarray(evaluate_columns(node, lambda a: own[a - 1] + step[a - 1] * t))

        zeros = bracketed_zeros(along, _SCAN[place], _SCAN[place + 1])
        line = i * shape[1] + j
        counts = np.bincount(line, minlength=shape[0] * shape[1])
        rank = np.arange(len(line)) - (np.cumsum(counts) - counts)[line]
        table = np.full((shape[0] * shape[1], int(counts.max(initial=0))), np.inf)
        table[line, rank] = zeros
        return table.reshape(*shape, -1)


def _factors(node: Node) -> list[Node]:
    """Parts of a product, each of which may change its sign."""
    match node:
        case Product(factors=factors):
            return [part for factor in factors for part in _factors(factor)]
        case Power(base=base, exponent=exponent):
            return _factors(base) if exponent % 2 else []
    return [node]


def _products(x: np.ndarray) -> np.ndarray:
    """Products (N, f * f) of coordinates (N, f)."""
    return (x[:, :, None] * x[:, None, :]).reshape(len(x), -1)


def _assembled(
    total: np.ndarray, first: np.ndarray, second: np.ndarray, frame: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mass and moments in the coordinates of the free variables."""
    n, f = len(total), len(frame)
    mean, square = np.empty((n, f)), np.empty((n, f, f))
    mean[:, 0], mean[:, 1:] = first[:, 0], total[:, 1:f]
    square[:, 0, 0] = second[:, 0]
    square[:, 0, 1:] = square[:, 1:, 0] = first[:, 1:f]
    square[:, 1:, 1:] = total[:, f:].reshape(n, f - 1, f - 1)
    return total[:, 0], mean @ frame, frame.T @ square @ frame
