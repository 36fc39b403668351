"""Nodes around the prior means of many samples, the same for all of them or fitted to each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..base.seeds import stream
from ..calculus.integrand import Plane
from ..calculus.line import gauss_legendre
from .panels import DENSER, LEAST, breaks_by_axis

REACH = (0.0, 8.0, 5.5, 5.5, 5.0)  # radius of the nodes by their dimension


class SampleNodes(NamedTuple):
    """Standardized nodes of a rule: (N, k) for all samples, or (n, N, k) for each of n."""

    x: np.ndarray
    """(..., N, k) nodes."""
    log_weight: np.ndarray
    """(..., N) logarithms of the weights, which sum to 1."""
    features: np.ndarray
    """(..., N, 1 + k + k^2) the number 1, the nodes, and their products."""


@lru_cache(maxsize=64)
def gaussian_lattice(
    k: int,
    step: float,
    rotation: int = 0,
    reach: float | None = None,
    single: bool = False,
) -> SampleNodes:
    """Cubic lattice in a ball, with Gaussian weights; it contains -x with every x.

    On smooth functions it is the trapezoidal rule, whose error falls faster than any power of the
    step. In two dimensions and more it is rotated at random: where a function varies along one
    direction only, the nodes then fall on many different values of it.

    Parameters
    ----------
    k : int
        Dimension; for k = 0 there is one node.
    step : float
        Distance of neighbors.
    rotation : int
        Name of the rotation and of the offset.
    reach : float, optional
        Radius, by default 8 on the line and 5.5 in the plane and in space.
    single : bool
        Whether the nodes are in single precision.

    Examples
    --------
    >>> lattice = gaussian_lattice(2, 0.5)
    >>> bool(abs((lattice.x**2).sum(axis=1) @ np.exp(lattice.log_weight) - 2) < 1e-4)
    True
    """
    if k == 0:
        return _with_features(np.zeros((1, 0)), np.zeros(1))
    reach = REACH[k] if reach is None else reach
    rng = stream(0, "points", k=k, rotation=rotation, what="lattice")
    offsets = rng.integers(0, 2, size=k) / 2
    count = int(np.ceil(reach / step * np.sqrt(k))) + 1
    axes = [step * (np.arange(-count - 1, count + 1) + offset) for offset in offsets]
    x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, k)
    if k > 1:
        x = x @ np.linalg.qr(rng.standard_normal((k, k)))[0]
    x = x[np.einsum("nk,nk->n", x, x) < reach**2]
    log_weight = -np.einsum("nk,nk->n", x, x) / 2
    nodes = _with_features(x, log_weight - np.log(np.exp(log_weight).sum()))
    return SampleNodes(*(array.astype(np.float32) for array in nodes)) if single else nodes


def panel_lattice(
    planes: Sequence[Plane], omega: np.ndarray, lower: np.ndarray, step: float, reach: float
) -> SampleNodes:
    """Nodes for each of n samples, on panels that end at the breaks of the integrand.

    Every panel has the same number of nodes, so that the nodes of all samples form one array;
    `step` is their mean distance.

    Parameters
    ----------
    planes : sequence of Plane
        Where the integrand breaks.
    omega : array (n, k)
        Means.
    lower : array (k, k)
        Lower triangular square root of the covariance.
    step, reach : float
        Distance of neighbors, and the distance from the mean where the nodes end.

    Examples
    --------
    The mean of :math:`|z|` under N(0.3, 0.49), with a break at 0:

    >>> nodes = panel_lattice([Plane((1.0,), 0.0)], np.array([[0.3]]), np.array([[0.7]]), 0.3, 8.0)
    >>> mean = np.exp(nodes.log_weight[0]) @ abs(0.3 + 0.7 * nodes.x[0, :, 0])
    >>> bool(abs(mean - 0.6090408678631022) < 1e-12)
    True
    """
    n, k = omega.shape
    x, z, log_weight = np.zeros((n, 1, 0)), np.zeros((n, 1, 0)), np.zeros((n, 1))
    for axis, breaks in enumerate(breaks_by_axis(planes, k)):
        center = omega[:, None, axis] + x @ lower[axis, :axis]
        places = [(c - z @ normal[:axis]) / normal[axis] for normal, c in breaks]
        cuts = [(place - center) / lower[axis, axis] for place in places]
        edges = np.stack([np.full(center.shape, -reach), *cuts], axis=-1)
        edges = np.sort(np.clip(edges, -reach, reach), axis=-1)
        width = np.diff(edges, axis=-1, append=reach)
        t, w = gauss_legendre(int(np.ceil(DENSER * 2 * reach / (step * width.shape[-1]))) + LEAST)
        new = edges[..., None] + width[..., None] * t  # (n, N, panels, nodes)
        with np.errstate(divide="ignore"):  # panels without length
            share = np.log(width)[..., None] + np.log(w)
        size = (n, x.shape[1], new[0, 0].size)
        at = center[..., None] + lower[axis, axis] * new.reshape(size)
        log_weight = (log_weight[..., None] + (share - new**2 / 2).reshape(size)).reshape(n, -1)
        x = _extended(x, new.reshape(size))
        z = _extended(z, at)
    top = log_weight.max(axis=1, keepdims=True)
    log_weight -= top + np.log(np.exp(log_weight - top).sum(axis=1, keepdims=True))
    return _with_features(x, log_weight)


def _extended(x: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Coordinates (n, N, k) with one more, of which each row has several values (n, N, p)."""
    n, count, more = new.shape
    repeated = np.repeat(x, more, axis=1)
    return np.concatenate([repeated, new.reshape(n, count * more, 1)], axis=2)


def _with_features(x: np.ndarray, log_weight: np.ndarray) -> SampleNodes:
    products = (x[..., :, None] * x[..., None, :]).reshape(*x.shape[:-1], x.shape[-1] ** 2)
    features = np.concatenate([np.ones((*x.shape[:-1], 1)), x, products], axis=-1)
    return SampleNodes(x, log_weight, features)
