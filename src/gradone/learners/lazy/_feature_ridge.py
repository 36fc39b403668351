r"""Readout of random features by least squares with a ridge, primal or dual.

With the features :math:`\Phi` (n, p) centred over the rows where there is an intercept,

.. math:: a = \Big(\frac{\Phi^\top \Phi}{p} + \lambda\Big)^{-1} \frac{\Phi^\top y}{\sqrt p}
            = \frac{\Phi^\top}{\sqrt p} \Big(\frac{\Phi \Phi^\top}{p} + \lambda\Big)^{-1} y. [RR-1]

The smaller of the two matrices is formed, from blocks of features.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...base.memory import require_memory
from .._feature_map import FeatureMap
from .._standardize import chunk_rows, row_blocks
from ._ridge_system import RidgeSystem

HELD_BYTES = 1 << 28  # features that take no more than this are kept instead of made twice


class Readout(NamedTuple):
    r"""Outputs :math:`f_j(x) = \langle a_j, \phi(x)\rangle/\sqrt p + b_j` that were fitted.

    Parameters
    ----------
    coefficients : ndarray (p, k)
        a.
    intercept : ndarray (k,)
        b.
    train_mse, train_loss : ndarray (k,)
        Mean square error and mean loss on the training rows, without the penalty.
    gap : float
        Bound on what the objective lies above its minimum, as a share of it.
    n_iter : int
        Iterations, of the slowest output.
    converged : bool
        Whether the gap is below the tolerance.
    """

    coefficients: np.ndarray
    intercept: np.ndarray
    train_mse: np.ndarray
    train_loss: np.ndarray
    gap: float = 0.0
    n_iter: int = 1
    converged: bool = True

    def times(self, unit: np.ndarray) -> Readout:
        """The same for labels (n, k) that are larger by factors (k,), with the square loss."""
        with np.errstate(over="ignore"):  # a square that floats cannot hold is infinite
            mse = self.train_mse * unit * unit
        return self._replace(
            coefficients=self.coefficients * unit,
            intercept=self.intercept * unit,
            train_mse=mse,
            train_loss=mse,
        )


def ridge_readouts(
    features: FeatureMap,
    X: np.ndarray,
    Y: np.ndarray,
    ridges: Sequence[float],
    *,
    fit_intercept: bool,
    chunk_size: int | None = None,
) -> list[Readout]:
    """Readouts of least squares, one for each value of the ridge, from one pass over the data.

    Parameters
    ----------
    features : FeatureMap
        The features.
    X : ndarray (n, d)
        Inputs.
    Y : ndarray (n, k)
        Labels, in float64.
    ridges : sequence of float
        Values of the ridge, not negative.
    fit_intercept : bool
        Whether the outputs have a free constant.
    chunk_size : int, optional
        Rows of a block; chosen by size if None.
    """
    center = Y.mean(axis=0) if fit_intercept else np.zeros(Y.shape[1])
    labels = Y - center
    size = np.einsum("ij,ij->j", labels, labels)
    n, p = len(X), features.width
    found = []
    if n < p:
        dual = DualFeatures(features, X, centred=fit_intercept)
        system = RidgeSystem(dual.gram(), labels)
        duals = system.solutions(ridges)
        pulled = dual.pull(np.hstack(duals))
        means = dual.means
        for ridge, alpha, a in zip(ridges, duals, np.hsplit(pulled, len(ridges)), strict=True):
            errors = ridge * alpha if ridge > system.rounding else system.residuals(alpha)
            found.append((a, np.mean(errors**2, axis=0)))
    else:
        system, means = _primal(features, X, labels, fit_intercept, chunk_size)
        for ridge, a in zip(ridges, system.solutions(ridges), strict=True):
            # |y - f|^2 = <y, y - f> - <f, y - f>, and the last is ridge |a|^2 at the minimum.
            rest = size - np.einsum("ij,ij->j", system.right + ridge * a, a)
            found.append((a, np.maximum(rest, 0.0) / n))
    return [
        Readout(a, center - means @ a / math.sqrt(p), train_mse=mse, train_loss=mse)
        for a, mse in found
    ]


def _primal(
    features: FeatureMap,
    X: np.ndarray,
    labels: np.ndarray,
    fit_intercept: bool,
    chunk_size: int | None,
) -> tuple[RidgeSystem, np.ndarray]:
    """The p x p system, and the means of the features (0 without intercept)."""
    n, p, k = len(X), features.width, labels.shape[1]
    size = p + 1 + k
    require_memory(
        4 * 8 * size * size, f"the {p} x {p} system of {p} features", "Use a smaller width."
    )
    # Products of features, ones and labels: everything that the solution needs is in one matrix.
    moments = np.zeros((size, size), order="F")
    for part, block in features.blocks(X, chunk_size=chunk_size, extra=1 + k):
        block[:, p] = 1.0
        block[:, p + 1 :] = labels[part]
        moments = add_gram(moments, block)
    means = moments[:p, p] / n if fit_intercept else np.zeros(p)
    gram = moments[:p, :p] / p
    gram -= np.outer(means * (n / p), means)
    right = (moments[:p, p + 1 :] - np.outer(means, moments[p, p + 1 :])) / math.sqrt(p)
    return RidgeSystem(gram, right), means


@dataclass
class DualFeatures:
    """Features as a kernel of the training rows, for fewer rows than features.

    Blocks have all rows and some of the neurons, so that they can be centred one by one.

    Parameters
    ----------
    features : FeatureMap
        The features.
    X : ndarray (n, d)
        Inputs.
    centred : bool
        Whether the mean over the rows is taken off every feature.
    """

    features: FeatureMap
    X: np.ndarray
    centred: bool

    def __post_init__(self) -> None:
        n, p = len(self.X), self.features.width
        require_memory(4 * 8 * n * n, f"the {n} x {n} kernel of {n} samples", "Use fewer samples.")
        self.means = np.zeros(p)
        self._inputs = self.features.inputs(self.X)
        self._held: list[np.ndarray] | None = (
            [] if n * p * self._inputs.itemsize <= HELD_BYTES else None
        )

    def gram(self) -> np.ndarray:
        r"""Kernel :math:`\Phi \Phi^\top/p` (n, n), in its upper triangle."""
        n = len(self.X)
        total = np.zeros((n, n), order="F")
        for neurons, block in self._made():
            if self._held is not None:
                self._held.append(block)
            if self.centred:
                self.means[neurons] = block.mean(axis=0, dtype=np.float64)
                block -= self.means[neurons].astype(block.dtype)
            total = add_gram(total, block, rows=True)
        total /= self.features.width
        return total

    def pull(self, V: np.ndarray) -> np.ndarray:
        r""":math:`\Phi^\top V/\sqrt p` (p, k) for V (n, k); after :meth:`gram`."""
        p = self.features.width
        out = np.empty((p, V.shape[1]))
        for neurons, block in self._again():
            out[neurons] = block.T @ V
        return out / math.sqrt(p)

    def _parts(self) -> list[slice]:
        return row_blocks(self.features.width, chunk_rows(len(self.X), self._inputs.itemsize))

    def _made(self) -> Iterator[tuple[slice, np.ndarray]]:
        for neurons in self._parts():
            yield neurons, self.features.of_inputs(self._inputs, neurons=neurons)

    def _again(self) -> Iterator[tuple[slice, np.ndarray]]:
        if self._held is not None:
            yield from zip(self._parts(), self._held, strict=True)
            return
        for neurons, block in self._made():
            block -= self.means[neurons].astype(block.dtype)
            yield neurons, block


def add_gram(total: np.ndarray, block: np.ndarray, *, rows: bool = False) -> np.ndarray:
    """Add the products of the columns of a block (or of its rows) to an upper triangle.

    Parameters
    ----------
    total : ndarray (m, m)
        Float64 in Fortran order; it is overwritten and returned.
    block : ndarray (rows, columns)
        In C order; single precision is summed in double precision over the blocks.
    rows : bool
        Products of rows instead of columns.

    Examples
    --------
    >>> add_gram(np.zeros((2, 2), order="F"), np.array([[1.0, 2.0]]))
    array([[1., 2.],
           [0., 4.]])
    """
    from scipy.linalg import blas

    if block.dtype == np.float32:
        total += blas.ssyrk(1.0, block.T, trans=rows)
        return total
    added: np.ndarray = blas.dsyrk(1.0, block.T, beta=1.0, c=total, trans=rows, overwrite_c=1)
    return added
