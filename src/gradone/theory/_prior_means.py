"""Quadrature over the prior means omega ~ N(0, M) of state evolution."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

# Step of the rule in units of the width sqrt(1 - m) of the posterior, by the number of axes: what
# is integrated has features a few times sharper than that.
_STEP = {1: 0.3, 2: 0.7, 3: 0.85, 4: 1.0}
_CUT = 6.0  # standard deviations kept
_SMOOTH = 0.02  # overlaps below it: the integrand is almost a polynomial on the scale of omega
_MAX_PER_AXIS = {1: 1025, 2: 257, 3: 65, 4: 25}  # nodes along an axis, by the number of axes


def prior_means(
    M: np.ndarray, resolution: int = 0, even: Collection[int] = ()
) -> tuple[np.ndarray, np.ndarray]:
    r"""Nodes (m, r) and weights (m,) of a rule for omega ~ N(0, M).

    A product of one-dimensional rules along the eigenvectors of M, cut at six standard
    deviations. What is integrated varies on the scale :math:`\sqrt{1-m}` of the posterior, in units
    of :math:`\sqrt{m}`; the trapezoidal rule then converges like
    :math:`\exp(-2\pi^2 s^2/h^2)`. Directions of overlap zero get one node.

    Parameters
    ----------
    M : array (r, r)
        Overlap matrix, :math:`0 \preceq M \preceq I`.
    resolution : int
        Number of times that the step is divided by the square root of two.
    even : collection of int
        Axes along which M is diagonal and the integrand even: only nodes with a coordinate >= 0
        are returned there, with twice the weight.

    Examples
    --------
    >>> nodes, weights = prior_means(np.diag([0.5, 0.0]))
    >>> nodes.shape[1], round(float(weights @ nodes[:, 0] ** 4), 6), float(abs(nodes[:, 1]).max())
    (2, 0.75, 0.0)
    """
    overlaps, Q = np.linalg.eigh(M)
    overlaps = np.clip(overlaps, 0.0, 1.0)
    axes = max(1, int((overlaps > _SMOOTH).sum()))
    rules = [
        _axis_rule(float(m), resolution, axes, is_even=_axis_of(q) in even)
        for m, q in zip(overlaps, Q.T, strict=True)
    ]
    size = math.prod(len(v) for v, _ in rules)
    grid = np.stack(np.meshgrid(*(v for v, _ in rules), indexing="ij"), axis=-1)
    weights = np.ones(())
    for _, w in rules:
        weights = np.multiply.outer(weights, w)
    v, weights = grid.reshape(size, len(M)), weights.reshape(size)
    kept = (v**2).sum(axis=1) <= _CUT**2
    v, weights = v[kept], weights[kept]
    # The sign of an eigenvector is arbitrary: along an even axis the node must come out >= 0.
    signs = [np.sign(q[i]) if (i := _axis_of(q)) in even else 1.0 for q in Q.T]
    return (v * np.sqrt(overlaps) * signs) @ Q.T, weights / weights.sum()


def _axis_of(q: np.ndarray) -> int | None:
    """Axis along which a unit vector points, up to sign; None if along none."""
    i = int(np.abs(q).argmax())
    return i if abs(q[i]) == 1.0 else None


def _axis_rule(
    overlap: float, resolution: int, axes: int, *, is_even: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Rule for a standard normal variable along an eigenvector of M."""
    if overlap < 1e-15:
        return np.zeros(1), np.ones(1)
    if overlap < _SMOOTH:
        v, w = np.polynomial.hermite_e.hermegauss(9 + 4 * resolution)
    else:
        step = _STEP[axes] * math.sqrt(1 - overlap) / math.sqrt(2) ** resolution
        half = min(math.ceil(_CUT / step), (_MAX_PER_AXIS[axes] - 1) // 2)
        v = np.arange(-half, half + 1) * (_CUT / half)
        w = np.exp(-(v**2) / 2)
    if is_even:
        middle = len(v) // 2  # the number of nodes is odd
        v, w = np.abs(v[middle:]), np.concatenate([w[middle : middle + 1], 2 * w[middle + 1 :]])
    return v, w / w.sum()
