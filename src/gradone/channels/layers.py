r"""Posterior of z given a label with little noise, formula by formula.

Between its kinks and jumps the target follows smooth formulas f of a few linear forms x,

.. math::
    Z(y) = \sum_{formulas} \int N(y; f(x), \Delta)\, N(x; a, C)\, P(region \mid x)\, dx      [LY-1]

With little noise the integrand is a thin layer around the level set f = y. If the formula depends
on one form only, its layer on the line is found by halving intervals. The noise of a quadratic
function is one more variable, in which it is linear: no nodes are needed.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Protocol

import numpy as np

from ..base.errors import OutOfRegime
from ..calculus.line import gauss_legendre
from ..targets.target import Target
from .algebraic_levels import is_quadratic, quadratic_levels
from .atoms import distinct
from .base import Outcomes, Posterior
from .formulas import Formula, formulas
from .label_rule import label_rule, outcomes_on
from .level_set import Nodes
from .moment_sums import MomentSums
from .region import Region, add_parts
from .sheet import Sheet, label_ranges
from .smooth import Smooth, used_rows

_REACH = 7.0  # of the noise beyond labels without it, in its standard deviations
_FEW = 2  # formulas of three variables or more whose labels are affordable at many prior means
_FIRST = 0.5  # first interval on a line, in standard deviations
_STEP = 2.2  # last interval, in widths of the layer
_NODES = 3  # of an interval
_DEPTH = 15.0  # nodes whose weight is exp(-_DEPTH) of the largest are left out
_SEARCH = 8  # steps towards the most probable point
_BENT = 1.5  # curvature in an interval, in units of that in its middle
_FARTHEST = 200.0  # energy: labels that are less probable have no weight
_BLOCK = 2048  # samples at once
_LATTICE = {1: 0, 2: 600, 3: 4000, 4: 4000}  # nodes that take as long as one formula, by r

Parts = list[tuple[Region, Nodes]]


class Layers:
    """Posterior of labels with little noise.

    Parameters
    ----------
    target : Target
        A target with noise.
    resolution : int
        Number of times that the steps are halved.

    Raises
    ------
    OutOfRegime
        If a formula of several forms is not quadratic, or the region of one has no closed form.

    Examples
    --------
    Phase retrieval: the label says how large z is, up to its noise.

    >>> layers = Layers(Target("z**2", noise=1e-4))
    >>> found = layers.posterior(np.array([4.0]), np.array([[0.3]]), np.array([[0.5]]))
    >>> round(float(found.g[0, 0]), 3), round(float((2 * np.tanh(2 * 0.3 / 0.5) - 0.3) / 0.5), 3)
    (2.735, 2.735)
    """

    def __init__(self, target: Target, resolution: int = 0) -> None:
        self.r, self.target, self.resolution = target.r, target, resolution
        self._layers = [_layer(part, target, resolution) for part in formulas(target.expression)]
        self._lines = sum(isinstance(layer, _Line) for layer in self._layers)

    @property
    def needs_no_nodes(self) -> bool:
        """Whether the target is quadratic."""
        return not self._lines

    @property
    def worth(self) -> int:
        """Nodes of a lattice over z that take as long."""
        return _LATTICE[self.r] * self._lines

    @property
    def has_outcomes(self) -> bool:
        """Whether all labels of many prior means can be afforded."""
        return self.r < 3 or self._lines <= _FEW

    def posterior(self, y: np.ndarray, omega: np.ndarray, V: np.ndarray) -> Posterior:
        """Posterior at labels `y` (n,), prior means `omega` (n, r), covariance `V` (r, r)."""
        y, omega = np.asarray(y, dtype=np.float64), np.asarray(omega, dtype=np.float64)
        moments = MomentSums.zeros(len(y), self.r)
        for start in range(0, len(y), _BLOCK):
            block = np.arange(start, min(start + _BLOCK, len(y)))
            parts = [
                part for layer in self._layers for part in layer.add(block, y, omega.T, V, moments)
            ]
            add_parts(parts, omega.T, V, moments)
        return moments.posterior(V)

    def outcomes(self, omega: np.ndarray, V: np.ndarray, *, curvature: bool = False) -> Outcomes:
        """Every label that may come out at the prior means `omega` (m, r), covariance `V`.

        Labels without noise end, or are dense, at critical ones; with it they go a bit further.
        """
        low, high = label_ranges(self._sheets, omega, V)
        values, m = self._constants, len(omega)
        low, high = (np.concatenate([end, np.tile(values[:, None], m)]) for end in (low, high))
        reach = _REACH * math.sqrt(self.target.noise)
        critical = np.concatenate([*map(Sheet.critical_labels, self._sheets), values])
        rule = label_rule(low - reach, high + reach, distinct(critical), self.resolution)
        return outcomes_on(self.posterior, rule.y, rule.dy, omega, V, curvature=curvature)

    @cached_property
    def _sheets(self) -> list[Sheet]:
        parts = formulas(self.target.expression)
        return [Sheet(p, self.target.text, self.resolution) for p in parts if p.constant is None]

    @cached_property
    def _constants(self) -> np.ndarray:
        parts = formulas(self.target.expression)
        return np.array([p.constant for p in parts if p.constant is not None])


class _Layer(Protocol):
    """Layers of one formula."""

    def add(
        self,
        block: np.ndarray,
        y: np.ndarray,
        omega: np.ndarray,
        V: np.ndarray,
        moments: MomentSums,
    ) -> Parts:
        """Add a block of samples to the moments, or give nodes that are to be added."""


def _layer(formula: Formula, target: Target, resolution: int) -> _Layer:
    is_constant = formula.constant is not None
    rows = np.zeros((0, formula.r)) if is_constant else used_rows(formula.tree, formula.r)
    f = Smooth(formula.tree, rows)
    if len(rows) < 2:
        return _Line(f, Region(formula.conditions, rows, target.text, resolution), target.noise)
    if len(rows) == formula.r and not formula.conditions and is_quadratic(f):
        return _Quadratic(f, target.noise, resolution)
    raise OutOfRegime(
        f"a formula of '{target.text}' depends on {len(rows)} directions at once and is not "
        "quadratic: its layers have no rule"
    )


class _Quadratic:
    """Layers of a quadratic function of all variables."""

    def __init__(self, f: Smooth, noise: float, resolution: int) -> None:
        self.f, self.noise, self.resolution = f, noise, resolution

    def add(
        self,
        block: np.ndarray,
        y: np.ndarray,
        omega: np.ndarray,
        V: np.ndarray,
        moments: MomentSums,
    ) -> Parts:
        rows = self.f.rows
        mean, C = rows @ omega[:, block], rows @ V @ rows.T
        found = quadratic_levels(self.f, y[block], mean, C, self.resolution, noise=self.noise)
        moments.merge(block, *found)
        return []


class _Line:
    """Layers of a function of one form, or of a constant."""

    def __init__(self, f: Smooth, region: Region, noise: float) -> None:
        self.f, self.region, self.noise = f, region, noise

    def add(
        self,
        block: np.ndarray,
        y: np.ndarray,
        omega: np.ndarray,
        V: np.ndarray,
        moments: MomentSums,
    ) -> Parts:
        y = y[block]
        if not len(self.f.rows):
            gap = y - self.f.value(np.zeros((0, 1)))
            return [(self.region, Nodes(block, np.zeros((0, len(y))), self._log_noise(gap), ()))]
        row, omega = self.f.rows[0], omega[:, block]
        changes = self.region.changes_across(omega, V) if self.region.is_bounded else []
        scale = math.sqrt(row @ V @ row)
        sample, x, log_weight = self._nodes(y, row @ omega, scale, changes)
        return [(self.region, Nodes(block[sample], x[None], log_weight, ()))]

    def _log_noise(self, gap: np.ndarray) -> np.ndarray:
        """Logarithm of the density of the noise."""
        return -(gap**2) / (2 * self.noise) - 0.5 * math.log(2 * math.pi * self.noise)

    def _nodes(
        self, y: np.ndarray, mean: np.ndarray, scale: float, changes: list[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sample, place minus the prior mean and log weight of the nodes, sorted by sample.

        Intervals u of x = mean + scale u are halved where the layer may be, until it varies little
        on them, and cut where the region changes (places, n).
        """
        best = self._highest(y, mean, scale)
        length = _FIRST
        sample, u = _intervals(np.sqrt(2 * (best + _DEPTH)), length)
        bend = _BENT * scale**2 * np.abs(self.f.hessian((mean[sample] + scale * u)[None])[0, 0])
        parts = []
        while len(sample):
            at = (mean[sample] + scale * u)[None]
            gap, slope = y[sample] - self.f.value(at), scale * np.abs(self.f.gradient(at)[0])
            inside, touched = self._is_inside(at, scale * length / 2)
            energy = u**2 / 2 + gap**2 / (2 * self.noise)
            np.minimum.at(best, sample[inside], energy[inside])
            off = np.maximum(np.abs(gap) - slope * length / 2 - bend * length**2 / 8, 0.0)
            away = np.maximum(np.abs(u) - length / 2, 0.0)
            kept = touched & (away**2 / 2 + off**2 / (2 * self.noise) < best[sample] + _DEPTH)
            steepest = slope[kept] + bend[kept] * length / 2
            is_last = length / 2 <= _STEP / 2**self.region.resolution / np.sqrt(
                1 + steepest**2 / self.noise
            )
            length /= 2
            sample, bend, is_last = (np.repeat(a, 2) for a in (sample[kept], bend[kept], is_last))
            u = (u[kept][:, None] + np.array([-0.5, 0.5]) * length).ravel()
            parts.append((sample[is_last], u[is_last] - length / 2, u[is_last] + length / 2))
            sample, u, bend = sample[~is_last], u[~is_last], bend[~is_last]
        sample, low, high = (np.concatenate(column) for column in zip(*parts, strict=True))
        sample, low, high = _cut(sample, low, high, changes)
        sample, low, high = self._within(sample, low, high, mean, scale)
        order = np.argsort(sample, kind="stable")
        sample, low, size = sample[order], low[order], (high - low)[order]
        t, w = gauss_legendre(_NODES)
        place = (low[:, None] + size[:, None] * t).ravel()
        sample = np.repeat(sample, _NODES)
        gap = y[sample] - self.f.value((mean[sample] + scale * place)[None])
        log_weight = self._log_noise(gap) - place**2 / 2 - 0.5 * math.log(2 * math.pi)
        return sample, scale * place, log_weight + np.log(size[:, None] * w).ravel()

    def _within(
        self, sample: np.ndarray, low: np.ndarray, high: np.ndarray, mean: np.ndarray, scale: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Intervals whose middle satisfies the conditions on x alone."""
        middle = (mean[sample] + scale * (low + high) / 2)[None]
        kept = self._is_inside(middle)[0]
        return sample[kept], low[kept], high[kept]

    def _highest(self, y: np.ndarray, mean: np.ndarray, scale: float) -> np.ndarray:
        """Energy (n,) of a point that is about as probable as the most probable one.

        Of the nearest point of the linearized layer, again and again.
        """
        u, best = np.full(len(y), 0.1), np.full(len(y), _FARTHEST)
        for _ in range(_SEARCH):
            at = (mean + scale * u)[None]
            gap, slope = y - self.f.value(at), scale * self.f.gradient(at)[0]
            energy = u**2 / 2 + gap**2 / (2 * self.noise)
            best = np.where(self._is_inside(at)[0], np.fmin(best, energy), best)
            u = slope * (slope * u + gap) / (self.noise + slope**2)
        return best

    def _is_inside(self, at: np.ndarray, reach: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Whether the conditions on x alone hold at points (1, n), and whether within the reach."""
        inside = touched = np.ones(at.shape[1], dtype=bool)
        for sign, condition in self.region.own_conditions:
            value, slope = sign * condition.value(at), np.abs(condition.gradient(at)[0])
            inside, touched = inside & (value > 0), touched & (value > -_BENT * slope * reach)
        return inside, touched


def _intervals(radius: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Middles of intervals that cover [-radius, radius] of n samples, and their sample.

    Examples
    --------
    >>> _intervals(np.array([0.6, 1.1]), 1.0)[1]
    array([-0.5,  0.5, -1.5, -0.5,  0.5,  1.5])
    """
    count = math.ceil(float(radius.max(initial=0.0)) / length)
    middle = length * (np.arange(-count, count) + 0.5)
    sample, which = np.nonzero(np.abs(middle) - length / 2 < radius[:, None])
    return sample, middle[which]


def _cut(
    sample: np.ndarray, low: np.ndarray, high: np.ndarray, changes: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Intervals of samples, in pieces where a change (places, n) lies inside.

    Examples
    --------
    >>> _cut(np.array([0]), np.zeros(1), np.ones(1), [np.array([[0.25], [np.nan]])])[1:]
    (array([0.  , 0.25]), array([0.25, 1.  ]))
    """
    for places in changes:
        for place in places:
            cut = place[sample]
            inside = (low < cut) & (cut < high)
            if inside.any():
                sample = np.concatenate([sample, sample[inside]])
                low, high = (
                    np.concatenate([low, cut[inside]]),
                    np.concatenate([np.where(inside, cut, high), high[inside]]),
                )
    return sample, low, high
