"""Principal Hessian directions: directions along which the label is curved."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...base.arrays import array_namespace
from ...base.cost import Cost
from ...base.errors import BadData
from ...base.units import units
from .._memory import matrices_of
from .._permutation_test import largest_eigenvalue, permuted
from .._registry import LEARNERS
from .._whitening import WhitenedInputs
from ._one_matrix import OneMatrixFinder


@LEARNERS.add("phd")
class PHD(OneMatrixFinder):
    r"""Principal Hessian directions: directions along which y is curved, on average.

    Directions are eigenvectors, with the largest moduli of eigenvalues, of

    .. math:: H = \tfrac1n \sum_i e_i\, u_i u_i^\top,    [SD-6]

    which for Gaussian inputs u is the mean Hessian of y; e is the label in units of its standard
    deviation, after a linear fit was taken off, which hides nothing of the curvature.

    Parameters
    ----------
    n_components : int, optional
        Number of directions. None: as many as the permutation test finds, which may be none.
    residuals : bool
        Whether the linear fit is taken off. Without it, or where the fit is perfect (as with not
        more rows than features), e is the centred label.
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
        All eigenvalues, the largest modulus first: positive where y bends upwards. m is the number
        of directions in which X varies.
    p_values_ : ndarray (m,)
        Of each modulus, compared with the largest one of permuted labels.
    diagnosis_ : str
        What was found, in words.
    mean_, scale_ : array (d,)
        Centre and scale of the features; the scale of a constant column is 1.

    Notes
    -----
    It sees the second Hermite coefficient of the label itself: ``z1**2`` and ``z1*z2``, not
    ``z1``, and not ``He4(z1)``, which a function of the label would show (:class:`SAVE`). Labels
    must be numbers; heavy tails hurt it, since y enters as it is.

    The test permutes y, takes the linear fit off again and compares in units of what is left, so
    that a strong linear part neither hides curvature nor counts as such. Cost:
    :math:`(P + 1) n d^2` operations for P permutations.

    Copies of a row, label included, are one observation with a weight: the test does not take them
    for evidence, and integer weights equal repetition. In tables of few values rows agree by
    chance, and each counts.

    References
    ----------
    li1992hessian

    Examples
    --------
    >>> import gradone as gd
    >>> s = gd.Target("z1*z2 + 3*z3").sample(n=2000, d=20, seed=0)
    >>> finder = PHD(random_state=0).fit(s.X, s.y)
    >>> print(finder.diagnosis_)
    2 directions are visible in the curvature of y (second order).
    >>> np.sign(finder.eigenvalues_[:2])  # a saddle
    array([ 1., -1.])
    """

    cites = ("li1992hessian",)
    cost = Cost(
        "(permutations + 1) n d^2 operations",
        lambda s: (s.n_permutations + 1) * s.n * s.d**2,
        matrices_of,
    )
    _labels = "exact"
    _seen = "the curvature of y (second order)"
    _absent = "y is not curved along any direction, on average,"
    _instead = (
        "Linear and higher-order dependence is invisible to it: try SIR, SAVE or "
        "SpectralDirections."
    )

    def __init__(
        self,
        n_components: int | None = None,
        *,
        residuals: bool = True,
        n_permutations: int = 39,
        shrinkage: float | None = None,
        chunk_size: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.n_components = n_components
        self.residuals = residuals
        self.n_permutations = n_permutations
        self.shrinkage = shrinkage
        self.chunk_size = chunk_size
        self.random_state = random_state

    def _functions(self, inputs: WhitenedInputs, y: np.ndarray) -> np.ndarray:
        return y[:, None] / units(y)  # only its shape counts

    def _permuted(
        self, inputs: WhitenedInputs, y: np.ndarray, functions: np.ndarray
    ) -> Iterator[list[np.ndarray]]:
        rng = np.random.default_rng(self.random_state)
        return permuted(functions, self.n_permutations, rng, numbers=len(inputs.axes) ** 2)

    def _restored(self, inputs: WhitenedInputs, group: list[np.ndarray]) -> list[np.ndarray]:
        labels = np.concatenate(group, axis=1)
        w = 1.0 if inputs.row_weights is None else inputs.row_weights[:, None]
        e = centred = labels - np.mean(w * labels, axis=0)
        size = spread = np.sqrt(np.mean(w * centred**2, axis=0))
        if self.residuals:
            e = inputs.residual(centred)
            spread = np.sqrt(np.mean(w * e**2, axis=0))
            # Where the fit is perfect only rounding is left, which says nothing.
            unit = array_namespace(inputs.X).finfo(inputs.X.dtype).eps
            perfect = spread <= 100 * np.sqrt(len(e)) * unit * size
            e, spread = np.where(perfect, centred, e), np.where(perfect, size, spread)
        return np.split(e / spread, len(group), 1)

    def _matrices(self, inputs: WhitenedInputs, group: list[np.ndarray]) -> list[np.ndarray]:
        return list(inputs.moments(np.concatenate(group, axis=1))[1])  # [SD-6]

    def _largest(self, inputs: WhitenedInputs, group: list[np.ndarray]) -> list[float]:
        matrices = self._matrices(inputs, group)
        return [max(largest_eigenvalue(M), largest_eigenvalue(-M)) for M in matrices]

    def _check_parameters(self) -> None:
        if not isinstance(self.residuals, bool | np.bool_):
            raise BadData(f"residuals must be True or False, got {self.residuals!r}")
        super()._check_parameters()
