"""First weights with given overlaps: a simulation knows the directions, a learner does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..base.errors import BadData


def planted_weights(
    start: Mapping[str, Any], W_star: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    r"""Weights W (width, d) with :math:`W W^{\star\top} = M` and :math:`W W^\top = Q`.

    .. math:: W = M W^\star + (Q - M M^\top)^{1/2} E

    with orthonormal rows E, random among those that are orthogonal to :math:`W^\star`.

    Parameters
    ----------
    start : mapping
        ``M`` (width, r) and ``Q`` (width, width).
    W_star : ndarray (r, d)
        Orthonormal hidden directions.
    rng : numpy.random.Generator
        Draws E.

    Examples
    --------
    >>> hidden = np.eye(5)[:1]
    >>> W = planted_weights({"M": [[0.6], [0.0]], "Q": np.eye(2)}, hidden, np.random.default_rng(0))
    >>> abs(W @ hidden.T).round(12).ravel(), abs(W @ W.T).round(12)
    (array([0.6, 0. ]), array([[1., 0.],
           [0., 1.]]))
    """
    M, Q = (np.asarray(start[name], float) for name in ("M", "Q"))
    (width, r), d = M.shape, W_star.shape[1]
    if width + r > d:
        raise BadData(
            f"{width} neurons with given overlaps with {r} directions need d >= {width + r}, "
            f"got d = {d}"
        )
    normal = rng.standard_normal((width, d))
    normal -= (normal @ W_star.T) @ W_star
    others = np.linalg.qr(normal.T)[0].T
    values, vectors = np.linalg.eigh(Q - M @ M.T)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return np.ascontiguousarray(M @ W_star + root @ others)
