r"""Labels whose formulas depend on at most one variable u; the others only choose the formula.

.. math:: Z(y) = \sum_f \int du\, N(u)\, P(y \mid f(u))\, P(\text{region of } f \mid u)      [PO-1]

Without noise the integral over u is a sum over the roots of f(u) = y with weights 1/|f'|, with
noise one over a lattice. The probability of a region is that of intervals on lines. ``sign(z1*z2)``
has no u at all, ``z1**2 + sign(z1*z2*z3)`` has u = z1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..calculus.monotone import MonotonePieces, inverse, monotone_pieces
from ..targets.language.derivative import derivative
from ..targets.language.evaluate import evaluate_columns
from ..targets.language.tree import Node, variables
from .formulas import Formula
from .grids import lattice, root
from .lines import Lines
from .nodes import COARSEST
from .sums import Rule, Sums

REACH = 9.0  # of the variable u, of variance at most 1
_FAR = 9.0  # standard deviations of u around its prior mean
_NEGLIGIBLE = 1e-10  # share of the mass that is left out


class Points(NamedTuple):
    """Values of u for some samples."""

    sample: np.ndarray
    u: np.ndarray
    """In units of the prior of u, from its mean; zeros if there is no u."""
    weight: np.ndarray
    """(points, 2) of the rule, and of the one with twice the step."""


class Profile:
    """One formula with its region, as a function of u = z[axis].

    Parameters
    ----------
    formula : Formula
        The formula, of at most one variable.
    axis : int, optional
        That variable, counted from 0.
    """

    def __init__(self, formula: Formula, axis: int | None) -> None:
        self.k, self.axis = formula.r, axis
        self.conditions = formula.conditions
        inside = {i - 1 for c in formula.conditions for i in variables(c.tree)} - {axis}
        self.free = sorted(inside)
        self.rest = [i for i in range(self.k) if i not in inside and i != axis]
        self.order = [*([] if axis is None else [axis]), *self.free, *self.rest]
        self._lines: Lines | None = None
        if self.free:
            self._lines = Lines((c.tree for c in formula.conditions), self.k, self.free)
        self.value = formula.constant
        self.relabeled = formula.relabeled
        self.tree: Node = formula.tree
        self._pieces: MonotonePieces | None = None

    # ---- roots

    def roots(
        self, y: np.ndarray, center: np.ndarray, deviation: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Samples, places of u in units of its prior, and weights, where f(u) = y."""
        f = self.relabeled.inner
        slope = derivative(f, variables(f)[0])

        def on(node: Node) -> object:
            return lambda _, u: np.broadcast_to(
                np.asarray(evaluate_columns(node, lambda i: u), dtype=np.float64), np.shape(u)
            )

        if self._pieces is None:
            self._pieces = monotone_pieces(on(f), [[]], REACH)  # type: ignore[arg-type]
        pieces = self._pieces
        x, log_slope = self.relabeled(y)
        low, high = pieces.values.min(axis=1), pieces.values.max(axis=1)
        with np.errstate(invalid="ignore"):
            sample, which = np.nonzero((x[:, None] >= low) & (x[:, None] <= high))
        found = inverse(on(f), on(slope), pieces, which, x[sample])  # type: ignore[arg-type]
        place = (found - center[sample]) / deviation
        with np.errstate(divide="ignore"):
            steep = np.abs(on(slope)(0, found)) * deviation  # type: ignore[operator]
            weight = np.exp(log_slope[sample] - place**2 / 2) / (steep * math.sqrt(2 * math.pi))
        is_near = (np.abs(place) < _FAR) & np.isfinite(weight)
        return sample[is_near], place[is_near], weight[is_near]

    # ---- sums

    def sums(
        self,
        points: Points,
        omega: np.ndarray,
        V: np.ndarray,
        h: float,
        softness: float,
    ) -> tuple[Sums, Sums]:
        """Sums over points of the prior weight of the region at each of them."""
        n, k = omega.shape
        A = np.linalg.cholesky(V[np.ix_(self.order, self.order)] + 1e-14 * np.eye(k))
        frame = np.linalg.inv(root(V))[:, self.order] @ A
        p, f = int(self.axis is not None), len(self.free)
        center = omega[points.sample].copy()
        x = points.u[:, None]
        if p:
            center[:, self.axis] += A[0, 0] * points.u
        if self._lines is None:
            chance = self._chance(center, softness)
            inner = 2 * [(chance, np.zeros((len(x), 0)), np.zeros((len(x), 0, 0)))]
        else:
            if p:
                center[:, self.free] += x * A[1 : 1 + f, 0]

            def weight(column: object, rows: slice) -> np.ndarray:
                share = np.ones(())
                for c in self.conditions:
                    share = share * (c.sign * evaluate_columns(c.tree, column) > 0)  # type: ignore[arg-type]
                return np.asarray(share, dtype=np.float64)

            inner = self._lines.sums(weight, center, A[p : p + f, p : p + f], h)
        results = []
        for (mass, first, second), w in zip(inner, points.weight.T, strict=True):
            total = Sums.zeros(n, k)
            mean, square = np.zeros((len(x), k)), np.zeros((len(x), k, k))
            square += mass[:, None, None] * np.eye(k)
            mean[:, p : p + f], square[:, p : p + f, p : p + f] = first, second
            if p:
                mean[:, 0], square[:, 0, 0] = x[:, 0] * mass, x[:, 0] ** 2 * mass
                square[:, 0, 1 : 1 + f] = square[:, 1 : 1 + f, 0] = x * first
            np.add.at(total.mass, points.sample, w * mass)
            np.add.at(total.first, points.sample, w[:, None] * mean)
            np.add.at(total.second, points.sample, w[:, None, None] * square)
            results.append(total.rotated(frame))
        return results[0], results[1]

    def _chance(self, center: np.ndarray, softness: float) -> np.ndarray:
        """Share of the cell around each point that lies in the region, which only u decides."""
        chance = np.ones(len(center))
        for c in self.conditions:
            height = c.sign * np.asarray(evaluate_columns(c.tree, lambda i: center[:, i - 1]))
            if softness:
                slope = derivative(c.tree, self.axis + 1)  # type: ignore[operator]
                width = softness * np.abs(evaluate_columns(slope, lambda i: center[:, i - 1]))
                with np.errstate(divide="ignore", invalid="ignore"):
                    share = np.clip(0.5 + height / width, 0.0, 1.0)
                chance *= np.where(width > 0, share, height > 0)
            else:
                chance *= height > 0
        return chance


def profiles(parts: tuple[Formula, ...], noise: float) -> list[Profile] | None:
    """Profiles of all formulas; None if some formula has two variables, or two of them differ.

    Without noise every formula may have a variable of its own.
    """
    axes = [variables(part.tree) if part.constant is None else () for part in parts]
    if any(len(axis) > 1 for axis in axes):
        return None
    used = {axis[0] - 1 for axis in axes if axis}
    if noise and len(used) > 1:
        return None
    if noise and used:
        return [Profile(part, min(used)) for part in parts]
    return [
        Profile(part, axis[0] - 1 if axis else None)
        for part, axis in zip(parts, axes, strict=True)
    ]


def region_rule(found: list[Profile], V: np.ndarray, h: float) -> Rule:
    """Rule for a label that is the constant of some formulas: all that matters is the region."""

    def rule(y: np.ndarray, omega: np.ndarray) -> tuple[Sums, Sums]:
        total = [Sums.zeros(*omega.shape), Sums.zeros(*omega.shape)]
        n = len(omega)
        everywhere = Points(np.arange(n), np.zeros(n), np.ones((n, 2)))
        for profile in found:
            _add(total, profile.sums(everywhere, omega, V, h, 0.0))
        return total[0], total[1]

    return rule


def root_rule(found: list[Profile], V: np.ndarray, h: float) -> Rule:
    """Rule for labels without noise that no atom has."""

    def rule(y: np.ndarray, omega: np.ndarray) -> tuple[Sums, Sums]:
        total = [Sums.zeros(*omega.shape), Sums.zeros(*omega.shape)]
        for profile in found:
            if profile.value is not None or profile.axis is None:
                continue
            deviation = math.sqrt(V[profile.axis, profile.axis])
            sample, u, weight = profile.roots(y, omega[:, profile.axis], deviation)
            points = Points(sample, u, np.stack([weight, weight], axis=1))
            _add(total, profile.sums(points, omega, V, h, 0.0))
        return total[0], total[1]

    return rule


def lattice_rule(
    found: list[Profile], noise: float, V: np.ndarray, h: float, across: float
) -> Rule:
    """Rule for labels with noise: step h in u, step `across` between lines."""

    def rule(y: np.ndarray, omega: np.ndarray) -> tuple[Sums, Sums]:
        n = len(y)
        total = [Sums.zeros(*omega.shape), Sums.zeros(*omega.shape)]
        axis = found[0].axis
        grid = lattice(1, h, _FAR) if axis is not None else None
        x = np.zeros(1) if grid is None else grid.x[:, 0]
        prior = np.ones((1, 2)) if grid is None else np.stack([grid.weight, grid.coarse], axis=1)
        deviation = 0.0 if axis is None else math.sqrt(V[axis, axis])
        center = np.zeros((n, 1)) if axis is None else omega[:, axis, None]
        u = center + deviation * x
        terms, gaps = [], []
        for profile in found:
            values = evaluate_columns(profile.tree, lambda i: u)
            gap = (y[:, None] - np.broadcast_to(values, u.shape)) / math.sqrt(noise)
            gaps.append(gap)
            with np.errstate(divide="ignore"):
                terms.append(-(gap**2) / 2 + np.log(prior[:, 0]))
        top = np.max([term.max(axis=1) for term in terms], axis=0)
        jump, all_likely = np.zeros(n), np.zeros(n)
        for profile, term, gap in zip(found, terms, gaps, strict=True):
            likely = np.exp(term - top[:, None])
            jump += (likely[:, :-1] * np.diff(gap, axis=1) ** 2).sum(axis=1)
            all_likely += likely.sum(axis=1)
            sample, node = np.nonzero(likely > _NEGLIGIBLE)
            weight = likely[sample, node, None] * (prior[node] / prior[node, :1])
            points = Points(sample, x[node], weight)
            _add(total, profile.sums(points, omega, V, across, h * deviation))
        scale = top - 0.5 * math.log(2 * math.pi * noise)
        is_seen = jump <= COARSEST * all_likely
        coarse = np.where(is_seen, total[1].mass, 0.0)
        return (
            total[0]._replace(log_scale=scale),
            total[1]._replace(log_scale=scale, mass=coarse),
        )

    return rule


def _add(total: list[Sums], more: tuple[Sums, Sums]) -> None:
    for sums, extra in zip(total, more, strict=True):
        for a, b in zip(sums[1:], extra[1:], strict=True):
            a += b
