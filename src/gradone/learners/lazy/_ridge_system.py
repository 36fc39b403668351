"""Linear systems with a ridge: one value by Cholesky, many from one decomposition."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ...base.errors import BadData


class RidgeSystem:
    r"""Solutions of :math:`(G + \lambda I)\,a = R` for one or many :math:`\lambda \ge 0`.

    Parameters
    ----------
    gram : ndarray (m, m)
        G, symmetric and positive semidefinite; only its upper triangle is read.
    right : ndarray (m, k)
        R, in the range of G if :math:`\lambda = 0` is asked for.

    Notes
    -----
    For :math:`\lambda` at or below the rounding errors of G the smallest solution is returned, in
    the range of G: the limit :math:`\lambda \to 0`.

    Examples
    --------
    >>> system = RidgeSystem(np.diag([1.0, 0.0]), np.array([[1.0], [0.0]]))
    >>> [solution[:, 0].tolist() for solution in system.solutions([0.0, 1.0])]
    [[1.0, 0.0], [0.5, 0.0]]
    """

    def __init__(self, gram: np.ndarray, right: np.ndarray) -> None:
        if not (np.isfinite(right).all() and np.isfinite(gram.diagonal()).all()):
            raise BadData(
                "some features are infinite or not a number: the activation overflows on these "
                "inputs. Use standardize=True, or an activation that grows more slowly."
            )
        self.gram, self.right = gram, right
        # Rounding of the sums that make G, as a matrix norm; the trace bounds the norm of G.
        self.rounding = 4 * np.finfo(np.float64).eps * float(gram.trace())

    def solutions(self, ridges: Sequence[float]) -> list[np.ndarray]:
        """Solutions (m, k), one for each value of the ridge."""
        if len(ridges) == 1 and ridges[0] > self.rounding:
            return [self._by_cholesky(ridges[0])]
        return [self._by_spectrum(ridge) for ridge in ridges]

    def residuals(self, solution: np.ndarray) -> np.ndarray:
        """R - G a (m, k)."""
        from scipy.linalg import blas

        residuals: np.ndarray = self.right - blas.dsymm(1.0, self.gram, solution)
        return residuals

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues (m,), not below 0, and eigenvectors in columns (m, m) of G."""
        from scipy.linalg import eigh

        values, vectors = eigh(self.gram, lower=False, check_finite=False, driver="evd")
        return np.maximum(values, 0.0), vectors

    @cached_property
    def _rotated(self) -> np.ndarray:
        return self.spectrum[1].T @ self.right

    def _by_spectrum(self, ridge: float) -> np.ndarray:
        values, vectors = self.spectrum
        shifted = values + ridge
        inverse = np.divide(1.0, shifted, out=np.zeros_like(shifted), where=shifted > self.rounding)
        solution: np.ndarray = vectors @ (inverse[:, None] * self._rotated)
        return solution

    def _by_cholesky(self, ridge: float) -> np.ndarray:
        from scipy.linalg import LinAlgError, cho_factor, cho_solve

        shifted = np.array(self.gram, order="F")
        shifted[np.diag_indices_from(shifted)] += ridge
        try:
            factor = cho_factor(shifted, lower=False, overwrite_a=True, check_finite=False)
        except LinAlgError:  # rounding errors larger than the ridge
            return self._by_spectrum(ridge)
        solution: np.ndarray = cho_solve(factor, self.right, check_finite=False)
        return solution
