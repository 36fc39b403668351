r"""Coordinates in which nested integrals over the cells between hyperplanes are cheap.

The planes are :math:`\langle a_i, w\rangle + d_i = 0` for a standard Gaussian w; only the offsets
differ from sample to sample. The last coordinate is integrated in closed form, the others by nodes
between the points where the integrand has a kink or a jump. A plane parallel to the last axis
costs nothing there and one split before; planes that are steep need many nodes.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

_PARALLEL = 1e-9
_MOST_FRAMES = 60  # orders of the normals
_MOST_TRIPLES = 10


class Frame(NamedTuple):
    """Rotation of the coordinates, and where the nested integrands break."""

    rotation: np.ndarray
    """(r, r) orthogonal matrix Q: the old coordinates are ``Q @ w``."""
    planes: np.ndarray
    """(k, r) normals in the new coordinates; entries that are zero up to rounding are zero."""
    mixing: np.ndarray
    """(q, k) each condition as a combination of the planes."""
    conditions: np.ndarray
    """(q, r) its coefficients; those of coordinate j have none beyond j."""
    starts: np.ndarray
    """(r,) conditions ``starts[j]:starts[j + 1]`` split coordinate j."""
    steepness: np.ndarray
    """(r - 1,) factor by which the integrand along each outer coordinate is sharper than w."""


def best_frame(normals: np.ndarray) -> Frame:
    """Frame with the smallest number of nodes, among those that the normals suggest.

    Parameters
    ----------
    normals : array (k, r)
        Normals :math:`a_i`, not necessarily of unit length.
    """
    frames = _candidates(normals)
    costs = _costs(_clean(normals @ frames))
    # Rounded: among equals the first is taken, so that rounding does not choose.
    rotation = frames[np.argmin(np.round(np.log(costs), 3))]
    planes = _clean(normals @ rotation)
    mixing, starts = _conditions(planes)
    return Frame(rotation, planes, mixing, mixing @ planes, starts, _steepness(planes))


def _candidates(normals: np.ndarray) -> np.ndarray:
    """Orthonormal bases (m, r, r) from the normals in every order, their vectors in every order."""
    k, r = normals.shape
    chosen = list(itertools.islice(itertools.permutations(range(k), min(k, r)), _MOST_FRAMES))
    bases = np.linalg.qr(np.swapaxes(normals[chosen], 1, 2), mode="complete").Q
    orders = list(itertools.permutations(range(r)))
    return np.concatenate([bases[:, :, order] for order in orders])


def _clean(planes: np.ndarray) -> np.ndarray:
    scale = np.linalg.norm(planes, axis=-1, keepdims=True)
    return np.where(np.abs(planes) < _PARALLEL * scale, 0.0, planes)


def _steepness(planes: np.ndarray) -> np.ndarray:
    """Largest ``sqrt(1 + slope^2)`` of a plane against the coordinates that come after."""
    squares = planes**2
    deeper = np.cumsum(squares[..., ::-1], axis=-1)[..., ::-1][..., 1:]
    slopes = np.where(deeper > 0, squares[..., :-1] / np.where(deeper > 0, deeper, 1.0), 0.0)
    return np.sqrt(1 + slopes.max(axis=-2))


def _costs(planes: np.ndarray) -> np.ndarray:
    """Number of error functions for one sample, roughly, for each of the frames."""
    _, k, r = planes.shape
    costs = np.maximum(np.count_nonzero(planes[:, :, -1], axis=1), 1.0)
    steepness = _steepness(planes)
    for j in range(r - 1):
        splits = np.count_nonzero(~planes[:, :, j + 1 :].any(axis=2), axis=1)
        if j == r - 2:
            crossing = k - splits
            splits = splits + crossing * (crossing - 1) // 2
        costs = costs * (3 * (splits + 1) + 11 * steepness[:, j])
    return costs


def _conditions(planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Combinations of planes in which the coordinates after j cancel, for every outer j."""
    k, r = planes.shape
    rows: list[np.ndarray] = []
    starts = [0]
    for j in range(r - 1):
        for row in _circuits(planes[:, j + 1 :]):
            coefficient = row @ planes[:, j]
            if abs(coefficient) > _PARALLEL * np.linalg.norm(np.abs(row) @ np.abs(planes)):
                rows.append(row)
        starts.append(len(rows))
    mixing = np.array(rows).reshape(len(rows), k)
    return mixing, np.array(starts)


def _circuits(vectors: np.ndarray) -> list[np.ndarray]:
    """Minimal linear dependencies among rows: zeros, parallel pairs, triples in a plane."""
    k, m = vectors.shape
    lengths = np.linalg.norm(vectors, axis=1)
    found = [np.eye(k)[i] for i in range(k) if lengths[i] == 0]
    others = [i for i in range(k) if lengths[i] > 0]
    parallel = set()
    for i, j in itertools.combinations(others, 2):
        ratio = vectors[i] @ vectors[j] / lengths[j] ** 2
        if np.linalg.norm(vectors[i] - ratio * vectors[j]) <= _PARALLEL * lengths[i]:
            row = np.zeros(k)
            row[i], row[j] = 1 / lengths[i], -ratio / lengths[i]
            found.append(row)
            parallel.add((i, j))
    if m == 2 and math.comb(len(others), 3) <= _MOST_TRIPLES:
        for i, j, h in itertools.combinations(others, 3):
            if parallel & {(i, j), (i, h), (j, h)}:
                continue
            row = np.zeros(k)
            for a, b, c in ((i, j, h), (j, h, i), (h, i, j)):
                row[a] = vectors[b, 0] * vectors[c, 1] - vectors[b, 1] * vectors[c, 0]
            found.append(row / np.abs(row).max())
    return found
