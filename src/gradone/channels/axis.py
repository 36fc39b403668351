"""An expression along lines parallel to one axis: where it breaks, and where a part vanishes.

The lines are given by their perpendicular coordinates, many at once. Zeros that are affine or
quadratic along the axis are found in closed form, all others by a scan that knows the slope, so
that two zeros close to each other are not stepped over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ..targets.language.bounds import interval
from ..targets.language.breaks import kinks, smooth_branches
from ..targets.language.derivative import derivative
from ..targets.language.evaluate import evaluate_columns
from ..targets.language.expression import Expression
from ..targets.language.functions import FUNCTIONS
from ..targets.language.lines import Curved
from ..targets.language.structure import is_piecewise_constant
from ..targets.language.tree import Call, Node, Power, Product, Quotient, variables

REACH = 12.0  # beyond, a Gaussian variable of unit variance has no weight
_SCAN_STEP = 1 / 32
_BISECTIONS = 54  # one step of the scan down to rounding
_BLOCK = 2**20  # numbers in one block of a scan


class AxisLines:
    """An expression on lines parallel to one axis.

    Parameters
    ----------
    expression : Expression
        The function g of z_1 ... z_r.
    axis : int
        The coordinate that varies along the lines, counted from 0.
    reach : float
        Zeros that have no closed form are looked for between ``-reach`` and ``reach``.

    Examples
    --------
    >>> lines = AxisLines(Expression("sign(z1 + z2**2 - 1)"), axis=1)
    >>> lines.breaks(np.array([[0.0], [2.0]]))
    array([[-1.,  1.],
           [inf, inf]])
    """

    def __init__(self, expression: Expression, axis: int, *, reach: float = REACH) -> None:
        self.expression, self.axis, self.reach = expression, axis, reach

    def breaks(self, perpendicular: np.ndarray) -> np.ndarray:
        """Points (m, k) of every line where g or its derivative may jump, in increasing order.

        Parameters
        ----------
        perpendicular : array (m, r - 1)
            The other coordinates of each line, in their order.

        Returns
        -------
        array (m, k)
            Lines with fewer than k points end with ``inf``.
        """
        conditions = dict.fromkeys(
            FUNCTIONS[part.name].break_of(*part.arguments) for part in kinks(self.expression.tree)
        )
        return self._collect(conditions, perpendicular)

    def zeros(self, node: Node, perpendicular: np.ndarray) -> np.ndarray:
        """Zeros (m, k) of a node along every line, and perhaps more points; as `breaks`."""
        return self._collect([node], perpendicular)

    def values(self, at: np.ndarray, perpendicular: np.ndarray) -> np.ndarray:
        """Values (m, k) of g at points `at` (m, k) of the lines."""
        return self._evaluate(self.expression.tree, at, perpendicular)

    # ---- zeros

    def _collect(self, conditions: Iterable[Node], perpendicular: np.ndarray) -> np.ndarray:
        perpendicular = np.asarray(perpendicular, dtype=np.float64)
        factors: dict[Node, None] = {}
        for condition in conditions:
            factors |= dict.fromkeys(self._factors(condition))
        found = [self._smooth_zeros(factor, perpendicular) for factor in factors]
        together = np.concatenate([np.empty((len(perpendicular), 0)), *found], axis=1)
        together = np.sort(together, axis=1)
        return together[:, np.isfinite(together).any(axis=0)]

    def _factors(self, node: Node) -> Iterator[Node]:
        """Parts whose zeros along the axis contain those of a node."""
        low, high = interval(node)
        if low > 0 or high < 0 or self.axis + 1 not in variables(node):
            return
        if is_piecewise_constant(node):
            return  # changes only where its own parts break, which are conditions themselves
        match node:
            case Product(factors=factors):
                parts: tuple[Node, ...] = factors
            case Power(base=base):
                parts = (base,)
            case Quotient(numerator=numerator, denominator=denominator):
                parts = (numerator, denominator)
            case Call(name=name, arguments=(argument,)) if FUNCTIONS[name].zeros == "argument":
                parts = (argument,)
            case Call(name=name) if FUNCTIONS[name].zeros == "never":
                parts = ()
            case _:
                yield from self._branches(node)
                return
        for part in parts:
            yield from self._factors(part)

    def _branches(self, node: Node) -> Iterator[Node]:
        """Smooth alternatives of a node; the node itself if it has none, or too many."""
        switches = [part for part in kinks(node) if FUNCTIONS[part.name].branches]
        if not any(self.axis + 1 in variables(part) for part in switches):
            yield node
            return
        try:
            branches = list(smooth_branches(node))
        except Curved:
            yield node
            return
        for branch in branches:
            yield from self._factors(branch)

    def _smooth_zeros(self, node: Node, perpendicular: np.ndarray) -> np.ndarray:
        slope = derivative(node, self.axis + 1)
        is_smooth = not any(self.axis + 1 in variables(part) for part in kinks(node))
        if is_smooth and self.axis + 1 not in variables(slope):
            return self._affine_zeros(node, slope, perpendicular)
        bend = derivative(slope, self.axis + 1)
        if is_smooth and self.axis + 1 not in variables(bend):
            return self._quadratic_zeros(node, slope, bend, perpendicular)
        return self._scanned_zeros(node, slope, perpendicular)

    def _affine_zeros(self, node: Node, slope: Node, perpendicular: np.ndarray) -> np.ndarray:
        origin = np.zeros((len(perpendicular), 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            zeros = -self._evaluate(node, origin, perpendicular) / self._evaluate(
                slope, origin, perpendicular
            )
        return np.where(np.isfinite(zeros), zeros, np.inf)

    def _quadratic_zeros(
        self, node: Node, slope: Node, bend: Node, perpendicular: np.ndarray
    ) -> np.ndarray:
        origin = np.zeros((len(perpendicular), 1))
        c = self._evaluate(node, origin, perpendicular)
        b = self._evaluate(slope, origin, perpendicular)
        a = self._evaluate(bend, origin, perpendicular) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            # The sum of two numbers of one sign: nothing cancels.
            q = -(b + np.copysign(np.sqrt(b * b - 4 * a * c), b)) / 2
            zeros = np.concatenate([q / a, c / q], axis=1)
        return np.where(np.isfinite(zeros), zeros, np.inf)

    def _scanned_zeros(self, node: Node, slope: Node, perpendicular: np.ndarray) -> np.ndarray:
        steps = int(np.ceil(2 * self.reach / _SCAN_STEP))
        grid = np.linspace(-self.reach, self.reach, steps + 1)
        rows = max(_BLOCK // len(grid), 1)
        line: list[np.ndarray] = []
        low: list[np.ndarray] = []
        high: list[np.ndarray] = []
        for start in range(0, len(perpendicular), rows):
            block = perpendicular[start : start + rows]
            values = self._evaluate(node, grid[None, :], block)
            slopes = self._evaluate(slope, grid[None, :], block)
            i, j = np.nonzero((values[:, :-1] > 0) != (values[:, 1:] > 0))
            line += [start + i]
            low += [grid[j]]
            high += [grid[j + 1]]
            # Between equal signs |f| falls and rises again: there may be two zeros.
            rising = np.where(values > 0, slopes, -slopes) > 0
            same = (values[:, :-1] > 0) == (values[:, 1:] > 0)
            i, j = np.nonzero(same & ~rising[:, :-1] & rising[:, 1:])
            middle = self._bisect(slope, block[i], grid[j], grid[j + 1])
            crosses = (self._at(node, middle, block[i]) > 0) != (values[i, j] > 0)
            i, j, middle = i[crosses], j[crosses], middle[crosses]
            line += [start + i, start + i]
            low += [grid[j], middle]
            high += [middle, grid[j + 1]]
        lines = np.concatenate(line)
        zeros = self._bisect(node, perpendicular[lines], np.concatenate(low), np.concatenate(high))
        return _rows(lines, zeros, len(perpendicular))

    def _bisect(
        self, node: Node, perpendicular: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> np.ndarray:
        """Change of sign of a node between `low` and `high`, one for each line given."""
        if not len(low):
            return low
        left = self._at(node, low, perpendicular) > 0
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            same = (self._at(node, middle, perpendicular) > 0) == left
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        return (low + high) / 2

    # ---- values

    def _at(self, node: Node, at: np.ndarray, perpendicular: np.ndarray) -> np.ndarray:
        return self._evaluate(node, at[:, None], perpendicular)[:, 0]

    def _evaluate(self, node: Node, at: np.ndarray, perpendicular: np.ndarray) -> np.ndarray:
        """Node at points `at` (m or 1, k) of the lines."""

        def column(index: int) -> np.ndarray:
            if index - 1 == self.axis:
                return at
            return perpendicular[:, index - 1 - (index - 1 > self.axis), None]

        values = np.asarray(evaluate_columns(node, column), dtype=np.float64)
        return np.broadcast_to(values, (len(perpendicular), at.shape[1]))


def _rows(lines: np.ndarray, points: np.ndarray, m: int) -> np.ndarray:
    """Points (m, k) of each line from a flat list, filled up with inf."""
    order = np.argsort(lines, kind="stable")
    lines, points = lines[order], points[order]
    counts = np.bincount(lines, minlength=m)
    place = np.arange(len(lines)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.full((m, int(counts.max(initial=0))), np.inf)
    table[lines, place] = points
    return table


def middles(breaks: np.ndarray) -> np.ndarray:
    """A point (m, k + 1) inside each interval that the sorted `breaks` (m, k) leave on a line.

    Intervals that are empty because both ends are ``inf`` get a point beyond the last break.

    Examples
    --------
    >>> middles(np.array([[-1.0, 1.0], [0.0, np.inf]]))
    array([[-2.,  0.,  2.],
           [-1.,  1.,  1.]])
    """
    if not breaks.shape[1]:
        return np.zeros((len(breaks), 1))
    last = np.where(np.isfinite(breaks), breaks, -np.inf).max(axis=1, initial=-np.inf)
    beyond = np.where(np.isfinite(last), last + 1.0, 0.0)[:, None]
    edges = np.where(np.isfinite(breaks), breaks, beyond)
    first = np.minimum(edges[:, :1], beyond) - 1.0
    inner = (edges[:, :-1] + edges[:, 1:]) / 2
    inner = np.where(np.isfinite(breaks[:, 1:]), inner, beyond)
    return np.concatenate([first, inner, beyond], axis=1)
