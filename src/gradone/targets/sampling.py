"""Samples of a target, and the blocks of rows in which every sample is drawn.

The rows of X come one after the other from the stream ``data`` of (seed, d, replicate), whatever
the target: a larger n extends a smaller one, and a chunked reading gives the same numbers as one
large sample. The same holds for the labels, bit for bit, because they are always computed on whole
blocks whose size depends on d alone (rounding in a matrix product may depend on its shape); the
last block is filled up with zeros. A block is labeled while it is still in cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from ..base.errors import BadData
from ..base.seeds import stream
from .inputs import LAWS, Law

BLOCK_NUMBERS = 2**18  # 2 MB of float64: stays in cache while the labels are computed
BLOCK_ROWS = 2**12  # for small d, so that a small sample does not pay for a large block
Role = Literal["data", "test"]
Labels = tuple[np.ndarray, tuple[np.ndarray, ...]]


@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """Inputs, their labels, and the hidden directions that made them.

    Parameters
    ----------
    X : ndarray (n, d)
        Inputs, rows independent; N(0, I) unless another law was chosen.
    y : ndarray (n,)
        Labels.
    W_star : ndarray (r, d)
        Hidden directions, orthonormal rows, always float64.
    features : tuple of ndarray
        Intermediate features of a hierarchical target from the bottom to the top, each
        (n, number of features); empty for a plain target.

    Examples
    --------
    >>> from gradone import Target
    >>> Target("z1*z2").sample(n=4, d=10)
    Sample(X (4, 10), y (4,), W_star (2, 10), float64)
    """

    X: np.ndarray
    y: np.ndarray
    W_star: np.ndarray
    features: tuple[np.ndarray, ...] = ()

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """Input dimension."""
        return int(self.X.shape[1])

    @property
    def h(self) -> np.ndarray:
        """Topmost features of a hierarchical target, (n, branches)."""
        if not self.features:
            raise BadData("a sample of a plain Target has no features h; its z is X @ W_star.T")
        return self.features[-1]

    def __repr__(self) -> str:
        parts = [f"X {self.X.shape}", f"y {self.y.shape}", f"W_star {self.W_star.shape}"]
        if self.features:
            parts.append("features " + ", ".join(str(f.shape) for f in self.features))
        return f"Sample({', '.join(parts)}, {self.X.dtype})"


class Labeler(Protocol):
    """What a data set needs to know of a target at a given dimension: its realization."""

    @property
    def W_star(self) -> np.ndarray:
        """Hidden directions (r, d)."""

    @property
    def feature_widths(self) -> tuple[int, ...]:
        """Number of features of each level."""

    @property
    def latent(self) -> int:
        """Number of latent variables of each label."""

    def label(self, X: np.ndarray, xi: np.ndarray | None = None) -> Labels:
        """Labels without label noise and features of one block of rows and its latent noise."""


def block_rows(d: int) -> int:
    """Rows of one block in dimension d.

    Examples
    --------
    >>> block_rows(500), block_rows(10)
    (524, 4096)
    """
    return min(BLOCK_ROWS, max(1, BLOCK_NUMBERS // d))


class DataSet:
    """Rows 0, 1, ..., n - 1 of the data of one target, read once and in order.

    Parameters
    ----------
    labeler : Labeler
        Realization of the target; gives W_star and the labels of a block.
    n : int
        Number of rows in all.
    seed, replicate : int
        Address of the data.
    noise : float
        Variance of the label noise.
    dtype : dtype
        float64, or float32 for the same numbers rounded.
    role : str
        ``"data"``, or ``"test"`` for fresh rows with the same hidden directions.
    inputs : Law, optional
        Law of the rows; standard Gaussian by default.
    """

    def __init__(
        self,
        labeler: Labeler,
        n: int,
        *,
        seed: int,
        replicate: int,
        noise: float,
        dtype: np.dtype[Any],
        role: Role = "data",
        inputs: Law | None = None,
    ) -> None:
        self.labeler, self.n, self.noise, self.dtype = labeler, n, noise, dtype
        self.d = labeler.W_star.shape[1]
        self.rows = block_rows(self.d)
        cell = {"d": self.d, "replicate": replicate}
        self._fill = (inputs or LAWS["gaussian"]()).source(
            self.d, seed=seed, replicate=replicate, role=role
        )
        of = {} if role == "data" else {"of": role}
        self._noises = stream(seed, "noise", **cell, **of)
        self._latent = stream(seed, "latent", **cell, **of)
        self._position = 0  # next row to read
        self._block = 0  # next block to draw
        self._buffer: np.ndarray | None = None
        self._rest = Sample(*self._empty(0))  # rows that are drawn but not yet read

    def read(self, count: int) -> Sample:
        """Next `count` rows, fewer at the end."""
        count = min(count, self.n - self._position)
        self._position += count
        part = Sample(*self._empty(count))
        done = 0
        while done < count:
            if self._rest.n:
                done += self._take_rest(part, done)
            elif count - done >= self.rows and self.dtype == np.float64:
                # Whole block: drawn in place, nothing is copied.
                block = slice(done, done + self.rows)
                self._fill(part.X[block])
                self._store(part, block, self._label(part.X[block]))
                done += self.rows
            else:
                self._rest = self._next_block()
        return part

    def _empty(self, count: int) -> tuple[Any, ...]:
        widths = self.labeler.feature_widths
        features = tuple(np.empty((count, width), self.dtype) for width in widths)
        X = np.empty((count, self.d), self.dtype)
        return X, np.empty(count, self.dtype), self.labeler.W_star, features

    def _label(self, X: np.ndarray) -> Labels:
        """Labels of a whole block; moves on to the next one."""
        q = self.labeler.latent
        y, features = self.labeler.label(
            X, self._latent.standard_normal((len(X), q)) if q else None
        )
        if self.noise:
            y = y + np.sqrt(self.noise) * self._noises.standard_normal(len(X))
        self._block += 1
        return y, features

    def _next_block(self) -> Sample:
        """Next block as a sample of its own, cut where the data set ends."""
        if self._buffer is None:
            self._buffer = np.empty((self.rows, self.d))
        X = self._buffer
        needed = min(self.rows, self.n - self._block * self.rows)
        X[needed:] = 0.0
        self._fill(X[:needed])
        y, features = self._label(X)
        return Sample(
            X[:needed], y[:needed], self.labeler.W_star, tuple(f[:needed] for f in features)
        )

    def _take_rest(self, part: Sample, done: int) -> int:
        rest = self._rest
        count = min(part.n - done, rest.n)
        part.X[done : done + count] = rest.X[:count]
        features = tuple(f[:count] for f in rest.features)
        self._store(part, slice(done, done + count), (rest.y[:count], features))
        left = tuple(f[count:] for f in rest.features)
        self._rest = Sample(rest.X[count:], rest.y[count:], rest.W_star, left)
        return count

    @staticmethod
    def _store(part: Sample, rows: slice, labels: Labels) -> None:
        y, features = labels
        part.y[rows] = y
        for to, feature in zip(part.features, features, strict=True):
            to[rows] = feature
