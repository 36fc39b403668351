"""Lines parallel to one axis, with the places where a discrete function changes on them.

The nodes come in panels that end where the sequence of labels along the line changes. There the
nodes are crowded, because the length of an interval that appears grows like a square root; and
panels on which a break moves fast are divided.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..base.errors import TooLarge
from ..targets.language.expression import Expression
from .axis import AxisLines, middles
from .graded import NODES, bisect, graded_nodes, panel_edges, scan

_BLOCK = 2**16  # lines that are looked at together
_MOST_LINES = 2**21
_PRIME = 1000003  # base of the number that stands for a sequence of labels
_SAME_POINT = 1e-10
_STEEP = 3.0  # times its width: how far a break may move on one panel
_MOST_PARTS = 4


class Lines(NamedTuple):
    """Lines with their breaks: line j changes to ``labels[k]`` at ``breaks[k]``."""

    outer: np.ndarray
    """(a,) nodes of the outer coordinate (r = 3; one that is not used for r = 2)."""
    outer_weight: np.ndarray
    """(a,) weights."""
    starts: np.ndarray
    """(a + 1,) lines ``starts[i]:starts[i + 1]`` belong to outer node i."""
    inner: np.ndarray
    """(m,) nodes of the inner coordinate, increasing for each outer node."""
    inner_weight: np.ndarray
    """(m,) weights."""
    first: np.ndarray
    """(m,) label before the first break."""
    break_starts: np.ndarray
    """(m + 1,) breaks ``break_starts[j]:break_starts[j + 1]`` belong to line j."""
    breaks: np.ndarray
    labels: np.ndarray


class LineTable:
    """A discrete function of two or three variables on lines along one axis.

    Parameters
    ----------
    expression : Expression
        The function.
    values : array (k,)
        The values that it takes; a label is the number of a value.
    axis : int
        The coordinate that varies along the lines, counted from 0.
    """

    def __init__(self, expression: Expression, values: np.ndarray, axis: int) -> None:
        self.expression, self.values, self.axis = expression, values, axis
        self.order = [*(i for i in range(expression.r) if i != axis), axis]

    def complexity(self) -> float:
        """How much happens along this axis: labels that change, sequences that change."""
        rng = np.random.default_rng(0)
        points = 1.5 * rng.standard_normal((128, self.expression.r - 1))
        first, breaks, _ = self._sequences(points, 8.0)
        counts = np.isfinite(breaks).sum(axis=1)
        different = set(zip(first.tolist(), counts.tolist(), strict=True))
        return float(counts.mean()) + 3.0 * len(different)

    def lines(self, levels: list[int], extent: float) -> Lines:
        """Lines with perpendicular coordinates between ``-extent`` and ``extent``.

        Parameters
        ----------
        levels : list of int
            The panels of each perpendicular coordinate have the width ``2^-level``.
        extent : float
            Half the side of the table.
        """
        count = math.prod(2 * extent * 2.0**level * NODES for level in levels)
        if count > _MOST_LINES:
            raise TooLarge(
                f"the labels of '{self.expression.text}' change on curved surfaces, and a prior "
                f"this narrow needs a table of {count:.1e} lines (at most {_MOST_LINES:.1e}); "
                "raise the smallest eigenvalue of the covariance, or lower the resolution"
            )
        if len(levels) == 1:
            outer, outer_weight = np.zeros(1), np.ones(1)
        else:
            edges, is_change = panel_edges(self._outer_changes(extent), levels[0], extent)
            outer, outer_weight = graded_nodes(edges, is_change)
        nodes = [
            graded_nodes(*self._divide(x, *panel_edges(changes, levels[-1], extent), extent))
            for x, changes in zip(outer, self._inner_changes(outer, extent), strict=True)
        ]
        owner = np.repeat(np.arange(len(outer)), [len(x) for x, _ in nodes])
        inner = np.concatenate([x for x, _ in nodes])
        first, break_starts, breaks, labels = self._flat_sequences(outer[owner], inner, extent)
        starts = np.searchsorted(owner, np.arange(len(outer) + 1))
        weights = np.concatenate([w for _, w in nodes])
        return Lines(
            outer, outer_weight, starts, inner, weights, first, break_starts, breaks, labels
        )

    # ---- sequences of labels

    def _points(self, outer: np.ndarray, inner: np.ndarray) -> np.ndarray:
        if self.expression.r == 2:
            return inner[:, None]
        return np.stack([outer, inner], axis=1)

    def _sequences(
        self, points: np.ndarray, extent: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Label at -inf (m,), points where the label changes (m, k), labels after them (m, k)."""
        lines = AxisLines(self.expression, self.axis, reach=float(extent))
        breaks = lines.breaks(points)
        close = breaks[:, 1:] <= breaks[:, :-1] + _SAME_POINT
        breaks[:, 1:][close] = np.inf
        breaks = np.sort(breaks, axis=1)
        values = lines.values(middles(breaks), points)
        label = np.abs(values[..., None] - self.values).argmin(axis=-1)
        changes = (label[:, 1:] != label[:, :-1]) & np.isfinite(breaks)
        breaks = np.where(changes, breaks, np.inf)
        order = np.argsort(breaks, axis=1, kind="stable")
        after = np.where(changes, label[:, 1:], -1)
        return (
            label[:, 0],
            np.take_along_axis(breaks, order, axis=1),
            np.take_along_axis(after, order, axis=1),
        )

    def _flat_sequences(
        self, outer: np.ndarray, inner: np.ndarray, extent: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The sequences of many lines one after another, computed in blocks."""
        found = []
        for start in range(0, len(inner), _BLOCK):
            block = slice(start, start + _BLOCK)
            first, breaks, labels = self._sequences(
                self._points(outer[block], inner[block]), extent
            )
            finite = np.isfinite(breaks)
            found.append((first, finite.sum(axis=1), breaks[finite], labels[finite]))
        first, counts, breaks, labels = (np.concatenate(x) for x in zip(*found, strict=True))
        return first, np.concatenate([[0], np.cumsum(counts)]), breaks, labels

    def _signature(self, points: np.ndarray, extent: float) -> np.ndarray:
        """One number for the sequence of labels along each line."""
        first, _, after = self._sequences(points, extent)
        powers = np.cumprod(np.full(after.shape[1] + 1, _PRIME, dtype=np.uint64))
        sequence = np.concatenate([first[:, None], after], axis=1) + 1
        return (sequence.astype(np.uint64) * powers).sum(axis=1, dtype=np.uint64)

    # ---- panels

    def _inner_changes(self, outer: np.ndarray, extent: float) -> list[np.ndarray]:
        """For each outer node, where the sequence of labels along the line changes."""
        grid = scan(extent)
        found: list[np.ndarray] = []
        block = max(_BLOCK // len(grid), 1)
        for start in range(0, len(outer), block):
            x = outer[start : start + block]
            points = self._points(np.repeat(x, len(grid)), np.tile(grid, len(x)))
            rows = self._signature(points, extent).reshape(len(x), len(grid))
            i, j = np.nonzero(rows[:, 1:] != rows[:, :-1])

            def signature(p: np.ndarray, own: np.ndarray = x[i]) -> np.ndarray:
                return self._signature(self._points(own, p), extent)

            places = bisect(signature, grid[j], grid[j + 1], rows[i, j])
            found += [places[i == k] for k in range(len(x))]
        return found

    def _outer_changes(self, extent: float) -> np.ndarray:
        """Values of the outer coordinate where what happens in the plane behind it changes."""
        grid = scan(extent)

        def signature(x: np.ndarray) -> np.ndarray:
            points = self._points(np.repeat(x, len(grid)), np.tile(grid, len(x)))
            rows = self._signature(points, extent).reshape(len(x), len(grid))
            begins = np.ones((len(x), 1), bool)
            is_new = np.concatenate([begins, rows[:, 1:] != rows[:, :-1]], axis=1)
            place = np.cumsum(is_new, axis=1).astype(np.uint64)
            numbers = np.where(is_new, rows * (np.uint64(_PRIME) + place), np.uint64(0))
            return numbers.sum(axis=1, dtype=np.uint64)

        block = max(_BLOCK // len(grid), 1)
        rows = np.concatenate([signature(grid[k : k + block]) for k in range(0, len(grid), block)])
        at = np.flatnonzero(rows[1:] != rows[:-1])
        return bisect(signature, grid[at], grid[at + 1], rows[at])

    def _divide(
        self, x: float, edges: np.ndarray, is_change: np.ndarray, extent: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Panels at outer node `x`, those divided on which a break moves far."""
        low, high = edges[:-1], edges[1:]
        width = high - low
        inside = np.concatenate([low + 1e-3 * width, high - 1e-3 * width])
        _, breaks, _ = self._sequences(self._points(np.full(len(inside), x), inside), extent)
        # A break that comes from far away matters from where it enters the table.
        breaks = np.clip(breaks, -extent, extent)
        moved = np.abs(np.subtract(*np.split(breaks, 2))).max(axis=1, initial=0.0)
        parts = np.clip(np.ceil(moved / (_STEEP * width)), 1, _MOST_PARTS).astype(int)
        cuts = [
            low[i] + width[i] * np.arange(1, parts[i]) / parts[i] for i in np.flatnonzero(parts > 1)
        ]
        new = np.concatenate([np.empty(0), *cuts])
        edges = np.concatenate([edges, new])
        order = np.argsort(edges, kind="stable")
        return edges[order], np.concatenate([is_change, np.zeros(len(new), bool)])[order]
