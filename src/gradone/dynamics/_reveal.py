r"""A Gaussian data set that is revealed gradually: only what a run has looked at is ever drawn.

The rows of X (n, d) are samples. Known at any time are their coordinates :math:`U = XV` on m
orthonormal directions V, and l orthonormal combinations F (n, l) of samples whose sums
:math:`F^\top X` lie in the span of V. What is left, :math:`(1 - FF^\top)X(1 - VV^\top)`, is
Gaussian and independent of all that is known. The sum :math:`X^\top c` over samples, whatever c may
have learned from what is known, then adds one direction: with f the normalized part of c outside F,

.. math:: F \leftarrow [F, f], \qquad U \leftarrow [U,\ \rho f + (1 - FF^\top)g], \qquad
          \rho \sim \chi_{d-m}, \quad g \sim N(0, I_n).     [RV-1]

After that :math:`X^\top c` has the coordinates :math:`U^\top c`. Once m = d the samples are known
completely, and once l = n every sum of samples is; so is a c in the span of F at any time. In these
three cases nothing is added, and the same coordinates hold without any change of the law.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike


class RevealedSamples:
    """Samples of which the first coordinates are drawn, and the others as sums ask for them.

    Parameters
    ----------
    n, d : int
        Number of samples and dimension.
    known : int
        Coordinates drawn at once: those on the directions of target and student.
    sums : int
        Largest number of sums that will be asked for.
    rng : Generator
        Source of the samples.
    dtype : dtype
        Type of the coordinates.

    Examples
    --------
    The squared length of a sum of 10 samples is chi^2 with d degrees of freedom, times 10:

    >>> samples = RevealedSamples(10, 400, 3, 5, rng=np.random.default_rng(0))
    >>> samples.reveal(np.ones((1, 10)))
    >>> samples.coordinates.shape
    (4, 10)
    >>> bool(abs((samples.coordinates.sum(axis=1) ** 2).sum() / 4000 - 1) < 0.5)
    True
    """

    def __init__(
        self,
        n: int,
        d: int,
        known: int,
        sums: int,
        *,
        rng: np.random.Generator,
        dtype: DTypeLike = np.float64,
    ) -> None:
        self.n, self.d = n, d
        self._rng = rng
        self._dtype: np.dtype[Any] = np.dtype(dtype)
        room = hidden_directions(n, d, known, sums)
        # One row for each direction or combination, all samples in it: rows are appended.
        self._U = np.empty((known + room, n), self._dtype)
        self._F = np.empty((room, n), self._dtype)
        self._U[:known] = self._normal(known)
        self._m, self._l = known, 0
        # Below this share of c its part outside F is rounding error.
        self._negligible = 100 * np.finfo(self._dtype).eps

    @property
    def coordinates(self) -> np.ndarray:
        """Coordinates U^T (m, n) of the samples, a view."""
        return self._U[: self._m]

    def reveal(self, C: np.ndarray) -> None:
        """Make the sums X^T c over samples known for every row c of C (k, n)."""
        outside = np.array(C, dtype=self._dtype)
        sizes = np.linalg.norm(outside, axis=1)
        old, first = self._F[: self._l], self._l
        for _ in range(2):  # once leaves errors of the size of what was removed
            outside -= (outside @ old.T) @ old
        for c, size in zip(outside, sizes, strict=True):
            if self._m == self.d or self._l == self.n:
                break
            new = self._F[first : self._l]
            for _ in range(2):
                c -= (new @ c) @ new
            length = float(np.linalg.norm(c))
            if length > self._negligible * float(size):
                self._append(c / self._dtype.type(length))

        new, fresh = self._F[first : self._l], self._normal(self._l - first)
        fresh -= (fresh @ old.T) @ old
        # Each row knows the combinations up to its own, and those after it are independent.
        fresh -= np.tril(fresh @ new.T) @ new
        self._U[self._m - len(fresh) : self._m] += fresh

    def _append(self, f: np.ndarray) -> None:
        """Add the combination f and the length of its sum."""
        self._F[self._l] = f
        length = math.sqrt(self._rng.chisquare(self.d - self._m))
        np.multiply(f, self._dtype.type(length), out=self._U[self._m])
        self._l, self._m = self._l + 1, self._m + 1

    def _normal(self, k: int) -> np.ndarray:
        """Standard normal rows (k, n)."""
        return self._rng.standard_normal((k, self.n), dtype=self._dtype.type)


def hidden_directions(n: int, d: int, known: int, sums: int) -> int:
    """Directions that this number of sums over samples can reveal at most.

    Examples
    --------
    >>> hidden_directions(n=60, d=40, known=4, sums=100)
    36
    """
    return min(sums, n, d - known)
