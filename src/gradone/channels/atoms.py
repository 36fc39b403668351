"""Labels of a noiseless target that have a probability of their own."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..targets.language.expression import Expression
from ..targets.language.printing import text_of
from ..targets.language.tree import Call, add, multiply, number
from ..targets.target import Target
from .base import Outcomes, Posterior
from .discrete import DiscreteChannel
from .formulas import formulas


class Atoms:
    """Atoms of the label: the values that a function takes in whole regions.

    Parameters
    ----------
    expression : Expression
        The function.
    resolution : int
        Number of times that the distance of the nodes is halved.

    Examples
    --------
    >>> atoms = Atoms(Expression("relu(z1) + relu(z2)"))
    >>> out = atoms.outcomes(np.zeros((1, 2)), np.eye(2))
    >>> out.y.tolist(), np.exp(out.log_z).round(9).tolist()
    ([[0.0]], [[0.25]])
    """

    def __init__(self, expression: Expression, resolution: int = 0) -> None:
        self.r, self.resolution = expression.r, resolution
        self._parts = [part for part in formulas(expression) if part.constant is not None]
        self.values = distinct(np.array([float(part.constant or 0.0) for part in self._parts]))
        """Ascending."""

    def outcomes(self, omega: np.ndarray, V: np.ndarray, *, curvature: bool = False) -> Outcomes:
        """All atoms at the prior means `omega` (m, r), covariance `V`."""
        m, k = len(omega), len(self.values)
        y = np.tile(self.values, (m, 1))
        g, dg = np.zeros((m, k, self.r)), np.zeros((m, k, self.r, self.r)) if curvature else None
        if not k:
            return Outcomes(y, np.ones((m, 0)), np.zeros((m, 0)), g, dg)
        used = self._channel.r  # the other variables do not matter, and have g = 0
        out = self._channel.outcomes(omega[:, :used], V[:used, :used], curvature=curvature)
        numbers = np.searchsorted(self._channel.values, 1.0 + np.arange(k))
        g[..., :used] = out.g[:, numbers]
        if dg is not None and out.dg is not None:
            dg[..., :used, :used] = out.dg[:, numbers]
        return Outcomes(y, np.ones((m, k)), out.log_z[:, numbers], g, dg)

    def posterior(self, which: np.ndarray, omega: np.ndarray, V: np.ndarray) -> Posterior:
        """Posterior at the atoms number `which` (n,), prior means `omega` (n, r)."""
        n, used = len(which), self._channel.r
        found = self._channel.posterior(1.0 + which, omega[:, :used], V[:used, :used])
        g, dg = np.zeros((n, self.r)), np.zeros((n, self.r, self.r))
        g[:, :used], dg[:, :used, :used] = found.g, found.dg
        return Posterior(found.log_z, g, dg)

    @cached_property
    def _channel(self) -> DiscreteChannel:
        """Channel whose label is the number of the atom, from 1, or 0 where there is none."""
        terms = []
        for part in self._parts:
            which = int(np.abs(self.values - part.constant).argmin())
            steps = (Call("step", (multiply((number(c.sign), c.tree)),)) for c in part.conditions)
            terms.append(multiply((number(1 + which), *steps)))
        # Planes meet the labels that have a density, which are known better than 1e-5.
        return DiscreteChannel(Target(text_of(add(terms))), self.resolution + 1)


def distinct(values: np.ndarray) -> np.ndarray:
    """Different values in increasing order; what differs by rounding counts once."""
    ordered = np.unique(values[np.isfinite(values)])
    new = np.diff(ordered, prepend=-np.inf) > 1e-9 * (1 + np.abs(ordered))
    return ordered[new]
