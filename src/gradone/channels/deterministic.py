r"""Posterior channel of outputs without noise that have a density, or a density and atoms.

Between its kinks and jumps the target follows smooth formulas; for each of them the label puts z
on a level set,

.. math::
    Z(y) = \sum_{formulas} \int_{f = y,\ region} \frac{N(z; \omega, V)}{|\nabla f|}\, dS      [PC-2]

A formula of one linear form has points as level sets, one of k forms surfaces of dimension k - 1.
Directions that a formula does not use enter through its region only.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..base.errors import BadData
from ..base.seeds import stream
from ..targets.language.bounds import interval
from ..targets.target import Target
from .algebraic_levels import is_quadratic
from .atoms import Atoms, distinct
from .base import Outcomes, Posterior, PosteriorChannel
from .convolved_products import ConvolvedProduct, convolved_product, is_diagonal
from .formulas import formulas
from .label_rule import LabelRule, label_rule, outcomes_on
from .moment_sums import MomentSums
from .region import add_parts
from .sheet import Sheet, inner_ranges, label_ranges

_SAME = 1e-7  # relative distance from an atom below which a label is taken for it
_ROUNDING = 1e-5
_CLOUD = 4096
_MEAN_BLOCK = {1: 512, 2: 512, 3: 512, 4: 128}  # prior means at once, thousands of nodes each
_BLOCK = {1: 8192, 2: 1024, 3: 64, 4: 8}  # samples at once, by the forms of a formula


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
        self._sheets = [Sheet(p, target.text, self.resolution) for p in parts if p.constant is None]
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
                parts = [
                    (sheet.region, nodes)
                    for sheet in rest
                    for nodes in sheet.nodes(y, omega.T, V, block)
                ]
                add_parts(parts, omega.T, V, moments)
        found = moments.posterior(V)
        if not has_density.all():
            atoms = self.atoms.posterior(which[~has_density], omega[~has_density], V)
            for whole, part in zip(found, atoms, strict=True):
                whole[~has_density] = part
        return found

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
        return outcomes_on(self.posterior, y, weight, omega, V, curvature=curvature)

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
        if len(self._sheets) > 1:
            low, high = label_ranges(self._sheets, omega, V)
            critical = np.concatenate([*map(Sheet.critical_labels, self._sheets), self._values])
            return label_rule(low, high, distinct(critical), self.resolution)
        # In the inner label, where nothing is squeezed.
        sheet = self._sheets[0]
        rule = sheet.labels_of_form(omega.T, V)
        if rule is None:
            low, high = inner_ranges(self._sheets, omega, V)
            rule = label_rule(low, high, sheet.critical_values, self.resolution)
        y = sheet.relabeled.label(rule.y)
        _, log_slope = sheet.relabeled(y)
        with np.errstate(over="ignore", invalid="ignore"):
            dy = np.where(rule.dy > 0, rule.dy * np.exp(-log_slope), 0.0)
        return LabelRule(y, np.where(np.isfinite(dy), dy, 0.0))

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
        critical = np.concatenate([self._values, *map(Sheet.critical_labels, self._sheets)])
        if len(critical) and np.nanmin(values) >= critical.min() - _ROUNDING:
            low = max(low, float(critical.min()))
        if len(critical) and np.nanmax(values) <= critical.max() + _ROUNDING:
            high = min(high, float(critical.max()))
        return low, high
