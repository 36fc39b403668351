r"""Discrete labels with latent noise: what matters are their probabilities given z.

.. math:: Z(y) = \mathbb{E}[P(y \mid z)], \qquad
          P(y \mid z) = \mathbb{E}_\xi\,\mathbf{1}[g(z, \xi) = y] \qquad [PP-1]

The latent variables are gone before any integral over z, however many they are. Smooth
probabilities are summed over a lattice; where they are constant between jumps, as for labels that
are flipped, the posteriors of the regions are mixed.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from ...base.errors import OutOfRegime
from ...targets.frame import natural_frame
from ...targets.language.expression import Expression
from ...targets.language.structure import has_jumps
from ...targets.language.tree import add, multiply, number
from ...targets.target import Target
from .general import General
from .grids import lattice, root
from .label import FormulaLabel
from .sums import Moments, Rule, Sums, refined

_TOLERANCE = 1e-3  # of log Z, and of mean and covariance of z in units of the prior
_RADIUS = 6.0
# Steps of the lattices by their dimension; the first that is fine enough is used.
_STEPS = {1: (0.4, 0.2, 0.1, 0.05), 2: (0.5, 0.3, 0.2, 0.1), 3: (0.6, 0.4, 0.25), 4: (0.8, 0.5)}
_BLOCK = 2**17  # nodes that are looked at together
_POINTS = 4096


@lru_cache(maxsize=32)
def label_probabilities(target: Target) -> tuple[Expression, ...] | None:
    """Probabilities of the labels as functions of z, if they are few and this file covers them.

    Examples
    --------
    >>> [p.canonical for p in label_probabilities(Target("sign(z + sqrt(0.5)*xi)"))]
    ['-(erf(z1) - 1)/2', '(erf(z1) + 1)/2']
    >>> label_probabilities(Target("tanh(z + xi)")) is None
    True
    """
    if not target.q or target.channel.kind != "discrete":
        return None
    try:
        found = target.channel.indicators()
    except OutOfRegime:
        return None
    if found is None:
        return None
    is_smooth = not any(has_jumps(p.tree) for p in found)
    return found if is_smooth or all(p.is_discrete or not p.variables for p in found) else None


class Probabilities:
    """Moments of z given one of finitely many labels, from formulas of their probabilities.

    Parameters
    ----------
    target : Target
        Target whose :func:`label_probabilities` are known.
    resolution : int
        Number of times that every step is divided by two.
    """

    @staticmethod
    def covers(target: Target) -> bool:
        """Whether probabilities are known, and latent variables would need coordinates."""
        # Noise that only shifts a direction, as in sign(z + xi), needs no variable of its own.
        is_own = natural_frame(target.joint).expression.r > target.r
        return is_own and target.r in _STEPS and label_probabilities(target) is not None

    def __init__(self, target: Target, resolution: int = 0) -> None:
        found = label_probabilities(target)
        assert found is not None
        self.expression, self.resolution = target.joint, resolution
        self.values, self._chances = target.channel.values, found
        self._regions = _Regions(found, resolution) if has_jumps(found[0].tree) else None

    def moments(self, y: np.ndarray, omega: np.ndarray, V: np.ndarray) -> Moments:
        """Moments at labels `y` (n,), prior means `omega` (n, r), covariance `V` (r, r)."""
        which = np.abs(y[:, None] - self.values).argmin(axis=1)
        if self._regions is not None:
            return self._regions.moments(which, omega, V)
        steps = [step / 2**self.resolution for step in _STEPS[len(V)]]
        rules = [self._rule(V, step) for step in steps]
        return refined(rules, which.astype(np.float64), omega, _TOLERANCE / 4**self.resolution)

    def mean(self, omega: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Mean of the label at prior means `omega` (n, r)."""
        return self.probabilities(omega, V) @ self.values

    def probabilities(self, omega: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Probabilities (n, values) of the labels."""
        n = len(omega)
        found = [np.exp(self.moments(np.full(n, v), omega, V).log_z) for v in self.values]
        return np.stack(found, axis=1)

    def all_moments(self, omega: np.ndarray, V: np.ndarray, h: float) -> list[Moments]:
        """Moments of every label at prior means `omega` (n, r), on one lattice of step h.

        Regions need no lattice of their own.
        """
        n, k = omega.shape
        if self._regions is not None:
            return [self.moments(np.full(n, value), omega, V) for value in self.values]
        grid = lattice(k, h, _RADIUS)
        features, offset = np.split(grid.features(), 2, axis=1)[0], grid.x @ root(V)
        totals = np.empty((len(self.values), n, features.shape[1]))
        block = max(_BLOCK // len(offset), 1)
        for start in range(0, n, block):
            rows = slice(start, start + block)
            z, left = omega[rows, None] + offset, np.ones((1, 1))
            for label, probability in enumerate(self._chances[:-1]):
                chance = np.clip(probability(z), 0.0, 1.0)
                totals[label, rows], left = chance @ features, left - chance
            totals[-1, rows] = np.maximum(left, 0.0) @ features
        unknown = np.zeros(n)
        return [Moments(*_sums(part, k).moments(), unknown) for part in totals]

    def _rule(self, V: np.ndarray, h: float) -> Rule:
        """Rule on the lattice with step h, for numbers of labels."""
        k = len(V)
        grid = lattice(k, h, _RADIUS)
        features, offset = grid.features(), grid.x @ root(V)

        def rule(which: np.ndarray, omega: np.ndarray) -> tuple[Sums, Sums]:
            totals = np.empty((len(which), features.shape[1]))
            block = max(_BLOCK // len(offset), 1)
            for start in range(0, len(which), block):
                rows = slice(start, start + block)
                z = omega[rows, None] + offset
                chance = np.zeros(z.shape[:2])
                for label, probability in enumerate(self._chances):
                    own = which[rows] == label
                    if own.any():
                        chance[own] = np.clip(probability(z[own]), 0.0, 1.0)
                totals[rows] = chance @ features
            fine, coarse = (_sums(half, k) for half in np.split(totals, 2, axis=1))
            return fine, coarse

        return rule


def _sums(totals: np.ndarray, k: int) -> Sums:
    """Sums from their columns: mass, first and second moments."""
    n = len(totals)
    second = totals[:, 1 + k :].reshape(n, k, k)
    return Sums(np.zeros(n), totals[:, 0], totals[:, 1 : 1 + k], second)


class _Regions:
    """Probabilities that are constant in each of finitely many regions of z."""

    def __init__(self, chances: tuple[Expression, ...], resolution: int) -> None:
        # A mean of the probabilities that tells all their combinations apart.
        weights = [number(Fraction(f"{1 + 0.618034 * i * i:.6f}")) for i in range(len(chances))]
        pairs = zip(weights, chances, strict=True)
        name = Expression.from_tree(add(multiply((w, p.tree)) for w, p in pairs), r=chances[0].r)
        self._rule = General(FormulaLabel(name, 0.0, resolution))
        z = 2 * np.random.default_rng(29).standard_normal((_POINTS, name.r))
        gaps = np.abs(name(z)[:, None] - self._rule.values)
        place = gaps.argmin(axis=0)  # a point in each region
        self.shares = np.array([p(z[place]) for p in chances])

    def moments(self, which: np.ndarray, omega: np.ndarray, V: np.ndarray) -> Moments:
        """Mixture of the posteriors of the regions, for numbers of labels (n,)."""
        n, k = omega.shape
        totals, error = np.zeros((n, 1 + k + k * k)), np.zeros(n)
        for region, value in enumerate(self._rule.values):
            part = self._rule.moments(np.full(n, value), omega, V)
            mass = np.exp(part.log_z)
            second = part.covariance + part.mean[:, :, None] * part.mean[:, None, :]
            columns = np.hstack([np.ones((n, 1)), part.mean, second.reshape(n, -1)])
            own = self.shares[which, region] * mass
            totals += own[:, None] * columns
            error = np.maximum(error, np.where(own > 0, part.error, 0.0))
        return Moments(*_sums(totals, k).moments(), error)
