r"""A smoother on learned coordinates, with a linear function of all features beside it.

.. math:: f(x) = b_0 + \langle b, x\rangle + \sum_j a_j\, e^{-|B^\top x - c_j|^2/2}    [FR-1]

The landmarks :math:`c_j` are projections of training rows. B (d, k) is not orthonormal: its scale
is the bandwidth of the kernel, and it is free.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# LAPACK itself: systems of some dozen rows cost less than the checks around them.
from scipy.linalg.lapack import dpotrf, dpotrs, dpstrf, dtrtrs

from .rows import Rows

PENALTIES = 10.0 ** np.arange(-7, 0.51, 0.75)
"""Penalties over the number of rows."""
LARGEST_HAT = 0.999
_ROUNDING = 1e-13  # of sums over rows, relative to them
_PIVOT = 1e-7  # landmarks that the others explain up to this share are left out


@dataclass(frozen=True)
class Smoother:
    """The function [FR-1].

    Parameters
    ----------
    B : ndarray (d, k)
        Directions, scaled by the inverse bandwidth.
    landmarks : ndarray (m, k)
        Centres of the kernel.
    kernel, slopes, constant : ndarray (m, q), (d, q), (q,)
        Coefficients.
    """

    B: np.ndarray
    landmarks: np.ndarray
    kernel: np.ndarray
    slopes: np.ndarray
    constant: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Predictions (n, q)."""
        bumps = gaussian_kernel(X @ self.B, self.landmarks)
        return np.asarray(bumps @ self.kernel + X @ self.slopes + self.constant)


def gaussian_kernel(Z: np.ndarray, C: np.ndarray) -> np.ndarray:
    r"""Kernel :math:`e^{-|z - c|^2/2}` of rows z and c, (n, m)."""
    exponent: np.ndarray = Z @ C.T
    exponent -= 0.5 * np.einsum("ij,ij->i", Z, Z)[:, None]
    exponent -= 0.5 * np.einsum("ij,ij->i", C, C)
    np.minimum(exponent, 0.0, out=exponent)
    return np.asarray(np.exp(exponent, out=exponent))


class SmootherFit:
    r"""A smoother fitted to rows, and what its refinement needs to know.

    With columns A (kernel, and :math:`x/\sqrt d`), centred and weighted, and the penalty matrix P
    (kernel of the landmarks, and the identity) the coefficients are
    :math:`(A^\top A + \lambda n P)^{-1} A^\top Y`.

    Parameters
    ----------
    rows : Rows
        Training rows.
    B : ndarray (d, k)
        Directions.
    landmarks : ndarray of int
        Rows whose projections are landmarks; those that add nothing are left out.
    penalty : int, optional
        Index of the penalty. Then nothing but coefficients and residuals is computed. None: the
        one of the smallest leave-one-out error, and all the rest, as :meth:`complete` does.

    Attributes
    ----------
    residuals : ndarray (n, q)
        Labels minus predictions, times the roots of the weights.
    hat : ndarray (n,)
        Derivative of each prediction with respect to its own label.
    """

    hat: np.ndarray

    def __init__(
        self, rows: Rows, B: np.ndarray, landmarks: np.ndarray, penalty: int | None = None
    ) -> None:
        self.rows, self.B, self._rows_of_landmarks = rows, B, landmarks
        self.Z = rows.X @ B
        C = self.Z[landmarks]
        self._factor, pivots = _independent(gaussian_kernel(C, C))
        self._C = C[pivots]
        m, d = len(self._C), rows.X.shape[1]
        columns = np.empty((len(rows), m + d))
        columns[:, :m] = gaussian_kernel(self.Z, self._C)
        columns[:, m:] = rows.X / np.sqrt(d)
        self._center = rows.mean(columns)
        columns -= self._center
        if not rows.equal:
            columns *= rows.root
        self._columns, self._Y = columns, rows.centered(rows.Y)
        self._gram = columns.T @ columns
        self._inner = columns.T @ self._Y
        if penalty is None:
            self.complete()
        else:
            self._solve(penalty)

    def leveraged(self) -> SmootherFit:
        """Compute, at the penalty it has, what the smoother does to other columns."""
        self._turned = dtrtrs(self._system, self._columns.T, trans=1)[0].T
        self.hat = np.einsum("ij,ij->i", self._turned, self._turned)
        self.hat += self.rows.weights / self.rows.weights.sum()
        return self

    def complete(self) -> SmootherFit:
        """Choose the penalty, and compute what the smoother does to other columns."""
        total = self.rows.weights.sum()
        values, axes = np.linalg.eigh(self._whitened(self._whitened(self._gram).T))
        axes = self._unwhitened(axes)
        turned, inner = self._columns @ axes, axes.T @ self._inner
        shares = 1 / (np.maximum(values, 0.0)[:, None] + PENALTIES * total)
        hats = turned**2 @ shares
        hats += (self.rows.weights / total)[:, None]
        scores = np.zeros(len(PENALTIES))
        for output, labels in enumerate(self._Y.T):
            errors = labels[:, None] - turned @ (shares * inner[:, output : output + 1])
            scores += self._mean_square(errors, hats)
        self.penalty = int(scores.argmin())
        share = shares[:, self.penalty]
        self._turned = turned * np.sqrt(share)
        self.hat = hats[:, self.penalty]
        reduced = share[:, None] * inner
        self.coefficients = axes @ reduced
        self.residuals = self._Y - turned @ reduced
        return self

    def _solve(self, penalty: int) -> None:
        m = len(self._C)
        self.penalty, ridge = penalty, PENALTIES[penalty] * self.rows.weights.sum()
        system = self._gram.copy()
        system[:m, :m] += ridge * (self._factor @ self._factor.T)
        system[m:, m:].flat[:: len(system) - m + 1] += ridge
        system.flat[:: len(system) + 1] += _ROUNDING * np.trace(self._gram) / len(system)
        self._system, failed = dpotrf(system.T, clean=0, overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError("the normal equations of a smoother are singular")
        self.coefficients = dpotrs(self._system, self._inner)[0]
        self.residuals = self._Y - self._columns @ self.coefficients

    def _whitened(self, rows_of_columns: np.ndarray) -> np.ndarray:
        """Inverse of the root of the penalty matrix times something (m + d, c)."""
        m = len(self._C)
        found = rows_of_columns.copy()
        found[:m] = dtrtrs(self._factor, found[:m], lower=1)[0]
        return found

    def _unwhitened(self, axes: np.ndarray) -> np.ndarray:
        m = len(self._C)
        axes[:m] = dtrtrs(self._factor, axes[:m], lower=1, trans=1)[0]
        return axes

    def _mean_square(self, residuals: np.ndarray, hats: np.ndarray) -> np.ndarray:
        errors = residuals / (1 - np.minimum(hats, LARGEST_HAT))
        return np.asarray(np.einsum("ij,ij->j", errors, errors) / self.rows.weights.sum())

    def score(self, leverage: np.ndarray | float = 0.0, *, hat: np.ndarray | None = None) -> float:
        """Mean square leave-one-out error [FR-2].

        Parameters
        ----------
        leverage : ndarray (n, q)
            Leverage beyond that of the smoother.
        hat : ndarray (n,), optional
            Leverage of the smoother, if that of a fit nearby is good enough.
        """
        hats = (self.hat if hat is None else hat)[:, None] + leverage
        hats = np.broadcast_to(hats, self.residuals.shape)
        return float(self._mean_square(self.residuals, hats).mean())

    def generalized_score(self) -> float:
        """Mean square error over the square of the share of freedom that is left."""
        total = self.rows.weights.sum()
        used = np.trace(dpotrs(self._system, self._gram.T)[0]) + 1
        room = max(1 - used / len(self.rows), 1 - LARGEST_HAT)
        return float(np.sum(self.residuals**2) / (total * self.residuals.shape[1]) / room**2)

    def gradients(self) -> np.ndarray:
        """Derivatives (n, k, q) with respect to the learned coordinates."""
        m, k = self._C.shape
        kernel = self.coefficients[:m]
        q = kernel.shape[1]
        moved = (self._C[:, :, None] * kernel[:, None, :]).reshape(m, k * q)
        both = np.hstack([moved, kernel])
        sums = self._columns[:, :m] @ both / self.rows.root + self._center[:m] @ both
        return np.asarray(
            sums[:, : k * q].reshape(-1, k, q) - self.Z[:, :, None] * sums[:, None, k * q :]
        )

    def unexplained(self, columns: np.ndarray) -> np.ndarray:
        """What the smoother leaves of columns (n, c), which come centred and weighted."""
        return np.asarray(columns - self._turned @ (self._turned.T @ columns))

    def smoother(self) -> Smoother:
        """The function, without the training rows."""
        m, d = len(self._C), self.rows.X.shape[1]
        constant = self.rows.mean(self.rows.Y) - self._center @ self.coefficients
        slopes = self.coefficients[m:] / np.sqrt(d)
        return Smoother(self.B, self._C, self.coefficients[:m], slopes, constant)

    def at(self, B: np.ndarray, *, penalty: int | None = None) -> SmootherFit:
        """The same with other directions."""
        return SmootherFit(self.rows, B, self._rows_of_landmarks, penalty)


def _independent(gram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points whose kernel the others do not explain: Cholesky factor (m, m) of it, and which."""
    # Exactly 1: otherwise rounding would decide which point comes first, and so all the others.
    np.fill_diagonal(gram, 1.0)
    factor, pivots, rank, _ = dpstrf(gram, tol=_PIVOT, lower=1)
    return np.tril(factor[:rank, :rank]), pivots[:rank] - 1
