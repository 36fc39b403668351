r"""Moments of whitened inputs given the label, and how large they are by chance.

For weights :math:`T_b(y)` with mean 0 and variance 1 and whitened inputs u,

.. math:: m_b = \frac1n \sum_i T_b(y_i) u_i, \qquad
          A_b = \frac1n \sum_i T_b(y_i) u_i u_i^\top, \qquad
          M_1 = \sum_b m_b m_b^\top, \quad M_2 = \sum_b A_b^2    [SD-1]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._found import Found, counted, few_rows
from ._permutation_test import Spectrum, largest_eigenvalue
from ._slices import permuted_slices, slice_weights
from ._whitening import WhitenedInputs


class Spectra(NamedTuple):
    """Both orders, and the second moments A_b (q, m, m)."""

    first: Spectrum
    second: Spectrum
    A_b: np.ndarray

    def beyond(self, rows: np.ndarray) -> Spectrum:
        """Second order among the directions orthogonal to some orthonormal rows (k, m)."""
        P = np.eye(len(self.first.matrix)) - rows.T @ rows
        return Spectrum(sum_of_squares(P @ self.A_b @ P), self.second.null)


def sliced_directions(
    inputs: WhitenedInputs,
    y: np.ndarray,
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
    y : ndarray (n,)
        Labels.
    n_components : int, optional
        Number of directions; None leaves it to the test.
    permutations : int
        Permutations of the test.
    rng : Generator
        Draws the permutations.
    """
    spectra = _spectra(inputs, y, permutations, rng)
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
        diagnosis += (
            f" {added - shown} more of second order were asked for; they are within chance."
        )
    diagnosis += few_rows(*inputs.shape)
    found = basis @ inputs.axes
    return Found(found, eigenvalues, first.rank, second.rank, p_values, diagnosis)


def _nothing(inputs: WhitenedInputs, p_values: tuple[float, float]) -> str:
    n, d = inputs.shape
    return (
        "no direction was found: the label is independent of X to second order at this sample size "
        f"(n = {n}, d = {d}, p = {p_values[0]:.3g}, {p_values[1]:.3g}). Either there is no "
        f"signal, or its generative exponent is 3 or more, or n/d = {n / d:.3g} is below the "
        "threshold."
    )


def _spectra(
    inputs: WhitenedInputs, y: np.ndarray, permutations: int, rng: np.random.Generator
) -> Spectra:
    """Matrices of both orders, and their largest eigenvalues with labels permuted."""
    weights = slice_weights(y, row_weights=inputs.row_weights)
    m_b, A_b = inputs.moments(weights)
    null_first, null_second = [], []
    groups = permuted_slices(
        y,
        weights,
        permutations,
        rng,
        numbers=len(inputs.axes) ** 2,
        row_weights=inputs.row_weights,
    )
    for group in groups:
        means, squares = inputs.moments(np.concatenate(group, axis=1))
        for m, A in zip(np.split(means, len(group)), np.split(squares, len(group)), strict=True):
            null_first.append(largest_eigenvalue(m @ m.T))
            null_second.append(largest_eigenvalue(sum_of_squares(A)))
    first = Spectrum(m_b.T @ m_b, np.array(null_first))  # [SD-1]
    return Spectra(first, Spectrum(sum_of_squares(A_b), np.array(null_second)), A_b)


def sum_of_squares(matrices: np.ndarray) -> np.ndarray:
    """Sum of A_b A_b over symmetric matrices (q, m, m)."""
    stacked = matrices.reshape(-1, matrices.shape[-1])
    return stacked.T @ stacked
