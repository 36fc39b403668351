"""Gaussian variables that are known to lie in the region of a formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...targets.language.derivative import derivative
from ...targets.language.evaluate import evaluate_columns
from ...targets.language.tree import variables
from .formulas import Formula, cloud
from .grids import root
from .lines import Lines
from .signs import MOST_FORMS, ROUNDING, sign_moments
from .sums import Rule, Sums

_SINGULAR = 1e-9  # share of the largest deviation below which a variable is known


class Law(NamedTuple):
    """Covariance of all variables, those of a region first."""

    spread: np.ndarray
    """(f, d) square root of the covariance of the variables of the region, without null space."""
    turn: np.ndarray
    """(k, m) square root of the whole; its first d columns are those of the region."""


class Points(NamedTuple):
    """Gaussians, some for every sample, of one covariance."""

    sample: np.ndarray
    """(p,) to which sample each belongs."""
    shift: np.ndarray
    """(p, k) their means, from the prior mean of the sample."""
    weight: np.ndarray
    """(p, 2) their weights in a rule, and in the rule with twice the step."""
    share: np.ndarray
    """(formulas, p) likelihood of the label under every formula."""


class Regions:
    """Regions of some formulas.

    Parameters
    ----------
    parts : tuple of Formula
        The formulas.
    """

    def __init__(self, parts: tuple[Formula, ...]) -> None:
        self.parts, self.k = parts, parts[0].r
        self._functions = list(dict.fromkeys(c.tree for p in parts for c in p.conditions))
        self.axes = sorted({i - 1 for node in self._functions for i in variables(node)})
        self._lines = Lines(self._functions, self.k, self.axes)

    def law(self, V: np.ndarray) -> Law:
        """Square roots of a covariance, which may be singular."""
        f, rest = self.axes, [i for i in range(self.k) if i not in self.axes]
        values, vectors = np.linalg.eigh(V[np.ix_(f, f)])
        size = math.sqrt(max(np.trace(V), 0.0))  # of a label that says all, rounding is left
        is_wide = np.sqrt(np.maximum(values, 0.0)) > _SINGULAR * size
        # A symmetric root, where there is one, moves smoothly with V.
        turn_back = vectors.T if is_wide.all() else np.eye(int(is_wide.sum()))
        spread = vectors[:, is_wide] * np.sqrt(values[is_wide]) @ turn_back
        along = V[np.ix_(rest, f)] @ vectors[:, is_wide] / np.sqrt(values[is_wide]) @ turn_back
        turn = np.zeros((self.k, spread.shape[1] + len(rest)))
        turn[f, : spread.shape[1]] = spread
        turn[rest, : spread.shape[1]] = along
        turn[np.ix_(rest, range(spread.shape[1], turn.shape[1]))] = root(
            V[np.ix_(rest, rest)] - along @ along.T, least=0.0
        )
        return Law(spread, turn)

    @property
    def is_flat(self) -> bool:
        """Whether a few planes are all that bounds the regions: then there is a closed form."""
        return not self._lines.curved and len(self._lines.planes) <= MOST_FORMS

    def sums(
        self,
        points: Points,
        omega: np.ndarray,
        law: Law,
        h: float,
        step: np.ndarray | None = None,
    ) -> tuple[Sums, Sums]:
        """Sums of z - omega over the region, with step h between lines and with step 2 h.

        Parameters
        ----------
        points : Points
            The Gaussians.
        omega : array (n, k)
            Prior means of the samples.
        law : Law
            Their covariance.
        h : float
            Step between lines; 0 for the closed form of flat regions.
        step : array (k,), optional
            Distance of the points, if the edge of a region may cut the cell of one of them.
        """
        n, k = omega.shape
        center = omega[points.sample] + points.shift
        d, m = law.spread.shape[1], law.turn.shape[1]
        if h == 0:
            inner = self._between_planes(points.share, center, law, step)
        elif d:
            shares = np.concatenate([points.share, np.zeros((1, len(center)))])  # none: the last

            def weight(column: Callable[[int], Any], rows: slice) -> np.ndarray:
                owner = self._ruling(column)
                return shares[:, rows][owner, np.arange(owner.shape[-2])[:, None]]

            inner = self._lines.sums(weight, center, law.spread, h)
        else:
            chance = self._chance(points.share, center, step)
            inner = 2 * [(chance, np.zeros((len(center), 0)), np.zeros((len(center), 0, 0)))]
        found = []
        for (mass, first, second), w in zip(inner, points.weight.T, strict=True):
            square = np.zeros((len(center), m, m))
            square[:, range(d, m), range(d, m)] = mass[:, None]
            square[:, :d, :d] = second
            mean = first @ law.turn[:, :d].T
            cross = mean[:, :, None] * points.shift[:, None, :]
            moments = np.empty((len(center), 1 + k + k * k))
            moments[:, 0] = mass
            moments[:, 1 : 1 + k] = mean + mass[:, None] * points.shift
            whole = law.turn @ square @ law.turn.T + cross + cross.transpose(0, 2, 1)
            shifts = points.shift[:, :, None] * points.shift[:, None, :]
            whole += mass[:, None, None] * shifts
            moments[:, 1 + k :] = whole.reshape(-1, k * k)
            moments *= w[:, None]
            if len(center) != n or (points.sample != np.arange(n)).any():
                own, moments = moments, np.zeros((n, 1 + k + k * k))
                np.add.at(moments, points.sample, own)
            second = moments[:, 1 + k :].reshape(n, k, k)
            found.append(Sums(np.zeros(n), moments[:, 0], moments[:, 1 : 1 + k], second))
        return found[0], found[1]

    def _between_planes(
        self, shares: np.ndarray, center: np.ndarray, law: Law, step: np.ndarray | None
    ) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Mass and moments of flat regions, and what is left of them by a coarser rule."""
        planes, d = self._lines.planes, law.spread.shape[1]
        normals, height = planes[:, self.axes] @ law.spread, center @ planes[:, :-1].T
        height -= planes[:, -1]
        size = np.linalg.norm(normals, axis=1)
        is_wide = size > _SINGULAR * np.linalg.norm(law.turn)
        table = np.concatenate([shares, np.zeros((1, len(center)))])[self._cells]
        table = np.moveaxis(table, -1, 0)
        for j in reversed(np.flatnonzero(~is_wide)):  # forms whose sign is known at every point
            up = _share(height[:, j], 0.0 if step is None else abs(step @ planes[j, :-1]))
            low, high = np.moveaxis(table, 1 + j, 0)
            up = up.reshape(-1, *(1,) * (low.ndim - 1))
            table = low + up * (high - low)
        B = normals[is_wide]
        mass, gradient, curvature, check = sign_moments(table, height[:, is_wide], B @ B.T)
        first, second = gradient @ B, B.T @ curvature @ B
        both = [
            (total, first, second + total[:, None, None] * np.eye(d)) for total in (mass, check)
        ]
        return [both[0], (check + ROUNDING * shares.max(axis=0, initial=0.0), *both[1][1:])]

    @cached_property
    def _cells(self) -> np.ndarray:
        """Number of the formula that rules at each pattern of sides of the planes, -1 for none."""
        planes, points = self._lines.planes, cloud(self.k)
        sides = (points @ planes[:, :-1].T > planes[:, -1]).astype(np.int64)
        cells = np.full(2 ** len(planes), -1)
        cells[sides @ 2 ** np.arange(len(planes))[::-1]] = self._ruling(lambda i: points[:, i - 1])
        return cells.reshape((2,) * len(planes))

    @cached_property
    def _owner(self) -> np.ndarray:
        """Number of the formula that rules at each pattern of signs, -1 for none."""
        codes = np.arange(2 ** len(self._functions))
        owner = np.full(len(codes), -1)
        for number, part in enumerate(self.parts):
            fits = np.ones(len(codes), dtype=bool)
            for c in part.conditions:
                fits &= ((codes >> self._functions.index(c.tree)) & 1) == (c.sign > 0)
            owner[fits] = number
        return owner

    def _ruling(self, column: Callable[[int], Any]) -> np.ndarray:
        """Number of the formula that rules at points."""
        code: Any = 0
        for bit, node in enumerate(self._functions):
            code = code + ((np.asarray(evaluate_columns(node, column)) > 0).astype(np.int64) << bit)
        return np.asarray(self._owner[code])

    def _chance(
        self, shares: np.ndarray, center: np.ndarray, step: np.ndarray | None
    ) -> np.ndarray:
        """Weight of the formula that rules at each point."""

        def column(index: int) -> np.ndarray:
            return center[:, index - 1]

        total = np.zeros(len(center))
        for part, share in zip(self.parts, shares, strict=True):
            own = share.copy()
            for c in part.conditions:
                height = c.sign * np.asarray(evaluate_columns(c.tree, column))
                cut = (height > 0).astype(np.float64)
                if step is not None:
                    width = np.abs(
                        sum(
                            step[i - 1]
                            * np.asarray(evaluate_columns(derivative(c.tree, i), column))
                            for i in variables(c.tree)
                        )
                    )
                    cut = _share(height, width)
                own *= cut
            total += own
        return total


def _share(height: np.ndarray, width: Any) -> np.ndarray:
    """Share of a cell of some width on the positive side of an edge at some distance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        soft = np.clip(0.5 + height / width, 0.0, 1.0)
    return np.where(np.asarray(width) > 0, soft, height > 0)


def region_rule(regions: Regions, V: np.ndarray, h: float) -> Rule:
    """Rule for a label that is the constant of all formulas: all that matters is the region."""
    law, back = regions.law(V), np.linalg.inv(root(V))

    def rule(y: np.ndarray, omega: np.ndarray) -> tuple[Sums, Sums]:
        n, k = omega.shape
        share = np.ones((len(regions.parts), n))
        points = Points(np.arange(n), np.zeros((n, k)), np.ones((n, 2)), share)
        fine, coarse = regions.sums(points, omega, law, h)
        return fine.rotated(back), coarse.rotated(back)

    return rule
