"""From moments of labels at prior means to averages: what all rules share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...base.estimate import Estimate
from ...targets.target import Target
from .tables import index_pairs

FRAME = 1e-9  # size of what counts as rounding off the diagonal
UNLEARNED = 1e-12  # overlap that counts as none
PERFECT = 1 - 1e-5  # overlaps above it count as complete knowledge
TINY = 1e-12  # chance of a slice that counts as none

Combine = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Averages(NamedTuple):
    """What state evolution needs to know at an overlap matrix M."""

    information: np.ndarray
    r"""J(M), the mean of :math:`g_{out} g_{out}^\top`, (r, r)."""
    log_evidence: float
    """Mean of log Z."""
    test_mse: float
    """Mean squared error of the posterior mean of a new label, its noise included."""

    def plus(self, other: Averages, factor: float = 1.0) -> Averages:
        """Sum with a multiple of other averages."""
        return Averages(
            self.information + factor * other.information,
            self.log_evidence + factor * other.log_evidence,
            self.test_mse + factor * other.test_mse,
        )


class AverageRule(Protocol):
    """A way to average over the labels of the targets that it covers."""

    def __init__(self, target: Target) -> None: ...

    @staticmethod
    def covers(target: Target) -> bool:
        """Whether the rule is meant for such a target."""
        ...

    def at(self, M: np.ndarray, *, coarse: bool = False) -> Averages:
        """Averages at the overlap matrix `M`."""
        ...

    def estimate(self, M: np.ndarray) -> tuple[Averages, list[Averages]]:
        """Averages at `M` with all corrections, and what each source of error changes in them."""
        ...

    def pairs(self, M: np.ndarray, combine: Combine, **choice: Any) -> np.ndarray:
        """Means of products of entries of a matrix made of g and H, (r, r, r, r)."""
        ...

    def label_error(self, M: np.ndarray) -> Estimate:
        """Probability that the most probable value of a discrete label is wrong."""
        ...


def scaled(a: Averages, factor: float) -> Averages:
    """Multiple of averages."""
    return Averages(factor * a.information, factor * a.log_evidence, factor * a.test_mse)


def total(sources: list[Averages]) -> Averages:
    """Sum of the sizes of errors."""
    J, evidence, mse = (sum(np.abs(part) for part in parts) for parts in zip(*sources, strict=True))
    return Averages(np.asarray(J), float(evidence), float(mse))


def matrix_power(A: np.ndarray, power: float) -> np.ndarray:
    """Power of a positive matrix on the directions on which it is not zero.

    Examples
    --------
    >>> matrix_power(np.array([[2.0, 2.0], [2.0, 2.0]]), -0.5).round(12).tolist()
    [[0.25, 0.25], [0.25, 0.25]]
    """
    sizes, Q = np.linalg.eigh(A)
    seen = sizes > 1e-13 * max(sizes[-1], 1e-300)
    return (Q[:, seen] * sizes[seen] ** power) @ Q[:, seen].T


def is_diagonal(M: np.ndarray) -> bool:
    """Whether an overlap matrix is diagonal up to rounding."""
    return bool(np.abs(M - np.diag(np.diag(M))).max() < FRAME)


def invariant_maps(maps: np.ndarray, M: np.ndarray) -> np.ndarray:
    """Those of the maps (k, r, r) that leave an overlap matrix as it is."""
    return maps[np.abs(maps @ M @ maps.swapaxes(1, 2) - M).max(axis=(1, 2)) < FRAME]


def prior_means(
    m: float, steps: tuple[float, float], stretch: float, farthest: float, *, half: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Prior means along an axis of overlap m, from 0 on if `half`, and their probabilities.

    Their distance is a multiple, `stretch`, of the smaller one of two `steps`, in standard
    deviations of the prior and of the posterior.
    """
    if m < UNLEARNED:
        return np.zeros(1), np.ones(1)
    step = stretch * min(steps[0], steps[1] * np.sqrt((1 - m) / m))
    count = int(np.ceil(farthest / step))
    v = step * np.arange(0 if half else -count, count + 1)
    weight = np.exp(-(v**2) / 2)
    if half:
        weight[0] /= 2
    return np.sqrt(m) * v, weight / weight.sum()


def symmetric_matrix(J: np.ndarray, maps: np.ndarray) -> np.ndarray:
    """Mean of a matrix over maps (k, r, r)."""
    return np.asarray((maps.swapaxes(1, 2) @ J @ maps).mean(axis=0))


def symmetric_pairs(pairs: np.ndarray, scale: np.ndarray, maps: np.ndarray) -> np.ndarray:
    """Products of entries (r, r, r, r) times a matrix on each side, their mean over maps."""
    S = maps @ scale
    found = np.broadcast_to(pairs, (len(S), *pairs.shape))
    for _ in range(4):  # the first index becomes the last
        found = np.einsum("nabcd,nia->nbcdi", found, S)
    return np.asarray(found.mean(axis=0))


def response_matrix(g: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Derivative of the output function, from g and the second derivatives H over f [SE-4]."""
    return np.asarray(H - g[:, None] * g[None, :])


def growth_matrix(_: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Matrix whose products make an overlap grow [SE-2]: H itself."""
    return H


def information_sums(
    weight: np.ndarray, parts: list[np.ndarray], chances: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """J and the information of slices on prior means [AV-1], from f and its first derivatives."""
    f, *first = parts
    seen = f > TINY
    inverse = np.where(seen, weight[:, None] / np.maximum(f, TINY), 0.0)
    J = np.array([[np.vdot(a * inverse, b) for b in first] for a in first])
    ratio = np.where(seen, f / np.maximum(chances, 1e-300), 1.0)
    return J, np.asarray(weight @ np.sum(f * np.log(np.maximum(ratio, TINY)), axis=1))


def products(
    weight: np.ndarray,
    parts: list[np.ndarray],
    width: np.ndarray,
    combine: Combine,
) -> np.ndarray:
    """Means of products of entries of a matrix, from f, its first and its second derivatives."""
    f, *rest = parts
    r = len(width)
    chance = np.maximum(f, TINY)
    g = np.array([w * d / chance for w, d in zip(width, rest[:r], strict=True)])
    H = np.empty((r, r, *f.shape))
    for (i, j), second in zip(index_pairs(r), rest[r:], strict=True):
        H[i, j] = H[j, i] = width[i] * width[j] * second / chance
    entries = combine(g, H).reshape(r * r, -1)
    mass = (weight[:, None] * np.where(f > TINY, f, 0.0)).ravel()
    return np.asarray((entries * mass) @ entries.T).ravel()
