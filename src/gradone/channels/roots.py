"""Roots of a smooth function along lines: of polynomials, or by a scan that knows slopes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from .smooth import Smooth

_SCAN = 0.25  # step of a scan, in units of the line's parameter
_ITERATIONS = 60
_BISECTIONS = 60
_REACH = 12.0  # of the roots of a function of one variable that is not a polynomial
_FAR = 1e3  # of those of a polynomial


class LineRoots:
    """Solutions of f(x + v d) = y along lines in k dimensions.

    Parameters
    ----------
    f : Smooth
        The function.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> roots = LineRoots(Smooth(parse("z1**2 + z2"), np.eye(2)))
    >>> roots.along(np.array([1.0, 0.0]), np.zeros((2, 1)), np.array([4.0]), np.array([9.0]))
    (array([0, 0]), array([-2.,  2.]))
    """

    def __init__(self, f: Smooth) -> None:
        self.f = f

    def along(
        self, d: np.ndarray, x: np.ndarray, y: np.ndarray, reach: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Line and parameter v of every root in [-reach, reach] (lines,), by line.

        Parameters
        ----------
        d : array (k,)
            Direction of all lines.
        x : array (k, lines)
            A point of each line.
        y : array (lines,)
            Value that is looked for.
        reach : array (lines,)
            Roots farther from x are left out.
        """
        degree = self.f.degree_along(d)
        if degree is None:
            return self._scan(d, x, y, reach)
        from .root_kernels import line_roots

        if degree == 0:
            return np.empty(0, dtype=np.int64), np.empty(0)
        # Coefficients in v from the values at degree + 1 places.
        places = np.arange(degree + 1) - degree // 2
        values = np.stack(
            [self.f.value(x + v * d[:, None]) if v else self.f.value(x) for v in places]
        )
        values -= y
        inverse = np.linalg.inv(np.vander(places.astype(float), increasing=True))
        return line_roots(inverse @ values, reach)

    def _scan(
        self, d: np.ndarray, x: np.ndarray, y: np.ndarray, reach: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        if not len(y):
            return np.empty(0, dtype=np.int64), np.empty(0)
        steps = max(int(math.ceil(2 * reach.max() / _SCAN)), 4)
        grid = np.linspace(-1.0, 1.0, steps + 1)[:, None] * reach
        points = x[:, None, :] + d[:, None, None] * grid
        values = self.f.value(points) - y
        slopes = np.tensordot(d, self.f.gradient(points), axes=1)
        above = values > 0
        j, line = np.nonzero(above[:-1] != above[1:])
        low, high = grid[j, line], grid[j + 1, line]
        # Between equal signs |f| falls and rises again: there may be two roots.
        rising = np.where(above, slopes, -slopes) > 0
        same = (above[:-1] == above[1:]) & ~rising[:-1] & rising[1:]
        j2, line2 = np.nonzero(same)
        at = x[:, line2]
        turn = _bisect(lambda v: self._slope(d, at, v), grid[j2, line2], grid[j2 + 1, line2])
        crosses = (self._value(d, at, turn) - y[line2] > 0) != above[j2, line2]
        j2, line2, turn = j2[crosses], line2[crosses], turn[crosses]
        line = np.concatenate([line, line2, line2])
        low = np.concatenate([low, grid[j2, line2], turn])
        high = np.concatenate([high, turn, grid[j2 + 1, line2]])
        at, label = x[:, line], y[line]
        root = _newton(
            lambda v: self._value(d, at, v) - label, lambda v: self._slope(d, at, v), low, high
        )
        order = np.lexsort((root, line))
        return line[order], root[order]

    def _value(self, d: np.ndarray, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.f.value(x + d[:, None] * v)

    def _slope(self, d: np.ndarray, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        return d @ self.f.gradient(x + d[:, None] * v)


def _bisect(f: Callable[..., np.ndarray], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Change of sign of f between `low` and `high`."""
    above = f(low) > 0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        same = (f(middle) > 0) == above
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return (low + high) / 2


def _newton(
    f: Callable[..., np.ndarray],
    slope: Callable[..., np.ndarray],
    low: np.ndarray,
    high: np.ndarray,
) -> np.ndarray:
    """Zero of a function that is monotone between `low` and `high`, by guarded Newton steps."""
    above = f(low) > 0
    x = (low + high) / 2
    for _ in range(_ITERATIONS):
        value = f(x)
        same = (value > 0) == above
        low, high = np.where(same, x, low), np.where(same, high, x)
        with np.errstate(all="ignore"):
            new = x - value / slope(x)
        new = np.where((new > low) & (new < high), new, (low + high) / 2)
        done = (np.abs(new - x) <= 1e-15 * (1 + np.abs(x))) | (value == 0)
        x = np.where(value == 0, x, new)
        if done.all():
            break
    return x


class AxisRoots:
    """Solutions of f(x) = y for a smooth function of one variable.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> AxisRoots(Smooth(parse("z1**2"), np.eye(1))).solve(np.array([4.0, -1.0]))
    (array([0, 0]), array([-2.,  2.]))
    """

    def __init__(self, f: Smooth) -> None:
        self.f = f

    def solve(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Label and place of every root, sorted by label."""
        from .root_kernels import line_roots

        if self._coefficients is None:
            return self._between_turns(y)
        coefficients = np.repeat(self._coefficients[:, None], len(y), axis=1)
        coefficients[0] -= y
        return line_roots(coefficients, np.full(len(y), _FAR))

    @cached_property
    def _coefficients(self) -> np.ndarray | None:
        """Coefficients of a polynomial, lowest degree first."""
        degree = self.f.degree_along(np.ones(1))
        if degree is None:
            return None
        places = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1)) * 2
        values = self.f.value(places[None])
        coefficients = np.linalg.solve(np.vander(places, increasing=True), values)
        size = np.abs(coefficients).max()
        return np.where(np.abs(coefficients) < 1e-13 * size, 0.0, coefficients)

    def _between_turns(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        labels, roots = [], []
        edges = self._edges
        values = self.f.value(edges[None])
        for i in range(len(edges) - 1):
            low, high = sorted((values[i], values[i + 1]))
            here = np.flatnonzero((low < y) & (y <= high))
            if not len(here):
                continue
            label = y[here]
            ends = [np.full(len(here), edges[i + j]) for j in (0, 1)]
            roots.append(
                _newton(lambda v, at=label: self.f.value(v[None]) - at, self._slope, *ends)
            )
            labels.append(here)
        if not labels:
            return np.empty(0, dtype=np.int64), np.empty(0)
        label, root = np.concatenate(labels), np.concatenate(roots)
        order = np.lexsort((root, label))
        return label[order], root[order]

    def _slope(self, v: np.ndarray) -> np.ndarray:
        return self.f.gradient(v[None])[0]

    @cached_property
    def _edges(self) -> np.ndarray:
        """Ends of the monotone stretches of a function that is not a polynomial."""
        grid = np.linspace(-_REACH, _REACH, 9601)
        up = self._slope(grid) > 0
        j = np.flatnonzero(up[:-1] != up[1:])
        turns = np.round(_bisect(self._slope, grid[j], grid[j + 1]), 13) + 0.0
        return np.array([-_REACH, *turns, _REACH])

    @cached_property
    def critical_points(self) -> np.ndarray:
        """Places (1, c) where the slope vanishes."""
        if self._coefficients is None:
            return self._edges[None, 1:-1]
        slope = self._coefficients[1:] * np.arange(1, len(self._coefficients))
        turns = np.roots(slope[::-1])
        return turns[np.abs(turns.imag) < 1e-7 * (1 + np.abs(turns))].real[None]
