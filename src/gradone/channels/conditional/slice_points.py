"""Scrambled Sobol points of a wide Gaussian in replicates, and Hermite polynomials there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...calculus.hermite import hermite_table, multi_indices
from ...calculus.sobol import SobolSequence, gaussian_points

REPLICATES = 16
_SEED = 314159
MAX_KEPT = 1 << 15  # points in a replicate that are worth their memory
# The conditional moments are largest in the tails of the output: draw from a wider Gaussian there.
_SCALE = 1.4


class Cloud(NamedTuple):
    """Points (dim, m) of a wide Gaussian, and their weights (m,) under the standard one.

    `kept` says which they are, if others will ask for them again.
    """

    z: np.ndarray
    weight: np.ndarray
    kept: tuple[int, int, range] | None = None


def wide_points(dim: int, n: int, which: range, scramble: int) -> Cloud:
    """Replicates `which` of n points each, one behind the other.

    Examples
    --------
    >>> cloud = wide_points(2, 256, range(2), 0)
    >>> cloud.z.shape, round(float(cloud.weight.mean()), 9)
    ((2, 512), 1.0)
    """
    if n <= MAX_KEPT and not scramble:
        return _kept_points(dim, n, which)
    return _new_points(dim, n, which, scramble)


@lru_cache(maxsize=3 * REPLICATES)  # many problems share their points
def _kept_points(dim: int, n: int, which: range) -> Cloud:
    return _new_points(dim, n, which, 0)._replace(kept=(dim, n, which))


def _new_points(dim: int, n: int, which: range, scramble: int) -> Cloud:
    sequences = [SobolSequence(dim, np.random.default_rng([_SEED, i, scramble])) for i in which]
    z = _SCALE * gaussian_points(np.concatenate([s.draw(n).T for s in sequences], axis=1))
    weight = wide_weight(z).reshape(-1, n)
    return Cloud(z, (weight / weight.mean(axis=1, keepdims=True)).ravel())


def wide_weight(z: np.ndarray) -> np.ndarray:
    """Weights of points (dim, m) of the wide Gaussian under the standard one, up to a factor."""
    return np.exp(-0.5 * (1 - _SCALE**-2) * np.einsum("rn,rn->n", z, z))


def order_indices(r: int, orders: Sequence[int]) -> np.ndarray:
    """Multi-indices of each order in turn.

    Examples
    --------
    >>> order_indices(2, (1, 2)).tolist()
    [[1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]
    """
    return np.vstack([multi_indices(r, k)[multi_indices(r, k).sum(axis=1) == k] for k in orders])


def point_features(cloud: Cloud, r: int, orders: tuple[int, ...]) -> np.ndarray:
    """Weighted values of he_beta, shape (1 + number of beta, m); the first row is for beta = 0.

    Those of orders 1 and 2 are kept with their points: every target needs them.
    """
    if cloud.kept is not None and max(orders) <= 2:
        return _kept_features(cloud.kept, r, orders)
    return _features(cloud, r, orders)


@lru_cache(maxsize=3 * REPLICATES)
def _kept_features(kept: tuple[int, int, range], r: int, orders: tuple[int, ...]) -> np.ndarray:
    return _features(_kept_points(*kept), r, orders)


def _features(cloud: Cloud, r: int, orders: tuple[int, ...]) -> np.ndarray:
    beta = order_indices(r, orders)
    tables = [hermite_table(column, int(beta.max(initial=0))) for column in cloud.z[:r]]
    tables[0] *= cloud.weight
    rows = np.empty((1 + len(beta), len(cloud.weight)))
    rows[0] = cloud.weight
    for row, (first, *others) in zip(rows[1:], beta, strict=True):
        factors = [table[k] for table, k in zip(tables[1:], others, strict=True) if k]
        np.multiply(tables[0][first], factors[0] if factors else 1.0, out=row)
        for factor in factors[1:]:
            row *= factor
    return rows
