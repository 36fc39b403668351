r"""Posterior of the projections for every target of up to four variables.

The label is one of finitely many formulas, each of them smooth and with a region of its own. An
atom, a value of positive probability, leaves regions alone. For all other labels the rules that
cover the function (:mod:`..rules`) are tried one after the other, coarse ones first. Every sample
is refined on its own until two lattices agree, so that its posterior does not depend on the others.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..rules import sample_rules
from .grids import STEPS
from .label import FormulaLabel
from .nodes import node_mean
from .regions import Regions, region_rule
from .sums import Moments, Rule, Sums, later, refined

_TOLERANCE = 3e-3  # of log Z, and of mean and covariance of z in units of the prior
_SAME = 1e-7  # relative distance from an atom below which a label is taken for it


class General:
    """Moments of z given the label, for a function of k variables with independent noise.

    Parameters
    ----------
    label : FormulaLabel
        The function, its noise, and how fine the steps are.
    """

    def __init__(self, label: FormulaLabel) -> None:
        self.expression, self.noise, self._label = label.expression, label.noise, label
        self._rules = sample_rules(label)
        self.parts = label.parts
        constants = [part.constant for part in self.parts if part.constant is not None]
        self.values = _distinct(np.array(constants))
        self._regions = [
            Regions(tuple(p for p in self.parts if _is_close(p.constant, value)))
            for value in self.values
        ]

    def moments(self, y: np.ndarray, omega: np.ndarray, V: np.ndarray) -> Moments:
        """Moments at labels `y` (n,), prior means `omega` (n, k), covariance `V` (k, k)."""
        tolerance = _TOLERANCE / 4**self._label.resolution
        if self.noise:
            geometric, rules = self._density(V)
            return refined(rules, y, omega, tolerance, geometric=geometric)
        n, k = omega.shape
        found = Moments(np.empty(n), np.empty((n, k)), np.empty((n, k, k)), np.empty(n))
        which = self.atom(y)
        for number in range(-1, len(self.values)):
            own = which == number
            if own.any():
                geometric, rules = (0, self._atom(V, number)) if number >= 0 else self._density(V)
                part = refined(rules, y[own], omega[own], tolerance, geometric=geometric)
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
        step = self._label.steps(STEPS, len(V))[-1]
        return node_mean(self._label.smooth, V, step)(omega)

    def probabilities(self, omega: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Probabilities (n, atoms) of the atoms of the label."""
        numbers = range(len(self.values))
        return np.stack([self.outcome(number, omega, V).mass for number in numbers], axis=1)

    def outcome(self, number: int, omega: np.ndarray, V: np.ndarray) -> Sums:
        """Sums of one atom at prior means `omega` (n, k) by its first rule."""
        return self._atom(V, number)[0](np.zeros(len(omega)), omega)[0]

    def _atom(self, V: np.ndarray, number: int) -> list[Rule]:
        """Rules for an atom, coarse ones first."""
        own = self._regions[number]
        return [later(partial(region_rule, own, V, h)) for h in self._label.across((own, V))]

    def _density(self, V: np.ndarray) -> tuple[int, list[Rule]]:
        """Rules for all other labels, and how many of them, the first ones, are geometric."""
        found = [(rule.is_geometric, rule.rules(V)) for rule in self._rules]
        geometric = sum(len(rules) for is_geometric, rules in found if is_geometric)
        return geometric, [one for _, rules in found for one in rules]


def _is_close(constant: float | None, value: float) -> bool:
    return constant is not None and abs(constant - value) <= 1e-9 * (1 + abs(value))


def _distinct(values: np.ndarray) -> np.ndarray:
    """Different values in increasing order; what differs by rounding counts once."""
    ordered = np.unique(values[np.isfinite(values)])
    return ordered[np.diff(ordered, prepend=-np.inf) > 1e-9 * (1 + np.abs(ordered))]
