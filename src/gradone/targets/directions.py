"""Hidden directions: orthonormal rows drawn uniformly, and the projection on them."""

from __future__ import annotations

import numpy as np

from ..base.errors import BadData
from ..base.memory import require_memory
from ..base.seeds import stream

# A product of this many multiplications stays on one thread of the BLAS: threads would cost more
# than they save here, and the rounding of the result would depend on their number.
_TILE = 2**17


def orthonormal_rows(normals: np.ndarray) -> np.ndarray:
    r"""Orthonormal rows (k, d), Haar distributed when `normals` (k, d) is Gaussian.

    The QR factors of the transpose with a positive diagonal of R; without that sign rule the rows
    are orthonormal but not uniform.

    Examples
    --------
    >>> W = orthonormal_rows(np.array([[3.0, 4.0], [1.0, 0.0]]))
    >>> W.round(12)
    array([[ 0.6,  0.8],
           [ 0.8, -0.6]])
    """
    Q, R = np.linalg.qr(normals.T)
    signs = np.where(np.diagonal(R) < 0, -1.0, 1.0)
    return np.ascontiguousarray((Q * signs).T)


def hidden_directions(k: int, d: int, *, seed: int, replicate: int) -> np.ndarray:
    """Haar distributed directions (k, d) of role ``"directions"``.

    The first row does not depend on k: targets of different rank share their first directions.

    Examples
    --------
    >>> W = hidden_directions(3, 10, seed=0, replicate=0)
    >>> bool(np.allclose(W @ W.T, np.eye(3)))
    True
    """
    if k > d:
        raise BadData(f"{k} orthonormal directions do not fit in d = {d} dimensions; use d >= {k}")
    require_memory(4 * 8 * k * d, f"W_star of {k} x {d} numbers", "Use a smaller d.")
    normals = stream(seed, "directions", d=d, replicate=replicate).standard_normal((k, d))
    return orthonormal_rows(normals)


class Projection:
    """Product of rows with the transpose of a fixed matrix, in tiles of fixed shape.

    Parameters
    ----------
    W : ndarray (k, d)
        The matrix.

    Examples
    --------
    >>> Projection(np.eye(2))(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 2.],
           [3., 4.]])
    """

    def __init__(self, W: np.ndarray) -> None:
        self.k, d = W.shape
        # Two columns at least: a product with one column is threaded by other rules.
        columns = max(self.k, 2)
        self._matrix = np.zeros((d, columns))
        self._matrix[:, : self.k] = W.T
        self._tile = max(16, _TILE // (d * columns))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Rows of `X` (n, d) times the transpose, (n, k)."""
        out = np.empty((len(X), self._matrix.shape[1]))
        for start in range(0, len(X), self._tile):
            rows = slice(start, start + self._tile)
            np.matmul(X[rows], self._matrix, out=out[rows])
        return out[:, : self.k]
