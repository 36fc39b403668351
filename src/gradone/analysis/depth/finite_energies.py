r"""Energies of a hierarchical target in a given dimension, by drawing.

With K hidden directions the energy of degree q is a sum over products of Hermite polynomials,

.. math::
    \Phi_q = \sum_{|\beta| = q} c_\beta^2, \qquad
    c_\beta = \mathbb{E}\Big[y \prod_i \mathrm{he}_{\beta_i}(z_i)\Big], \qquad
    \hat\Phi_q = \frac{|\sum_b \hat c_b|^2 - \sum_b |\hat c_b|^2}{B(B-1)}

with estimates :math:`\hat c_b` from B independent blocks of draws: products of two different
blocks have no bias, squares of one would add the noise of every coefficient.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from ...base.errors import OutOfRegime
from ...base.estimate import Estimate
from ...base.seeds import stream
from ...calculus.hermite import hermite_table
from ...targets.hierarchical import HierarchicalTarget

_BLOCKS, _STUDENT_99 = 16, 2.9467128834752  # two-sided, 15 degrees of freedom
_MOST_PRODUCTS = 20_000
_FEWEST, _MOST = 2**10, 2**16  # draws in a block
_WORK = 2**23  # values of products in a block
_CHUNK = 2**22


def drawn_energies(
    target: HierarchicalTarget, degree: int, d: int, seed: int = 0
) -> tuple[list[Estimate], list[Estimate]]:
    """Energies of degree 1, 2, ..., and what is left above degree 0, 1, ..."""
    realization = target.realization(d, seed=seed)
    K = len(realization.W_star)
    count = math.comb(K + degree, degree)
    if count > _MOST_PRODUCTS:
        raise OutOfRegime(
            f"{K} directions have {count} products of degree up to {degree}, at most "
            f"{_MOST_PRODUCTS} can be averaged; use a smaller degree or d, or leave d out for the "
            "limit of large d"
        )
    draws = min(max(_WORK // count, _FEWEST), _MOST)
    products = [
        np.array(list(itertools.combinations_with_replacement(range(K), q)), dtype=int)
        for q in range(degree + 1)
    ]
    squares, sums = np.empty(_BLOCKS), [np.empty((_BLOCKS, len(p))) for p in products]
    for block in range(_BLOCKS):
        z = stream(seed, "data", d=d, part="energies", block=block).standard_normal((draws, K))
        y = realization(z @ realization.W_star)
        squares[block] = np.mean(y * y)
        table = hermite_table(z.T, degree)  # (degree + 1, K, draws)
        for q, index in enumerate(products):
            step = max(_CHUNK // draws, 1)
            for start in range(0, len(index), step):
                part = index[start : start + step]
                sums[q][block, start : start + step] = _product(table, part) @ y / draws
    energy = np.stack([_unbiased(c) for c in sums], axis=1)  # pseudo-values (blocks, degree + 1)
    left = squares[:, None] - np.cumsum(energy, axis=1)
    return [_estimate(e) for e in energy.T[1:]], [_estimate(e) for e in left.T]


def _product(table: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Products of normalized Hermite polynomials (m, draws), from the axes of each (m, q)."""
    result = np.ones((len(index), table.shape[2]))
    for k in range(index.shape[1]):
        axis = index[:, k]
        # An axis that occurs several times counts once, with its multiplicity.
        first = (index[:, :k] != axis[:, None]).all(axis=1)
        power = (index == axis[:, None]).sum(axis=1)
        result *= table[np.where(first, power, 0), axis]
    return result


def _unbiased(c: np.ndarray) -> np.ndarray:
    """Pseudo-values of the jackknife over blocks; their mean is the estimate without bias."""
    total, own = c.sum(axis=0), (c * c).sum(axis=1)
    B = len(c)
    whole = (total @ total - own.sum()) / (B * (B - 1))
    rest = total - c
    without = ((rest * rest).sum(axis=1) - (own.sum() - own)) / ((B - 1) * (B - 2))
    return np.asarray(B * whole - (B - 1) * without)


def _estimate(values: np.ndarray) -> Estimate:
    error = _STUDENT_99 * float(values.std(ddof=1)) / math.sqrt(len(values))
    return Estimate(float(values.mean()), error, "monte_carlo")
