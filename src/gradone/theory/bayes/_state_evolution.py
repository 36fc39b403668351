r"""State evolution of Bayes-AMP: the low-dimensional dynamics of its overlap matrix.

With the posterior channel at :math:`\omega \sim N(0, M)`, :math:`V = I - M`,

.. math:: J(M) = \mathbb{E}_\omega \sum_y Z\, g_{out} g_{out}^\top, \qquad
          M \leftarrow \alpha J (I + \alpha J)^{-1}.                                        [SE-1]

A direction that carries no overlap yet grows if the map is unstable there: with
:math:`G = \mathbb{E}[z_\perp z_\perp^\top - I \mid y, \omega]`,

.. math:: K \leftarrow \alpha F_M(K), \qquad F_M(K) = \mathbb{E}_{\omega, y}[G K G].        [SE-2]

Its derivative elsewhere has the same form, with :math:`\partial_\omega g_{out}` in place of G:

.. math:: K \leftarrow \alpha (I - M)\, \mathbb{E}[\partial g\, K\, \partial g]\, (I - M).  [SE-4]
"""

from __future__ import annotations

import numpy as np

CAP = 1e-6  # what is always missing to full overlap: beyond, the posterior is a point


def overlap_step(J: np.ndarray, alpha: float) -> np.ndarray:
    r"""New overlap matrix :math:`\alpha J (I + \alpha J)^{-1}` of [SE-1], kept within [0, I)."""
    information, Q = np.linalg.eigh(alpha * J)
    information = np.maximum(information, 0.0)
    return (Q * np.minimum(information / (1 + information), 1 - CAP)) @ Q.T


def operator_on_symmetric(pairs: np.ndarray, basis: np.ndarray) -> np.ndarray:
    r"""Matrix of :math:`K \to E[G K G]` in an orthonormal basis (k, r, r) of symmetric matrices.

    From the means (r, r, r, r) of products of entries of G.
    """
    return np.einsum("ajk,ijkl,bil->ba", basis, pairs, basis)


def symmetric_basis(rows: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the symmetric matrices over the span of rows (q, r).

    Examples
    --------
    >>> symmetric_basis(np.eye(2))[1].round(3).tolist()
    [[0.0, 0.707], [0.707, 0.0]]
    """
    basis = []
    for i, a in enumerate(rows):
        for j, b in enumerate(rows[i:], i):
            E = np.outer(a, b)
            basis.append(E if i == j else (E + E.T) * np.sqrt(0.5))
    return np.array(basis).reshape(-1, rows.shape[1], rows.shape[1])
