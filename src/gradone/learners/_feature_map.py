r"""Random features :math:`\sigma(\langle w_k, x\rangle + b_k)` of inputs, block by block.

Only one block of the n x width features exists at a time, unless somebody keeps them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..base.errors import BadData
from ..targets.activation import Activation
from ..targets.language.evaluate import evaluate_columns
from ._standardize import chunk_rows, row_blocks

ROWS_OF = ("random", "gaussian")
CACHED_NUMBERS = 1 << 15  # the activation reads and writes blocks that stay in the cache


@dataclass(frozen=True)
class FeatureMap:
    r"""Features :math:`\phi_k(x) = \sigma(\langle w_k, (x - \mu)/s\rangle + b_k)`.

    Parameters
    ----------
    activation : Activation
        :math:`\sigma`.
    weights : ndarray (width, d)
        Rows w; their dtype is that of the features.
    bias : ndarray (width,)
        b.
    mean, scale : ndarray (d,)
        Centre and scale of the inputs.

    Examples
    --------
    >>> one = FeatureMap(Activation("relu(z)"), np.eye(2), np.zeros(2), np.zeros(2), np.ones(2))
    >>> one(np.array([[1.0, -1.0]]))
    array([[1., 0.]])
    """

    activation: Activation
    weights: np.ndarray
    bias: np.ndarray
    mean: np.ndarray
    scale: np.ndarray

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.weights)

    @cached_property
    def _scaling(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Shift and factor of the inputs in the precision of the weights; None if they are bare."""
        if not self.mean.any() and (self.scale == 1).all():
            return None
        dtype = self.weights.dtype
        return self.mean.astype(dtype), (1 / self.scale).astype(dtype)

    def inputs(self, X: np.ndarray) -> np.ndarray:
        """Rows of X, centred and scaled, in the precision of the weights."""
        X = X.astype(self.weights.dtype, copy=False)
        if self._scaling is None:
            return X
        block = X - self._scaling[0]
        block *= self._scaling[1]
        return block

    def __call__(self, X: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Features (rows, width) of the rows of X."""
        return self.of_inputs(self.inputs(X), out)

    def of_inputs(
        self, inputs: np.ndarray, out: np.ndarray | None = None, neurons: slice = slice(None)
    ) -> np.ndarray:
        """The same for rows that :meth:`inputs` has scaled, of some neurons."""
        features = np.matmul(inputs, self.weights[neurons].T, out=out)
        bias = self.bias[neurons]
        shifted, tree, total = bool(bias.any()), self.activation.expression.tree, 0.0
        for part in row_blocks(len(features), max(1, CACHED_NUMBERS // max(len(bias), 1))):
            some = features[part]
            if shifted:
                some += bias
            some[...] = evaluate_columns(tree, lambda index, some=some: some)  # type: ignore[misc]
            with np.errstate(over="ignore", invalid="ignore"):
                total += float(some.sum())
        if not math.isfinite(total):
            raise BadData(
                f"the activation '{self.activation.text}' overflows on these inputs. Use "
                "standardize=True, or an activation that grows more slowly."
            )
        return features

    def blocks(
        self, X: np.ndarray, *, chunk_size: int | None = None, extra: int = 0
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Rows of a block, and their features in a buffer that the next block overwrites.

        The buffer has `extra` more columns, which the caller fills.
        """
        p, dtype = self.width, self.weights.dtype
        rows = min(chunk_size or chunk_rows(p + X.shape[1], dtype.itemsize), len(X))
        buffer = np.empty((rows, p + extra), dtype)
        for part in row_blocks(len(X), rows):
            block = buffer[: part.stop - part.start]
            self(X[part], out=block[:, :p])
            yield part, block


def random_rows(init: Any, width: int, d: int, rng: np.random.Generator) -> np.ndarray:
    r"""Rows (width, d) of random weights; fewer are the first of more.

    Parameters
    ----------
    init : "random", "gaussian" or array (width, d)
        Uniform on the unit sphere, independent :math:`N(0, I/d)`, or given.
    width, d : int
        Shape.
    rng : Generator
        Source of the numbers.

    Examples
    --------
    >>> rows = random_rows("random", 3, 2, np.random.default_rng(0))
    >>> np.linalg.norm(rows, axis=1)
    array([1., 1., 1.])
    """
    if not isinstance(init, str):
        rows = np.array(init, dtype=np.float64)
        if rows.shape != (width, d) or not np.isfinite(rows).all():
            raise BadData(
                f"init must be 'random', 'gaussian' or finite weights of shape ({width}, {d}), "
                f"got an array of shape {rows.shape}"
            )
        return rows
    if init not in ROWS_OF:
        raise BadData(f"init must be 'random', 'gaussian' or an array, got {init!r}")
    rows = rng.standard_normal((width, d))
    if init == "gaussian":
        return rows / math.sqrt(d)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
