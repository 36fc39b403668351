"""Quadrature over the prior means omega ~ N(0, M) of state evolution."""

from __future__ import annotations

import math

import numpy as np

# Step of the rule in units of the width sqrt(1 - m) of the posterior, by the number of axes: what
# is integrated has features a few times sharper than that.
_STEP = {1: 0.3, 2: 0.7, 3: 0.85, 4: 1.0}
PERFECT = 1 - 1e-5  # overlaps above it are perfect recovery: the posterior is a point
_SMOOTH = 0.02  # overlaps below it: the integrand is almost a polynomial on the scale of omega
_SAME = 1e-10
_TURN = 0.33  # step of a graded rule, in e-foldings away from zero
_NARROW = 0.5  # overlaps above it: a graded rule needs fewer nodes than a uniform one
_MAX_PER_AXIS = {1: 1025, 2: 257, 3: 65, 4: 25}  # nodes along an axis, by the number of axes


def prior_means(
    M: np.ndarray,
    resolution: int = 0,
    *,
    around: np.ndarray | None = None,
    graded: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Nodes (m, r) and weights (m,) of a rule for omega ~ N(0, M).

    A product of one-dimensional rules along the eigenvectors of M, cut at 4.5 to 6 standard
    deviations. What is integrated varies on the scale :math:`\sqrt{1-m}` of the posterior, in units
    of :math:`\sqrt{m}`; the trapezoidal rule then converges like
    :math:`\exp(-2\pi^2 s^2/h^2)`. Directions of overlap zero get one node.

    Parameters
    ----------
    M : array (r, r)
        Overlap matrix, :math:`0 \preceq M \preceq I`.
    resolution : int
        Number of times that the step is divided by the square root of two.
    around : array (r, r), optional
        Overlap matrix close to M that decides on the number of nodes.
    graded : bool
        Whether a narrow posterior changes its shape only where a coordinate along an eigenvector
        is close to zero, so that nodes may be sparse elsewhere.

    Examples
    --------
    >>> nodes, weights = prior_means(np.diag([0.5, 0.0]), 1)
    >>> nodes.shape[1], round(float(weights @ nodes[:, 0] ** 4), 6), float(abs(nodes[:, 1]).max())
    (2, 0.75, 0.0)
    """
    overlaps, Q = np.linalg.eigh(M)
    overlaps = merged(overlaps)
    deciding = overlaps if around is None else merged(np.linalg.eigvalsh(around))
    rules = axis_rules(deciding, resolution, graded=graded)
    size = math.prod(len(v) for v, _ in rules)
    grid = np.stack(np.meshgrid(*(v for v, _ in rules), indexing="ij"), axis=-1)
    product = np.ones(())
    for _, w in rules:
        product = np.multiply.outer(product, w)
    v, weights = grid.reshape(size, len(M)), product.reshape(size)
    kept = (v**2).sum(axis=1) <= cut(resolution) ** 2
    v, weights = v[kept], weights[kept]
    return (v * np.sqrt(overlaps)) @ Q.T, weights / weights.sum()


def axis_rules(
    overlaps: np.ndarray, resolution: int, *, graded: bool = False
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rules for a standard normal variable along each eigenvector of M, by its overlap."""
    axes = max(1, int(((overlaps > _SMOOTH) & (overlaps < PERFECT)).sum()))
    return [_axis_rule(float(m), resolution, axes, graded=graded) for m in overlaps]


def merged(overlaps: np.ndarray) -> np.ndarray:
    """Ascending overlaps within [0, 1]; those that differ by rounding are made equal."""
    overlaps = np.clip(overlaps, 0.0, 1.0)
    for i in range(1, len(overlaps)):
        if overlaps[i] - overlaps[i - 1] < _SAME:
            overlaps[i] = overlaps[i - 1]
    return overlaps


def _axis_rule(
    overlap: float, resolution: int, axes: int, *, graded: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Rule for a standard normal variable along an eigenvector of M."""
    if overlap < 1e-15:
        return np.zeros(1), np.ones(1)
    if overlap < _SMOOTH:
        v, w = _gauss_hermite(9 + (4 if resolution > 0 else 2) * resolution)
    elif overlap > PERFECT:
        # No node at 0, where a typical jump is.
        v, w = _gauss_hermite(4 + 4 * max(resolution, 0))
    elif graded and overlap > _NARROW:
        width = math.sqrt(1 / overlap - 1)  # of the posterior
        far = math.asinh(cut(resolution) / width)
        half = math.ceil(far / (_TURN / math.sqrt(2) ** resolution))
        t = (np.arange(-half, half) + 0.5) * (far / half)
        v = width * np.sinh(t)
        w = np.cosh(t) * np.exp(-(v**2) / 2)
    else:
        step = _STEP[axes] * math.sqrt(1 - overlap) / math.sqrt(2) ** resolution
        end = cut(resolution)
        half = min(math.ceil(end / step), (_MAX_PER_AXIS[axes] - 1) // 2)
        v = np.arange(-half, half + 1) * (end / half)
        w = np.exp(-(v**2) / 2)
    return v, w / w.sum()


def cut(resolution: int) -> float:
    """Radius of the nodes in standard deviations: what is beyond is less than other errors."""
    return min(max(5.5 + 0.5 * resolution, 4.5), 6.0)


def _gauss_hermite(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Hermite rule with nodes that are symmetric to the last bit."""
    v, w = np.polynomial.hermite_e.hermegauss(n)
    return (v - v[::-1]) / 2, w
