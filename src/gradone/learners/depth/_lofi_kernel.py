r"""Ridge regression with the kernel of infinitely many ramps.

.. math:: K(h, h') = \frac{|h||h'|}{2\pi}\left(\sin\theta + (\pi - \theta)\cos\theta\right)
          \qquad \theta = \angle(h, h')

is the mean of :math:`\mathrm{relu}(w \cdot h)\,\mathrm{relu}(w \cdot h')` over Gaussian w.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._standardize import chunk_rows, row_blocks

RIDGES = 10.0 ** np.arange(-5.0, 0.01, 0.5)
"""In units of the mean of K(h, h)."""


def ramp_kernel(H: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Kernel (n, m) of rows H (n, k) and G (m, k).

    Examples
    --------
    >>> ramp_kernel(np.eye(2), np.eye(2)).round(4)
    array([[0.5   , 0.1592],
           [0.1592, 0.5   ]])
    """
    a, b = np.linalg.norm(H, axis=1), np.linalg.norm(G, axis=1)
    sizes = np.outer(a, b)
    cosine = np.clip(H @ G.T / np.maximum(sizes, 1e-30), -1, 1)
    angle = np.arccos(cosine)
    bent = np.sqrt(np.maximum(1 - cosine**2, 0)) + (np.pi - angle) * cosine
    found: np.ndarray = sizes * bent / (2 * np.pi)
    return found


@dataclass(frozen=True)
class KernelReadout:
    """Function in the span of the kernel at some rows.

    Parameters
    ----------
    center : ndarray (k,)
        Of the features.
    scale : float
        Root mean square of their length.
    rows : ndarray (n, k)
        Standardized rows.
    coefficients : ndarray (n, s)
        Of the kernel at the rows.
    constants : ndarray (s,)
        Constants.
    """

    center: np.ndarray
    scale: float
    rows: np.ndarray
    coefficients: np.ndarray
    constants: np.ndarray

    @classmethod
    def path(cls, H: np.ndarray, Y: np.ndarray, numbers: list[int]) -> list[KernelReadout]:
        """Fits of labels Y (n, s) at rows H (n, k), for some of the ridges."""
        from scipy.linalg import cho_factor, cho_solve

        center = H.mean(axis=0)
        rows = H - center
        scale = float(np.sqrt(np.mean(np.sum(rows.astype(np.float64) ** 2, axis=1)))) or 1.0
        rows = rows / H.dtype.type(scale)
        K = ramp_kernel(rows, rows).astype(np.float64)
        unit = float(K.trace()) / len(K) or 1.0
        constants = Y.mean(axis=0)
        found = []
        for number in numbers:
            system = K + RIDGES[number] * unit * np.eye(len(K))
            factor = cho_factor(system, overwrite_a=True, check_finite=False)
            found.append(cls(center, scale, rows, cho_solve(factor, Y - constants), constants))
        return found

    def __call__(self, H: np.ndarray) -> np.ndarray:
        """Outputs (n, s)."""
        out = np.empty((len(H), len(self.constants)))
        for part in row_blocks(len(H), chunk_rows(4 * len(self.rows), H.itemsize)):
            rows = (H[part] - self.center.astype(H.dtype)) / H.dtype.type(self.scale)
            K = ramp_kernel(rows, self.rows.astype(H.dtype))
            out[part] = K @ self.coefficients + self.constants
        return out
