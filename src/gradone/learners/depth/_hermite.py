"""Products of Hermite polynomials of some coordinates, as features."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np


@dataclass(frozen=True)
class HermiteFeatures:
    """Centred, whitened products of Hermite polynomials of the coordinates, degree by degree.

    Parameters
    ----------
    axes : ndarray (K, d)
        Coordinate j of an input x is ``axes[j] @ x``.
    degree : int
        Largest total degree, 2 or 3.
    mean, whitening : ndarray (m,), (m, m)
        Of the bare products.
    shrinkage : float
        Added to the variances of the bare products.
    """

    axes: np.ndarray
    degree: int
    mean: np.ndarray
    whitening: np.ndarray
    shrinkage: float

    @classmethod
    def of(cls, X: np.ndarray, axes: np.ndarray, degree: int, shrinkage: float) -> HermiteFeatures:
        """Features whose covariance over the rows X is S/(S + shrinkage)."""
        bare = hermite_products(X @ axes.T.astype(X.dtype), degree)
        mean = bare.mean(axis=0, dtype=np.float64)
        covariance = (bare.T @ bare).astype(np.float64) / len(X) - np.outer(mean, mean)
        values, vectors = np.linalg.eigh(covariance)
        root = vectors / np.sqrt(np.maximum(values, 0.0) + shrinkage)
        return cls(axes, degree, mean, root @ vectors.T, shrinkage)

    @property
    def covariance(self) -> np.ndarray:
        """Covariance (m, m) over the rows that have whitened them: S/(S + shrinkage)."""
        found: np.ndarray = self.whitening @ self.whitening
        found *= -self.shrinkage
        found[np.diag_indices(len(found))] += 1.0
        return found

    def coordinates(self, X: np.ndarray) -> np.ndarray:
        """Coordinates (n, K)."""
        found: np.ndarray = X @ self.axes.T.astype(X.dtype)
        return found

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Whitened features (n, m)."""
        bare = hermite_products(self.coordinates(X), self.degree)
        bare -= self.mean.astype(X.dtype)
        whitened: np.ndarray = bare @ self.whitening.astype(X.dtype)
        return whitened


def hermite_products(Z: np.ndarray, degree: int) -> np.ndarray:
    r"""Products of :math:`\mathrm{He}_k(z_i)/\sqrt{k!}` of total degree 1 to `degree`.

    Examples
    --------
    >>> hermite_products(np.array([[2.0, 1.0]]), 2).round(3)
    array([[2.   , 1.   , 2.121, 2.   , 0.   ]])
    """
    K, columns = Z.shape[1], [Z]
    first, second = np.triu_indices(K)
    pairs = Z[:, first] * Z[:, second]
    pairs[:, first == second] -= 1
    pairs[:, first == second] /= np.sqrt(2, dtype=Z.dtype)
    columns.append(pairs)
    if degree == 3:
        one, two = Z, pairs[:, first == second]
        columns.append((Z**3 - 3 * Z) / np.sqrt(6, dtype=Z.dtype))
        columns += [two[:, [i]] * np.delete(one, i, axis=1) for i in range(K) if K > 1]
        triples = list(combinations(range(K), 3))
        if triples:
            i, j, k = np.array(triples).T
            columns.append(one[:, i] * one[:, j] * one[:, k])
    return np.concatenate(columns, axis=1)
