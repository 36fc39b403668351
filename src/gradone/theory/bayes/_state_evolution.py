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
