r"""Functions of a few directions whose moments with Gaussian inputs are known exactly.

For standard Gaussian u, a unit vector w and orthonormal v_i,

.. math:: \mathbb{E}[\mathrm{relu}(w \cdot u + b)\,(u u^\top - I)] = \varphi(b)\, w w^\top, \qquad
          \mathbb{E}[\mathrm{relu}(w \cdot u + b)\, u] = \Phi(b)\, w,

and :math:`z_i z_j` with :math:`z_i = v_i \cdot u` has the second moment
:math:`v_i v_j^\top + v_j v_i^\top`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ._hermite import hermite_products

_RAMPS = 300
_REACH = 1.5  # offsets of the ramps lie between -1.5 and 1.5


@dataclass(frozen=True)
class GaussianFeatures:
    """Hermite products of degree one and two along directions, and ramps in their span.

    Parameters
    ----------
    basis : ndarray (k, m)
        Orthonormal directions.
    rows : ndarray (p, m)
        Unit vectors of the ramps, in the span of the basis.
    offsets : ndarray (p,)
        Of the ramps.

    Examples
    --------
    >>> features = GaussianFeatures.of(np.eye(2, 3), np.ones(2), np.random.default_rng(0))
    >>> features(np.zeros((4, 3))).shape
    (4, 305)
    """

    basis: np.ndarray
    rows: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(
        cls, basis: np.ndarray, weights: np.ndarray, rng: np.random.Generator
    ) -> GaussianFeatures:
        """Ramps along random directions, with more weight on some of the basis; none without it."""
        if not len(basis):
            return cls(basis, basis, np.zeros(0))
        rows = rng.standard_normal((_RAMPS, len(basis))) * weights
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return cls(basis, rows @ basis, rng.uniform(-_REACH, _REACH, _RAMPS))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Features (n, k (k + 3) / 2 + p) of whitened rows (n, m)."""
        products = hermite_products(X @ self.basis.T.astype(X.dtype), 2)
        ramps = X @ self.rows.T.astype(X.dtype) + self.offsets.astype(X.dtype)
        return np.concatenate([products, np.maximum(ramps, 0, out=ramps)], axis=1)

    def moments(self, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Second (s, m, m) and first (s, m) moments of functions with coefficients C (q, s)."""
        return np.stack([self.moment(c) for c in C.T]), np.stack([self.slope(c) for c in C.T])

    def slope(self, c: np.ndarray) -> np.ndarray:
        """Mean of f u for f with coefficients c."""
        from scipy.special import ndtr

        linear, _, ramps = self._split(c)
        found: np.ndarray = linear @ self.basis + (ramps * ndtr(self.offsets)) @ self.rows
        return found

    def moment(self, c: np.ndarray) -> np.ndarray:
        """Mean of f (u u^T - 1) for f with coefficients c."""
        k, (_, products, ramps) = len(self.basis), self._split(c)
        form = np.zeros((k, k))
        form[np.triu_indices(k)] = products
        form += form.T
        # The square of a coordinate comes as (z^2 - 1)/sqrt(2), whose moment is sqrt(2) v v^T.
        form[np.diag_indices(k)] /= math.sqrt(2)
        density = np.exp(-(self.offsets**2) / 2) / math.sqrt(2 * math.pi)
        bent = (self.rows.T * (ramps * density)) @ self.rows
        found: np.ndarray = self.basis.T @ form @ self.basis + bent
        return found

    def _split(self, c: np.ndarray) -> list[np.ndarray]:
        """Coefficients of the coordinates, of their products and of the ramps."""
        k = len(self.basis)
        return np.split(c, [k, k * (k + 3) // 2])
