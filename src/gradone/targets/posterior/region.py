"""Gaussian weight of the region of a formula, over the directions on which it does not depend.

Given the coordinates x of a formula the others, w, are Gaussian. The last of them is integrated in
closed form between the points where a condition changes sign; those before it by Gauss-Legendre
panels that are cut where the result jumps or has a kink.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...base.errors import OutOfRegime
from ...calculus.line import gauss_legendre
from ..language.derivative import derivative
from ..language.tree import Node, add, is_constant, multiply, negate, number, variables
from .formulas import Condition
from .level_set import Nodes
from .smooth import Smooth, complement, used_rows

_REACH = 6.0  # of the panels, in standard deviations
_STEP = 0.9  # between Gauss-Legendre nodes, about
_MAX_NODES = 96
_SHARP = 1.0  # width of a rise, in standard deviations, below which it gets panels of its own
_RISE = 3.0  # half-width of these panels, in widths of the rise
_CLOSED = 2  # degree of a condition up to which its zeros along a line have a closed form


class Weighted(NamedTuple):
    """Nodes in r dimensions: a Gaussian piece of variance `variance` along `spread` at each."""

    sample: np.ndarray
    offset: np.ndarray
    log_weight: np.ndarray
    variance: np.ndarray
    spread: np.ndarray


class Region:
    """Region of a formula, in the frame x = S z (formula) and w = T z (the rest).

    Parameters
    ----------
    conditions : sequence of Condition
        The region.
    rows : array (k, r)
        Orthonormal rows S.
    text : str
        The target, for messages.
    resolution : int
        Number of times that the step of the panels is halved.
    """

    def __init__(
        self, conditions: Sequence[Condition], rows: np.ndarray, text: str, resolution: int = 0
    ) -> None:
        self.rows, self.k, self.r = rows, *rows.shape
        self.step = _STEP / 2**resolution
        self.inside, self.outside = [], []
        for condition in conditions:
            normal = used_rows(condition.tree, self.r)
            within = np.abs(normal - normal @ rows.T @ rows).max(initial=0.0) < 1e-9
            (self.inside if within else self.outside).append(condition)
        self._inside = [Smooth(c.tree, rows) for c in self.inside]
        self._outside = [Smooth(c.tree, np.eye(self.r)) for c in self.outside]
        self.free = complement(rows)
        self._last = self._closed_rows(text) if self.outside else list(range(len(self.free)))

    def _closed_rows(self, text: str) -> list[int]:
        """Free directions along which every condition has zeros in closed form."""
        degrees = [[f.degree_along(row) for f in self._outside] for row in self.free]
        result = [
            i
            for i, found in enumerate(degrees)
            if all(d is not None and d <= _CLOSED for d in found)
        ]
        affine = [i for i in result if max(degrees[i]) <= 1]  # type: ignore[type-var]
        if not result:
            raise OutOfRegime(
                f"the kinks and jumps of '{text}' have no closed form along any direction, "
                "which the posterior of a noiseless output needs. Give the target a noise > 0."
            )
        return affine or result

    def weigh(self, nodes: Nodes, omega: np.ndarray, V: np.ndarray) -> Weighted:
        """Nodes of the formula with the weight of the region."""
        nodes = self._inner(nodes, self.rows @ omega)
        if not len(self.free):
            zero = np.zeros(len(nodes.sample))
            return Weighted(
                nodes.sample, self.rows.T @ nodes.x, nodes.log_weight, zero, np.zeros(self.r)
            )
        order = self._order(V)
        T = self.free[order]
        along, L = _conditional(self.rows, T, V)
        sample, log_weight = nodes.sample, nodes.log_weight
        offset = self.rows.T @ nodes.x + T.T @ (along @ nodes.x)
        directions = T.T @ L
        for j, cuts in enumerate(self._cuts(tuple(order))):
            at = omega[:, sample] + offset
            places = [_zeros(f, at, directions[:, j]) for f in cuts]
            if j == len(order) - 2:
                for f in self._outside:
                    places.append(_steps(f, at, directions[:, j], directions[:, j + 1]))
            line, eta, weight = _panels(places, len(sample), self.step)
            sample, log_weight = sample[line], log_weight[line] + weight
            offset = offset[:, line] + directions[:, j, None] * eta
        return self._close(sample, offset, log_weight, omega, directions[:, -1])

    def _inner(self, nodes: Nodes, mean: np.ndarray) -> Nodes:
        """Nodes that satisfy the conditions on x alone; the boundary is smoothed over a step."""
        if not self.inside:
            return nodes
        x = mean[:, nodes.sample] + nodes.x
        log_weight = nodes.log_weight.copy()
        with np.errstate(divide="ignore", invalid="ignore"):
            for condition, f in zip(self.inside, self._inside, strict=True):
                value = condition.sign * f.value(x)
                if not nodes.tangents:
                    log_weight[~(value > 0)] = -np.inf
                    continue
                # A node stands for a cell: the part of it that lies inside.
                gradient = f.gradient(x)
                width = sum(np.abs((gradient * move).sum(axis=0)) for move in nodes.tangents)
                log_weight += np.log(np.clip(0.5 + value / width, 0.0, 1.0))
        keep = log_weight > -np.inf
        return Nodes(
            nodes.sample[keep],
            nodes.x[:, keep],
            log_weight[keep],
            tuple(move[:, keep] for move in nodes.tangents),
        )

    def _order(self, V: np.ndarray) -> list[int]:
        """Order of the free directions: the closed one last, the widest of those possible."""
        size = np.einsum("ij,jk,ik->i", self.free, V, self.free)
        last = max(self._last, key=lambda i: size[i])
        return [*(i for i in range(len(self.free)) if i != last), last]

    @lru_cache(maxsize=8)  # noqa: B019
    def _cuts(self, order: tuple[int, ...]) -> list[list[Smooth]]:
        """For every direction but the last: functions at whose zeros the panels are cut."""
        T = self.free[list(order)]
        trees: list[Node] = [c.tree for c in self.outside]
        levels: list[list[Smooth]] = []
        for j in range(len(T) - 1, 0, -1):
            slopes = [_along(tree, T[j]) for tree in trees]
            moving = [(b, s) for b, s in zip(trees, slopes, strict=True) if not _vanishes(s)]
            trees = [b for b, s in zip(trees, slopes, strict=True) if _vanishes(s)]
            trees += [s for _, s in moving if not is_constant(s)]
            for (b1, s1), (b2, s2) in itertools.combinations(moving, 2):
                crossing = add((multiply((b1, s2)), negate(multiply((b2, s1)))))
                if not is_constant(crossing):
                    trees.append(crossing)
            functions = [Smooth(tree, np.eye(self.r)) for tree in trees]
            levels.append([f for f in functions if f.degree_along(T[j - 1]) in (1, 2)])
        return levels[::-1]

    def _close(
        self,
        sample: np.ndarray,
        offset: np.ndarray,
        log_weight: np.ndarray,
        omega: np.ndarray,
        direction: np.ndarray,
    ) -> Weighted:
        """Integrate the last direction between the zeros of the conditions."""
        from .region_kernels import allowed_intervals

        if not self.outside:
            return Weighted(sample, offset, log_weight, np.ones(len(sample)), direction)
        at = omega[:, sample] + offset
        c = np.empty((3, len(self.outside), len(sample)))
        for i, f in enumerate(self._outside):
            c[:, i] = _quadratic(f, at, direction)
        signs = np.array([condition.sign for condition in self.outside], dtype=np.float64)
        line, mass, mean, variance = allowed_intervals(*c, signs)
        return Weighted(
            sample[line],
            offset[:, line] + direction[:, None] * mean,
            log_weight[line] + mass,
            variance,
            direction,
        )


def _along(tree: Node, row: np.ndarray) -> Node:
    """Derivative of a tree along a direction."""
    return add(
        multiply((number(Fraction(float(row[i - 1]))), derivative(tree, i)))
        for i in variables(tree)
        if row[i - 1]
    )


def _vanishes(tree: Node) -> bool:
    from ..language.tree import ZERO

    return tree == ZERO


def _quadratic(f: Smooth, at: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Coefficients (3, lines) of f(at + s direction), a polynomial of degree 2 at most."""
    degree = f.degree_along(direction)
    middle = f.value(at)
    above = f.value(at + direction[:, None])
    if degree is not None and degree <= 1:
        return np.stack([middle, above - middle, np.zeros(len(middle))])
    below = f.value(at - direction[:, None])
    return np.stack([middle, (above - below) / 2, (above + below) / 2 - middle])


def _zeros(f: Smooth, at: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Zeros (2, lines) along a direction, NaN where there are none."""
    c, b, a = _quadratic(f, at, direction)
    with np.errstate(all="ignore"):
        half = -(b + np.copysign(np.sqrt(b * b - 4 * a * c), b)) / 2
        return np.stack([half / a, c / half])


def _steps(f: Smooth, at: np.ndarray, direction: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Cuts around the places where the probability of f > 0 along `last` changes fast.

    The probability is an error function of f over its slope along `last`: where f vanishes along
    `direction`, with the slopes a and b along the two, it rises within b/a.
    """
    cuts = []
    for zero in _zeros(f, at, direction):
        here = at + direction[:, None] * np.where(np.isfinite(zero), zero, 0.0)
        a, b = (_quadratic(f, here, d)[1] for d in (direction, last))
        with np.errstate(all="ignore"):
            width = np.abs(b / a)
            width = np.where(width < _SHARP, width, np.nan)
        cuts += [zero + side * _RISE * width for side in (-1, 0, 1)]
    return np.stack(cuts)


def _panels(
    places: list[np.ndarray], lines: int, step: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    from .region_kernels import panel_nodes

    cuts = np.concatenate([np.empty((0, lines)), *places]).T
    return panel_nodes(np.ascontiguousarray(cuts), _REACH, step, *_rules())


@lru_cache(maxsize=1)
def _rules() -> tuple[np.ndarray, np.ndarray]:
    points, weights = np.zeros((_MAX_NODES + 1, _MAX_NODES)), np.zeros((_MAX_NODES + 1, _MAX_NODES))
    for n in range(1, _MAX_NODES + 1):
        points[n, :n], weights[n, :n] = gauss_legendre(n)
    return points, weights


def _conditional(S: np.ndarray, T: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Regression of w on x and Cholesky factor of the covariance that is left."""
    C, cross, own = S @ V @ S.T, T @ V @ S.T, T @ V @ T.T
    if not len(S):
        return np.zeros((len(T), 0)), np.linalg.cholesky(own)
    along = np.linalg.solve(C, cross.T).T
    left = own - along @ cross.T
    return along, np.linalg.cholesky((left + left.T) / 2)
