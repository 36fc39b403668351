"""One formula of a noiseless target: its level sets, its region, its labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ..base.errors import OutOfRegime
from ..calculus.line import gauss_legendre
from ..targets.language.breaks import zero_planes
from ..targets.language.evaluate import evaluate
from ..targets.language.tree import Node
from .algebraic_levels import is_quadratic
from .atoms import distinct
from .formulas import Formula
from .label_mean import mean_in_region
from .label_rule import PROBE_RADIUS, LabelRule, probe_points
from .level_set import LevelSet, Nodes
from .moment_sums import MomentSums
from .region import Region
from .roots import AxisRoots
from .smooth import Smooth, used_rows

_MAX_CRITICAL = 8
_MAX_FORMS = 3
_FORM_NODES = 36  # in the range of a form


class Sheet:
    """One formula with its level sets and its region.

    Parameters
    ----------
    formula : Formula
        The formula.
    text : str
        The target, for messages.
    resolution : int
        Number of times that the steps are halved.
    """

    def __init__(self, formula: Formula, text: str, resolution: int) -> None:
        self.formula, self.resolution = formula, resolution
        self.relabeled = formula.relabeled
        inner = self.relabeled.inner
        self.rows = used_rows(inner, formula.r)
        self.k = len(self.rows)
        self.f = Smooth(inner, self.rows)
        # The level sets of a quadratic function need no nodes, whatever their dimension.
        is_whole = self.k == formula.r and not formula.conditions
        if self.k > _MAX_FORMS and not (is_whole and is_quadratic(self.f)):
            raise OutOfRegime(
                f"a formula of '{text}' depends on {self.k} directions at once; without noise the "
                f"posterior is an integral over its level sets, at most {_MAX_FORMS} can be done "
                "unless it is quadratic. Give the target a noise > 0."
            )
        self.region = Region(formula.conditions, self.rows, text, resolution)

    def nodes(
        self, y: np.ndarray, omega: np.ndarray, V: np.ndarray, block: np.ndarray
    ) -> list[Nodes]:
        """Nodes of the samples `block`, before what the directions beyond the formula weigh."""
        inner = (
            self.region.inner(nodes, omega[:, block])
            for nodes in self._nodes(y[block], omega[:, block], V)
        )
        return [nodes._replace(sample=block[nodes.sample]) for nodes in inner]

    def add_polynomial(
        self,
        y: np.ndarray,
        omega: np.ndarray,
        V: np.ndarray,
        moments: MomentSums,
        block: np.ndarray,
    ) -> bool:
        """Add the level sets of a polynomial of all variables; False if it is none."""
        if self.k < 2 or self.k < self.formula.r or self.formula.conditions:
            return False
        label, log_slope = self.relabeled(y)
        possible = np.flatnonzero(np.isfinite(label) & np.isfinite(log_slope))
        C = self.rows @ V @ self.rows.T
        found = self.level_set.polynomial_moments(
            label[possible], self.rows @ omega[:, possible], C
        )
        if found is None:
            return False
        log_scale, mass, first, second = found
        moments.merge(block[possible], log_scale + log_slope[possible], mass, first, second)
        return True

    def _nodes(self, y: np.ndarray, omega: np.ndarray, V: np.ndarray) -> list[Nodes]:
        label, log_slope = self.relabeled(y)
        possible = np.flatnonzero(np.isfinite(label) & np.isfinite(log_slope))
        if not len(possible):
            return []
        mean, C = self.rows @ omega[:, possible], self.rows @ V @ self.rows.T
        if self.k == 1:
            found = [self._points(label[possible], mean, float(C[0, 0]))]
        else:
            found = self.level_set.nodes(label[possible], mean, C)
        return [
            nodes._replace(
                sample=possible[nodes.sample],
                log_weight=nodes.log_weight + log_slope[possible[nodes.sample]],
            )
            for nodes in found
        ]

    def _points(self, label: np.ndarray, mean: np.ndarray, variance: float) -> Nodes:
        sample, x = self.axis_roots.solve(label)
        offset = x - mean[0, sample]
        with np.errstate(divide="ignore"):
            log_weight = (
                -(offset**2) / (2 * variance)
                - 0.5 * math.log(2 * math.pi * variance)
                - np.log(np.abs(self.f.gradient(x[None])[0]))
            )
        # At an extremum the slope vanishes: a weight that is large, not infinite.
        return Nodes(sample, offset[None], np.minimum(log_weight, 300.0), ())

    def mean(self, omega: np.ndarray, V: np.ndarray) -> np.ndarray | None:
        """Part (m,) of the mean label at prior means (r, m); None if there is no rule for it."""

        def label(x: np.ndarray) -> np.ndarray:
            return np.asarray(self.relabeled.label(self.f.value(x)))

        return mean_in_region(label, self.region, omega, V)

    def range(
        self, z: np.ndarray, omega: np.ndarray, V: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest inner label (m,) near prior means (r, m); NaN if none.

        Seen at probe points z (r, points, m), and at the critical points among them.
        """
        values = np.asarray(self.f.value(np.tensordot(self.rows, z, axes=1)))
        inside = np.isfinite(values)
        for condition in self.formula.conditions:
            inside &= condition.sign * evaluate(condition.tree, np.moveaxis(z, 0, -1)) >= 0
        low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        gaps = self.critical_points[:, :, None] - (self.rows @ omega)[:, None, :]
        whitened = np.tensordot(
            np.linalg.inv(np.linalg.cholesky(self.rows @ V @ self.rows.T)), gaps, axes=1
        )
        near = (whitened**2).sum(axis=0) < PROBE_RADIUS**2
        extreme = self.f.value(self.critical_points)[:, None]
        low = np.minimum(low, np.where(near, extreme, np.inf).min(axis=0, initial=np.inf))
        high = np.maximum(high, np.where(near, extreme, -np.inf).max(axis=0, initial=-np.inf))
        # Probe points stop short of the edge of a region.
        margin = 0.1 * (high - low)
        first = np.where(inside, values, np.inf).min(axis=0) - margin
        last = np.where(inside, values, -np.inf).max(axis=0) + margin
        entered = inside.any(axis=0)
        return (
            np.where(entered, np.maximum(first, low), np.nan),
            np.where(entered, np.minimum(last, high), np.nan),
        )

    def labels_of_form(self, omega: np.ndarray, V: np.ndarray) -> LabelRule | None:
        """Rule over the inner labels of a monotone function of one form; None for others.

        It is a rule over the form itself, for which the labels of a steep function, as z**3 + z,
        are not wider than those of a flat one.
        """
        if self.k != 1 or len(self.critical_values):
            return None
        t, weight = gauss_legendre(_FORM_NODES * 2**self.resolution)
        scale = PROBE_RADIUS * math.sqrt(float((self.rows @ V @ self.rows.T)[0, 0]))
        x = (self.rows @ omega)[0, :, None] + scale * (2 * t - 1)
        slope = np.abs(self.f.gradient(x[None])[0])
        return LabelRule(np.asarray(self.f.value(x[None])), 2 * scale * weight * slope)

    @cached_property
    def critical_points(self) -> np.ndarray:
        """Points (k, c) at which level sets appear, vanish or change their shape."""
        return self.axis_roots.critical_points if self.k == 1 else self.level_set.critical_points

    @cached_property
    def critical_values(self) -> np.ndarray:
        """Inner labels at which the density may be singular."""
        values = distinct(self.f.value(self.critical_points))
        if len(values) > _MAX_CRITICAL:
            values = values[:0]
        if self.formula.r == 1:
            edges = [z for c in self.formula.conditions for z in _points_of_change(c.tree)]
            values = np.concatenate([values, self.f.value(np.array([edges]))])
        return values

    def critical_labels(self) -> np.ndarray:
        """The same as labels of the target."""
        return np.asarray(self.relabeled.label(self.critical_values))

    @cached_property
    def axis_roots(self) -> AxisRoots:
        """Roots of a formula of one form."""
        return AxisRoots(self.f)

    @cached_property
    def level_set(self) -> LevelSet:
        """Level sets of a formula of several forms."""
        return LevelSet(self.f, self.resolution)


def inner_ranges(
    sheets: Sequence[Sheet], omega: np.ndarray, V: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest inner label (sheets, m) near prior means (m, r); NaN for none."""
    probe = np.linalg.cholesky(V) @ probe_points(len(V))
    z = probe[:, :, None] + omega.T[:, None, :]
    low, high = zip(*(sheet.range(z, omega.T, V) for sheet in sheets), strict=True)
    return np.array(low), np.array(high)


def label_ranges(
    sheets: Sequence[Sheet], omega: np.ndarray, V: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The same of the labels of the target."""
    ends = np.stack(inner_ranges(sheets, omega, V), axis=1)
    ends = np.array([s.relabeled.label(e) for s, e in zip(sheets, ends, strict=True)])
    return ends.min(axis=1), ends.max(axis=1)


def _points_of_change(tree: Node) -> list[float]:
    """Zeros of a condition in one variable."""
    return [plane.offset for plane in zero_planes(tree, 1)]
