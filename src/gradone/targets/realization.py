"""A target in a given dimension: its hidden directions are drawn, labels can be computed."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import BadData
from .directions import Projection
from .language.expression import Expression
from .sampling import Labels, block_rows

if TYPE_CHECKING:
    from .target import Target


class Realization(ABC):
    """Hidden directions of a target, and the noiseless label of any input.

    Parameters
    ----------
    W_star : ndarray (k, d)
        Hidden directions, orthonormal rows.
    """

    def __init__(self, W_star: np.ndarray) -> None:
        self.W_star = W_star
        self.d = int(W_star.shape[1])

    latent = 0

    @property
    def feature_widths(self) -> tuple[int, ...]:
        """Number of features of each level."""
        return ()

    @abstractmethod
    def label(self, X: np.ndarray, xi: np.ndarray | None = None) -> Labels:
        """Labels without label noise, and features, of one block of rows.

        With latent noise `xi` (n, q) given the label itself; without, its conditional mean.
        """

    def __call__(self, X: Any) -> np.ndarray:
        """Conditional mean (n,) of the labels of inputs (n, d)."""
        return self._in_blocks(X, lambda block: self.label(block)[0])

    def _in_blocks(self, X: Any, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Rows of a function of X, computed block by block so that memory stays bounded."""
        X = np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.d or X.dtype.kind not in "fiub":
            raise BadData(f"X must be numbers of the shape (n, {self.d}), got {X.dtype} {X.shape}")
        rows = block_rows(self.d)
        starts = range(0, max(len(X), 1), rows)
        return np.concatenate([function(np.asarray(X[i : i + rows], np.float64)) for i in starts])


class IndexRealization(Realization):
    """Multi-index function ``y = g(W_star x)`` in a given dimension.

    Examples
    --------
    >>> from gradone import Target
    >>> t = Target("z1*z2").realization(d=5)
    >>> t.z(np.ones((3, 5))).shape, t(np.ones((3, 5))).shape
    ((3, 2), (3,))
    """

    def __init__(self, W_star: np.ndarray, target: Target) -> None:
        super().__init__(W_star)
        self._project = Projection(W_star)
        self._target = target
        self.latent = target.q

    def label(self, X: np.ndarray, xi: np.ndarray | None = None) -> Labels:
        """Labels of one block of rows given their latent noise; without it, their mean."""
        z = self._project(X)
        return self._target.mean(z) if xi is None else self._target(z, xi), ()

    def z(self, X: Any) -> np.ndarray:
        """Projections ``W_star x``, (n, r)."""
        return self._in_blocks(X, self._project)


class LayeredRealization(Realization):
    r"""Hierarchical target in a given dimension: disjoint blocks of features, level by level.

    .. math::
        h^{(1)} = W^\star x, \qquad
        h^{(l)}_j = \frac{1}{\sqrt{B_l}} \sum_{i \in \text{block } j} a_i P_l(h^{(l-1)}_i), \qquad
        y = g(h)

    in each of the branches; the blocks of one level have one size :math:`B_l`.

    Parameters
    ----------
    W_star : ndarray (branches * D, d)
        Hidden directions, branch after branch.
    inners : sequence of Expression
        The functions :math:`P_l`, from the bottom to the top.
    signs : sequence of ndarray
        The weights :math:`a`, one array (branches, number of features below) for each function.
    sizes : sequence of int
        The block sizes :math:`B_l`.
    scales : sequence of float
        What the features of each level are multiplied with.
    outer : callable
        Features (n, branches) to labels (n,).
    """

    def __init__(
        self,
        W_star: np.ndarray,
        *,
        inners: Sequence[Expression],
        signs: Sequence[np.ndarray],
        sizes: Sequence[int],
        scales: Sequence[float],
        outer: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        super().__init__(W_star)
        self._project = Projection(W_star)
        self._outer = outer
        self._levels = tuple(zip(inners, signs, sizes, scales, strict=True))
        self._signs = tuple(signs)
        self.branches = signs[0].shape[0]

    @property
    def signs(self) -> np.ndarray | tuple[np.ndarray, ...]:
        """Weights a (branches, D); with several levels a tuple of such arrays."""
        return self._signs[0] if len(self._signs) == 1 else self._signs

    @property
    def feature_widths(self) -> tuple[int, ...]:
        """Number of features of each level, over all branches."""
        return tuple(signs.size // size for _, signs, size, _ in self._levels)

    def label(self, X: np.ndarray, xi: np.ndarray | None = None) -> Labels:
        """Noiseless labels and features of one block of rows."""
        return self.label_of(self._project(X))

    def label_of(self, z: np.ndarray) -> Labels:
        """Noiseless labels and features of given projections (n, branches * D)."""
        features = self._features_of(z)
        return self._outer(features[-1]), features

    def _features(self, X: np.ndarray) -> tuple[np.ndarray, ...]:
        return self._features_of(self._project(X))

    def _features_of(self, z: np.ndarray) -> tuple[np.ndarray, ...]:
        found, below = [], z
        for inner, signs, size, scale in self._levels:
            terms = inner(below[..., None]).reshape(len(z), -1, size)
            weights = signs.reshape(-1, size) * (scale / math.sqrt(size))
            below = np.einsum("njb,jb->nj", terms, weights)
            found.append(below)
        return tuple(found)

    def z(self, X: Any) -> np.ndarray:
        """Projections of the inputs, (n, branches, D)."""
        flat = self._in_blocks(X, self._project)
        return flat.reshape(len(flat), self.branches, -1)

    def h(self, X: Any) -> np.ndarray:
        """Topmost features, (n, branches)."""
        return self.levels(X)[-1]

    def levels(self, X: Any) -> tuple[np.ndarray, ...]:
        """Features of every level above z, from the bottom to the top, each (n, number)."""
        stacked = self._in_blocks(X, lambda block: np.concatenate(self._features(block), axis=1))
        return tuple(np.split(stacked, np.cumsum(self.feature_widths)[:-1], axis=1))
