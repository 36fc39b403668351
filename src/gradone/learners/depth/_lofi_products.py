r"""Filters of the second layer: label-weighted moments of products of the features below.

The lift of the coordinates z is :math:`\phi = (z_i, z_i z_j, (z_i^2 - 1)/\sqrt2)`, orthonormal if z
is Gaussian. In :math:`\overline{t\,\phi\phi^\top}` a few rows with large :math:`|\phi|` would
make outliers of their own, and so would the part of t that is linear in :math:`\phi`: rows are
divided by :math:`|\phi|/\sqrt P`, and t loses its linear part. The correction [LW-8] takes what is
predicted off and puts its mean over synthetic Gaussian z back.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ._hermite import hermite_products
from ._moments import Moments
from ._ridge_path import Readout
from ._selection import one_after_the_other, outside

_SYNTHETIC = 12_000
# The lift is not Gaussian: without signal its eigenvalues reach beyond the edges, up to 1.1 of them
# in sixteen dimensions. Filters that are not there cost more than weak ones that are missed.
_MARGIN, _MOST = 4.0, 12  # filters of one weight at most
_RAMPS, _REACH = 300, 1.5


@dataclass(frozen=True)
class ProductStage:
    """Moments of products of degree one and two.

    Parameters
    ----------
    weights : ndarray (k,)
        How well the coordinates are known; ramps go along them in this proportion.
    synthetic : ndarray (N, k) or None
        Rows of the law of the coordinates. None: it is not known, and nothing is put back.
    """

    weights: np.ndarray
    synthetic: np.ndarray | None

    @classmethod
    def of(cls, weights: np.ndarray, gaussian: bool, rng: np.random.Generator) -> ProductStage:
        """Stage above Gaussian coordinates, or above others."""
        shape = (_SYNTHETIC, len(weights))
        return cls(weights, rng.standard_normal(shape, np.float32) if gaussian else None)

    def lift(self, X: np.ndarray) -> np.ndarray:
        """Products (n, P) of coordinates X (n, k), each row of length sqrt(P)."""
        phi = hermite_products(X, 2)
        size = np.linalg.norm(phi, axis=1, keepdims=True) / np.sqrt(phi.shape[1])
        scaled: np.ndarray = phi / np.where(size > 0, size, 1).astype(phi.dtype)
        return scaled

    def find(self, moments: Moments) -> tuple[np.ndarray, np.ndarray]:
        """Orthonormal filters (k, P), and their weights (k,)."""
        return one_after_the_other(moments, outside(_MARGIN, _MOST))

    def known(
        self, basis: np.ndarray, weights: np.ndarray, rng: np.random.Generator
    ) -> SyntheticFeatures:
        """Functions of the coordinates and of the filters."""
        k, m = len(self.weights), len(basis)
        scale = self.weights / np.linalg.norm(self.weights)
        if m:
            scale = np.concatenate([scale, weights / np.linalg.norm(weights)]) / np.sqrt(2)
        rows = rng.standard_normal((_RAMPS, k + m)) * scale
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return SyntheticFeatures(self, basis, rows, rng.uniform(-_REACH, _REACH, _RAMPS))

    def gaps(self, X: np.ndarray, features: SyntheticFeatures, fit: Readout) -> np.ndarray:
        """None (n, 0): the stage below has looked at the law."""
        return np.zeros((len(X), 0))

    @cached_property
    def _lifted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of the synthetic rows: products, the same with equal lengths, and products' inverse."""
        assert self.synthetic is not None
        phi = hermite_products(self.synthetic, 2)
        gram = (phi.T @ phi).astype(np.float64)
        return phi, self.lift(self.synthetic), np.linalg.inv(gram)


@dataclass(frozen=True)
class SyntheticFeatures:
    """Products of coordinates, and ramps of the coordinates and of filters.

    Parameters
    ----------
    stage : ProductStage
        The coordinates' law.
    basis : ndarray (m, P)
        Filters.
    rows : ndarray (p, k + m)
        Of the ramps.
    offsets : ndarray (p,)
        Of the ramps.
    """

    stage: ProductStage
    basis: np.ndarray
    rows: np.ndarray
    offsets: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Features (n, P + p) of coordinates X (n, k)."""
        phi = hermite_products(X, 2)
        joined = np.concatenate([X, phi @ self.basis.T.astype(X.dtype)], axis=1)
        ramps = joined @ self.rows.T.astype(X.dtype) + self.offsets.astype(X.dtype)
        return np.concatenate([phi, np.maximum(ramps, 0, out=ramps)], axis=1)

    def moments(self, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Moments of functions with coefficients C (q, s), without their linear part."""
        P, s = self.basis.shape[1], C.shape[1]
        if self.stage.synthetic is None:
            return np.zeros((s, P, P)), np.zeros((s, P))
        phi, lifted, inverse = self.stage._lifted
        f = (self(self.stage.synthetic) @ C.astype(np.float32)).astype(np.float64)
        f -= f.mean(axis=0)
        f -= phi @ (inverse @ (phi.T @ f))
        found = Moments.of(lifted, f)
        return found.second, np.zeros((s, P))
