r"""Where a run begins, in the coordinates of the chain: M (p, r) and lower-triangular L (p, p).

The rows of W = M W* + L E are the neurons. Independent rows, uniform on the unit sphere, have

.. math:: [M, L]_j = [G, T]_j / |[G, T]_j|, \qquad G_{jk} \sim N(0, 1) \qquad [SG-5]

with the Bartlett factor T of a Wishart matrix: :math:`T_{kk}^2 \sim \chi^2_{d-r-k}` for
k = 0, ..., p - 1, and standard normal entries below the diagonal.
"""

from __future__ import annotations

import math

import numpy as np

from ..targets.student import Start

_EXACT = 1e-14  # pivots below this share of Q_jj are rounding errors of the given Q


def start_factors(
    start: Start, *, width: int, r: int, d: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Overlaps M and factor L of a start.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> M, L = start_factors("random", width=2, r=1, d=1000, rng=rng)
    >>> np.allclose((M @ M.T + L @ L.T).diagonal(), 1)
    True
    """
    if start == "orthogonal":
        return np.zeros((width, r)), np.eye(width)
    if isinstance(start, str):
        normal = rng.standard_normal((width, r + width))
        M, L = normal[:, :r], np.tril(normal[:, r:], -1)
        np.fill_diagonal(L, np.sqrt(rng.chisquare(d - r - np.arange(width))))
        norms = np.sqrt((M**2).sum(1) + (L**2).sum(1))[:, None]
        return np.ascontiguousarray(M / norms), L / norms  # [SG-5]
    M, Q = start
    return M.copy(), semidefinite_factor(Q - M @ M.T, scale=np.diag(Q))


def semidefinite_factor(matrix: np.ndarray, *, scale: np.ndarray) -> np.ndarray:
    """Lower-triangular L with L L^T = matrix; neurons that depend on earlier ones are allowed.

    Examples
    --------
    >>> semidefinite_factor(np.ones((2, 2)), scale=np.ones(2))
    array([[1., 0.],
           [1., 0.]])
    """
    rest, L = matrix.copy(), np.zeros_like(matrix)
    for k in range(len(matrix)):
        if rest[k, k] <= _EXACT * scale[k]:
            continue  # a semidefinite matrix has zeros below such a pivot
        L[k:, k] = rest[k:, k] / math.sqrt(rest[k, k])
        rest[k:, k:] -= np.outer(L[k:, k], L[k:, k])
    return L
