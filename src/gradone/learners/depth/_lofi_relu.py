r"""Filters of random features, for inputs with few large directions such as images.

.. math:: Z = \mathrm{relu}(h W/c)/\sqrt P, \qquad
          M = \overline{t\,(Z - \bar Z)(Z - \bar Z)^\top}, \qquad a = \overline{t (Z - \bar Z)}

with frozen Gaussian W and :math:`c^2 = \overline{|h|^2}`. A layer keeps :math:`a \cdot Z` and the
eigenvectors of M with the largest eigenvalues in size. M is never written down: its product with a
vector costs 4 n P operations. Its bulk depends on the covariance of the features; what labels in
random order give is its end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ._selection import Spectrum

_TOLERANCE = 1e-3  # of the eigenvalues; features need no more


@dataclass(frozen=True)
class ReluFilters:
    """Linear functions of random features.

    Parameters
    ----------
    mean : ndarray (d,)
        Of the rows below.
    frozen : ndarray (P, d)
        Frozen weights.
    center : ndarray (P,)
        Mean of the random features.
    filters : ndarray (k, P)
        The functions.
    weights : ndarray (k,)
        Sizes of their values.
    spectra : list of Spectrum
        For each score: the eigenvalues that were kept, and the ends with permuted labels.
    """

    mean: np.ndarray
    frozen: np.ndarray
    center: np.ndarray
    filters: np.ndarray
    weights: np.ndarray
    spectra: list[Spectrum]

    @property
    def rows(self) -> np.ndarray:
        """Linear part of the filters in the inputs (k, d): a ramp has the mean slope 1/2."""
        found: np.ndarray = self.filters @ self.frozen / (2 * math.sqrt(len(self.frozen)))
        return found

    def lifted(self, X: np.ndarray) -> np.ndarray:
        """Centred random features (n, P)."""
        return _random_features(X, self.mean, self.frozen) - self.center.astype(X.dtype)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Features (n, k)."""
        found: np.ndarray = self.lifted(X) @ self.filters.T.astype(X.dtype)
        return found


def _random_features(X: np.ndarray, mean: np.ndarray, frozen: np.ndarray) -> np.ndarray:
    u = (X - mean.astype(X.dtype)) @ frozen.T.astype(X.dtype)
    return np.maximum(u, 0, out=u) / np.sqrt(len(frozen), dtype=X.dtype)


def relu_layer(
    X: np.ndarray, T: np.ndarray, keep: int, count: int, rng: np.random.Generator
) -> tuple[ReluFilters, np.ndarray]:
    """Filters of `count` random features of rows X (n, d): `keep` of them for all scores together.

    Parameters
    ----------
    X, T : ndarray (n, d), (n, s)
        Rows, and scores of their labels.
    keep : int
        Number of filters; each score has its share, and one of first order besides.
    count : int
        Random features.
    rng : Generator
        Frozen weights, and the order of permuted labels.
    """
    mean = X.mean(axis=0, dtype=np.float64)
    size = math.sqrt(float(np.mean(np.sum((X - mean.astype(X.dtype)) ** 2, axis=1)))) or 1.0
    frozen = rng.standard_normal((count, X.shape[1])) / size
    Z = _random_features(X, mean, frozen)
    center = Z.mean(axis=0, dtype=np.float64)
    Z -= center.astype(Z.dtype)
    each = min(max(1, round(keep / T.shape[1])), count - 2, len(X) - 2)
    rows, spectra = [], []
    for t in T.T.astype(X.dtype):
        values, vectors = _extreme(Z, t, each, "LM", rng)
        ends = _extreme(Z, rng.permutation(t), 2, "BE", rng)[0]
        low, high = min(float(ends.min()), -1e-30), max(float(ends.max()), 1e-30)
        order = np.argsort(-abs(values))
        spectra.append(Spectrum(values[order], vectors.T[order], (low, high)))
        slope = (t @ Z).astype(np.float64)
        rows += [slope[None] / (np.linalg.norm(slope) or 1.0), vectors.T[order]]
    filters = np.concatenate(rows)
    H = Z @ filters.T.astype(Z.dtype)
    # Rows of mean square 1: layers that are joined count alike.
    norm = math.sqrt(float(np.mean(np.einsum("nk,nk->n", H, H)))) or 1.0
    filters, H = filters / norm, H / np.asarray(norm, H.dtype)
    layer = ReluFilters(mean, frozen, center, filters, H.std(axis=0, dtype=np.float64), spectra)
    return layer, H


def _extreme(
    Z: np.ndarray, t: np.ndarray, count: int, which: Literal["LM", "BE"], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Extreme eigenvalues and eigenvectors (P, count) of the mean of t z z^T."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    n, P = Z.shape
    if min(n, P) < 4 * count + 8:
        values, vectors = np.linalg.eigh((Z * t[:, None]).T @ Z / n)
        far = np.argsort(-abs(values))[:count] if which == "LM" else np.array([0, -1])
        return values[far], vectors[:, far]
    product: Any = LinearOperator(
        (P, P), matvec=lambda v: Z.T @ (t * (Z @ v.ravel())) / n, dtype=Z.dtype
    )
    start = np.asarray(rng.standard_normal(P), Z.dtype)
    found: tuple[np.ndarray, np.ndarray] = eigsh(
        product, count, which=which, v0=start, tol=_TOLERANCE
    )
    return found
