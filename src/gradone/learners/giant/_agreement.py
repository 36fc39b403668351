r"""Directions in which weights have moved and in which fresh samples would move them too.

Let u, v be a pair of singular vectors of the change of the weights, and G the mean of
:math:`a_i\,y\,\sigma'(\langle w_i, x\rangle + b_i)\,x` over samples that the weights have not seen.
Where the labels say nothing about the inputs :math:`u^\top G` points in a direction that is uniform
and independent of v, so that the cosine c between the two has

.. math:: \mathbb{P}(c > t) = \tfrac12 I_{1 - t^2}\Big(\frac{d - 1}{2}, \frac12\Big).    [GS-2]

A gradient also stretches every neuron along itself, by :math:`a_i\mathbb{E}[y\sigma'']\,w_i`, in
the change and in G alike. That is no direction of the target: what is left of a neuron along its
own weights, beside the directions found so far, is taken off both.
"""

from __future__ import annotations

import numpy as np

LEVEL = 1e-4  # chance that noise is taken for a direction
MOST = 32  # singular vectors that are tried


def confirmed_directions(
    moved: np.ndarray, fresh: np.ndarray, *, start: np.ndarray, last: np.ndarray
) -> np.ndarray:
    """Orthonormal rows (k, d): leading directions of a change that fresh samples confirm.

    One direction is taken at a time. Every pair of leading singular vectors is tried: noise that
    the batch has in common for all neurons may come before a direction.

    Parameters
    ----------
    moved : ndarray (p, d)
        Change of the weights.
    fresh : ndarray (p, d)
        Gradient G of samples that had no part in it.
    start, last : ndarray (p, d)
        Weights before the change, and those of the gradient G.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise, other, W = rng.standard_normal((3, 30, 100)) / 10
    >>> confirmed_directions(noise + W, other + W, start=W, last=W).shape
    (0, 100)
    >>> spike = np.outer(rng.standard_normal(30), np.eye(100)[0])
    >>> found = confirmed_directions(noise + spike, other + spike, start=W, last=W)
    >>> np.abs(found[:, 0]).round(1)
    array([1.])
    """
    from scipy.special import betainc
    from sklearn import config_context
    from sklearn.utils.extmath import randomized_svd

    d = moved.shape[1]
    found = np.empty((0, d))
    if d < 2 or not moved.any():
        return found
    most = min(MOST, *moved.shape)
    while len(found) < most:
        with config_context(array_api_dispatch=False):  # NumPy here, whatever the inputs were
            left, _, right = randomized_svd(_apart(moved, start, found), most, random_state=0)
        others = left.T @ _apart(fresh, last, found)
        sizes = np.linalg.norm(others, axis=1)
        cosines = np.einsum("ij,ij->i", others, right) / np.where(sizes > 0, sizes, 1.0)
        chances = 0.5 * betainc((d - 1) / 2, 0.5, 1 - np.minimum(cosines**2, 1.0))  # [GS-2]
        confirmed = right[(cosines > 0) & (chances < LEVEL / most)]
        if not len(confirmed):
            break
        found = np.vstack([found, confirmed[:1]])
    return found


def _apart(rows: np.ndarray, own: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Rows without the directions found, and without their part along the neuron's own weights."""
    rows, own = (part - (part @ found.T) @ found for part in (rows, own))
    squares = np.einsum("ij,ij->i", own, own)
    along = np.einsum("ij,ij->i", rows, own) / np.where(squares > 0, squares, 1.0)
    return rows - along[:, None] * own
