r"""Kernel ridge regression in a learned metric, and the metric that its gradients suggest.

.. math:: f(x) = \bar y + \sum_j a_j\, k(|T^\top (x - c_j)|), \qquad
          M = T T^\top \leftarrow \overline{\nabla f\, \nabla f^\top}    [FR-3]
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import pdist

from ..._standardize import row_blocks
from .rows import Rows

EXACT_ROWS = 4000
"""Up to this many rows every one of them is a centre."""
CENTERS = 1500
"""Centres beyond that."""
_GRADIENT_ROWS = 2000
_BLOCK = 2048
_NEAR = 1e-6  # bandwidths: distances below are as good as this one
_EQUAL = 1e-12  # of the mean square distance: rows that are nearer are equal up to rounding
_ROUNDING = 1e-10  # of the sums over rows, relative to their number


@dataclass(frozen=True)
class Kernel:
    """A function of the distance.

    Parameters
    ----------
    smooth : bool
        Gaussian :math:`e^{-t^2/2h^2}`, else Laplace :math:`e^{-t/h}`.
    bandwidth : float
        h.
    """

    smooth: bool
    bandwidth: float

    def __call__(self, squares: np.ndarray) -> np.ndarray:
        """Kernel at squared distances, which are overwritten."""
        if self.smooth:
            squares *= -0.5 / self.bandwidth**2
        else:
            np.sqrt(squares, out=squares)
            squares *= -1 / self.bandwidth
        return np.asarray(np.exp(squares, out=squares))

    def slopes(self, squares: np.ndarray) -> np.ndarray:
        """Minus the derivative with respect to the distance, over the distance; overwrites."""
        if self.smooth:
            values = self(squares)
            values /= self.bandwidth**2
            return values
        # At a centre itself the slope has no direction: any finite one is multiplied by zero.
        distances = np.sqrt(squares)
        np.maximum(distances, _NEAR * self.bandwidth, out=distances)
        values = np.exp(np.multiply(distances, -1 / self.bandwidth, out=squares), out=squares)
        distances *= self.bandwidth
        values /= distances
        return np.asarray(values)


@dataclass(frozen=True)
class KernelMember:
    """The function [FR-3].

    Parameters
    ----------
    kernel : Kernel
        k.
    root : ndarray (d, k)
        T.
    centers : ndarray (m, d)
        Rows of the training inputs.
    coefficients, constant : ndarray (m, q), (q,)
        a, and the mean of the labels.
    """

    kernel: Kernel
    root: np.ndarray
    centers: np.ndarray
    coefficients: np.ndarray
    constant: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Predictions (n, q)."""
        found = np.empty((len(X), len(self.constant)))
        onto = self.centers @ self.root
        for part in row_blocks(len(X), _BLOCK):
            values = self.kernel(squared_distances(X[part] @ self.root, onto))
            found[part] = values @ self.coefficients
        return found + self.constant

    def gradients(self, X: np.ndarray) -> np.ndarray:
        """Derivatives (n, d, q) with respect to the inputs."""
        m, d = self.centers.shape
        q = self.coefficients.shape[1]
        onto = self.centers @ self.root
        moved = (self.centers[:, :, None] * self.coefficients[:, None, :]).reshape(m, d * q)
        found = np.empty((len(X), d, q))
        for part in row_blocks(len(X), _BLOCK):
            slopes = self.kernel.slopes(squared_distances(X[part] @ self.root, onto))
            pull = (slopes @ moved).reshape(-1, d, q)
            found[part] = pull - X[part][:, :, None] * (slopes @ self.coefficients)[:, None, :]
        return np.asarray(self.root @ self.root.T @ found)


def squared_distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Of every row of A to every row of B."""
    # One product, with the squares of the lengths as two more columns.
    left = np.column_stack([-2 * A, np.einsum("ij,ij->i", A, A), np.ones(len(A))])
    right = np.column_stack([B, np.ones(len(B)), np.einsum("ij,ij->i", B, B)])
    squares: np.ndarray = left @ right.T
    return np.asarray(np.maximum(squares, 0.0, out=squares))


def fit_kernel(
    rows: Rows, kernel: Kernel, penalty: float, root: np.ndarray, centers: np.ndarray | None = None
) -> KernelMember:
    r"""Kernel ridge regression, :math:`(K + \lambda I) a = Y - \bar y`.

    Parameters
    ----------
    rows : Rows
        Training rows.
    kernel : Kernel
        k.
    penalty : float
        :math:`\lambda`.
    root : ndarray (d, k)
        T.
    centers : ndarray of int, optional
        Rows that are centres; with few of them :math:`(K_{mn} K_{nm} + \lambda K_{mm}) a =
        K_{mn} (Y - \bar y)` is solved. All rows if None.
    """
    constant = rows.mean(rows.Y)
    Z, Y = rows.X @ root, rows.Y - constant
    if centers is None:
        system = kernel(squared_distances(Z, Z))
        system.flat[:: len(Z) + 1] += penalty / rows.weights
        coefficients = _solved(system, Y)
        return KernelMember(kernel, root, rows.X, coefficients, constant)
    C = Z[centers]
    system, inner = np.zeros((len(C), len(C))), np.zeros((len(C), Y.shape[1]))
    for part in row_blocks(len(Z), _BLOCK):  # nothing of size n x m is kept
        across = kernel(squared_distances(Z[part], C))
        across *= rows.root[part]
        system += across.T @ across
        inner += across.T @ (rows.root[part] * Y[part])
    system += penalty * kernel(squared_distances(C, C))
    system.flat[:: len(C) + 1] += _ROUNDING * len(Z)
    coefficients = _solved(system, inner)
    return KernelMember(kernel, root, rows.X[centers], coefficients, constant)


def _solved(system: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solution of a symmetric positive system, which is overwritten."""
    # Transposed it has the order of LAPACK: the copy that SciPy makes otherwise costs as much as
    # the factorization of a few hundred rows.
    factor = cho_factor(system.T, overwrite_a=True, check_finite=False)
    return np.asarray(cho_solve(factor, right, check_finite=False))


def gradient_root(
    member: KernelMember, rows: Rows, sample: np.ndarray, distance: float
) -> np.ndarray:
    """Root T of the mean of squared gradients, scaled so that the median distance is as told.

    Parameters
    ----------
    member : KernelMember
        The function.
    rows : Rows
        Training rows, of which at most 2000 are used.
    sample : ndarray of int
        Rows in random order.
    distance : float
        Median distance between rows in the new metric.
    """
    gradients = member.gradients(rows.X[sample[:_GRADIENT_ROWS]])
    n, d, q = gradients.shape
    spread = gradients.transpose(0, 2, 1).reshape(n * q, d)
    values, axes = np.linalg.eigh(spread.T @ spread / n)
    values = np.maximum(values, 0.0)
    used = values > 1e-10 * max(values[-1], 1e-300)
    root = axes[:, used] * np.sqrt(values[used])
    return root * (distance / max(median_distance(rows.X @ root, sample), 1e-300))


def median_distance(Z: np.ndarray, sample: np.ndarray, most: int = 150) -> float:
    """Median distance between rows; the root mean square where most rows are equal, else 1."""
    squares = pdist(Z[sample[:most]], "sqeuclidean")
    middle = len(squares) // 2  # 150 rows have an odd number of distances
    typical, mean = float(np.partition(squares, middle)[middle]), float(np.mean(squares))
    return math.sqrt(typical if typical > _EQUAL * mean else mean) or 1.0


def some_centers(n: int, sample: np.ndarray, most: int = CENTERS) -> np.ndarray | None:
    """Rows that are centres: None stands for all."""
    return None if n <= EXACT_ROWS else np.sort(sample[:most])


def metric_path(
    rows: Rows, kernel: Kernel, penalty: float, *, rounds: int, sample: np.ndarray
) -> Iterator[KernelMember]:
    """Kernel ridge regression in the metric of the features, and then in that of its gradients.

    Parameters
    ----------
    rows : Rows
        Training rows.
    kernel, penalty : Kernel, float
        Of the regression.
    rounds : int
        Times that the metric is changed.
    sample : ndarray of int
        Rows in random order.

    Yields
    ------
    KernelMember
        ``rounds + 1`` of them.
    """
    root = np.eye(rows.X.shape[1])
    chosen = some_centers(len(rows), sample)
    distance = median_distance(rows.X, sample)
    for turn in range(rounds + 1):
        member = fit_kernel(rows, kernel, penalty, root, chosen)
        yield member
        if turn < rounds:
            root = gradient_root(member, rows, sample, distance)
