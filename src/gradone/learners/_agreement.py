r"""Directions in which weights have moved and in which fresh samples would move them too.

Let u, v be a pair of singular vectors of the change of the weights, and G the mean of
:math:`a_i\,y\,\sigma'(\langle w_i, x\rangle + b_i)\,x` over samples that the weights have not seen.
Where the labels say nothing about the inputs :math:`u^\top G` points in a direction that is uniform
and independent of v, so that the cosine c between the two has

.. math:: \mathbb{P}(c > t) = \tfrac12 I_{1 - t^2}\Big(\frac{d - 1}{2}, \frac12\Big).    [GS-2]
"""

from __future__ import annotations

import numpy as np

LEVEL = 1e-4  # chance that noise is taken for a direction
MOST = 32  # directions that are looked for


def confirmed_directions(moved: np.ndarray, fresh: np.ndarray) -> np.ndarray:
    """Orthonormal rows (k, d): leading directions of a change that fresh samples confirm.

    Pairs of singular vectors are tried in their order until one fails.

    Parameters
    ----------
    moved : ndarray (p, d)
        Change of the weights.
    fresh : ndarray (p, d)
        Gradient G of samples that had no part in it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise, other = rng.standard_normal((2, 30, 100)) / 10
    >>> spike = np.outer(rng.standard_normal(30), np.eye(100)[0])
    >>> confirmed_directions(noise, other).shape
    (0, 100)
    >>> np.abs(confirmed_directions(noise + spike, other + spike)[:, 0]).round(1)
    array([1.])
    """
    from scipy.special import betainc
    from sklearn.utils.extmath import randomized_svd

    d = moved.shape[1]
    if d < 2 or not moved.any():
        return np.empty((0, d))
    most = min(MOST, *moved.shape)
    left, _, right = randomized_svd(moved, most, random_state=0)
    for k in range(most):
        other = left[:, k] @ fresh
        size = float(np.linalg.norm(other))
        cosine = float(other @ right[k]) / size if size > 0 else 0.0
        chance = 0.5 * betainc((d - 1) / 2, 0.5, 1 - min(cosine**2, 1.0))  # [GS-2]
        if cosine <= 0 or chance > LEVEL:
            return np.asarray(right[:k])
    return np.asarray(right)
