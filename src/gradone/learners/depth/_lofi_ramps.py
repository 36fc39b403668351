"""Random ramps of features, in blocks of equal size: what readouts are linear in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_REACH = 1.5  # offsets, in standard deviations of the argument


@dataclass(frozen=True)
class Ramps:
    r"""Features, and :math:`\mathrm{relu}(w \cdot h + b)` of them.

    Parameters
    ----------
    center, scale : ndarray (k,)
        Of the features.
    rows : ndarray (p, k)
        Directions w, in units of the standardized features.
    offsets : ndarray (p,)
        Offsets b.
    """

    center: np.ndarray
    scale: np.ndarray
    rows: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(
        cls, H: np.ndarray, blocks: list[np.ndarray], count: int, rng: np.random.Generator
    ) -> Ramps:
        """Ramps of rows H (n, k), whose arguments have variance near 1.

        Parameters
        ----------
        H : ndarray (n, k)
            Features.
        blocks : list of ndarray
            Relative weights of the features of each block, one block after the other.
        count : int
            Number of ramps.
        rng : Generator
            Directions and offsets.
        """
        spread = H.std(axis=0, dtype=np.float64)
        sizes = [block / (np.linalg.norm(block) or 1.0) for block in blocks]
        weights = np.concatenate(sizes) * (spread > 0)
        rows = rng.standard_normal((count, len(weights))) * weights
        rows /= np.linalg.norm(rows, axis=1, keepdims=True) + 1e-300
        spread = np.where(spread > 0, spread, 1.0)
        offsets = rng.uniform(-_REACH, _REACH, count)
        return cls(H.mean(axis=0, dtype=np.float64), spread, rows, offsets)

    def __call__(self, H: np.ndarray) -> np.ndarray:
        """Values (n, p + k)."""
        standard = (H - self.center.astype(H.dtype)) / self.scale.astype(H.dtype)
        u = standard @ self.rows.T.astype(H.dtype) + self.offsets.astype(H.dtype)
        return np.concatenate([np.maximum(u, 0, out=u), standard], axis=1)
