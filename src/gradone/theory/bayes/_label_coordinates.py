"""Coordinates of the prior means in which lines of most probable labels are followed."""

from __future__ import annotations

import numpy as np

from ...targets.language.expression import Expression
from ...targets.signed_permutations import symmetries

_LEARNED = 1e-13  # overlaps below it are zero
_ALIKE = 0.8  # overlaps whose ratio is above it: the variables are as good as the eigenvectors
_SAME = 1e-10


def root_of(M: np.ndarray) -> np.ndarray:
    """Matrix L (r, k) with ``L @ L.T = M``, k the rank; the last column has the largest overlap.

    Along eigenvectors; where overlaps are alike, as close to the variables as possible.

    Examples
    --------
    >>> root_of(np.diag([0.25, 0.0, 0.01])).tolist()
    [[0.0, 0.5], [0.0, 0.0], [0.1, 0.0]]
    """
    from scipy.linalg import qr

    overlaps, Q = np.linalg.eigh(np.where(np.abs(M) < _LEARNED, 0.0, (M + M.T) / 2))
    learned = overlaps > _LEARNED
    overlaps, Q = overlaps[learned], Q[:, learned]
    group = np.cumsum(overlaps * _ALIKE > np.concatenate([overlaps[:1], overlaps[:-1]]))
    B = np.zeros((len(M), 0))
    for i in np.unique(group):
        part = Q[:, group == i]
        part = part @ qr(part.T, pivoting=True)[0]
        order = np.argsort(np.einsum("ik,ij,jk->k", part, M, part), kind="stable")
        B = np.concatenate([B, part[:, order]], axis=1)
    B *= np.where(B.sum(axis=0) < 0, -1.0, 1.0)
    return np.asarray(B @ np.linalg.cholesky(B.T @ M @ B))


def folded_axes(expression: Expression, L: np.ndarray) -> np.ndarray:
    """Whether one half of each coordinate u of ``omega = L @ u`` is equivalent to the other.

    By a symmetry of the target that changes its sign and not those of the coordinates before; what
    it does to those that follow does not matter where they are integrated.

    Examples
    --------
    >>> folded_axes(Expression("sign(z1 + z2*z3)"), np.eye(3)).tolist()
    [True, True, False]
    """
    folded = np.zeros(L.shape[1], dtype=bool)
    inverse = np.linalg.pinv(L)
    for S in symmetries(expression).maps:
        signs = np.sign(np.diag(inverse @ S @ L))
        if np.abs(S @ L - L * signs).max(initial=0.0) < _SAME:
            folded[np.flatnonzero(signs < 0)[:1]] = True
    return folded
