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

import numpy as np

from ..targets.language.derivative import derivative
from ..targets.language.evaluate import evaluate_columns
from ..targets.language.functions import substitute
from ..targets.language.tree import ZERO, Node, Variable, nodes, variables
from .formulas import Formula
from .grids import lattice, root
from .sums import Rule, Sums

RADIUS = 5.0
_BLOCK = 2**16  # nodes that are looked at together
# Mean square step of the residual between neighboring nodes, in standard deviations: beyond it the
# lattice may step over the label, and two lattices may agree on what they both do not see.
COARSEST = 3.0


def affine_axis(parts: tuple[Formula, ...]) -> int | None:
    """Variable, counted from 0, in which every formula is affine and of which no region depends.

    Examples
    --------
    >>> from gradone.channels.formulas import formulas
    >>> from gradone.targets.language.expression import Expression
    >>> affine_axis(formulas(Expression("tanh(z1*z2) + abs(z3)*z4")))
    3
    """
    fits: list[tuple[int, int]] = []
    for axis in range(parts[0].r):
        slopes = [derivative(part.tree, axis + 1) for part in parts]
        if any(slope == ZERO or axis + 1 in variables(slope) for slope in slopes):
            continue
        if any(axis + 1 in variables(c.tree) for part in parts for c in part.conditions):
            continue
        fits.append((sum(len(variables(slope)) for slope in slopes), axis))
    return min(fits)[1] if fits else None


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
    order = [i for i in range(k) if i != axis] + ([] if axis is None else [axis])
    u = order if axis is None else order[:-1]
    A = np.zeros((k, k))
    spread = root(V[np.ix_(u, u)])
    A[: len(u), : len(u)] = spread
    if axis is not None:
        A[-1, :-1] = np.linalg.solve(spread, V[u, axis])
        A[-1, -1] = math.sqrt(max(V[axis, axis] - A[-1, :-1] @ A[-1, :-1], 1e-14))
    frame = np.linalg.inv(root(V))[:, order] @ A
    deviation = A[-1, -1] if axis is not None else 0.0
    grid = lattice(len(u), h, RADIUS if len(u) > 1 else 6.0) if u else None
    x = np.zeros((1, 0)) if grid is None else grid.x
    prior = np.ones((1, 2)) if grid is None else np.stack([grid.weight, grid.coarse], axis=1)
    offset = x @ A[:, : len(u)].T
    columns = np.concatenate(
        [np.ones((len(x), 1)), x, (x[:, :, None] * x[:, None, :]).reshape(len(x), -1)], axis=1
    )
    features = (columns[:, None, :] * prior[:, :, None]).reshape(len(x), -1)
    after = np.zeros((0, 1), dtype=int) if grid is None else grid.after
    pieces = [_Piece(part, axis, spread @ grid.axes.T if grid else spread, u, h) for part in parts]

    def rule(y: np.ndarray, omega: np.ndarray) -> tuple[Sums, Sums]:
        n = len(y)
        found = [Sums.zeros(n, k), Sums.zeros(n, k)]
        block = max(_BLOCK // len(x), 1)
        for start in range(0, n, block):
            rows = slice(start, start + block)
            z = {i: omega[rows, i, None] + offset[:, j] for j, i in enumerate(order)}
            parts = _sums(pieces, y[rows], z, axis, noise, deviation, features, after)
            for at, sums in zip(parts, found, strict=True):
                for whole, part in zip(sums, at, strict=True):
                    whole[rows] = part
        return found[0].rotated(frame), found[1].rotated(frame)

    return rule


def node_mean(
    parts: tuple[Formula, ...], V: np.ndarray, h: float
) -> Callable[[np.ndarray], np.ndarray]:
    """Mean of the function at prior means (n, k), on the lattice with step h."""
    k, spread = len(V), root(V)
    grid = lattice(k, h, RADIUS)
    pieces = [_Piece(part, None, spread @ grid.axes.T, list(range(k)), h) for part in parts]
    offset = grid.x @ spread

    def mean(omega: np.ndarray) -> np.ndarray:
        found = np.zeros(len(omega))
        block = max(_BLOCK // len(offset), 1)
        for start in range(0, len(omega), block):
            z = [omega[start : start + block, i, None] + offset[:, i] for i in range(k)]
            values, shares = np.zeros(z[0].shape), np.zeros(z[0].shape)
            for piece in pieces:
                share = piece.share(lambda i: z[i - 1])
                values += share * evaluate_columns(piece.tree, lambda i: z[i - 1])
                shares += share
            found[start : start + block] = (values / shares) @ grid.weight
        return found

    return mean


class _Piece:
    """A formula at the nodes: its value without t, its slope in t, its share of every cell."""

    def __init__(
        self, part: Formula, axis: int | None, spread: np.ndarray, u: list[int], h: float
    ) -> None:
        self.tree, self.slope = part.tree, None
        if axis is not None:
            self.slope = derivative(part.tree, axis + 1)
            own = [v for v in nodes(part.tree) if isinstance(v, Variable) and v.index == axis + 1]
            self.tree = substitute(part.tree, {v: ZERO for v in own})
        self.conditions = [
            (c.sign, c.tree, [derivative(c.tree, i + 1) for i in u]) for c in part.conditions
        ]
        self.spread, self.h = spread, h

    def share(self, column: Callable[[int], np.ndarray]) -> np.ndarray | float:
        """Share of the cell around each node on the right side of every condition."""
        share: np.ndarray | float = 1.0
        for sign, tree, slopes in self.conditions:
            gradient = [evaluate_columns(slope, column) for slope in slopes]
            square = sum(
                sum(g * s for g, s in zip(gradient, along, strict=True)) ** 2
                for along in self.spread.T
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = sign * evaluate_columns(tree, column) / (self.h * np.sqrt(square))
            share = share * np.clip(0.5 + np.nan_to_num(ratio), 0.0, 1.0)
        return share


def _sums(
    pieces: list[_Piece],
    y: np.ndarray,
    z: dict[int, np.ndarray],
    axis: int | None,
    noise: float,
    deviation: float,
    features: np.ndarray,
    after: np.ndarray,
) -> list[Sums]:
    shape = (len(y), len(features))

    def column(index: int) -> np.ndarray:
        return z[index - 1]

    terms = []
    for piece in pieces:
        gap = y[:, None] - evaluate_columns(piece.tree, column)
        slope: np.ndarray | float = 0.0
        if piece.slope is not None:
            slope = evaluate_columns(piece.slope, column)
            gap = gap - slope * z[axis]  # type: ignore[index]
        variance = noise + (slope * deviation) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = gap / variance
            exponent = -(gap * ratio + np.log(variance)) / 2
        exponent = np.broadcast_to(np.where(np.isfinite(exponent), exponent, -np.inf), shape)
        terms.append((exponent, slope, ratio, variance, piece.share(column)))
    top = np.max([term[0].max(axis=1) for term in terms], axis=0)
    top = np.where(np.isfinite(top), top, 0.0)
    k = len(z)
    p = k if axis is None else k - 1
    totals = np.zeros((len(y), 2, 1 + p + p * p))
    means, squares = np.zeros((len(y), 2, 1 + p)), np.zeros((len(y), 2))
    jump = np.zeros(len(y))
    for exponent, slope, ratio, variance, share in terms:
        weight = np.exp(exponent - top[:, None]) * share
        totals += (weight @ features).reshape(totals.shape)
        with np.errstate(invalid="ignore", over="ignore"):
            q = np.broadcast_to(ratio * np.sqrt(variance), shape)
            for axis_after in after:
                here = np.flatnonzero(axis_after >= 0)
                steps = (q[:, axis_after[here]] - q[:, here]) ** 2
                steps = np.minimum(np.nan_to_num(steps, nan=1e6), 1e6)
                jump += (weight[:, here] * steps) @ features[here, 0]
        if axis is not None:
            # t in units of s, from its mean given u: Gaussian given the label.
            t = np.where(weight > 0, deviation * slope * ratio, 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                left = 1 - (slope * deviation) ** 2 / variance
            left = np.where(weight > 0, left, 0.0)
            moments = (weight * t) @ features
            means += moments.reshape(totals.shape)[:, :, : 1 + p]
            second = (weight * (t * t + left)) @ features
            squares += second.reshape(totals.shape)[:, :, 0]
    is_seen = jump <= COARSEST * totals[:, 0, 0]
    found = []
    for which in (0, 1):
        total = totals[:, which]
        first, second = np.zeros((len(y), k)), np.zeros((len(y), k, k))
        first[:, :p], second[:, :p, :p] = total[:, 1 : 1 + p], total[:, 1 + p :].reshape(-1, p, p)
        if axis is not None:
            first[:, p], second[:, p, p] = means[:, which, 0], squares[:, which]
            second[:, p, :p] = second[:, :p, p] = means[:, which, 1:]
        scale = top - 0.5 * math.log(2 * math.pi)
        # A coarse lattice that claims nothing: its error is unknown.
        mass = total[:, 0] if not which else np.where(is_seen, total[:, 0], 0.0)
        found.append(Sums(scale, mass, first, second))
    return found
