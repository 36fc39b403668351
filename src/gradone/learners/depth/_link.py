"""Smooth functions of a few variables, with their gradients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._standardize import row_blocks

UNITS = 200
"""Ramps of a link."""

_ROUNDING, _REACH, _RIDGE = 0.35, 2.5, 1e-3
_ROWS = 512  # their ramps stay in the cache of a processor, which is several times as fast


@dataclass(frozen=True)
class Link:
    r"""A smooth function G of k variables: rounded ramps, a linear part and a constant.

    The ramps are :math:`(u + \sqrt{u^2 + \delta^2})/2`.

    Parameters
    ----------
    center, scale : ndarray (k,)
        Of the variables.
    directions, offsets : ndarray (units, k), (units,)
        Of the units.
    coefficients : ndarray (units + k + 1,)
        Of the units, of the variables, and of 1.
    """

    center: np.ndarray
    scale: np.ndarray
    directions: np.ndarray
    offsets: np.ndarray
    coefficients: np.ndarray

    @classmethod
    def fitted(cls, H: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Link:
        """Ridge fit of labels on rows H (n, k)."""
        k = H.shape[1]
        directions = rng.standard_normal((UNITS, k))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        scale = H.std(axis=0) + 1e-12
        offsets = rng.uniform(-_REACH, _REACH, UNITS)
        bare = cls(H.mean(axis=0), scale, directions, offsets, np.zeros(UNITS + k + 1))
        columns = bare._columns(H)
        gram = columns.T @ columns / len(y) + _RIDGE * np.eye(columns.shape[1])
        solved = np.linalg.solve(gram, columns.T @ y / len(y))
        return cls(bare.center, scale, directions, offsets, solved)

    def _ramps(self, H: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Standardized variables, arguments of the ramps, and their rounded sizes."""
        dtype = H.dtype
        standard = (H - self.center.astype(dtype)) / self.scale.astype(dtype)
        u = standard @ self.directions.T.astype(dtype) + self.offsets.astype(dtype)
        size = u * u
        size += _ROUNDING**2
        return standard, u, np.sqrt(size, out=size)

    def _columns(self, H: np.ndarray) -> np.ndarray:
        found = np.ones((len(H), UNITS + H.shape[1] + 1))
        for part in row_blocks(len(H), _ROWS):
            standard, u, size = self._ramps(H[part])
            size += u
            size /= 2
            found[part, :UNITS], found[part, UNITS:-1] = size, standard
        return found

    def __call__(self, H: np.ndarray) -> np.ndarray:
        """Values (n,)."""
        return self.with_gradient(H)[0]

    def with_gradient(self, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values (n,) and gradients (n, k)."""
        values, slopes = np.empty(len(H), H.dtype), np.empty(H.shape, H.dtype)
        for part in row_blocks(len(H), _ROWS):
            values[part], slopes[part] = self._part(H[part])
        return values, slopes

    def _part(self, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same, for few rows."""
        standard, u, size = self._ramps(H)
        c, directions = self.coefficients.astype(H.dtype), self.directions.astype(H.dtype)
        ramps, rest = c[:UNITS], c[UNITS:]
        values = u @ (ramps / 2) + size @ (ramps / 2) + standard @ rest[:-1] + rest[-1]
        np.divide(u, size, out=u)
        slopes = u @ (ramps[:, None] * directions / 2)
        slopes += ramps @ directions / 2 + rest[:-1]
        return values, slopes / self.scale.astype(H.dtype)
