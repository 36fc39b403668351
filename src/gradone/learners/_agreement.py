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
MOST = 32  # singular vectors that are tried


def confirmed_directions(moved: np.ndarray, fresh: np.ndarray) -> np.ndarray:
    """Orthonormal rows (k, d): leading directions of a change that fresh samples confirm.

    Every pair of leading singular vectors is tried: noise that the batch has in common for all
    neurons may come before a direction.

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
    others = left.T @ fresh
    sizes = np.linalg.norm(others, axis=1)
    cosines = np.einsum("ij,ij->i", others, right) / np.where(sizes > 0, sizes, 1.0)
    chances = 0.5 * betainc((d - 1) / 2, 0.5, 1 - np.minimum(cosines**2, 1.0))  # [GS-2]
    confirmed: np.ndarray = right[(cosines > 0) & (chances < LEVEL / most)]
    return confirmed
