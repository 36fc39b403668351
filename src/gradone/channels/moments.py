"""Posterior moments of many samples on given nodes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .lattice import SampleNodes
from .linear_part import LinearPart


class Frame(NamedTuple):
    """Prior covariance in the frame of a linear part [NP-1]."""

    root: np.ndarray
    """(k, k) lower triangular square root L of the covariance of u."""
    conditional: np.ndarray
    """(s, k) matrix C of the conditional mean of t."""
    rest: np.ndarray
    """(s, s) conditional covariance of t."""
    scores: np.ndarray
    """(k + s, k + s) matrix A."""


class Moments(NamedTuple):
    """What the posterior is made of."""

    log_z: np.ndarray
    """(n,) logarithm of the evidence."""
    first: np.ndarray
    """(n, k + s) E[q]."""
    second: np.ndarray
    """(n, k + s, k + s) E[q q^T] - diag(I, E[beta beta^T / D])."""
    effective: np.ndarray
    """(n,) effective number of nodes."""


def prior_frame(part: LinearPart, V: np.ndarray) -> Frame:
    """Conditional law of t given u under the prior covariance `V` (r, r)."""
    k = part.k
    rotated = part.frame @ V @ part.frame.T
    root = np.linalg.cholesky(rotated[:k, :k])
    inverse = np.linalg.inv(root)
    conditional = rotated[k:, :k] @ inverse.T @ inverse
    rest = rotated[k:, k:] - conditional @ rotated[:k, k:]
    scores = np.eye(k + part.s)
    scores[:k, :k], scores[:k, k:] = inverse.T, -conditional.T
    return Frame(root, conditional, rest, scores)


def sample_moments(
    part: LinearPart,
    noise: float,
    frame: Frame,
    y: np.ndarray,
    means: np.ndarray,
    nodes: SampleNodes,
) -> Moments:
    """Moments of q under the posterior of u [NP-2].

    Parameters
    ----------
    part : LinearPart
        The function.
    noise : float
        Variance of the label noise.
    frame : Frame
        Prior covariance.
    y, means : arrays (n,), (n, k + s)
        Labels and prior means in the frame.
    nodes : SampleNodes
        Nodes for x.
    """
    k, s, n = part.k, part.s, len(y)
    shift = nodes.x @ frame.root.T.astype(nodes.x.dtype)
    y, means = y.astype(shift.dtype), means.astype(shift.dtype)
    h, beta = part([means[:, a, None] + shift[..., a] for a in range(k)])
    residual = y[:, None] - h
    variance: Any = noise
    for a in range(s):
        at = means[:, k + a, None]
        if frame.conditional[a].any():
            at = at + shift @ frame.conditional[a].astype(shift.dtype)
        residual = residual - beta[a] * at
        for b in range(s):
            variance = variance + float(frame.rest[a, b]) * beta[a] * beta[b]
    rho = residual / variance
    exponent = rho * residual
    if np.ndim(variance):
        exponent += np.log(variance)
    exponent *= -0.5
    exponent = exponent + nodes.log_weight
    top = exponent.max(axis=1, keepdims=True)
    exponent -= top
    density = np.exp(exponent, out=exponent)
    total, x, xx = _weighted(density, nodes.features, k)
    effective = total**2 / np.einsum("ij,ij->i", density, density)
    first, second = np.empty((n, k + s)), np.empty((n, k + s, k + s))
    first[:, :k], second[:, :k, :k] = x, xx - np.eye(k)
    for a in range(s):
        scale, push = (
            (beta[a], density * rho)
            if np.ndim(beta[a]) == 0
            else (
                1.0,
                density * (beta[a] * rho),
            )
        )
        zeroth, with_x = _first_moments(push, nodes.features, k)
        first[:, k + a] = scale * zeroth / total
        second[:, k + a, :k] = second[:, :k, k + a] = scale * with_x / total[:, None]
        for b in range(a + 1):
            less = beta[a] * beta[b] / variance
            if np.ndim(beta[b]) == 0:
                own = scale * beta[b] * np.einsum("ij,ij->i", push, rho)
            else:
                own = scale * np.einsum("ij,ij->i", push, beta[b] * rho)
            own = own - (np.einsum("ij,ij->i", density, less) if np.ndim(less) else less * total)
            second[:, k + a, k + b] = second[:, k + b, k + a] = own / total
    log_z = top[:, 0] + np.log(total) - 0.5 * math.log(2 * math.pi)
    if not np.ndim(variance):
        log_z -= 0.5 * math.log(variance)
    return Moments(log_z, first, second, effective)


def _weighted(
    density: np.ndarray, features: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sum of the density, and the means of x and of its products."""
    sums = _row_products(density, features)
    total = sums[:, 0]
    sums = sums / total[:, None]
    return total, sums[:, 1 : k + 1], sums[:, k + 1 :].reshape(len(total), k, k)


def _first_moments(
    density: np.ndarray, features: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of a density, and of its products with x."""
    sums = _row_products(density, features[..., : k + 1])
    return sums[:, 0], sums[:, 1:]


def _row_products(rows: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Each row times the features of its nodes."""
    if features.ndim == 2:
        return (rows @ features).astype(np.float64)
    return (rows[:, None, :] @ features)[:, 0]
