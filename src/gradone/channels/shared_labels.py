r"""Labels of a target of two variables that are the same for every prior mean.

Averages over the prior mean and the label together,

.. math:: \int dy \int d\omega\, N(\omega; 0, M)\, h(Z, g)                                  [SL-1]

are smooth in y between the critical labels, however narrow the posterior is: one rule over labels,
and one set of nodes on their level curves, will do for all prior means and all overlaps.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from ..calculus.line import gauss_legendre
from ..targets.language.expression import Expression
from ..targets.language.structure import has_jumps
from .atoms import Atoms
from .landscape import Landscape
from .level_curves import Curves, LevelCurves, last_coefficients
from .relabeling import Relabeled, without_relabeling

_WIDEST = 1.0  # panels of the curves, for a prior of width 1
_PER_WIDTH = 3.0  # and in widths of a narrow prior
NARROWEST = 0.04  # width of the prior down to which curves are resolved
_GRID = 88
_MAX_CRITICAL = 12
_TAILS = (0.5, 0.05, 2e-3, 2e-5)  # probability beyond the edges of the first panels
_ROUNDS = 8
_LOST = 3e-4  # probability of labels that may be lost
_CURVED = 0.01  # share of the tolerance that curved kinks leave
_MOST_LABELS = 1500
_DEGENERATE = 1e-3  # mean square of a component of the unit gradient that is none
_LIGHTEST = 5e-5  # of the mean over the nodes of what they carry


class Fineness(NamedTuple):
    """How fine the rules are."""

    radius: float
    """Of the disc, in standard deviations."""
    nodes: int
    """Of a panel of labels, and of a curve."""
    label_tolerance: float
    """What a panel of labels may miss of averages of order one."""
    curve_tolerance: float
    """Share of the density of a label that a panel of its curve may miss."""


FINENESS = (
    Fineness(5.5, 8, 2e-3, 7e-3),
    Fineness(6.0, 9, 5e-4, 3e-3),
    Fineness(6.0, 11, 1e-4, 8e-4),
)


class SharedLabels:
    """Rule over the labels of a noiseless target of two variables, with their level curves.

    Parameters
    ----------
    expression : Expression
        The target, r = 2.
    resolution : int
        Index of the rules in FINENESS; the last ones for larger numbers.
    halvings : int
        Number of times that all panels of labels are halved: averages over the prior mean do not
        need it, but those of each prior mean vary with the label on the scale of the posterior.

    Attributes
    ----------
    y, weight : arrays (labels,)
        Labels, and the weights of the labels of the inner function.
    log_slope : array (labels,)
        By which the logarithm of a density of labels is larger than that of the inner function,
        whose level curves are used.
    panels : array (3, panels)
        Begin, end and kind of the panels of the inner labels, each with `nodes` labels.
    missing : float
        What the labels lack to probability one: parts of curves that were not found.
    critical : array
        Inner labels at which curves change their shape, that have a probability of their own, or
        around which labels may be dense.

    Examples
    --------
    The labels of z1*z2 have mean square one.

    >>> shared = SharedLabels(Expression("z1*z2"))
    >>> curves = shared.curves(1.0)
    >>> mass = curves.weight * np.exp(-(curves.x**2).sum(axis=0) / 2) / (2 * np.pi)
    >>> of_label = np.add.reduceat(mass, curves.start[:-1])
    >>> round(float((shared.weight * shared.y**2) @ of_label), 3)
    1.0
    """

    def __init__(self, expression: Expression, resolution: int = 0, halvings: int = 0) -> None:
        fine = FINENESS[min(resolution, len(FINENESS) - 1)]
        self.relabeled, self._landscape = landscape_of(expression)
        self._reversal = self._landscape.reversal
        self.nodes = fine.nodes
        self._fine = fine
        self._known: dict[float, Curves] = {}
        self.expression = expression
        self.atoms = Atoms(expression, resolution)
        atoms = self.relabeled(self.atoms.values)[0]
        found = self._landscape.labels
        if len(found) > _MAX_CRITICAL:
            found = np.zeros(0)
        # Small labels of an odd function may be far more frequent than others, as those of
        # z1*exp(-z2**2).
        middle = [] if self._reversal is None else [0.0]
        self.critical: np.ndarray = np.unique(np.concatenate([found, atoms, middle]))
        # Kinks that are not straight lie inside of panels, which then converge slowly.
        tolerance = fine.curve_tolerance * (_CURVED if expression.breaks[1] else 1.0)
        self._curves_of = LevelCurves(self._landscape, fine.radius, fine.nodes, tolerance)
        inner, self.weight, curves, self.panels = self._labels(halvings)
        self.missing = self._missing(curves)
        self._known[_WIDEST] = _without_lightest(curves, self.weight)
        self._inner = inner
        label = self.relabeled.label(inner)
        _, log_slope = self.relabeled(label)
        is_label = np.isfinite(label) & np.isfinite(log_slope)  # else lost where labels saturate
        self.y: np.ndarray = np.where(is_label, label, 0.0)
        self.log_slope: np.ndarray = np.where(is_label, log_slope, 0.0)

    def _missing(self, curves: Curves) -> float:
        """What the labels lack to probability one under standard normal variables."""
        mass = curves.weight * np.exp(-(curves.x**2).sum(axis=0) / 2) / (2 * math.pi)
        atoms = np.exp(self.atoms.outcomes(np.zeros((1, 2)), np.eye(2)).log_z)
        return 1.0 - float(self.weight @ curves.by_label(mass)) - float(atoms.sum())

    @cached_property
    def rule(self) -> np.ndarray:
        """Weight, label and log_slope (labels and atoms, 3)."""
        values = self.atoms.values
        atoms = np.stack([np.ones(len(values)), values, np.zeros(len(values))], axis=1)
        return np.concatenate([np.stack([self.weight, self.y, self.log_slope], axis=1), atoms])

    def curves(self, width: float) -> Curves:
        """Level curves of all labels, resolved on the scale of a prior of this width."""
        longest = _WIDEST
        while longest > _PER_WIDTH * width:
            longest /= 2
        if longest not in self._known:
            searched = self._inner if self._reversal is None else np.split(self._inner, 2)[0]
            curves = self._with_negative(self._curves_of(searched, longest))
            self._known[longest] = _without_lightest(curves, self.weight)
        return self._known[longest]

    @cached_property
    def cloud(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rule over standard normal z where the label varies.

        Weights (n,), gradients (2, n) of the inner function, and the log_slope (n,) of labels.
        """
        curves = self.curves(_WIDEST)
        count = np.diff(curves.start)
        chance = curves.weight * np.exp(-(curves.x**2).sum(axis=0) / 2) / (2 * math.pi)
        chance *= np.repeat(self.weight, count)
        axes = self._landscape.axes
        gradient = axes.T @ self._landscape.f.gradient(axes @ curves.x)
        return chance, gradient, np.repeat(self.log_slope, count)

    @cached_property
    def is_degenerate(self) -> bool:
        """Whether the label does not vary with z in some direction, but for jumps."""
        chance, gradient, _ = self.cloud
        unit = gradient / np.linalg.norm(gradient, axis=0)
        return bool(np.linalg.eigvalsh((unit * chance) @ unit.T)[0] < _DEGENERATE)

    def _labels(self, halvings: int) -> tuple[np.ndarray, np.ndarray, Curves, np.ndarray]:
        """Labels, weights, curves and panels, which are halved where averages need it."""
        n = self._fine.nodes
        t, w = gauss_legendre(n)
        low, high, kind = self._first_panels()
        for _ in range(halvings):
            low, high, kind = _halved(low, high, kind)
        parts: list[tuple[np.ndarray, np.ndarray, Curves, np.ndarray]] = []
        count = 0
        for last in range(_ROUNDS):
            slope = np.stack([np.ones(n), 4 * t**3, 4 * (1 - t) ** 3])[kind]
            y = inner_label(t, low[:, None], high[:, None], kind[:, None])
            dy = (high - low)[:, None] * slope * w
            curves = self._curves_of(y.ravel(), _WIDEST)
            terms = _averaged(curves).T.reshape(-1, *y.shape) * dy
            tails = np.abs(terms @ last_coefficients(n).T).sum(axis=2).max(axis=0)
            count += y.size
            poor = tails > self._fine.label_tolerance
            poor &= last < _ROUNDS - 1 and count + 2 * n * poor.sum() < _MOST_LABELS
            kept = np.repeat(~poor, n)
            panels = np.stack([low, high, kind])[:, ~poor]
            parts.append((y.ravel()[kept], dy.ravel()[kept], curves.only(kept), panels))
            if not poor.any():
                break
            low, high, kind = _halved(low[poor], high[poor], kind[poor])
        labels, weights, curves_of, panels_of = zip(*parts, strict=True)
        inner, weight = np.concatenate(labels), np.concatenate(weights)
        all_panels = np.concatenate(panels_of, axis=1)
        if self._reversal is not None:
            begin, end, graded = all_panels[:, ::-1]
            negative = np.stack([-end, -begin, np.choose(graded.astype(np.int64), [0, 2, 1])])
            all_panels = np.concatenate([all_panels, negative], axis=1)
            inner = np.concatenate([inner, -inner[::-1]])
            weight = np.concatenate([weight, weight[::-1]])
        return inner, weight, self._with_negative(Curves.joined(list(curves_of))), all_panels

    def _with_negative(self, curves: Curves) -> Curves:
        """Curves with those of negative labels, if they follow from positive ones."""
        if self._reversal is None:
            return curves
        return Curves.joined([curves, curves.mirrored(self._reversal)])

    def _first_panels(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Begin, end and kind of panels: plain, or graded at a critical label at either end.

        Of positive labels only if a symmetry takes them to the negative ones.
        """
        f, radius = self._landscape.f, self._fine.radius
        line = np.linspace(-radius, radius, _GRID + 1)
        grid = np.stack(np.meshgrid(line, line))
        grid = grid[:, (grid**2).sum(axis=0) <= radius**2]
        with np.errstate(all="ignore"):
            values = f.value(grid)
        order = np.argsort(values)
        values = values[order]
        chance = np.cumsum(np.exp(-(grid**2).sum(axis=0) / 2)[order])
        chance /= chance[-1]
        margin, critical = 1e-9 * (values[-1] - values[0]), self.critical
        # Extrema that the grid misses are beyond its values.
        first, last = min(values[0], *critical, np.inf), max(values[-1], *critical, -np.inf)
        edges: list[tuple[float, bool]] = [(c, True) for c in critical]
        for side in (-1, 1):
            end = (critical[0] if side < 0 else critical[-1]) if len(critical) else None
            at = 0.5 if end is None else float(np.interp(end, values, chance))
            beyond = at if side < 0 else 1 - at
            if beyond < _TAILS[-1]:  # labels end at a critical one
                continue
            levels = [at + side * beyond * (1 - tail) for tail in _TAILS]
            edges += [(float(np.interp(level, chance, values)), False) for level in levels]
            edges.append((float(first if side < 0 else last), False))
            if end is None and side < 0:
                edges.append((float(np.interp(0.5, chance, values)), False))
        for left, right in zip(critical[:-1], critical[1:], strict=True):
            edges.append(((left + right) / 2, False))
        edges.sort(key=lambda edge: (edge[0], not edge[1]))
        kept = [edges[0]]
        for edge in edges[1:]:
            if edge[0] > kept[-1][0] + margin:
                kept.append(edge)
        place = np.array([edge[0] for edge in kept])
        is_critical = np.array([edge[1] for edge in kept])
        if self._reversal is not None:
            positive = place > margin
            place = np.concatenate([[0.0], place[positive]])
            is_critical = np.concatenate([[True], is_critical[positive]])
        kind = np.where(is_critical[:-1], 1, np.where(is_critical[1:], 2, 0))
        return place[:-1], place[1:], kind


@lru_cache(maxsize=4)
def landscape_of(expression: Expression) -> tuple[Relabeled, Landscape]:
    """Target without invertible outer functions, which do not change its level curves."""
    relabeled = without_relabeling(expression.tree)
    radius = max(fine.radius for fine in FINENESS)
    return relabeled, Landscape(relabeled.inner, expression.breaks[0], radius)


@lru_cache(maxsize=6)
def shared_labels(
    expression: Expression, resolution: int = 0, halvings: int = 0
) -> SharedLabels | None:
    """Shared labels of a target; None unless r = 2 and its jumps are straight.

    Or if too much of its curves was not found, as of one that oscillates fast.
    """
    is_curved = expression.breaks[1]
    if expression.r != 2 or (is_curved and has_jumps(expression.tree)):
        return None
    shared = SharedLabels(expression, resolution, halvings)
    return shared if abs(shared.missing) < _LOST else None


def inner_label(t: np.ndarray, low: np.ndarray, high: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Inner labels at places t of panels: plain, or graded at a critical label at either end.

    The fourth power of t is the distance from a critical label.

    Examples
    --------
    >>> inner_label(np.array([0.5]), np.zeros(3), np.ones(3), np.arange(3)).tolist()
    [0.5, 0.0625, 0.9375]
    """
    return np.asarray(low + (high - low) * np.choose(kind, [t, t**4, 1 - (1 - t) ** 4]))


def place_of(x: np.ndarray, low: np.ndarray, high: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Places of inner labels on panels, the inverse of :func:`inner_label`."""
    t = np.clip((x - low) / (high - low), 0.0, 1.0)
    return np.asarray(np.choose(kind, [t, t**0.25, 1 - (1 - t) ** 0.25]))


def _averaged(curves: Curves) -> np.ndarray:
    """What state evolution averages without prior knowledge (labels, 7): Z, g g^T Z, G G Z."""
    x = curves.x
    mass = curves.weight * np.exp(-(x**2).sum(axis=0) / 2) / (2 * math.pi)
    columns = np.stack([mass, mass * x[0], mass * x[1]])
    second = [mass * (x[0] ** 2 - 1), mass * x[0] * x[1], mass * (x[1] ** 2 - 1)]
    sums = curves.by_label(np.vstack([columns, second]))
    Z, first, G = sums[0], sums[1:3], sums[3:]
    with np.errstate(divide="ignore"):
        inverse = np.where(Z > 0, 1 / Z, 0.0)
    squares = [first[a] * first[b] * inverse for a, b in ((0, 0), (0, 1), (1, 1))]
    return np.stack([Z, *squares, *(G**2 * inverse)], axis=1)


def _without_lightest(curves: Curves, weight: np.ndarray) -> Curves:
    """Curves without the nodes that together carry next to nothing of averages of G G."""
    square = (curves.x**2).sum(axis=0)
    part = curves.weight * np.exp(-square / 2) * (1 + square**2)
    part *= np.repeat(weight, np.diff(curves.start))
    kept = part > _LIGHTEST * part.mean()
    start = np.concatenate([[0], np.cumsum(kept)])[curves.start]
    return Curves(start, np.ascontiguousarray(curves.x[:, kept]), curves.weight[kept])


def _halved(
    low: np.ndarray, high: np.ndarray, kind: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two panels for each: in the middle, or closer to the end at which it is graded."""
    share = np.array([0.5, 0.25, 0.75])[kind]
    middle = low + share * (high - low)
    return (
        np.concatenate([low, middle]),
        np.concatenate([middle, high]),
        np.concatenate([np.where(kind == 1, 1, 0), np.where(kind == 2, 2, 0)]),
    )
