r"""Connected groups of rotations given by their generators, and the best of them for a trace.

A motion :math:`z \mapsto e^{tA} z` with A antisymmetric keeps a function g iff its velocity never
points across the level sets,

.. math:: \nabla g(z)^\top A z = 0 \text{ where g is smooth}, \qquad
          n(z)^\top A z = 0 \text{ on jumps with normal n}:     [SY-2]

linear equations for A.
"""

from __future__ import annotations

import itertools
from functools import cached_property

import numpy as np

from ..base.seeds import stream
from .tangents import Tangents

_ZERO = 1e-9  # size of a singular value, for one row of order 1, that is zero but for rounding
_STARTS = 24
_STEPS = 60


class RotationGroup:
    r"""Connected group of all products of :math:`e^{A}` with A in a space of generators.

    Parameters
    ----------
    generators : ndarray (q, r, r)
        Antisymmetric matrices, orthonormal for the Frobenius product; q = 0 for the trivial group.

    Examples
    --------
    >>> plane = RotationGroup(np.array([[[0.0, 1.0], [-1.0, 0.0]]]) / np.sqrt(2))
    >>> plane.best(np.array([[0.0, 1.0], [-1.0, 0.0]])).round(12)
    array([[ 0., -1.],
           [ 1.,  0.]])
    """

    def __init__(self, generators: np.ndarray) -> None:
        self.generators = generators
        self.r = generators.shape[1]

    @cached_property
    def blocks(self) -> tuple[np.ndarray, ...]:
        """Orthonormal rows of the subspaces that the group moves and that it cannot split."""
        if not len(self.generators):
            return ()
        # A random symmetric matrix that commutes with the group has them as eigenspaces.
        basis = symmetric_basis(np.eye(self.r))
        brackets = np.array(
            [np.concatenate([(B @ A - A @ B).ravel() for A in self.generators]) for B in basis]
        )
        weights = stream(0, "points", part="commutant").standard_normal(len(basis))
        kept = null_space(brackets.T)
        values, vectors = np.linalg.eigh(np.tensordot(kept.T @ (kept @ weights), basis, axes=1))
        edges = np.flatnonzero(np.diff(values) > 1e-7 * np.abs(values).max()) + 1
        spaces = [columns.T for columns in np.split(vectors, edges, axis=1)]
        return tuple(rows for rows in spaces if np.abs(self.generators @ rows.T).max() > 1e-7)

    @property
    def fixed(self) -> np.ndarray:
        """Orthonormal rows of the vectors that no rotation of the group moves."""
        return (
            null_space(self.generators.reshape(-1, self.r))
            if len(self.generators)
            else np.eye(self.r)
        )

    @cached_property
    def is_full(self) -> bool:
        """Whether the group holds every rotation of each of its blocks."""
        sizes = [len(rows) for rows in self.blocks]
        return len(self.generators) == sum(n * (n - 1) // 2 for n in sizes)

    def best(self, K: np.ndarray) -> np.ndarray:
        """Rotation R of the group with the largest Tr(K R)."""
        if not len(self.generators):
            return np.eye(self.r)
        if not self.is_full:
            return self._climb(K)
        R = self.fixed.T @ self.fixed
        for rows in self.blocks:
            U, _, Vt = np.linalg.svd(rows @ K @ rows.T)
            signs = np.ones(len(rows))
            signs[-1] = np.sign(np.linalg.det(U @ Vt))
            R += rows.T @ (Vt.T * signs) @ U.T @ rows
        return R

    def _climb(self, K: np.ndarray) -> np.ndarray:
        """Newton's method on the group, from many starts at once."""
        rng = stream(0, "points", part="starts")
        turns = 4 * rng.standard_normal((_STARTS, len(self.generators)))
        turns[0] = 0.0
        R = _exponential(np.tensordot(turns, self.generators, axes=1))
        squares = self.generators[:, None] @ self.generators[None]
        squares = (squares + squares.swapaxes(0, 1)) / 2
        floor = 1e-3 * np.linalg.norm(K) + 1e-300
        for _ in range(_STEPS):
            slope = np.einsum("sij,aji->sa", K @ R, self.generators)
            values, vectors = np.linalg.eigh(np.einsum("sij,abji->sab", K @ R, squares))
            along = np.einsum("sab,sa->sb", vectors, slope)
            # Uphill in every direction, by Newton's step near the top.
            step = np.einsum("sab,sb->sa", vectors, along / np.maximum(np.abs(values), floor))
            size = np.linalg.norm(step, axis=1, keepdims=True)
            # Far from the top the step may overshoot: never more than half a radian.
            R = R @ _exponential(
                np.tensordot(step * np.minimum(1.0, 0.5 / (size + 1e-300)), self.generators, axes=1)
            )
            if size.max() < 1e-13:
                break
        return R[np.trace(K @ R, axis1=1, axis2=2).argmax()]

    def contains(self, Q: np.ndarray) -> bool:
        """Whether an orthogonal matrix belongs to the group."""
        return bool(np.trace(Q.T @ self.best(Q.T)) > self.r - 1e-6)


def rotations_that_keep(found: Tangents) -> RotationGroup:
    """Rotations that keep a function, from the directions in which it changes [SY-2].

    Examples
    --------
    >>> from .language.expression import Expression
    >>> from .tangents import tangents
    >>> [len(rotations_that_keep(tangents(Expression(text))).generators)
    ...  for text in ("z1**2 + z2**2", "z1**2 + 2*z2**2", "sign(z1**2 + z2**2 - z3)")]
    [1, 0, 1]
    """
    points, normals = found
    r = points.shape[1]
    pairs = list(itertools.combinations(range(r), 2))
    if not pairs:
        return RotationGroup(np.empty((0, r, r)))
    reach = np.linalg.norm(points, axis=1)
    rows = [(normals[:, i] * points[:, j] - normals[:, j] * points[:, i]) / reach for i, j in pairs]
    generators = []
    for weights in null_space(np.stack(rows, axis=1)):
        A = np.zeros((r, r))
        for weight, (i, j) in zip(weights, pairs, strict=True):
            A[i, j], A[j, i] = weight, -weight
        generators.append(A / np.sqrt(2))
    return RotationGroup(np.array(generators).reshape(-1, r, r))


def null_space(matrix: np.ndarray) -> np.ndarray:
    """Orthonormal rows of the null space of a matrix (m, k) whose rows are of order 1."""
    k = matrix.shape[1]
    if not len(matrix):
        return np.eye(k)
    # Only the size of k matters: m may be large.
    sizes, rows = np.linalg.svd(np.linalg.qr(matrix, mode="r"))[1:]
    sizes = np.concatenate([sizes, np.zeros(k - len(sizes))])
    return rows[sizes <= _ZERO * np.sqrt(len(matrix))]


def _exponential(A: np.ndarray) -> np.ndarray:
    """Exponentials of antisymmetric matrices (..., r, r): rotations, orthogonal to rounding."""
    angles, vectors = np.linalg.eigh(-1j * A)
    turned = vectors * np.exp(1j * angles)[..., None, :]
    return (turned @ vectors.conj().swapaxes(-1, -2)).real


def symmetric_basis(rows: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the symmetric matrices over the span of rows (q, r).

    Examples
    --------
    >>> symmetric_basis(np.eye(2))[1].round(3).tolist()
    [[0.0, 0.707], [0.707, 0.0]]
    """
    basis = []
    for i, a in enumerate(rows):
        for j, b in enumerate(rows[i:], i):
            E = np.outer(a, b)
            basis.append(E if i == j else (E + E.T) * np.sqrt(0.5))
    return np.array(basis).reshape(-1, rows.shape[1], rows.shape[1])


def spanning_rows(vectors: np.ndarray) -> np.ndarray:
    """Orthonormal rows (k, r) with the same span as some vectors (m, r).

    Examples
    --------
    >>> spanning_rows(np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]]))
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """
    if not vectors.size:
        return np.zeros((0, vectors.shape[1]))
    _, singular, rows = np.linalg.svd(vectors, full_matrices=False)
    return tidy_rows(rows[singular > _ZERO * max(singular[0], 1e-300)])


def tidy_rows(rows: np.ndarray) -> np.ndarray:
    """Equivalent orthonormal rows with as many zeros as possible, for reading.

    Row-reduced columns are orthonormalized again only if that keeps axes as axes.
    """
    if not len(rows):
        return rows
    reduced, pivot = np.array(rows), 0
    for column in range(rows.shape[1]):
        if pivot == len(reduced):
            break
        best = pivot + int(np.abs(reduced[pivot:, column]).argmax())
        if abs(reduced[best, column]) < 1e-9:
            continue
        reduced[[pivot, best]] = reduced[[best, pivot]]
        reduced[pivot] /= reduced[pivot, column]
        others = np.arange(len(reduced)) != pivot
        reduced[others] -= np.outer(reduced[others, column], reduced[pivot])
        pivot += 1
    q, triangular = np.linalg.qr(reduced.T)
    return (q * np.sign(np.where(np.diag(triangular) == 0, 1.0, np.diag(triangular)))).T + 0.0
