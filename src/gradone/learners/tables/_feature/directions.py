r"""The directions that a fitted function depends on, ordered by how strongly it does.

.. math:: M = \overline{\nabla f\, \nabla f^\top}    [FR-5]

of the smoother on the learned coordinates; the eigenvectors with eigenvalue above 0 are the
directions. The linear part of the smoother counts only where it is larger than chance.
"""

from __future__ import annotations

import numpy as np

from .rows import Rows
from .smoother import SmootherFit

_CHANCE = 3.0  # times the variance that d useless slopes explain by chance
_LEAST_SHARE = 1e-3
_ROUNDING = 1e-12


def index_directions(
    rows: Rows, B: np.ndarray, landmarks: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal rows (k, d) and the mean square derivative along each, largest first.

    Parameters
    ----------
    rows : Rows
        Training rows.
    B : ndarray (d, k)
        Learned directions.
    landmarks : ndarray of int
        Rows whose projections are landmarks.
    """
    fit = SmootherFit(rows, B, landmarks)
    slopes = fit.smoother().slopes
    noise = float(np.mean(fit.residuals**2)) * len(B) / len(rows)
    beside = slopes - B @ np.linalg.lstsq(B, slopes, rcond=None)[0]
    explained = float(np.mean((rows.X @ beside) ** 2))
    # Slopes along the learned directions always count: they are not further directions.
    counted = slopes if explained > max(_CHANCE * noise, _LEAST_SHARE) else slopes - beside
    gradients = np.einsum("dk,nkq->ndq", B, fit.gradients()) + counted
    flat = gradients.transpose(0, 2, 1).reshape(-1, len(B))
    return _leading(flat.T @ flat / len(rows), B.shape[1] + (counted is slopes) * beside.shape[1])


def linear_directions(slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for linear functions with slopes (d, q)."""
    return _leading(slopes @ slopes.T, slopes.shape[1])


def rank_of(values: np.ndarray, energy: float) -> int:
    """Smallest number of directions that hold a share of the sum of all mean square derivatives.

    Examples
    --------
    >>> rank_of(np.array([6.0, 3.0, 1.0]), 0.9), rank_of(np.array([6.0, 3.0, 1.0]), 0.95)
    (2, 3)
    """
    if not len(values):
        return 0
    shares = np.cumsum(values) / values.sum()
    return int(np.searchsorted(shares[:-1], energy * (1 - _ROUNDING))) + 1


def _leading(M: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    values, axes = np.linalg.eigh(M)
    values, axes = values[::-1], axes[:, ::-1]
    count = int(np.sum(values[:most] > 1e-6 * max(values[0], 1e-300)))
    rows = axes[:, :count].T
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1, keepdims=True), axis=1)
    return rows * np.where(largest < 0, -1.0, 1.0), values[:count]
