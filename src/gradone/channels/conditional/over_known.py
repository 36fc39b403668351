"""Means over known directions of what the output reveals about the others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...calculus.embedding import order_indices
from ...calculus.sobol import SobolSequence, gaussian_points
from .effort import Effort
from .gram import SMALL, OutputGram, average, jackknife_error
from .label import Grams

_REACH = 5.5
_DOUBLINGS = 3
_PRECISE = 1e-3  # disagreement of two rules that is left, in parts of the value
_FINE_ENOUGH = 1e-5  # error of a condition that is not worth less then
_SURELY = 20.0  # a value this many times its error
# Gauss-Kronrod pair of 7 and 15 nodes on [-1, 1], right half: two rules for the price of one.
_HALF = np.array(
    [  # node, Kronrod weight, Gauss weight
        [0.000000000000000000, 0.209482141084727828, 0.417959183673469388],
        [0.207784955007898468, 0.204432940075298892, 0.0],
        [0.405845151377397167, 0.190350578064785410, 0.381830050505118945],
        [0.586087235467691130, 0.169004726639267903, 0.0],
        [0.741531185599394440, 0.140653259715525919, 0.279705391489276668],
        [0.864864423359769073, 0.104790010322250184, 0.0],
        [0.949107912342758525, 0.063092092629978553, 0.129484966168869693],
        [0.991455371120812639, 0.022935322010529225, 0.0],
    ]
)
_KRONROD = np.concatenate([_HALF[:0:-1] * [-1.0, 1.0, 1.0], _HALF])
# Values of the known, share of the points, how much each value counts (at most 1), what to spend.
Method = Callable[[np.ndarray, int, np.ndarray, Effort], list[Grams]]


def over_points(at: Method, orders: Sequence[int], dim: int, count: int) -> Grams:
    """Mean over several known variables: `count` scrambled Sobol points.

    The error is the change when the points are doubled, or what earlier doublings let expect of
    it: one change alone may be small by accident.
    """
    nodes = gaussian_points(SobolSequence(dim, np.random.default_rng(271828)).draw(count))
    found = at(nodes, count, np.ones(count), Effort())
    result = {}
    for k in orders:
        grams = [g[k] for g in found]
        mean = average(grams, np.full(count, 1 / count))
        sizes = [count >> i for i in range(_DOUBLINGS + 1)]
        means = [np.mean([g.value for g in grams[:n]], axis=0) for n in sizes]
        changes = [np.abs(a - b) / 2**i for i, (a, b) in enumerate(itertools.pairwise(means))]
        bias = np.asarray(mean.bias) + 1.5 * np.max(changes, axis=0)
        result[k] = OutputGram(mean.value, bias, mean.replicates)
    return result


def _mean(grams: list[OutputGram], weights: np.ndarray, coarse: np.ndarray) -> OutputGram:
    """Mean over conditions; its difference from a coarser rule is added to the error."""
    fine, other = average(grams, weights), average(grams, coarse)
    bias = np.asarray(fine.bias) + np.abs(fine.value - other.value)
    return OutputGram(fine.value, bias, fine.replicates)


def _symmetrized(gram: OutputGram, k: int, q: int, flipped: tuple[int, ...]) -> OutputGram:
    """Mean of T_k over both signs of the known variable, from one of them."""
    signs = (-1.0) ** order_indices(q, k)[:, list(flipped)].sum(axis=1)
    keep = (1 + np.outer(signs, signs)) / 2
    replicates = None if gram.replicates is None else gram.replicates * keep
    return OutputGram(gram.value * keep, gram.bias * keep, replicates)


def over_line(
    at: Method, orders: Sequence[int], mirror: tuple[int, ...] | None, q: int, most: int
) -> Grams:
    """Mean over one known variable: at most `most` panels, halved where two rules disagree.

    Both halves of the line are separate from the start, because many targets break where a known
    variable vanishes; if the target has a mirror symmetry (`mirror`: which of the q unknown
    variables change sign with the known one) one half is enough. Panels that the effort does not
    pay for stay whole.
    """
    halves = [(0.0, _REACH), (-_REACH, 0.0)]
    effort = Effort()
    whole = effort.budget.left
    panels = _panels(at, halves if mirror is None else halves[:1], orders, effort)
    price = 2 * (whole - effort.budget.left) // len(panels)  # of the halves of one panel
    while not (q == 1 and _is_revealed(panels)):
        size = max(max(float(np.abs(p.total[k].value).max()) for k in orders) for p in panels)
        worst = max(panel.excess for panel in panels)
        if worst <= _PRECISE * size or len(panels) >= most:
            break
        # Several at once: many conditions together cost less than the same one after the other.
        ranked = sorted(panels, key=lambda panel: -panel.excess)
        limit = max(_PRECISE * size, worst / 4)
        count = sum(panel.excess > limit for panel in ranked[: most - len(panels)])
        count = min(count, max(effort.budget.left, 0) // max(price, 1))
        if not count:
            break
        poor, panels = ranked[:count], ranked[count:]
        halves = [half for panel in poor for half in panel.halves]
        effort.tolerance = _FINE_ENOUGH * _least_size(ranked, orders)
        parts = _panels(at, halves, orders, effort)
        panels += [_no_better_than(part, poor[i // 2]) for i, part in enumerate(parts)]
    mass = sum(p.mass for p in panels)
    weights = np.full(len(panels), 1 / mass)
    result = {k: average([p.total[k] for p in panels], weights) for k in orders}
    if mirror is None:
        return result
    return {k: _symmetrized(gram, k, q, mirror) for k, gram in result.items()}


def _is_revealed(panels: Sequence[_Panel]) -> bool:
    """Whether order 1 surely reveals the only unknown direction: then its strength is no matter."""
    if any(1 not in panel.total for panel in panels):
        return False
    found = [panel.total[1] for panel in panels]
    value = sum(float(gram.value[0, 0]) for gram in found)
    error = sum(float(np.max(gram.entry_error())) for gram in found)
    mass = sum(panel.mass for panel in panels)
    return value > max(_SURELY * error, SMALL["monte_carlo"] * mass)


def _least_size(panels: Sequence[_Panel], orders: Sequence[int]) -> float:
    """Smallest T_k of those that symmetry does not make zero."""
    means = [average([p.total[k] for p in panels], np.ones(len(panels))) for k in orders]
    sizes = [float(np.abs(mean.value).max()) for mean in means if np.any(mean.entry_error())]
    return min(sizes, default=0.0)


class _Panel(NamedTuple):
    low: float
    high: float
    mass: float
    total: Grams
    gaps: dict[int, float]  # disagreement of the two rules at each order

    @property
    def halves(self) -> list[tuple[float, float]]:
        middle = (self.low + self.high) / 2
        return [(self.low, middle), (middle, self.high)]

    @property
    def excess(self) -> float:
        """Largest disagreement of the two rules that randomness does not explain."""
        return max(gap if gap > _randomness(self.total[k]) else 0.0 for k, gap in self.gaps.items())


def _randomness(gram: OutputGram) -> float:
    """Random error, which more panels do not cure."""
    if gram.replicates is None:
        return 0.0
    return float(jackknife_error(gram.replicates).max())


def _no_better_than(panel: _Panel, parent: _Panel) -> _Panel:
    """Panel with a hundredth of what its parent missed as least error.

    Next to a kink two rules may agree by accident.
    """
    gaps = {k: max(gap, parent.gaps[k] / 100) for k, gap in panel.gaps.items()}
    total = {
        k: OutputGram(g.value, np.maximum(g.bias, gaps[k]), g.replicates)
        for k, g in panel.total.items()
    }
    return panel._replace(total=total, gaps=gaps)


def _panels(
    at: Method, intervals: Sequence[tuple[float, float]], orders: Sequence[int], effort: Effort
) -> list[_Panel]:
    rules = [_rule(*interval) for interval in intervals]
    nodes, weights = (
        np.concatenate(column) for column in zip(*(r[:2] for r in rules), strict=True)
    )
    size = len(_KRONROD)
    found = at(nodes[:, None], 2 * size, np.minimum(1.0, size * weights), effort)
    return [
        _panel(interval, rule, found[i * size : (i + 1) * size], orders)
        for i, (interval, rule) in enumerate(zip(intervals, rules, strict=True))
    ]


class _Rule(NamedTuple):
    nodes: np.ndarray
    fine: np.ndarray
    coarse: np.ndarray
    mass: float


def _rule(low: float, high: float) -> _Rule:
    """Nodes and weights of two rules; both are exact for constants.

    What does not depend on the known variable has no error from it.
    """
    nodes = low + (high - low) * (_KRONROD[:, 0] + 1) / 2
    mass = (math.erf(high / math.sqrt(2)) - math.erf(low / math.sqrt(2))) / 2
    density = np.exp(-0.5 * nodes**2)
    fine, coarse = (w * density * mass / (w @ density) for w in _KRONROD.T[1:])
    return _Rule(nodes, fine, coarse, mass)


def _panel(
    interval: tuple[float, float], rule: _Rule, found: list[Grams], orders: Sequence[int]
) -> _Panel:
    total = {k: _mean([g[k] for g in found], rule.fine, rule.coarse) for k in orders}
    change = rule.fine - rule.coarse
    gaps = {k: float(np.abs(average([g[k] for g in found], change).value).max()) for k in orders}
    return _Panel(*interval, rule.mass, total, gaps)
