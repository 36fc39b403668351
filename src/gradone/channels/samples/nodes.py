r"""Labels that are smooth functions of the variables: a lattice, without one affine variable.

If the function is affine in one variable t, :math:`g = h(u) + \beta(u)\,t`, then given u the label
is Gaussian, and so is t given the label. With s^2 the prior variance of t given u,

.. math:: Z(y) = \mathbb{E}_u\, N(y;\ h + \beta\,\mathbb{E}[t|u],\ \Delta + \beta^2 s^2)      [PO-2]

Without such a variable s = 0. The lattice sees whatever is wider than its step: little noise on a
steep function it does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...targets.language.derivative import derivative
from ...targets.language.evaluate import evaluate_columns
from ...targets.language.functions import substitute
from ...targets.language.tree import ZERO, Variable, nodes
from .formulas import Formula, affine_axis
from .grids import FEWEST, STEPS, lattice, root
from .label import FormulaLabel
from .lines import is_never_zero
from .sums import Rule, Sums

_RADIUS = {0: 1.0, 1: 6.0, 2: 5.0, 3: 5.0, 4: 5.0}
_BLOCK = 2**15  # nodes that are looked at together
Column = Callable[[int], Any]


class Smooth:
    """Rule for labels that are smooth, or steep along an affine variable."""

    is_geometric, is_enough = False, False

    def __init__(self, label: FormulaLabel) -> None:
        self._label, self._affine = label, affine_axis(label.smooth)

    @staticmethod
    def covers(label: FormulaLabel) -> bool:
        """Whether there is noise, or a variable of which the label determines the value."""
        if label.noise:
            return True
        # Where the slope vanishes a label without noise says everything of the other variables.
        axis = affine_axis(label.smooth)
        return axis is not None and all(
            is_never_zero(derivative(part.tree, axis + 1)) for part in label.smooth
        )

    def rules(self, V: np.ndarray) -> list[Rule]:
        """Rules on finer and finer lattices."""
        steps = self._label.steps(STEPS, len(V) - (self._affine is not None))
        noise, parts = self._label.noise, self._label.smooth
        return [node_rule(parts, self._affine, noise, V, h) for h in steps]


class Piece:
    """A formula at the nodes of a lattice: its value, and its share of the cells around them.

    Parameters
    ----------
    part : Formula
        The formula.
    spread : array (u, u)
        Square root of the prior covariance of the variables of the lattice.
    axes : sequence of int
        These variables, counted from 0.
    h : float
        Step of the lattice.
    """

    def __init__(self, part: Formula, spread: np.ndarray, axes: list[int], h: float) -> None:
        self.tree, self._spread, self._h = part.tree, spread, h
        self._conditions = [
            (c.sign, c.tree, [derivative(c.tree, i + 1) for i in axes]) for c in part.conditions
        ]

    def split(self, axis: int, column: Column) -> tuple[Any, Any]:
        """Values where variable `axis` is 0, and slopes along it."""
        slope = derivative(self.tree, axis + 1)
        own = [v for v in nodes(self.tree) if isinstance(v, Variable) and v.index == axis + 1]
        rest = substitute(self.tree, dict.fromkeys(own, ZERO))
        return evaluate_columns(rest, column), evaluate_columns(slope, column)

    def share(self, column: Column) -> Any:
        """Share of every cell on the right side of all conditions."""
        share: Any = 1.0
        for sign, tree, slopes in self._conditions:
            gradient = [evaluate_columns(slope, column) for slope in slopes]
            square = sum(
                sum(g * s for g, s in zip(gradient, row, strict=True)) ** 2 for row in self._spread
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                height = sign * evaluate_columns(tree, column) / (self._h * np.sqrt(square))
            share = share * np.clip(0.5 + np.nan_to_num(height), 0.0, 1.0)
        return share


def node_rule(
    parts: tuple[Formula, ...], axis: int | None, noise: float, V: np.ndarray, h: float
) -> Rule:
    """Rule on the lattice with step h.

    Parameters
    ----------
    parts : tuple of Formula
        The formulas, with the regions in which they rule.
    axis : int, optional
        The variable in which they are affine.
    noise : float
        Variance of the label noise; may be 0 if there is such a variable.
    V : array (k, k)
        Prior covariance.
    h : float
        Step.
    """
    k = len(V)
    u = [i for i in range(k) if i != axis]
    order = u if axis is None else [*u, axis]
    spread, A = root(V[np.ix_(u, u)]), np.zeros((k, k))
    A[: len(u), : len(u)] = spread
    deviation = 0.0
    if axis is not None:
        A[-1, :-1] = np.linalg.solve(spread, V[u, axis])
        deviation = A[-1, -1] = math.sqrt(max(V[axis, axis] - A[-1, :-1] @ A[-1, :-1], 1e-14))
    turn = np.linalg.inv(root(V))[:, order] @ A
    grid = lattice(len(u), h, _RADIUS[len(u)])
    features, offset = grid.features(), grid.x @ A[:, : len(u)].T
    pieces = [Piece(part, spread, u, h) for part in parts]

    def rule(y: np.ndarray, omega: np.ndarray) -> tuple[Sums, Sums]:
        n = len(y)
        found = Sums.zeros(n, k), Sums.zeros(n, k)
        block = max(_BLOCK // len(offset), 1)
        for start in range(0, n, block):
            rows = slice(start, start + block)
            z = {i: omega[rows, i, None] + offset[:, j] for j, i in enumerate(order)}
            both = _sums(pieces, y[rows], z, axis, noise, deviation, features)
            for whole, part in zip(found, both, strict=True):
                for array, values in zip(whole, part, strict=True):
                    array[rows] = values
        return found[0].rotated(turn), found[1].rotated(turn)

    return rule


def _sums(
    pieces: list[Piece],
    y: np.ndarray,
    z: dict[int, np.ndarray],
    axis: int | None,
    noise: float,
    deviation: float,
    features: np.ndarray,
) -> tuple[Sums, Sums]:
    n, k = len(y), len(z)
    shape, p = (n, len(features)), k - (axis is not None)

    def column(index: int) -> np.ndarray:
        return z[index - 1]

    terms = []
    for piece in pieces:
        slope: Any = 0.0
        if axis is None:
            gap = y[:, None] - evaluate_columns(piece.tree, column)
        else:
            value, slope = piece.split(axis, column)
            gap = y[:, None] - value - slope * z[axis]
        variance = noise + (slope * deviation) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = gap / variance
            exponent = gap * ratio
            exponent += np.log(variance)
        exponent *= -0.5
        terms.append((np.broadcast_to(exponent, shape), slope, ratio, variance))
    with np.errstate(invalid="ignore"):
        top = np.max([term[0].max(axis=1) for term in terms], axis=0)
    top = np.where(np.isfinite(top), top, 0.0)
    # With t in units of s from its mean given u: sums of 1, t and t^2 with all features.
    totals = np.zeros((1 if axis is None else 3, n, features.shape[1]))
    square = np.zeros(n)
    for piece, (exponent, slope, ratio, variance) in zip(pieces, terms, strict=True):
        weight = np.exp(exponent - top[:, None])
        weight *= piece.share(column)
        if not np.isfinite(weight).all():  # where the slope or the function itself is not finite
            weight = np.nan_to_num(weight, nan=0.0)
        totals[0] += weight @ features
        square += weight**2 @ features[:, 0] ** 2
        if axis is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                t = np.where(weight > 0, deviation * slope * ratio, 0.0)
                left = np.where(weight > 0, noise / variance, 0.0)
            weight_t = weight * t
            totals[1] += weight_t @ features
            totals[2] += (weight_t * t + weight * left) @ features
    is_seen = totals[0, :, 0] ** 2 >= (FEWEST if p else 0.0) * square
    found = []
    for half in np.split(totals, 2, axis=2):
        first, second = np.zeros((n, k)), np.zeros((n, k, k))
        first[:, :p] = half[0, :, 1 : 1 + p]
        second[:, :p, :p] = half[0, :, 1 + p :].reshape(n, p, p)
        if axis is not None:
            first[:, p], second[:, p, p] = half[1, :, 0], half[2, :, 0]
            second[:, p, :p] = second[:, :p, p] = half[1, :, 1 : 1 + p]
        found.append(Sums(top - 0.5 * math.log(2 * math.pi), half[0, :, 0], first, second))
    return found[0], found[1]._replace(mass=np.where(is_seen, found[1].mass, 0.0))


def node_mean(
    parts: tuple[Formula, ...], V: np.ndarray, h: float
) -> Callable[[np.ndarray], np.ndarray]:
    """Mean of the function at prior means (n, k), on the lattice with step h."""
    k, spread = len(V), root(V)
    grid = lattice(k, h, _RADIUS[k])
    pieces = [Piece(part, spread, list(range(k)), h) for part in parts]
    offset = grid.x @ spread

    def mean(omega: np.ndarray) -> np.ndarray:
        found = np.zeros(len(omega))
        block = max(_BLOCK // len(offset), 1)
        for start in range(0, len(omega), block):
            rows = slice(start, start + block)
            found[rows] = average(omega[rows, None] + offset) @ grid.weight
        return found

    def average(z: np.ndarray) -> np.ndarray:
        values, shares = np.zeros(z.shape[:2]), np.zeros(z.shape[:2])
        for piece in pieces:
            share = piece.share(lambda i: z[..., i - 1])
            values += share * evaluate_columns(piece.tree, lambda i: z[..., i - 1])
            shares += share
        return values / shares

    return mean
