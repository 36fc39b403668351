r"""Posterior channel of outputs without noise that have a density, or a density and atoms.

Between its kinks and jumps the target follows smooth formulas; for each of them the label puts z
on a level set,

.. math::
    Z(y) = \sum_{formulas} \int_{f = y,\ region} \frac{N(z; \omega, V)}{|\nabla f|}\, dS      [PC-2]

A formula of one linear form has points as level sets, one of k forms surfaces of dimension k - 1.
Directions that a formula does not use enter through its region only.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from ...base.errors import BadData, OutOfRegime
from ...base.seeds import stream
from ...calculus.line import gauss_legendre
from ..language.bounds import interval
from ..language.breaks import zero_planes
from ..language.evaluate import evaluate
from ..language.tree import Node
from ..target import Target
from .algebraic_levels import is_quadratic
from .atoms import Atoms, distinct
from .base import Outcomes, Posterior, PosteriorChannel
from .convolved_products import ConvolvedProduct, convolved_product, is_diagonal
from .formulas import Formula, formulas
from .label_mean import mean_in_region
from .label_rule import PROBE_RADIUS, LabelRule, label_rule, probe_points
from .level_set import LevelSet, Nodes
from .moment_sums import MomentSums
from .region import Region
from .roots import AxisRoots
from .smooth import Smooth, used_rows

_SAME = 1e-7  # relative distance from an atom below which a label is taken for it
_MAX_CRITICAL = 8
_MAX_FORMS = 3
_ROUNDING = 1e-5
_CLOUD = 4096
_FORM_NODES = 36  # in the range of a form
_MEAN_BLOCK = {1: 512, 2: 512, 3: 512, 4: 128}  # prior means at once, thousands of nodes each
_LOST = 40.0  # exp(-_LOST) of what is there already is nothing
_BLOCK = {1: 8192, 2: 1024, 3: 64, 4: 8}  # samples at once, by the forms of a formula


class _Sheet:
    """One formula with its level sets and its region."""

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

    @cached_property
    def axis_roots(self) -> AxisRoots:
        return AxisRoots(self.f)

    @cached_property
    def level_set(self) -> LevelSet:
        return LevelSet(self.f, self.resolution)


class DeterministicPosterior(PosteriorChannel):
    r"""Posterior channel of a noiseless output with a density, or with a density and atoms.

    Notes
    -----
    Exact for targets whose formulas each depend on one linear form of z when r is at most 2, about
    1e-5 for quadratic functions and for products of three variables, 1e-3 otherwise. Labels that
    cannot come out have ``log_z = -inf``, g = 0 and dg = 0.

    Examples
    --------
    Phase retrieval, where :math:`g = (|z| \tanh(|z| \omega/V) - \omega)/V`:

    >>> channel = DeterministicPosterior(Target("z**2"))
    >>> found = channel.posterior(np.array([4.0]), np.array([[0.3]]), np.array([[0.5]]))
    >>> round(float(found.g[0, 0]), 9), round(float((2 * np.tanh(2 * 0.3 / 0.5) - 0.3) / 0.5), 9)
    (2.734618428, 2.734618428)
    """

    varies_at_breaks = True

    def __init__(self, target: Target, resolution: int = 0) -> None:
        super().__init__(target, resolution)
        parts = formulas(target.expression)
        self.atoms = Atoms(target.expression, self.resolution)
        self._values = self.atoms.values
        self._sheets = [
            _Sheet(p, target.text, self.resolution) for p in parts if p.constant is None
        ]
        self._product = self._convolved()
        self.varies_at_zero = self._product is not None
        self.is_rough = resolution < 0 and self.r == 2

    @property
    def has_curved_levels(self) -> bool:
        """Whether nodes on curved level sets are needed, which takes time."""
        return any(sheet.k > 1 and not is_quadratic(sheet.f) for sheet in self._sheets)

    def posterior(self, y: np.ndarray, omega: np.ndarray, V: np.ndarray) -> Posterior:
        """Posterior at labels `y` (n,), prior means `omega` (n, r), covariance `V` (r, r)."""
        y, omega = np.asarray(y, dtype=np.float64), np.asarray(omega, dtype=np.float64)
        V = np.asarray(V, dtype=np.float64)
        moments = MomentSums.zeros(len(y), self.r)
        which = self._atom(y)
        has_density = which < 0
        rest = []
        for sheet in self._sheets:
            index = np.flatnonzero(has_density)
            if not sheet.add_polynomial(y[index], omega[index].T, V, moments, index):
                rest.append(sheet)
        if rest:
            size = min(_BLOCK[sheet.k] for sheet in rest)
            for start in range(0, len(y), size):
                block = start + np.flatnonzero(has_density[start : start + size])
                self._add([(sheet, block) for sheet in rest], y, omega.T, V, moments)
        found = moments.posterior(V)
        if not has_density.all():
            atoms = self.atoms.posterior(which[~has_density], omega[~has_density], V)
            for whole, part in zip(found, atoms, strict=True):
                whole[~has_density] = part
        return found

    def _add(
        self,
        blocks: list[tuple[_Sheet, np.ndarray]],
        y: np.ndarray,
        omega: np.ndarray,
        V: np.ndarray,
        moments: MomentSums,
    ) -> None:
        """Add the level sets of some sheets, each at its own block of samples.

        Nodes of large weight first: a region has at most probability one, so what is far below the
        mass of a sample by then cannot count.
        """
        parts = [(sheet, nodes) for sheet, b in blocks for nodes in sheet.nodes(y, omega, V, b)]
        best = np.full(len(y), -np.inf)
        for _, nodes in parts:
            np.maximum.at(best, nodes.sample, nodes.log_weight)
        best -= _LOST
        for sheet, nodes in parts:
            sheet.region.add(nodes, omega, V, (best, np.full(len(y), np.inf)), moments)
        floor = moments.top - _LOST
        for sheet, nodes in parts:
            sheet.region.add(nodes, omega, V, (floor, best), moments)

    def _atom(self, y: np.ndarray) -> np.ndarray:
        """Number of the atom that a label is, -1 if it is none."""
        which = np.full(len(y), -1)
        for number, value in enumerate(self._values):
            which[np.abs(y - value) <= _SAME * (1 + abs(value))] = number
        return which

    def outcomes(self, omega: np.ndarray, V: np.ndarray, *, curvature: bool = False) -> Outcomes:
        """Every label that may come out at the prior means `omega` (m, r), covariance `V`."""
        if self._product is not None and is_diagonal(V):
            return self._relabeled(self._product.outcomes(omega, V, curvature=curvature))
        m = len(omega)
        rule = self._rule(omega, V)
        y = np.concatenate([rule.y, np.tile(self._values, (m, 1))], axis=1)
        weight = np.concatenate([rule.dy, np.ones((m, len(self._values)))], axis=1)
        k = y.shape[1]
        used = np.flatnonzero(weight.ravel() > 0)
        found = self.posterior(y.ravel()[used], np.repeat(omega, k, axis=0)[used], V)
        log_z, g = np.full(m * k, -np.inf), np.zeros((m * k, self.r))
        log_z[used], g[used] = found.log_z, found.g
        shape = (m, k, self.r, self.r)
        dg = None
        if curvature:
            dg = np.zeros(shape)
            dg.reshape(m * k, self.r, self.r)[used] = found.dg
        return Outcomes(y, weight, log_z.reshape(m, k), g.reshape(shape[:3]), dg)

    def _convolved(self) -> ConvolvedProduct | None:
        """Rule for a product of powers of all variables that no other rule does well."""
        first, *others = self._sheets
        if (
            others
            or not 2 <= first.k == self.r
            or first.formula.conditions
            or is_quadratic(first.f)
        ):
            return None
        return convolved_product(first.f, self.resolution)

    def _relabeled(self, inner: Outcomes) -> Outcomes:
        """Outcomes of the only formula as labels of the target."""
        relabeled = self._sheets[0].relabeled
        y = relabeled.label(inner.y)
        _, log_slope = relabeled(y)
        is_label = np.isfinite(y) & np.isfinite(log_slope)  # else lost where labels saturate
        log_slope = np.where(is_label, log_slope, 0.0)
        return inner._replace(
            y=np.where(is_label, y, 0.0),
            weight=np.where(is_label, inner.weight * np.exp(-log_slope), 0.0),
            log_z=inner.log_z + log_slope,
        )

    def mean(self, omega: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Mean of the label at prior means `omega` (m, r): the Bayes-optimal prediction (m,)."""
        omega = np.asarray(omega, dtype=np.float64)
        atoms = self.atoms.outcomes(omega, V)
        total = (np.exp(atoms.log_z) * atoms.y).sum(axis=1)
        for sheet in self._sheets:
            size = _MEAN_BLOCK[self.r]
            for start in range(0, len(omega), size):
                block = slice(start, start + size)
                part = sheet.mean(omega[block].T, V)
                if part is None:
                    return super().mean(omega, V)
                total[block] += part
        return total

    def _rule(self, omega: np.ndarray, V: np.ndarray) -> LabelRule:
        probe = np.linalg.cholesky(V) @ probe_points(self.r)
        z = probe[:, :, None] + omega.T[:, None, :]
        ends = np.array([sheet.range(z, omega.T, V) for sheet in self._sheets])
        critical = np.concatenate([sheet.critical_values for sheet in self._sheets])
        if len(self._sheets) == 1:  # in the inner label, where nothing is squeezed
            rule = self._sheets[0].labels_of_form(omega.T, V)
            if rule is None:
                rule = label_rule(ends[:, 0], ends[:, 1], critical, self.resolution)
            y = self._sheets[0].relabeled.label(rule.y)
            _, log_slope = self._sheets[0].relabeled(y)
            with np.errstate(over="ignore", invalid="ignore"):
                dy = np.where(rule.dy > 0, rule.dy * np.exp(-log_slope), 0.0)
            return LabelRule(y, np.where(np.isfinite(dy), dy, 0.0))
        ends = np.array([s.relabeled.label(e) for s, e in zip(self._sheets, ends, strict=True)])
        critical = np.concatenate(
            [*(s.relabeled.label(s.critical_values) for s in self._sheets), self._values]
        )
        return label_rule(ends.min(axis=1), ends.max(axis=1), distinct(critical), self.resolution)

    def check_labels(self, y: np.ndarray) -> None:
        """Raise :class:`~gradone.BadData` if some label cannot come out of this channel."""
        y = np.asarray(y, dtype=np.float64)
        low, high = self.label_range
        # Labels may have been computed in single precision.
        slack = [_ROUNDING * (1 + abs(end)) for end in (low, high)]
        bad = np.flatnonzero(~((y >= low - slack[0]) & (y <= high + slack[1]) & np.isfinite(y)))
        if len(bad):
            row = int(bad[0])
            raise BadData(
                f"the label {y[row]:g} in row {row} cannot come out of '{self.target.text}' "
                f"without noise, whose values lie between {low:g} and {high:g} ({len(bad)} such "
                "labels). Check that the labels belong to this target, and their scale, or give "
                "the target a noise > 0."
            )

    @cached_property
    def label_range(self) -> tuple[float, float]:
        """Smallest and largest value that is possible, as far as they are known."""
        expression = self.target.expression
        low, high = interval(expression.tree)
        points = stream(0, "points", r=self.r, what="range").standard_normal((_CLOUD, self.r))
        values = np.concatenate([expression(scale * points) for scale in (0.3, 1.0, 4.0, 12.0)])
        critical = np.concatenate(
            [self._values, *(s.relabeled.label(s.critical_values) for s in self._sheets)]
        )
        if len(critical) and np.nanmin(values) >= critical.min() - _ROUNDING:
            low = max(low, float(critical.min()))
        if len(critical) and np.nanmax(values) <= critical.max() + _ROUNDING:
            high = min(high, float(critical.max()))
        return low, high


def _points_of_change(tree: Node) -> list[float]:
    """Zeros of a condition in one variable."""
    return [plane.offset for plane in zero_planes(tree, 1)]
