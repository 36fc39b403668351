"""Orthogonal maps among which the isolated symmetries of a function are sought."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from .language.expression import Expression
from .language.polynomials import polynomial_of
from .language.structure import typed_forms
from .language.tree import Node, children
from .rotations import RotationGroup

_SAME = 1e-9


def candidate_maps(
    expression: Expression, connected: RotationGroup, unused: np.ndarray
) -> Iterator[np.ndarray]:
    """Orthogonal maps (m, r, r) that may keep a function, one array for each frame it shows.

    Parameters
    ----------
    expression : Expression
        The function.
    connected : RotationGroup
        The rotations that keep it.
    unused : ndarray (k, r)
        Orthonormal rows of the directions that it does not depend on.

    Examples
    --------
    >>> maps, = candidate_maps(Expression("max(z1, z2)"), RotationGroup(np.empty((0, 2, 2))),
    ...                        np.empty((0, 2)))
    >>> len(maps)  # 8 signed permutations, 10 turns
    18
    """
    for family in _families(expression, connected, unused):
        yield np.array([*_permuting(family), *_turning(family)])


def _families(
    expression: Expression, connected: RotationGroup, unused: np.ndarray
) -> Iterator[np.ndarray]:
    """Sets of unit vectors (m, r) that the isolated symmetries may permute, each spanning R^r.

    A rotated or an unused subspace has no axes of its own: any basis serves, because one map of
    each connected part is enough.
    """
    r = expression.r
    own = [unused]
    if connected.is_full:
        own += [rows for rows in connected.blocks if np.abs(unused @ rows.T).max(initial=0.0) < 0.5]
    base = np.concatenate(own)
    rest = np.eye(r) - base.T @ base
    frames = [np.array(typed_forms(expression.tree, r)).reshape(-1, r)]
    frames += _quadratic_axes(expression.tree, r)
    for frame in frames:
        vectors = list(base)
        for w in frame @ rest:
            size = np.linalg.norm(w)
            if size > 1e-9 and all(abs(abs(w @ v) / size - 1) > 1e-9 for v in vectors):
                vectors.append(w / size)
        if np.linalg.matrix_rank(np.array(vectors), tol=1e-9) == r:
            yield np.array(vectors)


def _quadratic_axes(node: Node, r: int) -> list[np.ndarray]:
    """Principal axes (r, r) of the quadratic parts of polynomials inside a function."""
    polynomial = polynomial_of(node, r)
    if polynomial is None:
        return [axes for child in children(node) for axes in _quadratic_axes(child, r)]
    slopes = [polynomial.derivative(i) for i in range(r)]
    hessian = [[float(slope.derivative(j).expectation()) for j in range(r)] for slope in slopes]
    return [np.linalg.eigh(hessian)[1].T] if np.any(hessian) else []


def _permuting(vectors: np.ndarray) -> Iterator[np.ndarray]:
    """Orthogonal maps that send a basis among the vectors to other vectors, up to signs."""
    r = vectors.shape[1]
    basis: list[np.ndarray] = []
    for v in vectors:
        if np.linalg.matrix_rank(np.array([*basis, v]), tol=1e-6) > len(basis):
            basis.append(v)
    B = np.array(basis)
    gram, images = B @ B.T, np.concatenate([vectors, -vectors])

    def extend(chosen: list[np.ndarray]) -> Iterator[np.ndarray]:
        k = len(chosen)
        if k == r:
            yield np.linalg.solve(B, np.array(chosen)).T
            return
        fits = np.ones(len(images), dtype=bool)
        if k:
            fits = np.abs(images @ np.array(chosen).T - gram[k, :k]).max(axis=1) < _SAME
        for image in images[fits]:
            yield from extend([*chosen, image])

    return extend([])


def _turning(vectors: np.ndarray) -> Iterator[np.ndarray]:
    """Turns by a fraction of a circle in the plane of two vectors; vectors across it may flip."""
    r = vectors.shape[1]
    for u, v in itertools.combinations(vectors, 2):
        if abs(u @ v) > _SAME:
            continue
        across = [w for w in vectors if max(abs(u @ w), abs(v @ w)) < _SAME][: r - 2]
        plane, swap = np.outer(u, u) + np.outer(v, v), np.outer(v, u) - np.outer(u, v)
        for signs in itertools.product((1.0, -1.0), repeat=len(across)):
            flips = np.eye(r)
            for sign, w in zip(signs, across, strict=True):
                flips = flips @ (np.eye(r) + (sign - 1) * np.outer(w, w))
            for fraction in range(3, 13):
                angle = 2 * math.pi / fraction
                turn = (math.cos(angle) - 1) * plane + math.sin(angle) * swap
                yield flips @ (np.eye(r) + turn)
