"""Standardized features: mean 0 and variance 1 in the training data, constant columns left out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.arrays import array_namespace, like, to_numpy
from ..base.errors import BadData, number_of
from ..base.units import units

_BLOCK_BYTES = 1 << 24  # 16 MB: large enough for matrix products, small enough for the cache
_ROUNDING = 8  # a column whose spread is this many units of rounding of its size is constant


def chunk_rows(columns: int, itemsize: int = 8) -> int:
    """Rows of a block with the given number of columns that keeps the memory small.

    Examples
    --------
    >>> chunk_rows(1000)
    2097
    """
    return max(1, _BLOCK_BYTES // (itemsize * max(columns, 1)))


def row_blocks(n: int, rows: int) -> list[slice]:
    """Slices of at most that many rows that cover n.

    Examples
    --------
    >>> row_blocks(5, 3)
    [slice(0, 3, None), slice(3, 5, None)]
    """
    return [slice(start, min(start + rows, n)) for start in range(0, n, rows)]


@dataclass(frozen=True)
class Standardization:
    """Centre and scale of every feature.

    Parameters
    ----------
    mean, scale : ndarray (d,)
        Mean and standard deviation of the training data; scale 0 marks a constant column.
    """

    mean: np.ndarray
    scale: np.ndarray

    @property
    def kept(self) -> np.ndarray:
        """Indices of the columns that vary."""
        return np.flatnonzero(self.scale)

    def blocks(self, X: Any, rows: int) -> Iterator[tuple[slice, Any]]:
        """Standardized rows of the columns that vary, block by block, in the library of X."""
        xp, kept = array_namespace(X), self.kept
        shift, factor = like(X, self.mean[kept]), like(X, 1 / self.scale[kept])
        columns = None if len(kept) == len(self.scale) else like(X, kept, dtype=xp.int64)
        for part in row_blocks(X.shape[0], rows):
            block = X[part, :] if columns is None else xp.take(X[part, :], columns, axis=1)
            yield part, (block - shift) * factor


def standardization(
    X: Any, *, owner: str, rows: int | None = None, row_weights: np.ndarray | None = None
) -> Standardization:
    """Means and standard deviations of the columns of X; one warning if some are constant.

    Parameters
    ----------
    X : array (n, d)
        Training inputs.
    owner : str
        Name of the learner, for the warning.
    rows : int, optional
        Rows of a block; chosen by size if None.
    row_weights : ndarray (n,), optional
        Weights of the rows, with mean 1.
    """
    n, d = X.shape
    blocks = row_blocks(n, rows or chunk_rows(d))
    count = None if row_weights is None else like(X, row_weights[:, None])
    unit = units(to_numpy(X))
    inverse = None if (unit == 1).all() else like(X, 1 / unit)

    def mean_of(function: Callable[[Any], Any], center: Any) -> np.ndarray:
        total = np.zeros(d)
        for part in blocks:
            shifted = X[part, :] - center
            values = function(shifted if inverse is None else shifted * inverse)
            total += _sums(values if count is None else values * count[part, :])
        return total / n

    # The first row is taken off before summing: a constant column then has exactly no spread.
    mean = to_numpy(X[:1, :])[0] + unit * mean_of(lambda rows: rows, X[:1, :])
    scale = unit * np.sqrt(mean_of(lambda rows: rows**2, like(X, mean)))
    info = array_namespace(X).finfo(X.dtype)
    scale[scale <= _ROUNDING * float(info.eps) * np.abs(mean)] = 0.0
    check_spread(scale, owner, least=4 * float(info.smallest_normal))
    return Standardization(mean, scale)


def label_scale(y: np.ndarray) -> tuple[float, float]:
    """Mean of labels (n,) and their standard deviation, of any size in the range of floats.

    Examples
    --------
    >>> label_scale(np.array([1e300, 3e300]))
    (2e+300, 1e+300)
    """
    unit = float(units(y))
    return unit * float(np.mean(y / unit)), unit * float(np.std(y / unit))


def check_spread(
    scale: np.ndarray, owner: str, *, least: float = 4 * float(np.finfo(float).smallest_normal)
) -> None:
    """One warning that names the columns whose scale is 0; an error if one can not be divided by.

    Parameters
    ----------
    scale : ndarray (d,)
        Standard deviations of the columns.
    owner : str
        Name of the learner.
    least : float
        Smallest scale with an inverse.
    """
    if ((scale > 0) & (scale < least)).any():
        place = int(np.argmax((scale > 0) & (scale < least)))
        raise BadData(
            f"column {place} of X varies by {scale[place]:.3g} only, at the end of the range of "
            f"floats. {owner} cannot use it: measure in other units, or leave the column out."
        )
    constant = np.flatnonzero(scale == 0)
    if len(constant):
        shown = ", ".join(map(str, constant[:5])) + (", ..." if len(constant) > 5 else "")
        warnings.warn(
            f"{owner} leaves out {number_of(len(constant), 'constant column')} of X ({shown}), "
            "which carry no information about y",
            UserWarning,
            stacklevel=4,
        )


def _sums(block: Any) -> np.ndarray:
    """Sums over rows, accumulated in float64."""
    xp = array_namespace(block)
    return to_numpy(xp.sum(block, axis=0, dtype=xp.float64))
