"""Sliced inverse regression: directions in which the mean of the inputs moves with the label."""

from __future__ import annotations

import numpy as np

from ...base.cost import Cost
from .._memory import matrices_of
from .._registry import LEARNERS
from .._whitening import WhitenedInputs
from ._one_matrix import SlicedFinder


@LEARNERS.add("sir")
class SIR(SlicedFinder):
    r"""Sliced inverse regression: directions in which the mean of X moves with y.

    Directions are eigenvectors of the covariance of the conditional means of whitened inputs u,

    .. math:: M = \mathrm{Cov}\big(\mathbb{E}[u \mid y]\big) = \sum_b m_b m_b^\top, \qquad
              m_b = \tfrac1n \sum_i T_b(y_i) u_i    [SD-3]

    with functions :math:`T_b` of the label that are orthonormal in the mean: slices, or classes.

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
        All eigenvalues, from the largest: the share of the variance along a direction that the
        label explains. m is the number of directions in which X varies.
    p_values_ : ndarray (m,)
        Of each eigenvalue, compared with the largest one of permuted labels.
    diagnosis_ : str
        What was found, in words.
    mean_, scale_ : array (d,)
        Centre and scale of the features; the scale of a constant column is 1.

    Notes
    -----
    It sees first-order dependence only: of ``z1**2`` or ``sign(z1*z2)`` it finds nothing, and the
    rank is at most the number of slices minus 1 (classes minus 1). See :class:`SAVE`,
    :class:`PHD` and :class:`SpectralDirections` for the second order. Inputs should be roughly
    elliptical; the test is valid for any distribution.

    With more features than rows the covariance is whitened through its shrinkage. Cost:
    :math:`n d^2 + q (P + 1) n d` operations for q slices and P permutations.

    Copies of a row, label included, are one observation with a weight: the test does not take them
    for evidence, and integer weights equal repetition. In tables of few values rows agree by
    chance, and each counts.

    References
    ----------
    li1991sliced, troiani2024limits

    Examples
    --------
    >>> import gradone as gd
    >>> s = gd.Target("z1*z2 + z3").sample(n=2000, d=20, seed=0)
    >>> finder = SIR(random_state=0).fit(s.X, s.y)
    >>> print(finder.diagnosis_)
    1 direction is visible in the mean of X given y (first order).
    >>> bool(abs(finder.directions_ @ s.W_star[2])[0] > 0.95)
    True
    """

    cites = ("li1991sliced", "troiani2024limits")
    cost = Cost(
        "n d^2 operations, and 6 (permutations + 1) n d",
        lambda s: s.n * s.d * (s.d + 6 * (s.n_permutations + 1)),
        matrices_of,
    )
    _seen = "the mean of X given y (first order)"
    _absent = "the mean of X does not depend on the label"
    _instead = (
        "Even functions such as z1**2 and products such as z1*z2 are invisible to it: try SAVE, "
        "PHD or SpectralDirections."
    )

    def _matrices(self, inputs: WhitenedInputs, group: list[np.ndarray]) -> list[np.ndarray]:
        return [m.T @ m for m in _means(inputs, group)]  # [SD-3]

    def _largest(self, inputs: WhitenedInputs, group: list[np.ndarray]) -> list[float]:
        # From the q means themselves: there are far fewer of them than features.
        return [float(np.linalg.norm(m, 2)) ** 2 for m in _means(inputs, group)]


def _means(inputs: WhitenedInputs, group: list[np.ndarray]) -> list[np.ndarray]:
    return np.split(inputs.means(np.concatenate(group, axis=1)), len(group))
