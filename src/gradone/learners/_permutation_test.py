"""Eigenvalues that exceed what chance gives, by a permutation test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

_GROUP_BYTES = 1 << 26  # moments of as many permutations as fit in 64 MB are computed at once
_SMALL = 40  # rows of a matrix, below which all eigenvalues are found sooner than the largest alone


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of a symmetric matrix, and the chance level of the largest.

    Parameters
    ----------
    matrix : ndarray (m, m)
        The matrix in whitened coordinates.
    null : ndarray (permutations,)
        Its largest eigenvalue, by modulus, when the labels are permuted.

    Examples
    --------
    >>> found = Spectrum(np.diag([0.1, -3.0, 2.0]), null=np.array([0.5, 1.0, 0.2]))
    >>> found.values, found.rank, found.p_values
    (array([-3. ,  2. ,  0.1]), 2, array([0.25, 0.25, 1.  ]))
    """

    matrix: np.ndarray
    null: np.ndarray

    @cached_property
    def _decomposition(self) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = np.linalg.eigh(self.matrix)
        order = np.argsort(-np.abs(values), kind="stable")
        return values[order], vectors.T[order]

    @property
    def values(self) -> np.ndarray:
        """Eigenvalues (m,), the largest modulus first."""
        return self._decomposition[0]

    @property
    def vectors(self) -> np.ndarray:
        """Eigenvectors (m, m), as rows."""
        return self._decomposition[1]

    @property
    def rank(self) -> int:
        """Number of eigenvalues above every largest one that chance gave."""
        return int(np.sum(np.abs(self.values) > self.null.max()))

    @property
    def p_values(self) -> np.ndarray:
        """Of each eigenvalue (m,), compared with the largest that chance gives."""
        reached = np.sum(self.null >= np.abs(self.values)[:, None], axis=1)
        return (1 + reached) / (1 + len(self.null))

    @property
    def p_value(self) -> float:
        """Of the largest eigenvalue."""
        return float(self.p_values[0])


def permuted(
    weights: np.ndarray, count: int, rng: np.random.Generator, *, numbers: int
) -> Iterator[list[np.ndarray]]:
    """Functions of the label with the samples permuted, as many at once as memory allows.

    Parameters
    ----------
    weights : ndarray (n, q)
        Functions of the label.
    count : int
        Number of permutations.
    rng : Generator
        Draws them.
    numbers : int
        Numbers that are computed for each function.
    """
    n, q = weights.shape
    at_once = max(1, _GROUP_BYTES // (8 * q * max(n, numbers)))
    for start in range(0, count, at_once):
        yield [weights[rng.permutation(n)] for _ in range(start, min(start + at_once, count))]


def largest_eigenvalue(M: np.ndarray) -> float:
    """Largest eigenvalue of a symmetric matrix.

    Examples
    --------
    >>> round(largest_eigenvalue(np.diag([1.0, -3.0])), 12)
    1.0
    """
    if len(M) < _SMALL:
        return float(np.linalg.eigvalsh(M)[-1])
    from scipy.linalg import eigvalsh

    last = len(M) - 1
    return float(eigvalsh(M, subset_by_index=(last, last), check_finite=False)[0])
