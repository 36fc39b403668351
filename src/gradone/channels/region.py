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

import numpy as np

from ..base.errors import OutOfRegime
from ..calculus.line import gauss_legendre
from ..targets.language.derivative import derivative
from ..targets.language.tree import Node, add, is_constant, multiply, negate, number, variables
from .formulas import Condition
from .level_set import Nodes
from .moment_sums import MomentSums
from .smooth import Smooth, complement, used_rows

_REACH = 6.0  # of the panels, in standard deviations
_STEP = 0.9  # between Gauss-Legendre nodes, about
# For means, where a formula multiplies the weight of the region.
_NEARER, _FINER = 5.0, 0.6
_MAX_NODES = 96
_LOST = 40.0  # exp(-_LOST) of what is there already is nothing
_CLOSED = 2  # degree of a condition up to which its zeros along a line have a closed form


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
        self.resolution, self.step = resolution, _STEP / 2**resolution
        self.inside: list[Condition] = []
        self.outside: list[Condition] = []
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
        affine = [i for i in result if all(d in (0, 1) for d in degrees[i])]
        if not result:
            raise OutOfRegime(
                f"the kinks and jumps of '{text}' have no closed form along any direction, "
                "which the posterior of a noiseless output needs. Give the target a noise > 0."
            )
        return affine or result

    @property
    def is_bounded(self) -> bool:
        """Whether there are any conditions."""
        return bool(self.inside or self.outside)

    @property
    def own_conditions(self) -> list[tuple[int, Smooth]]:
        """Signs and functions of the conditions on x alone."""
        return [(c.sign, f) for c, f in zip(self.inside, self._inside, strict=True)]

    def inner(self, nodes: Nodes, omega: np.ndarray) -> Nodes:
        """Nodes that satisfy the conditions on x alone; the boundary is smoothed over a step."""
        if not self.inside:
            return nodes
        x = (self.rows @ omega)[:, nodes.sample] + nodes.x
        log_weight = nodes.log_weight.copy()
        with np.errstate(divide="ignore", invalid="ignore"):
            for sign, f in self.own_conditions:
                value = sign * f.value(x)
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

    def add(
        self,
        nodes: Nodes,
        omega: np.ndarray,
        V: np.ndarray,
        bounds: tuple[np.ndarray, np.ndarray],
        moments: MomentSums,
    ) -> None:
        """Add nodes, with the weight of the region, to the moments of their samples.

        Only those whose log weight is in [bounds[0], bounds[1]) of the sample.
        """
        from .plane_kernels import add_planes
        from .region_kernels import accumulate

        sample, log_weight = nodes.sample, nodes.log_weight
        here = (bounds[0][sample] <= log_weight) & (log_weight < bounds[1][sample])
        here &= log_weight > -np.inf
        if not here.all():
            sample, log_weight = sample[here], log_weight[here]
        if not len(sample):
            return
        x = nodes.x if here.all() else nodes.x[:, here]
        offset = self.rows.T @ x
        if not self.outside:
            spread = np.zeros((self.r, self.r))
            if len(self.free):
                along, L = _conditional(self.rows, self.free, V)
                offset += self.free.T @ (along @ x)
                spread = self.free.T @ L @ L.T @ self.free
            accumulate(sample, log_weight, offset, spread, *moments)
            return
        order = self._order(V)
        T = self.free[order]
        along, L = _conditional(self.rows, T, V)
        offset += T.T @ (along @ x)
        directions = T.T @ L
        last = len(order) - 1
        # The kernel does the last two directions if the conditions are polynomials along both.
        begin = last
        if last and all(f.degree_along(directions[:, last - 1]) is not None for f in self._outside):
            begin = last - 1
        for j, cuts in enumerate(self._cuts(tuple(order))[:begin]):
            at = omega[:, sample] + offset
            places = [_zeros(f, at, directions[:, j]) for f in cuts]
            if j == last - 1:
                for f in self._outside:
                    places.append(_steps(f, at, directions[:, j], directions[:, last]))
            line, eta, weight = _panels(places, len(sample), self.step)
            sample, log_weight = sample[line], log_weight[line] + weight
            offset = offset[:, line] + directions[:, j, None] * eta
        first = directions[:, begin] if begin < last else np.zeros(self.r)
        signs = np.array([condition.sign for condition in self.outside], dtype=np.float64)
        add_planes(
            sample,
            offset,
            log_weight,
            self._coefficients(omega[:, sample] + offset, first, directions[:, last]),
            signs,
            np.stack([first, directions[:, last]]),
            _REACH if begin < last else 0.0,
            self.step,
            *_rules(),
            *moments,
        )

    def _coefficients(self, at: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Coefficients (planes, conditions, a, b) of e^a s^b in f(at + e first + s last)."""
        degrees = [
            (f.degree_along(first) if first.any() else 0, f.degree_along(last))
            for f in self._outside
        ]
        most = max(a for a, _ in degrees)  # type: ignore[type-var]
        out = np.zeros((at.shape[1], len(degrees), most + 1, 3))  # type: ignore[operator]
        for j, (f, (a, b)) in enumerate(zip(self._outside, degrees, strict=True)):
            e, s = (np.arange(n + 1.0) - n // 2 for n in (a, b))  # type: ignore[operator]
            values = np.stack(
                [[f.value(at + (x * first + y * last)[:, None]) for y in s] for x in e]
            )
            left, right = (np.linalg.inv(np.vander(x, increasing=True)) for x in (e, s))
            out[:, j, : len(e), : len(s)] = np.einsum("ax,xyn,by->nab", left, values, right)
        return out

    def rule_across(
        self, omega: np.ndarray, V: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Panels along the only direction of the formula, cut where the region changes.

        Returns the prior mean of each node, its place in standard deviations, its log weight.
        """
        places = self.changes_across(omega, V)
        return _panels(places, omega.shape[1], _FINER * self.step, reach=_NEARER)

    def changes_across(self, omega: np.ndarray, V: np.ndarray) -> list[np.ndarray]:
        """Where the region changes along the only direction of the formula.

        Arrays (places, m) for prior means (r, m), in standard deviations from them; NaN for none.
        """
        row = self.rows[0]
        direction = V @ row / np.sqrt(row @ V @ row)
        functions = list(self._inside)
        places = []
        if self.outside:
            order = self._order(V)
            functions += self._cuts(tuple(order), across=True)[0]
            T = self.free[order]
            last = T.T @ _conditional(self.rows, T, V)[1][:, -1]
            places = [_steps(f, omega, direction, last) for f in self._outside]
        inside = self.rows @ omega, self.rows @ direction
        for f in functions:
            places.append(_zeros(f, *(inside if f in self._inside else (omega, direction))))
        return places

    def _order(self, V: np.ndarray) -> list[int]:
        """Order of the free directions: the closed one last, the widest of those possible."""
        size = np.einsum("ij,jk,ik->i", self.free, V, self.free)
        last = max(self._last, key=lambda i: size[i])
        return [*(i for i in range(len(self.free)) if i != last), last]

    @lru_cache(maxsize=8)  # noqa: B019
    def _cuts(self, order: tuple[int, ...], *, across: bool = False) -> list[list[Smooth]]:
        """For every direction but the last: functions at whose zeros the panels are cut.

        Directions of the formula come before the free ones if `across` is true.
        """
        T = np.vstack([self.rows[: self.k * across], self.free[list(order)]])
        trees: list[Node] = [c.tree for c in self.outside]
        levels: list[list[Smooth]] = []
        for j in range(len(T) - 1, 0, -1):
            slopes = [_along(tree, T[j]) for tree in trees]
            moving = [(b, s) for b, s in zip(trees, slopes, strict=True) if not _vanishes(s)]
            trees = [b for b, s in zip(trees, slopes, strict=True) if _vanishes(s)]
            trees += [_turning(b, s, T[j]) for b, s in moving if not is_constant(s)]
            for (b1, s1), (b2, s2) in itertools.combinations(moving, 2):
                crossing = add((multiply((b1, s2)), negate(multiply((b2, s1)))))
                if not is_constant(crossing):
                    trees.append(crossing)
            functions = [Smooth(tree, np.eye(self.r)) for tree in trees]
            levels.append([f for f in functions if f.degree_along(T[j - 1]) in (1, 2)])
        return levels[::-1]


def add_parts(
    parts: Sequence[tuple[Region, Nodes]], omega: np.ndarray, V: np.ndarray, moments: MomentSums
) -> None:
    """Add nodes, each with the weight of its region, to the moments of all samples.

    Nodes of large weight first: a region has at most probability one, so what is far below the
    mass of a sample by then cannot count.
    """
    best = np.full(omega.shape[1], -np.inf)
    for _, nodes in parts:
        np.maximum.at(best, nodes.sample, nodes.log_weight)
    best -= _LOST
    for region, nodes in parts:
        region.add(nodes, omega, V, (best, np.full(len(best), np.inf)), moments)
    floor = moments.top - _LOST
    for region, nodes in parts:
        region.add(nodes, omega, V, (floor, best), moments)


def _along(tree: Node, row: np.ndarray) -> Node:
    """Derivative of a tree along a direction."""
    return add(
        multiply((number(Fraction(float(row[i - 1]))), derivative(tree, i)))
        for i in variables(tree)
        if row[i - 1]
    )


def _turning(tree: Node, slope: Node, row: np.ndarray) -> Node:
    """Function that vanishes where the zeros of a tree along a direction appear or run away.

    The slope if the tree is affine along it, the discriminant if it has degree two.
    """
    bend = _along(slope, row)
    if _vanishes(bend):
        return slope
    two = number(Fraction(2))
    return add((multiply((slope, slope)), negate(multiply((two, tree, bend)))))


def _vanishes(tree: Node) -> bool:
    from ..targets.language.tree import ZERO

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
    from .plane_kernels import RISE, SHARP

    cuts = []
    for zero in _zeros(f, at, direction):
        here = at + direction[:, None] * np.where(np.isfinite(zero), zero, 0.0)
        a, b = (_quadratic(f, here, d)[1] for d in (direction, last))
        with np.errstate(all="ignore"):
            width = np.abs(b / a)
            width = np.where(width < SHARP, width, np.nan)
        cuts += [zero + side * RISE * width for side in (-1, 0, 1)]
    return np.stack(cuts)


def _panels(
    places: list[np.ndarray], lines: int, step: float, reach: float = _REACH
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    from .region_kernels import panel_nodes

    cuts = np.concatenate([np.empty((0, lines)), *places]).T
    return panel_nodes(np.ascontiguousarray(cuts), reach, step, *_rules())


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
