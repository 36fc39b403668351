r"""Averages over labels of targets with latent noise.

Latent variables are projections of which nothing is ever known. In the r + q coordinates of a joint
target, or in any frame B of them, prior means :math:`\omega` of z are prior means :math:`B\omega`:

.. math:: J_{zz}(M) = B^\top J(B M B^\top)\,B. \qquad [LA-1]

Labels of finitely many values need no such coordinates: with the probabilities [PP-1],

.. math:: J = \mathbb{E}_\omega \sum_y \frac{\partial Z_y\,\partial Z_y^\top}{Z_y}, \qquad
          Z_y(\omega) = \mathbb{E}[P(y \mid z)]. \qquad [LA-2]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...base.errors import OutOfRegime
from ...base.estimate import Estimate
from ...targets.frame import natural_frame
from ...targets.symmetries import label_symmetries
from ...targets.target import Target
from ..samples.grids import lattice, root
from ..samples.probabilities import Probabilities, label_probabilities
from .known import KnownAverages
from .moments import Averages

_RADIUS = 5.5
_STEPS = {0: 1.0, 1: 0.1, 2: 0.3, 3: 0.5}  # of prior means, by the number of learned directions
_NODES = {1: 0.1, 2: 0.2, 3: 0.35}  # steps of z in units of its prior, by the number of directions
_COARSE = 1.6  # how much larger they are in a coarse rule
_UNLEARNED = 1e-9
_MOST = 3  # directions for which the product of two lattices is affordable


class JointAverages:
    """Averages in the coordinates of directions and latent variables [LA-1].

    Parameters
    ----------
    target : Target
        Target with latent noise, of up to four variables.
    """

    @staticmethod
    def covers(target: Target) -> bool:
        """Whether there is latent noise."""
        return target.q > 0

    def __init__(self, target: Target) -> None:
        framed = natural_frame(target.joint)
        self.target, self._rows = target, framed.rows[:, : target.r]
        self._inner = KnownAverages(Target.of(framed.expression, target.noise))

    def at(self, M: np.ndarray, *, coarse: bool = False) -> Averages:
        """Averages at the overlap matrix `M`."""
        return self._of_z(self._inner.at(self._joint(M), coarse=coarse))

    def estimate(self, M: np.ndarray) -> tuple[Averages, list[Averages]]:
        """Averages at `M` with all corrections, and their errors by source."""
        best, sources = self._inner.estimate(self._joint(M))
        return self._of_z(best), [self._of_z(source) for source in sources]

    def growth(self, M: np.ndarray, **rule: Any) -> np.ndarray:
        """Means of products of entries of the growth matrix, (r, r, r, r)."""
        return self._pairs_of_z(self._inner.growth(self._joint(M), **rule))

    def responses(self, M: np.ndarray) -> np.ndarray:
        """Means of products of entries of the derivative of g, (r, r, r, r)."""
        return self._pairs_of_z(self._inner.responses(self._joint(M)))

    def label_error(self, M: np.ndarray) -> Estimate:
        """Probability that the most probable value of a discrete label is wrong."""
        return self._inner.label_error(self._joint(M))

    def _joint(self, M: np.ndarray) -> np.ndarray:
        return self._rows @ M @ self._rows.T

    def _of_z(self, found: Averages) -> Averages:
        return found._replace(information=self._rows.T @ found.information @ self._rows)

    def _pairs_of_z(self, pairs: np.ndarray) -> np.ndarray:
        B = self._rows
        return np.einsum("abcd,ai,bj,ck,dl->ijkl", pairs, B, B, B, B, optimize=True)


class _Law(NamedTuple):
    """Labels at the nodes of prior means: weights, probabilities and output functions."""

    weight: np.ndarray
    """(N,) of the prior means."""
    chance: np.ndarray
    """(N, values)."""
    g: np.ndarray
    """(values, N, r)."""
    slope: np.ndarray
    """(values, N, r, r), the derivative of g."""


class ProbabilityAverages:
    r"""Averages over few labels whose probabilities have formulas [LA-2].

    Parameters
    ----------
    target : Target
        Target of up to three directions whose labels have known probabilities.

    Examples
    --------
    Probit labels without prior knowledge: :math:`J = 2/(\pi (1 + D))`.

    >>> channel = ProbabilityAverages(Target("sign(z + sqrt(0.5)*xi)"))
    >>> round(float(channel.at(np.zeros((1, 1))).information[0, 0] * np.pi), 6)
    1.333333
    """

    @staticmethod
    def covers(target: Target) -> bool:
        """Whether labels have known probabilities, of few enough directions."""
        return target.r <= _MOST and label_probabilities(target) is not None

    def __init__(self, target: Target) -> None:
        self.target = target
        self._rules = Probabilities(target, 0), Probabilities(target, 1)
        self._maps = _symmetries(target)
        self._known: dict[tuple[bytes, float, float], _Law] = {}

    def at(self, M: np.ndarray, *, coarse: bool = False) -> Averages:
        """Averages at the overlap matrix `M`."""
        return self._averages(M, *((_COARSE, _COARSE) if coarse else (1.0, 1.0)))

    def estimate(self, M: np.ndarray) -> tuple[Averages, list[Averages]]:
        """Averages at `M`, and their errors by source: nodes of prior means, nodes of z."""
        best = self.at(M)
        others = self._averages(M, 1.3, 1.0), self._averages(M, 1.0, 1.3)
        return best, [other.plus(best, -1.0) for other in others]

    def growth(self, M: np.ndarray, *, merge: bool = False, **others: Any) -> np.ndarray:
        """Means of products of entries of the growth matrix; fewer prior means if `merge`."""
        return self._pairs(M, lambda g, slope: slope + g[..., :, None] * g[..., None, :], merge)

    def responses(self, M: np.ndarray) -> np.ndarray:
        """Means of products of entries of the derivative of g, (r, r, r, r)."""
        return self._pairs(M, lambda _, slope: slope, True)

    def label_error(self, M: np.ndarray) -> Estimate:
        """Probability that the most probable value of the label is wrong."""
        fine, wide = (
            1 - float(law.weight @ law.chance.max(axis=1))
            for law in (self._law(M, stretch, 1.0) for stretch in (0.5, 1.0))
        )
        # The most probable value changes where the integrand has a kink: an error of second order.
        return Estimate(fine + (fine - wide) / 3, abs(fine - wide) + 1e-9, "quadrature")

    # ---- one evaluation

    def _averages(self, M: np.ndarray, stretch: float, wide: float) -> Averages:
        """Averages with steps of prior means and of z that are so many times the usual ones."""
        law = self._law(M, stretch, wide)
        mass = law.weight[:, None] * law.chance
        J = np.einsum("ny,yni,ynj->ij", mass, law.g, law.g, optimize=True)
        J, values = _symmetric(J, M, self._maps), self._rules[0].values
        with np.errstate(divide="ignore", invalid="ignore"):
            log_evidence = np.nansum(mass * np.log(law.chance))
        means = law.chance @ values
        square = mass.sum(axis=0) @ values**2
        return Averages(J, float(log_evidence), float(square - law.weight @ means**2))

    def _pairs(
        self, M: np.ndarray, combine: Callable[[np.ndarray, np.ndarray], np.ndarray], coarse: bool
    ) -> np.ndarray:
        law = self._law(M, *((_COARSE, _COARSE) if coarse else (1.0, 1.0)))
        mass, G = law.weight[:, None] * law.chance, combine(law.g, law.slope)
        return np.einsum("ny,ynij,ynkl->ijkl", mass, G, G, optimize=True)

    def _law(self, M: np.ndarray, stretch: float, wide: float) -> _Law:
        key = M.tobytes(), stretch, wide
        if key not in self._known:
            if len(self._known) > 32:
                self._known.clear()
            self._known[key] = self._computed(M, stretch, wide)
        return self._known[key]

    def _computed(self, M: np.ndarray, stretch: float, wide: float) -> _Law:
        overlaps, Q = np.linalg.eigh((M + M.T) / 2)
        learned = overlaps > _UNLEARNED
        grid = lattice(int(learned.sum()), _STEPS[int(learned.sum())] * stretch, _RADIUS)
        omega = (grid.x * np.sqrt(overlaps[learned])) @ Q[:, learned].T
        identity = np.eye(len(M))
        whiten = np.linalg.inv(root(identity - M))
        rule = self._rules[int(wide <= 1)]
        found = rule.all_moments(omega, identity - M, wide * _NODES[len(M)])
        chance = np.exp([part.log_z for part in found])
        return _Law(
            grid.weight / grid.weight.sum(),
            np.transpose(chance / chance.sum(axis=0)),
            np.array([part.mean @ whiten for part in found]),
            np.array([whiten @ (part.covariance - identity) @ whiten for part in found]),
        )


def _symmetries(target: Target) -> np.ndarray:
    """Maps (m, r, r) of z that keep the law of the label, as far as they are known."""
    try:
        return label_symmetries(target).elements
    except OutOfRegime:
        return np.eye(target.r)[None]


def _symmetric(J: np.ndarray, M: np.ndarray, maps: np.ndarray) -> np.ndarray:
    """Mean of J over the maps that leave M as it is."""
    kept = maps[np.abs(maps @ M @ maps.swapaxes(1, 2) - M).max(axis=(1, 2)) < _UNLEARNED]
    return np.asarray((kept.swapaxes(1, 2) @ J @ kept).mean(axis=0))
