r"""Exact rule for labels that are constant on boxes: parities, sums of signs, tables of steps.

If every jump of a discrete target lies at a value of one variable, then for independent variables
the chance of a label is a sum of products of one-dimensional chances,

.. math:: f_y(\omega) = \sum_{\text{boxes with label } y}\ \prod_i
          \Big[\Phi\Big(\frac{b_i - \omega_i}{\sqrt{V_i}}\Big)
             - \Phi\Big(\frac{a_i - \omega_i}{\sqrt{V_i}}\Big)\Big].                        [BX-1]

All terms are positive: the sums are exact to rounding however narrow the posterior is. Prior means
form a product grid along the variables; sums over it converge faster than any power of its step.
Overlap matrices that are not diagonal are left to the general rule.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr

from ...base.estimate import Estimate
from ...targets.signed_permutations import symmetries
from ...targets.target import Target
from .general import ChannelAverages
from .mirrors import Lattice
from .moments import (
    UNLEARNED,
    Averages,
    Combine,
    information_sums,
    invariant_maps,
    is_diagonal,
    prior_means,
    products,
    scaled,
    symmetric_matrix,
    symmetric_pairs,
)
from .tables import orders

_MOST = 20_000  # entries of the table of boxes
_FLAT = 7.0  # standard deviations from every jump beyond which nothing changes
_STEPS = 0.35, 0.45  # of prior means, in standard deviations of prior and posterior
_FARTHEST = 6.0  # prior mean, in standard deviations
_WIDER = 4 / 3  # steps of a rule with which the usual one is compared
_KINKS = 0.125  # steps where integrands have kinks
_BLOCK = 2**17  # prior means times labels at once
_ROUNDING = 1e-10  # relative
_NOISE_STEP, _NOISE_REACH = 0.4, 7.0  # of noisy labels, in standard deviations of the noise


class Boxes:
    """Labels of a target on the boxes between its jumps.

    Parameters
    ----------
    target : Target
        Discrete target whose jumps are parallel to the axes.

    Examples
    --------
    >>> parity = Boxes(Target("sign(z1*z2)"))
    >>> f = parity.moments([np.array([0.5]), np.array([1.0])], np.ones(2), 0)[0, 0]
    >>> f.round(6).tolist()  # (1 +- erf(0.5/sqrt(2)) erf(1/sqrt(2)))/2
    [[0.369291, 0.630709]]
    """

    def __init__(self, target: Target) -> None:
        self.edges = _edges(target)
        inside = [
            np.concatenate([[e[0] - 1], (e[:-1] + e[1:]) / 2, [e[-1] + 1]]) for e in self.edges
        ]
        places = np.array(list(itertools.product(*inside)))
        labels = np.asarray(target.expression(places), dtype=np.float64)
        self.values, which = np.unique(labels.round(12), return_inverse=True)
        self._table = np.eye(len(self.values))[which].reshape(*(len(x) for x in inside), -1)

    @staticmethod
    def covers(target: Target) -> bool:
        """Whether all labels of a target are constant on boxes."""
        expression = target.joint
        if target.q or not expression.is_discrete:
            return False
        planes, is_curved = expression.breaks
        normals = np.array([plane.normal for plane in planes]).reshape(-1, target.r)
        parallel = (np.count_nonzero(normals, axis=1) == 1).all()
        if is_curved or not parallel or not normals.any(axis=0).all():
            return False
        return bool(np.prod([len(e) + 1.0 for e in _edges(target)]) <= _MOST)

    def moments(
        self, omega: list[np.ndarray], variances: np.ndarray, order: int
    ) -> dict[tuple[int, ...], np.ndarray]:
        """Chances [BX-1] at a product of prior means and their derivatives up to an order.

        From multi-indices to arrays (prior means, values).
        """
        found: dict[tuple[int, ...], np.ndarray] = {(): self._table[None]}
        for i, edges in enumerate(self.edges):
            kernel = _chances(omega[i], float(np.sqrt(variances[i])), edges, order)
            rest = self._table.shape[i + 1 :]
            found = {
                (*key, k): (kernel[k] @ part.reshape(*part.shape[:2], -1)).reshape(-1, *rest)
                for key, part in found.items()
                for k in range(order + 1 - sum(key))
            }
        return found

    def distinct(
        self, axis: int, omega: np.ndarray, weight: np.ndarray, width: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Prior means along an axis, those far from every jump merged, and their weights."""
        edges = self.edges[axis]
        cell = np.searchsorted(edges, omega)
        far = np.abs(omega[:, None] - edges).min(axis=1) > _FLAT * width
        kept, total = [omega[~far]], [weight[~far]]
        for c in np.unique(cell[far]):
            inside = far & (cell == c)
            kept.append(omega[inside][:1])
            total.append(weight[inside].sum()[None])
        return np.concatenate(kept), np.concatenate(total)


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

    def pairs(
        self, M: np.ndarray, combine: Combine, *, merge: bool = False, **others: Any
    ) -> np.ndarray:
        """Means of products of entries of a matrix; fewer prior means if `merge`."""
        if not is_diagonal(M):
            return self._general.pairs(M, combine, merge=merge, **others)
        width = np.sqrt(1 - np.diag(M))

        def evaluate(weight: np.ndarray, parts: list[np.ndarray]) -> np.ndarray:
            return products(weight, [part @ self._mixing for part in parts], width, combine)

        found = self._mean(M, evaluate, 2, _WIDER if merge else 1.0).reshape((self.r,) * 4)
        return symmetric_pairs(found, np.diag(1 / width), invariant_maps(self._symmetries.maps, M))

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
        maps = invariant_maps(self._symmetries.maps, M)
        information = symmetric_matrix(np.reshape(J, M.shape), maps)
        return Averages(information, float(evidence), float(self._power - known))

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
        omega, weight = prior_means(m, _STEPS, stretch, _FARTHEST, half=half)
        return self.law.distinct(axis, omega, weight, np.sqrt(1 - m))


def _edges(target: Target) -> list[np.ndarray]:
    """Places of jumps along each axis."""
    planes = target.joint.breaks[0]
    return [
        np.unique([p.offset / p.normal[i] for p in planes if p.normal[i]]) for i in range(target.r)
    ]


def _chances(omega: np.ndarray, s: float, edges: np.ndarray, order: int) -> list[np.ndarray]:
    """Chances (n, cells) of the cells between edges given prior means, and derivatives by them."""
    ends = np.concatenate([[-np.inf], edges, [np.inf]])
    x = (ends - omega[:, None]) / s
    # From the nearer tail: small chances keep their digits.
    above = x[:, :-1] > 0
    chance = np.where(above, ndtr(-x[:, :-1]) - ndtr(-x[:, 1:]), np.diff(ndtr(x)))
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    slope = np.where(np.isfinite(x), x, 0.0) * density
    return [chance, -np.diff(density) / s, -np.diff(slope) / s**2][: order + 1]


def _noisy(values: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Chances (values, labels) of labels with noise on a grid, and the units of its cells."""
    if not noise:
        return np.eye(len(values)), np.ones(len(values))
    step, reach = _NOISE_STEP * np.sqrt(noise), int(_NOISE_REACH / _NOISE_STEP)
    places = np.unique(np.round(values / step)[:, None] + np.arange(-reach, reach + 1)) * step
    density = np.exp(-((places - values[:, None]) ** 2) / (2 * noise)) / np.sqrt(2 * np.pi * noise)
    return density * step, np.full(len(places), step)
