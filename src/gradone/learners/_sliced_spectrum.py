r"""Moments of whitened inputs given the label, and how large they are by chance.

For weights :math:`T_b(y)` with mean 0 and variance 1 and whitened inputs u,

.. math:: m_b = \frac1n \sum_i T_b(y_i) u_i, \qquad
          A_b = \frac1n \sum_i T_b(y_i) u_i u_i^\top, \qquad
          M_1 = \sum_b m_b m_b^\top, \quad M_2 = \sum_b A_b^2    [SD-1]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ._found import Found, counted
from ._whitening import WhitenedInputs

_GROUP_BYTES = 1 << 26  # moments of as many permutations as fit in 64 MB are computed at once


@dataclass(frozen=True)
class Order:
    """Eigenvalues of one order, and the chance level of the largest.

    Parameters
    ----------
    matrix : ndarray (m, m)
        The matrix of this order in whitened coordinates.
    null : ndarray (permutations,)
        Its largest eigenvalue when the labels are permuted.
    """

    matrix: np.ndarray
    null: np.ndarray

    @cached_property
    def _decomposition(self) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = np.linalg.eigh(self.matrix)
        return values[::-1], vectors.T[::-1]

    @property
    def values(self) -> np.ndarray:
        """Eigenvalues (m,) in decreasing order."""
        return self._decomposition[0]

    @property
    def vectors(self) -> np.ndarray:
        """Eigenvectors (m, m), as rows."""
        return self._decomposition[1]

    @property
    def rank(self) -> int:
        """Number of eigenvalues above every largest one that chance gave."""
        return int(np.sum(self.values > self.null.max()))

    @property
    def p_value(self) -> float:
        """Of the largest eigenvalue."""
        return float(1 + np.sum(self.null >= self.values[0])) / (1 + len(self.null))


class Spectra(NamedTuple):
    """Both orders, and the second moments A_b (q, m, m)."""

    first: Order
    second: Order
    A_b: np.ndarray

    def beyond(self, rows: np.ndarray) -> Order:
        """Second order among the directions orthogonal to some orthonormal rows (k, m)."""
        P = np.eye(len(self.first.matrix)) - rows.T @ rows
        return Order(_sum_of_squares(P @ self.A_b @ P), self.second.null)


def sliced_directions(
    inputs: WhitenedInputs,
    weights: np.ndarray,
    *,
    n_components: int | None,
    permutations: int,
    rng: np.random.Generator,
) -> Found:
    """Directions of both orders: as many as a permutation test finds, or as many as told.

    Parameters
    ----------
    inputs : WhitenedInputs
        The inputs.
    weights : ndarray (n, q)
        Functions of the label, orthonormal in the mean over samples.
    n_components : int, optional
        Number of directions; None leaves it to the test.
    permutations : int
        Permutations of the test.
    rng : Generator
        Draws the permutations.
    """
    spectra = _spectra(inputs, weights, permutations, rng)
    first, second = spectra.first, spectra.second
    p_values = (first.p_value, second.p_value)
    linear = first.vectors[: first.rank][:n_components]
    # What the second order adds is sought in the complement of the first: a direction that both
    # see would otherwise count twice, with two noisy estimates.
    beyond = spectra.beyond(linear)
    added = beyond.rank if n_components is None else n_components - len(linear)
    basis = np.concatenate([linear, beyond.vectors[:added]])
    eigenvalues = np.concatenate([first.values[: len(linear)], beyond.values[:added]])
    shown = min(added, beyond.rank)
    diagnosis = counted(len(linear), shown) if len(linear) + shown else _nothing(inputs, p_values)
    if added > shown:
        diagnosis += f" {added - shown} more of second order as asked for, within chance."
    n, d = inputs.X.shape[0], inputs.axes.shape[1]
    if n <= d:
        diagnosis += (
            f" There are not more samples than features (n = {n}, d = {d}): the covariance is "
            "known only through its shrinkage, and weak directions cannot be seen."
        )
    found = basis @ inputs.axes
    return Found(found, eigenvalues, first.rank, second.rank, p_values, diagnosis)


def _nothing(inputs: WhitenedInputs, p_values: tuple[float, float]) -> str:
    n, d = inputs.X.shape[0], inputs.axes.shape[1]
    return (
        "no direction found: the label is independent of X to second order at this sample size "
        f"(n = {n}, d = {d}, p = {p_values[0]:.3g}, {p_values[1]:.3g}). Either there is no "
        f"signal, or its generative exponent is 3 or more, or n/d = {n / d:.3g} is below the "
        "threshold."
    )


def _spectra(
    inputs: WhitenedInputs, weights: np.ndarray, permutations: int, rng: np.random.Generator
) -> Spectra:
    """Matrices of both orders, and their largest eigenvalues with labels permuted."""
    n, q = weights.shape
    m_b, A_b = inputs.moments(weights)
    at_once = max(1, _GROUP_BYTES // (8 * q * max(n, len(inputs.axes) ** 2)))
    null_first, null_second = np.empty(permutations), np.empty(permutations)
    for start in range(0, permutations, at_once):
        group = range(start, min(start + at_once, permutations))
        shuffled = np.concatenate([weights[rng.permutation(n)] for _ in group], axis=1)
        means, squares = inputs.moments(shuffled)
        for j, k in enumerate(group):
            own = slice(j * q, (j + 1) * q)
            null_first[k] = np.linalg.norm(means[own], 2) ** 2
            null_second[k] = _largest_eigenvalue(_sum_of_squares(squares[own]))
    first = Order(m_b.T @ m_b, null_first)  # [SD-1]
    return Spectra(first, Order(_sum_of_squares(A_b), null_second), A_b)


def _sum_of_squares(matrices: np.ndarray) -> np.ndarray:
    """Sum of A_b A_b over symmetric matrices (q, m, m)."""
    stacked = matrices.reshape(-1, matrices.shape[-1])
    return stacked.T @ stacked


def _largest_eigenvalue(M: np.ndarray) -> float:
    from scipy.linalg import eigvalsh

    last = len(M) - 1
    return float(eigvalsh(M, subset_by_index=(last, last), check_finite=False)[0])
