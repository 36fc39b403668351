"""Hermite polynomials of one order in other coordinates."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from .hermite import factorials, multi_indices


def order_indices(r: int, k: int) -> np.ndarray:
    """Multi-indices of order k: the rows and columns of T_k."""
    indices = multi_indices(r, k)
    return indices[indices.sum(axis=1) == k]


def embedding(rows: np.ndarray, k: int) -> np.ndarray:
    r"""Matrix E with :math:`\mathbb{E}[\mathrm{he}_\beta(z) \mid Bz = t] = \sum_\gamma
    E_{\beta\gamma}\,\mathrm{he}_\gamma(t)` for orthonormal rows B.
    """  # noqa: D205
    return _embedding(tuple(map(tuple, rows.tolist())), k)


@lru_cache(maxsize=256)
def _embedding(rows: tuple[tuple[float, ...], ...], k: int) -> np.ndarray:
    inner, outer = order_indices(len(rows), k), order_indices(len(rows[0]), k)
    matrix = np.zeros((len(outer), len(inner)))
    for column, gamma in enumerate(inner):
        # Symmetric tensor with c_gamma = sqrt(gamma!): multiply out prod_j <b_j, x>^gamma_j.
        polynomial = {(0,) * len(rows[0]): 1.0}
        for row, power in zip(rows, gamma, strict=True):
            for _ in range(power):
                expanded: dict[tuple[int, ...], float] = {}
                for beta, c in polynomial.items():
                    for axis, slope in enumerate(row):
                        if slope:
                            key = (*beta[:axis], beta[axis] + 1, *beta[axis + 1 :])
                            expanded[key] = expanded.get(key, 0.0) + c * slope
                polynomial = expanded
        scale = 1 / math.sqrt(float(factorials(gamma)))
        for i, beta in enumerate(outer):
            matrix[i, column] = (
                polynomial.get(tuple(beta), 0.0) * scale * math.sqrt(factorials(beta))
            )
    matrix.setflags(write=False)
    return matrix
