r"""Averages over labels that are constant on boxes, by their exact law [BX-1].

Prior means form a product grid along the variables; sums over it converge faster than any power of
its step. Overlap matrices that are not diagonal are left to the general rule.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ...base.estimate import Estimate
from ...targets.signed_permutations import symmetries
from ...targets.target import Target
from .boxes import Boxes
from .general import ChannelAverages
from .mirrors import Lattice
from .moments import (
    UNLEARNED,
    Averages,
    Combine,
    growth_matrix,
    information_sums,
    invariant_maps,
    is_diagonal,
    products,
    response_matrix,
    scaled,
    symmetric_pairs,
)
from .tables import orders

_OF_PRIOR, _OF_POSTERIOR = 0.35, 0.45  # steps of prior means, in both standard deviations
_FARTHEST = 6.0  # prior mean, in standard deviations
_WIDER = 4 / 3  # steps of a rule with which the usual one is compared
_KINKS = 0.125  # steps where integrands have kinks
_BLOCK = 2**17  # prior means times labels at once
_ROUNDING = 1e-10  # relative
_NOISE_STEP, _NOISE_REACH = 0.4, 7.0  # of noisy labels, in standard deviations of the noise


class BoxAverages:
    """Averages over labels that are constant on boxes before noise is added.

    Parameters
    ----------
    target : Target
        The target.

    Examples
    --------
    >>> J = BoxAverages(Target("sign(z1*z2)")).at(0.643841 * np.eye(2)).information
    >>> (4 * J / (1 + 4 * J)).diagonal().round(5).tolist()  # its fixed point at alpha = 4
    [0.64384, 0.64384]
    """

    @staticmethod
    def covers(target: Target) -> bool:
        """Whether the labels are constant on boxes."""
        return Boxes.covers(target)

    def __init__(self, target: Target) -> None:
        self.target, self.r = target, target.r
        self.law = law = Boxes(target)
        self._symmetries = symmetries(target.joint)
        at_rest = law.moments([np.zeros(1)] * self.r, np.ones(self.r), 0)[(0,) * self.r][0]
        self._power = target.noise + float(at_rest @ law.values**2)
        self._mixing, self._units = _noisy(law.values, target.noise)

    @cached_property
    def _general(self) -> ChannelAverages:
        return ChannelAverages(self.target)

    def at(self, M: np.ndarray, *, coarse: bool = False) -> Averages:
        """Averages at the overlap matrix `M`."""
        if not is_diagonal(M):
            return self._general.at(M, coarse=coarse)
        return self._averages(M, _WIDER if coarse else 1.0)

    def estimate(self, M: np.ndarray) -> tuple[Averages, list[Averages]]:
        """Averages at `M`, and what each source of error changes in them."""
        if not is_diagonal(M):
            return self._general.estimate(M)
        best = self._averages(M, 1.0)
        return best, [
            self._averages(M, _WIDER).plus(best, -1.0),
            scaled(best, _ROUNDING),
        ]

    def responses(self, M: np.ndarray) -> np.ndarray:
        r"""Derivative of J: means of :math:`\partial g_{ij}\, \partial g_{kl}`, (r, r, r, r)."""
        if not is_diagonal(M):
            return self._general.responses(M)
        return self._pairs(M, response_matrix, 1.0)

    def growth(self, M: np.ndarray, *, merge: bool = False, **others: Any) -> np.ndarray:
        """Means of products of entries of the growth matrix; fewer prior means if `merge`."""
        if not is_diagonal(M):
            return self._general.growth(M, merge=merge, **others)
        return self._pairs(M, growth_matrix, _WIDER if merge else 1.0)

    def label_error(self, M: np.ndarray) -> Estimate:
        """Probability that the most probable value of the label is wrong."""
        if not is_diagonal(M):
            return self._general.label_error(M)

        def wrong(weight: np.ndarray, parts: list[np.ndarray]) -> np.ndarray:
            # What is left, not one minus what is likely: small errors keep their digits.
            return np.array([weight @ (np.sort(parts[0], axis=1)[:, :-1].sum(axis=1))])

        finest = _KINKS * 2 ** max(self.r - 2, 0)
        fine, wide, wider = (self._mean(M, wrong, 0, k * finest)[0] for k in (1, 2, 4))
        # The most probable value changes where the integrand has a kink: an error of second order.
        value, rough = fine + (fine - wide) / 3, wide + (wide - wider) / 3
        error = float(abs(value - rough) + abs(fine - wide) / 3) + 1e-9  # kinks between nodes, too
        return Estimate(max(float(value), 0.0), error, "quadrature")

    # ---- one evaluation

    def _averages(self, M: np.ndarray, stretch: float) -> Averages:
        def evaluate(weight: np.ndarray, parts: list[np.ndarray]) -> np.ndarray:
            noisy = [part @ self._mixing for part in parts]
            J, evidence = information_sums(weight, noisy, self._units)
            known = weight @ (parts[0] @ self.law.values) ** 2
            return np.array([*J.ravel(), evidence, known])

        *J, evidence, known = self._mean(M, evaluate, 1, stretch)
        S = invariant_maps(self._symmetries.maps, M)
        information = (S.swapaxes(1, 2) @ np.reshape(J, M.shape) @ S).mean(axis=0)
        return Averages(information, float(evidence), float(self._power - known))

    def _pairs(self, M: np.ndarray, combine: Combine, stretch: float) -> np.ndarray:
        width = np.sqrt(1 - np.diag(M))

        def evaluate(weight: np.ndarray, parts: list[np.ndarray]) -> np.ndarray:
            return products(weight, [part @ self._mixing for part in parts], width, combine)

        found = self._mean(M, evaluate, 2, stretch).reshape((self.r,) * 4)
        return symmetric_pairs(found, np.diag(1 / width), invariant_maps(self._symmetries.maps, M))

    def _mean(
        self,
        M: np.ndarray,
        evaluate: Callable[[np.ndarray, list[np.ndarray]], np.ndarray],
        order: int,
        stretch: float,
    ) -> np.ndarray:
        """Sum over blocks of prior means."""
        m = np.diag(M).clip(0.0, 1 - 1e-12)
        halved = Lattice(self._symmetries, np.eye(self.r), m >= UNLEARNED).halved
        rules = [self._prior_means(i, m[i], stretch, bool(halved[i])) for i in range(self.r)]
        rest = np.ones(1)
        for _, w in rules[1:]:
            rest = np.multiply.outer(rest, w).ravel()
        omega, weight = rules[0]
        size = max(1, _BLOCK // (len(rest) * len(self._units)))
        parts = []
        for start in range(0, len(omega), size):
            block = slice(start, start + size)
            found = self.law.moments([omega[block], *(w for w, _ in rules[1:])], 1 - m, order)
            weights = np.multiply.outer(weight[block], rest).ravel()
            parts.append(evaluate(weights, [found[key] for key in orders(self.r, order)]))
        return np.sum(parts, axis=0)

    def _prior_means(
        self, axis: int, m: float, stretch: float, half: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Prior means along an axis of overlap m, from 0 on if `half`, and their probabilities."""
        if m < UNLEARNED:
            return np.zeros(1), np.ones(1)
        step = stretch * min(_OF_PRIOR, _OF_POSTERIOR * np.sqrt((1 - m) / m))
        count = int(np.ceil(_FARTHEST / step))
        v = step * np.arange(0 if half else -count, count + 1)
        weight = np.exp(-(v**2) / 2)
        if half:
            weight[0] /= 2
        return self.law.distinct(axis, np.sqrt(m) * v, weight / weight.sum(), np.sqrt(1 - m))


def _noisy(values: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Chances (values, labels) of labels with noise on a grid, and the units of its cells."""
    if not noise:
        return np.eye(len(values)), np.ones(len(values))
    step, reach = _NOISE_STEP * np.sqrt(noise), int(_NOISE_REACH / _NOISE_STEP)
    places = np.unique(np.round(values / step)[:, None] + np.arange(-reach, reach + 1)) * step
    density = np.exp(-((places - values[:, None]) ** 2) / (2 * noise)) / np.sqrt(2 * np.pi * noise)
    return density * step, np.full(len(places), step)
