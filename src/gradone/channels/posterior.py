r"""The general rule: posterior of the projections for every target of up to four variables.

The label is one of finitely many formulas, each of them smooth and with a region of its own. What
the formulas are like decides how the integral over z is done: regions alone, or regions and one
variable (:mod:`.profiles`); a lattice, if the label is smooth enough for it (:mod:`.nodes`); roots
along the edges of a lattice (:mod:`.crossings`). Every sample is refined on its own until two
lattices agree, so that its posterior does not depend on the others.
"""

from __future__ import annotations

import numpy as np

from ..targets.language.bounds import interval
from ..targets.language.derivative import derivative
from ..targets.language.expression import Expression
from ..targets.language.structure import has_jumps
from ..targets.language.tree import Node
from .crossings import crossing_rule
from .formulas import Formula, formulas
from .nodes import affine_axis, node_mean, node_rule
from .profiles import Profile, lattice_rule, profiles, region_rule, root_rule
from .sums import Moments, Rule, Sums, refined

_TOLERANCE = 2.5e-3  # of mean and covariance of z in units of the prior
_SAME = 1e-7  # relative distance from an atom below which a label is taken for it
# Steps of the lattices by their dimension; the first that is fine enough is used.
_ACROSS = {0: (1.0,), 1: (0.25, 0.125, 0.0625), 2: (0.5, 0.35, 0.25), 3: (0.7, 0.5)}
_NODES = {1: (0.2, 0.1, 0.05, 0.025, 0.0125), 2: (0.4, 0.2), 3: (0.5,), 4: (0.7,)}
_EDGES = {1: (0.02, 0.005), 2: (0.25, 0.125, 0.0625), 3: (0.5, 0.35), 4: (0.7, 0.5)}


class General:
    """Moments of z given the label, for a function of k variables with independent noise.

    Parameters
    ----------
    expression : Expression
        The function.
    noise : float
        Variance of the label noise.
    resolution : int
        Number of times that every step is divided by two.
    """

    def __init__(self, expression: Expression, noise: float, resolution: int = 0) -> None:
        self.expression, self.noise, self.resolution = expression, noise, resolution
        self.parts = formulas(expression)
        self._profiles = profiles(self.parts, noise)
        whole = (Formula(expression.tree, (), expression.r),)
        self._smooth = self.parts if has_jumps(expression.tree) else whole
        self._affine = affine_axis(self._smooth)
        # Where the slope vanishes a label without noise says everything of the other variables.
        self._is_steep = self._affine is not None and all(
            _never_zero(derivative(part.tree, self._affine + 1)) for part in self._smooth
        )
        constants = [part.constant for part in self.parts if part.constant is not None]
        self.values = _distinct(np.array(constants))
        self._regions = [
            [Profile(part, None) for part in self.parts if _is_close(part.constant, value)]
            for value in self.values
        ]

    def moments(self, y: np.ndarray, omega: np.ndarray, V: np.ndarray) -> Moments:
        """Moments at labels `y` (n,), prior means `omega` (n, k), covariance `V` (k, k)."""
        tolerance = _TOLERANCE / 4**self.resolution
        if self.noise:
            return refined(self._noisy(V), y, omega, tolerance)
        n, k = omega.shape
        found = Moments(np.empty(n), np.empty((n, k)), np.empty((n, k, k)), np.empty(n))
        which = self.atom(y)
        for number in range(-1, len(self.values)):
            own = which == number
            if own.any():
                rules = self._density(V) if number < 0 else self._atom(V, number)
                part = refined(rules, y[own], omega[own], tolerance)
                for whole, some in zip(found, part, strict=True):
                    whole[own] = some
        return found

    def atom(self, y: np.ndarray) -> np.ndarray:
        """Number of the atom that a label is, -1 if it is none."""
        which = np.full(len(y), -1)
        for number, value in enumerate(self.values):
            which[np.abs(y - value) <= _SAME * (1 + abs(value))] = number
        return which

    def mean(self, omega: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Mean of the label at prior means `omega` (n, k)."""
        if len(self._regions) and not any(part.constant is None for part in self.parts):
            return self.probabilities(omega, V) @ self.values
        step = self._steps(_NODES, len(V))[-1]
        return node_mean(self._smooth, V, step)(omega)

    def probabilities(self, omega: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Probabilities (n, atoms) of the atoms of the label."""
        found = np.empty((len(omega), len(self.values)))
        for number, own in enumerate(self._regions):
            rule = region_rule(own, V, self._across(own)[0])
            found[:, number] = rule(np.zeros(len(omega)), omega)[0].mass
        return found

    # ---- rules, coarse ones first

    def _steps(self, table: dict[int, tuple[float, ...]], k: int) -> list[float]:
        return [step / 2**self.resolution for step in table[k]]

    def _across(self, found: list[Profile]) -> list[float]:
        return self._steps(_ACROSS, max(max(len(p.free) for p in found) - 1, 0))

    def _atom(self, V: np.ndarray, number: int) -> list[Rule]:
        own = self._regions[number]
        return [region_rule(own, V, h) for h in self._across(own)]

    def _density(self, V: np.ndarray) -> list[Rule]:
        k = len(V)
        if self._profiles is not None:
            return [root_rule(self._profiles, V, h) for h in self._across(self._profiles)]
        rules: list[Rule] = []
        if self._is_steep:
            rules += [
                node_rule(self._smooth, self._affine, 0.0, V, h)
                for h in self._steps(_NODES, k - 1)
            ]
        return rules + [crossing_rule(self.parts, 0.0, V, h) for h in self._steps(_EDGES, k)]

    def _noisy(self, V: np.ndarray) -> list[Rule]:
        k = len(V)
        has_lines = self._profiles is not None and any(p.free for p in self._profiles)
        is_region = self._profiles is not None and self._profiles[0].axis is None
        if self._profiles is not None and (is_region or not has_lines or self._affine is None):
            across = self._across(self._profiles)
            steps = self._steps(_NODES, 1) if self._profiles[0].axis is not None else [1.0]
            count = max(len(steps), len(across))
            pairs = [
                (steps[min(i, len(steps) - 1)], across[min(i, len(across) - 1)])
                for i in range(count)
            ]
            rules = [lattice_rule(self._profiles, self.noise, V, *pair) for pair in pairs]
            if self._profiles[0].axis is None or k > 1:
                return rules
        else:
            free = k - (self._affine is not None)
            rules = [
                node_rule(self._smooth, self._affine, self.noise, V, h)
                for h in self._steps(_NODES, free)
            ]
        return rules + [
            crossing_rule(self.parts, self.noise, V, h) for h in self._steps(_EDGES, k)
        ]


def _is_close(constant: float | None, value: float) -> bool:
    return constant is not None and abs(constant - value) <= 1e-9 * (1 + abs(value))


def _never_zero(node: Node) -> bool:
    low, high = interval(node)
    return low > 0 or high < 0


def _distinct(values: np.ndarray) -> np.ndarray:
    """Different values in increasing order; what differs by rounding counts once."""
    ordered = np.unique(values[np.isfinite(values)])
    return ordered[np.diff(ordered, prepend=-np.inf) > 1e-9 * (1 + np.abs(ordered))]
