"""Lattices for integrals over a few standard Gaussian variables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

_TRIALS = 512

# Steps of the lattices by their dimension; the first that is fine enough is used.
STEPS = {0: (1.0,), 1: (0.2, 0.1, 0.05, 0.025, 0.0125), 2: (0.4, 0.2), 3: (0.5,), 4: (0.7,)}
FEWEST = 8.0  # effective number of nodes: two lattices may agree on the few that they share


@dataclass(frozen=True, eq=False)
class Lattice:
    """Nodes of a cubic lattice in a ball, on axes that are parallel to no simple direction.

    Planes on which a function changes then meet the lattice at all phases, and their errors
    cancel. With every node x the lattice has -x, so that symmetries of a function survive.

    Parameters
    ----------
    x : array (N, k)
        Nodes.
    weight : array (N,)
        Weights of the standard Gaussian.
    coarse : array (N,)
        Weights of the lattice with twice the step, zero at nodes that it has not.
    after, before : array (k, N) of int
        Number of the next node along each axis, and of the one before; -1 for none.
    axes : array (k, k)
        Unit vectors along the axes, in rows.
    h : float
        Step.
    """

    x: np.ndarray
    weight: np.ndarray
    coarse: np.ndarray
    after: np.ndarray
    before: np.ndarray
    axes: np.ndarray
    h: float

    def features(self) -> np.ndarray:
        """Weights times 1, x and its products, of both lattices: (N, 2 * (1 + k + k * k))."""
        products = (self.x[:, :, None] * self.x[:, None, :]).reshape(len(self.x), -1)
        columns = np.concatenate([np.ones((len(self.x), 1)), self.x, products], axis=1)
        both = [columns * weight[:, None] for weight in (self.weight, self.coarse)]
        return np.concatenate(both, axis=1)


@lru_cache(maxsize=64)
def lattice(k: int, h: float, radius: float = 6.0) -> Lattice:
    """Lattice of k dimensions with step h.

    Examples
    --------
    >>> grid = lattice(2, 0.5)
    >>> second = (grid.x**2 * grid.weight[:, None]).sum(axis=0)
    >>> bool(abs(grid.weight.sum() - 1) < 1e-6), bool(abs(second - 1).max() < 1e-5)
    (True, True)
    """
    if k == 0:
        one, none = np.ones(1), np.zeros((0, 1), dtype=int)
        return Lattice(np.zeros((1, 0)), one, one, none, none, np.eye(0), h)
    side = int(radius / h)
    steps = np.indices((2 * side + 1,) * k).reshape(k, -1).T - side
    steps = steps[(steps**2).sum(axis=1) * h * h <= radius * radius]
    number = np.full((2 * side + 3,) * k, -1)
    number[tuple(steps.T + side + 1)] = np.arange(len(steps))
    after, before = (
        np.array([number[tuple((steps + way * e).T + side + 1)] for e in np.eye(k, dtype=int)])
        for way in (1, -1)
    )
    axes = _generic_axes(k)
    x = h * steps @ axes
    density = np.exp(-(x**2).sum(axis=1) / 2) / (2 * math.pi) ** (k / 2)
    is_coarse = (steps % 2 == 0).all(axis=1)
    return Lattice(
        x,
        h**k * density,
        (2 * h) ** k * density * is_coarse,
        after.reshape(k, len(x)),
        before.reshape(k, len(x)),
        axes,
        h,
    )


@lru_cache(maxsize=8)
def _generic_axes(k: int) -> np.ndarray:
    """Orthonormal rows whose entries are all far from zero."""
    if k < 2:
        return np.eye(k)
    rng = np.random.default_rng(k)
    frames = np.linalg.qr(rng.standard_normal((_TRIALS, k, k)))[0]
    return np.ascontiguousarray(frames[np.abs(frames).min(axis=(1, 2)).argmax()])


def root(V: np.ndarray, least: float = 1e-12) -> np.ndarray:
    """Symmetric square root of a covariance; no eigenvalue counts as less than `least`."""
    values, vectors = np.linalg.eigh((V + V.T) / 2)
    return (vectors * np.sqrt(np.maximum(values, least))) @ vectors.T
