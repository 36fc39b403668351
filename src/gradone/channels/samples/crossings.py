r"""Labels on level sets: roots along the edges of a lattice, in all its directions.

A level set of the function is met by lines along every axis a of a lattice. A root counts with the
share of its axis in the slope of the function,

.. math::
    \int \delta(y - g)\, F\, dx = \sum_a \int dx_{\perp a} \sum_{roots}
    \frac{|\partial_a g|^4}{\sum_b |\partial_b g|^4}\, \frac{F}{|\partial_a g|}            [PO-3]

so that lines which only touch the level set, where one axis alone has a singular integral, count
nothing. Label noise makes a band of the level set; along an edge its Gaussian profile is
integrated in closed form, between points where the function is a chord.
"""

from __future__ import annotations

import math

import numpy as np

from ...targets.language.evaluate import evaluate_columns
from .formulas import Formula
from .grids import Lattice, lattice, root
from .label import FormulaLabel
from .sums import Rule, Sums

_BLOCK = 2**16  # nodes that are looked at together
_RADIUS = {1: 6.0, 2: 5.5, 3: 5.0, 4: 5.0}
_STEPS = {1: (0.02, 0.005), 2: (0.25, 0.125, 0.0625), 3: (0.5, 0.35), 4: (0.7, 0.5)}


class Crossings:
    """The general rule, for any label."""

    is_geometric, is_enough = False, True

    def __init__(self, label: FormulaLabel) -> None:
        self._label = label

    @staticmethod
    def covers(_: FormulaLabel) -> bool:
        """Always."""
        return True

    def rules(self, V: np.ndarray) -> list[Rule]:
        """Rules on finer and finer lattices."""
        parts, noise = self._label.parts, self._label.noise
        return [crossing_rule(parts, noise, V, h) for h in self._label.steps(_STEPS, len(V))]


def crossing_rule(parts: tuple[Formula, ...], noise: float, V: np.ndarray, h: float) -> Rule:
    """Rule on lattices with steps h and 2 h.

    Parameters
    ----------
    parts : tuple of Formula
        Smooth formulas, with the regions in which they rule.
    noise : float
        Variance of the label noise.
    V : array (k, k)
        Prior covariance.
    h : float
        Step.
    """
    spread = root(V)

    def rule(y: np.ndarray, omega: np.ndarray) -> tuple[Sums, Sums]:
        fine, coarse = (_sums(parts, noise, spread, step, y, omega) for step in (h, 2 * h))
        return fine, coarse

    return rule


def _sums(
    parts: tuple[Formula, ...],
    noise: float,
    spread: np.ndarray,
    h: float,
    y: np.ndarray,
    omega: np.ndarray,
) -> Sums:
    n, k = omega.shape
    grid = lattice(k, h, _RADIUS[k])
    offset = grid.x @ spread
    sums = np.zeros((n, 1 + k + k * (k + 1) // 2))
    block = max(_BLOCK // len(grid.x), 1)
    for start in range(0, n, block):
        rows = slice(start, start + block)
        z = np.stack([omega[rows, i, None] + offset[:, i] for i in range(k)])
        for part in parts:
            if noise or part.constant is None:
                sums[rows] += _part_sums(part, noise, grid, y[rows], z)
    sums *= h ** (k - 1) * (2 * math.pi) ** (-k / 2)
    second = np.zeros((n, k, k))
    low = np.tril_indices(k)
    second[:, low[0], low[1]] = second[:, low[1], low[0]] = sums[:, 1 + k :]
    return Sums(np.zeros(n), sums[:, 0], sums[:, 1 : 1 + k], second)


def _part_sums(
    part: Formula, noise: float, grid: Lattice, y: np.ndarray, z: np.ndarray
) -> np.ndarray:
    """Sums of one formula at the nodes z (k, n, N)."""
    from .crossing_kernel import add_crossings

    tree, slope = part.tree, np.zeros(len(y))
    if not noise:
        tree = part.relabeled.inner
        y, slope = part.relabeled(y)
    functions = [tree, *(c.tree for c in part.conditions)]
    values = np.empty((len(functions), *z.shape[1:]))
    for row, node in zip(values, functions, strict=True):
        row[...] = evaluate_columns(node, lambda i: z[i - 1])
    signs = np.array([float(c.sign) for c in part.conditions])
    k = len(z)
    sums = np.zeros((len(y), 1 + k + k * (k + 1) // 2))
    lattice_ = (grid.x, grid.after, grid.before, grid.axes, grid.h)
    add_crossings(values[0], values[1:], signs, y, noise, *lattice_, sums)
    with np.errstate(invalid="ignore", over="ignore"):
        sums *= np.exp(slope)[:, None]
    return np.where(np.isfinite(sums), sums, 0.0)
