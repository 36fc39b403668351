"""Sliced average variance estimation: directions whose variance changes with the label."""

from __future__ import annotations

import numpy as np

from ...base.cost import Cost
from .._memory import matrices_of
from .._registry import LEARNERS
from .._sliced_spectrum import sum_of_squares
from .._whitening import WhitenedInputs
from ._one_matrix import SlicedFinder


@LEARNERS.add("save")
class SAVE(SlicedFinder):
    r"""Sliced average variance estimation: directions whose variance changes with y.

    Directions are eigenvectors of

    .. math:: M = \mathbb{E}\big[(I - \mathrm{Cov}(u \mid y))^2\big]    [SD-4]

    of whitened inputs u, with conditional moments projected on functions of the label that are
    orthonormal in the mean: slices, or classes. With the moments :math:`m_b, A_b` of [SD-1] and
    :math:`D_b = \overline{T_b T T^\top}`,

    .. math:: M = \sum_b A_b^2 - \sum_b (G_b A_b + A_b G_b) + m^\top\,
              \overline{|T m|^2\, T T^\top}\, m, \qquad G_b = m^\top D_b m.    [SD-5]

    Parameters
    ----------
    n_components : int, optional
        Number of directions. None: as many as the permutation test finds, which may be none.
    n_slices : int, optional
        Slices of equal size that the labels are cut into, as in the original method; equal labels
        stay together. None: smooth slices, six cosines of the rank of the label. Labels that are
        text or have at most 10 values are classes in any case.
    n_permutations : int
        Permutations of the test, whose level is 1 / (n_permutations + 1).
    shrinkage : float, optional
        Weight s of the identity in the covariance that whitens, 0 to 1. None: 0.2 min(1/2, d/n) +
        0.001; 0 is the original method.
    chunk_size : int, optional
        Rows of X that are worked on at once; chosen by size if None.
    random_state : int or Generator, optional
        Of the permutations.

    Attributes
    ----------
    directions_ : array (k, d)
        Orthonormal rows, in units of the standardized features: ``transform`` returns
        ``((X - mean_) / scale_) @ directions_.T``.
    n_directions_ : int
        Number of directions k.
    rank_ : int
        Number of directions that the test finds, whatever `n_components` says.
    eigenvalues_ : array (m,)
        All eigenvalues, from the largest. m is the number of directions in which X varies.
    p_values_ : ndarray (m,)
        Of each eigenvalue, compared with the largest one of permuted labels.
    diagnosis_ : str
        What was found, in words.
    mean_, scale_ : array (d,)
        Centre and scale of the features; the scale of a constant column is 1.

    Notes
    -----
    It sees what :class:`SIR` sees and what changes the variance, such as ``z1**2`` and
    ``z1*z2``, and needs more data for the former. A direction that is visible only when another
    one is known, as z2 in ``He2(z1) + sign(z1*z2*z3)``, it does not find.

    Cost: :math:`q (P + 1) n d^2` operations for q slices and P permutations.

    Copies of a row, label included, are one observation with a weight: the test does not take them
    for evidence, and integer weights equal repetition. In tables of few values rows agree by
    chance, and each counts.

    References
    ----------
    cook1991comment, troiani2024limits

    Examples
    --------
    >>> import gradone as gd
    >>> s = gd.Target("z1*z2 + z3").sample(n=2000, d=20, seed=0)
    >>> finder = SAVE(random_state=0).fit(s.X, s.y)
    >>> print(finder.diagnosis_)
    3 directions are visible in the variance of X given y (second order).
    >>> overlaps = np.linalg.svd(finder.directions_ @ s.W_star.T, compute_uv=False)
    >>> bool(overlaps.min() > 0.9)
    True
    """

    cites = ("cook1991comment", "troiani2024limits")
    cost = Cost(
        "6 (permutations + 1) n d^2 operations",
        lambda s: 6 * (s.n_permutations + 1) * s.n * s.d**2,
        matrices_of,
    )
    _seen = "the variance of X given y (second order)"
    _absent = "the covariance of X does not depend on the label"
    _instead = (
        "Either there is no signal, or its generative exponent is 3 or more, or there are too few "
        "rows; SIR needs fewer for directions of first order."
    )

    def _matrices(self, inputs: WhitenedInputs, group: list[np.ndarray]) -> list[np.ndarray]:
        means, squares = inputs.moments(np.concatenate(group, axis=1))
        parts = zip(group, np.split(means, len(group)), np.split(squares, len(group)), strict=True)
        return [_average_variance(T, m, A, inputs.row_weights) for T, m, A in parts]


def _average_variance(
    T: np.ndarray, m: np.ndarray, A: np.ndarray, row_weights: np.ndarray | None
) -> np.ndarray:
    """The matrix [SD-5] from functions (n, q) and their moments (q, m), (q, m, m)."""
    counted = (T if row_weights is None else T * row_weights[:, None]) / len(T)
    D = np.stack([(counted * column[:, None]).T @ T for column in T.T])
    length = np.sum(T @ (m @ m.T) * T, axis=1)  # |E[u | y_i]|^2
    last = (counted * length[:, None]).T @ T
    cross = m.T @ sum(D_b @ m @ A_b for D_b, A_b in zip(D, A, strict=True))
    return sum_of_squares(A) - cross - cross.T + m.T @ last @ m
