r"""Gaussian moments by nested adaptive bisection: slow, simple, and independent of gradone.

Nothing is known about the structure of the function. Each variable is integrated in turn by
Gauss-Legendre panels that are halved until two rules agree. Panels begin and end where the argument
of an abs, sign, min, ... changes its sign along the line of integration; these points are found by
scanning that line, so curved breaks are no harder than planes, and what the scan misses is halved.
The error is the sum of the remaining disagreements plus rounding plus what lies outside of a ball.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

DEGREE = 4
_WIDTH = 2.613  # panels have crooked ends, so that no kink of a typed function is one of them
_EPS = float(np.finfo(float).eps)
_SCAN = 97

Function = Callable[[list[np.ndarray]], np.ndarray]
Switches = Callable[[list[np.ndarray]], list[np.ndarray]]


def _legendre(n: int, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    x, w = np.polynomial.legendre.leggauss(n)
    return low + (high - low) * (x + 1) / 2, (high - low) * w / 2


# The second rule is lopsided: two symmetric rules agree, wrongly, on a jump in the middle. And it
# is much coarser: two rules of the same quality may be wrong by more than they differ.
_LOPSIDED = [_legendre(4, 0.0, 0.43), _legendre(5, 0.43, 1.0)]
_RULES = [
    _legendre(14, 0.0, 1.0),
    (np.concatenate([x for x, _ in _LOPSIDED]), np.concatenate([w for _, w in _LOPSIDED])),
]


class TooMuchWork(Exception):
    """The tolerance cannot be reached with the allowed number of function values."""


@dataclass
class Moments:
    r"""Orthonormal coefficients E[f he_beta] for |beta| <= 4, then E[f^2], with their errors."""

    indices: list[tuple[int, ...]]
    value: np.ndarray
    error: np.ndarray


def indices(r: int) -> list[tuple[int, ...]]:
    """Multi-indices up to the degree; for r = 0 the empty one."""
    every = itertools.product(range(DEGREE + 1), repeat=r)
    return sorted((beta for beta in every if sum(beta) <= DEGREE), key=lambda b: (sum(b), b))


class BruteForce:
    """Integrator of one function; `budget` is the allowed number of function values."""

    def __init__(self, f: Function, switches: Switches, r: int, scale: float, budget: float):
        self.f, self.switches, self.r, self.scale, self.left = f, switches, r, scale, budget
        self.reach, self.outside = 0.0, 0.0

    def moments(self, tolerance: float) -> Moments:
        """Moments to an absolute error of about ``tolerance * scale`` (scale^2 for f^2)."""
        self.reach, self.outside = self._reach(max(1e-3 * tolerance, 1e-17))
        total, error = self._integrate([], np.ones(1), tolerance)
        error = error + self.outside
        unit = np.array([self.scale] * (total.shape[1] - 1) + [self.scale**2])
        return Moments(indices(self.r), total[0] * unit, error[0] * unit)

    def _reach(self, negligible: float) -> tuple[float, float]:
        """Radius of the ball outside which f^2 times the density is negligible; what lies there."""
        rng = np.random.default_rng(3)
        along = np.vstack([np.eye(self.r), -np.eye(self.r), rng.standard_normal((200, self.r))])
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        radii = np.arange(6.0, 26.0, 0.5)
        points = along[:, None, :] * radii[:, None]
        values = self.f([np.ascontiguousarray(points[..., i]) for i in range(self.r)]) / self.scale
        values = np.nan_to_num(
            np.broadcast_to(values, points.shape[:2]), nan=0.0, posinf=0.0, neginf=0.0
        )
        size = values**2 + (np.abs(values) + 1) * radii**DEGREE / 5
        weight = size * np.exp(-0.5 * radii**2) * radii ** (self.r - 1)
        heavy = np.flatnonzero(weight.max(axis=0) > negligible)
        last = min(heavy[-1] + 1, len(radii) - 1) if len(heavy) else 0
        # The sphere of dimension r - 1 has the measure 2 pi^(r/2)/Gamma(r/2).
        factor = 2 / math.gamma(self.r / 2) / 2 ** (self.r / 2)
        return float(radii[last]), float(factor * 0.5 * weight.max(axis=0)[last:].sum())

    def _values(self, columns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        self.left -= len(columns[0])
        if self.left < 0:
            raise TooMuchWork
        v = np.nan_to_num(self.f(columns), nan=0.0, posinf=0.0, neginf=0.0)
        v = np.broadcast_to(v, columns[0].shape) / self.scale
        v = np.stack([v, v * v], axis=-1)
        return v, np.abs(v) * 4 * _EPS

    def _integrate(
        self, columns: list[np.ndarray], weight: np.ndarray, tolerance: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Moments over the variables that `columns` do not fix, (points, moments), with errors.

        `weight` is what the result will be multiplied by: in the tails less accuracy is enough.
        """
        if len(columns) == self.r:
            return self._values(columns)
        wanted = len(indices(self.r - len(columns))) + 1
        total, error = np.zeros((len(weight), wanted)), np.zeros((len(weight), wanted))
        item, low, high = self._first_panels(columns, len(weight))
        step = 1 << (14 if len(columns) == self.r - 1 else 9)
        pending = [
            (item[i : i + step], low[i : i + step], high[i : i + step])
            for i in range(0, len(item), step)
        ]
        while pending:
            item, low, high = pending.pop()
            fine, noise, coarse = self._panels(columns, weight, tolerance, item, low, high)
            gap = np.abs(fine - coarse)
            share = np.sqrt((high - low) / (2 * self.reach))
            poor = (gap * weight[item][:, None]).max(axis=1) > tolerance * share
            # A gap that is only the noise of the inner integrals does not shrink.
            poor &= (gap > 2 * noise).any(axis=1)
            poor &= high - low > 1e-15 * (np.abs(low) + np.abs(high)) + 1e-25
            np.add.at(total, item[~poor], fine[~poor])
            np.add.at(error, item[~poor], (gap + noise)[~poor])
            if poor.any():
                item, low, high = item[poor], low[poor], high[poor]
                middle = (low + high) / 2
                pending.append((item, low, middle))
                pending.append((item, middle, high))
        return total, error

    def _panels(
        self,
        columns: list[np.ndarray],
        weight: np.ndarray,
        tolerance: float,
        item: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Integrals over panels by the fine rule, their inner noise, and by the other rule."""
        left = self.r - len(columns)
        tails = {tail: i for i, tail in enumerate(indices(left - 1))}
        results = []
        for t, w in _RULES:
            z = low[:, None] + (high - low)[:, None] * t
            density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
            at = [np.repeat(c[item], len(t)) for c in columns] + [z.ravel()]
            inner_weight = np.repeat(weight[item], len(t)) * density.ravel()
            v, e = self._integrate(at, inner_weight, tolerance / 10)
            factor = (density * w * (high - low)[:, None])[..., None]
            v, e = v.reshape(*z.shape, -1) * factor, e.reshape(*z.shape, -1) * factor
            he = orthonormal(z)
            parts = [(he[beta[0]], tails[beta[1:]]) for beta in indices(left)]
            parts.append((he[0], v.shape[-1] - 1))
            results.append(np.stack([(h * v[..., i]).sum(axis=1) for h, i in parts], axis=-1))
            results.append(
                np.stack([(np.abs(h) * e[..., i]).sum(axis=1) for h, i in parts], axis=-1)
            )
        return results[0], results[1], results[2]

    def _first_panels(
        self, columns: list[np.ndarray], points: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Panels of each point: regular ones, cut where a switch changes its sign."""
        depth = len(columns)
        regular = np.arange(-self.reach - 0.217 * depth, self.reach + _WIDTH, _WIDTH)
        # The inner variables are frozen at two places: a sign that changes at both, does so at all.
        frozen = [[0.6180], [-1.3247]] if depth < self.r - 1 else [[]]
        crossings = [
            self._crossings(columns, points, place * (self.r - 1 - depth)) for place in frozen
        ]
        item, edge = crossings[0]
        if len(crossings) == 2:
            other = set(
                zip(crossings[1][0].tolist(), np.round(crossings[1][1], 9).tolist(), strict=True)
            )
            same = [
                pair in other
                for pair in zip(item.tolist(), np.round(edge, 9).tolist(), strict=True)
            ]
            item, edge = item[same], edge[same]
        item = np.concatenate([np.repeat(np.arange(points), len(regular)), item])
        edge = np.concatenate([np.tile(regular, points), edge])
        order = np.lexsort((edge, item))
        item, edge = item[order], edge[order]
        inside = (item[1:] == item[:-1]) & (edge[1:] > edge[:-1])
        item, low, high = item[1:][inside], edge[:-1][inside], edge[1:][inside]
        # Panels outside the ball have no weight.
        outer = sum((c**2 for c in columns), np.zeros(points))[item]
        nearest = np.where((low < 0) & (high > 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
        inside = outer + nearest**2 < self.reach**2
        return item[inside], low[inside], high[inside]

    def _crossings(
        self, columns: list[np.ndarray], points: int, frozen: list[float]
    ) -> tuple[np.ndarray, np.ndarray]:
        scan = np.linspace(-self.reach, self.reach, _SCAN)
        self.left -= points * _SCAN

        def switches(item: np.ndarray, z: np.ndarray) -> list[np.ndarray]:
            fixed = [np.full(len(z), value) for value in frozen]
            return self.switches([c[item] for c in columns] + [z] + fixed)

        items = np.repeat(np.arange(points), _SCAN)
        found_items, found_edges = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        for k, values in enumerate(switches(items, np.tile(scan, points))):
            values = values.reshape(points, _SCAN)
            signs = np.sign(values)

            def at(item: np.ndarray, z: np.ndarray, k: int = k) -> np.ndarray:
                return switches(item, z)[k]

            item, cell = np.nonzero(signs[:, :-1] * signs[:, 1:] < 0)
            brackets = [(item, scan[cell], scan[cell + 1])]
            brackets += _hidden_brackets(at, scan, values)
            item, low, high = (np.concatenate(x) for x in zip(*brackets, strict=True))
            sign = np.sign(at(item, low)) if len(item) else np.zeros(0)
            for _ in range(54 if len(item) else 0):
                middle = (low + high) / 2
                left = np.sign(at(item, middle)) == sign
                low, high = np.where(left, middle, low), np.where(left, high, middle)
            zero_item, zero_cell = np.nonzero(signs == 0)
            found_items += [item, zero_item] if len(zero_item) < points * 4 else [item]
            found_edges += [(low + high) / 2]
            found_edges += [scan[zero_cell]] if len(zero_item) < points * 4 else []
        return np.concatenate(found_items), np.concatenate(found_edges)


def _hidden_brackets(
    switch: Callable[[np.ndarray, np.ndarray], np.ndarray], scan: np.ndarray, values: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Pairs of zeros between two points of the scan: dips of the size that go through zero."""
    size, signs = np.abs(values), np.sign(values)
    dip = (size[:, 1:-1] <= size[:, :-2]) & (size[:, 1:-1] <= size[:, 2:])
    dip &= (signs[:, :-2] == signs[:, 1:-1]) & (signs[:, 2:] == signs[:, 1:-1])
    item, cell = np.nonzero(dip & (size[:, 1:-1] < 0.999 * size[:, :-2]))
    if not len(item):
        return []
    sign = signs[item, cell + 1]
    a, b = scan[cell], scan[cell + 2]
    left, right = a, b
    for _ in range(36):  # golden section for the smallest sign * value
        c, d = b - 0.618034 * (b - a), a + 0.618034 * (b - a)
        smaller = sign * switch(item, c) < sign * switch(item, d)
        a, b = np.where(smaller, a, c), np.where(smaller, d, b)
    bottom = (a + b) / 2
    through = sign * switch(item, bottom) < 0
    item, left, bottom, right = item[through], left[through], bottom[through], right[through]
    return [(item, left, bottom), (item, bottom, right)]


def orthonormal(z: np.ndarray) -> list[np.ndarray]:
    """Orthonormal Hermite polynomials, typed out."""
    return [
        np.ones_like(z),
        z,
        (z**2 - 1) / math.sqrt(2),
        (z**3 - 3 * z) / math.sqrt(6),
        (z**4 - 6 * z**2 + 3) / math.sqrt(24),
    ]
