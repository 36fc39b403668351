r"""Second moments of conditional Hermite moments given the output.

For an output :math:`Y` of a function of :math:`z \sim \mathcal{N}(0, I_r)` let
:math:`D_\beta(Y) = \mathbb{E}[\mathrm{he}_\beta(z) \mid Y]` with orthonormal Hermite polynomials.
What an algorithm that may transform the labels can see at order k is the matrix

.. math:: T_k = \mathbb{E}\big[D_\beta(Y)\, D_{\beta'}(Y)\big]_{|\beta|=|\beta'|=k}. \qquad [OG-1]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...base.estimate import Estimate, Kind

SMALL = {"quadrature": 1e-8, "monte_carlo": 2e-3}  # a strength that is surely below is zero


@dataclass(frozen=True)
class OutputGram:
    """The matrix T_k with what is needed to put errors on functions of it.

    Parameters
    ----------
    value : ndarray, shape (m, m)
        Rows and columns are the multi-indices of one order, as in ``multi_indices``.
    bias : ndarray or float
        Bound on the systematic error of the entries (binning, quadrature).
    replicates : ndarray, shape (R, m, m), optional
        Leave-one-out values, if the matrix comes from R independent replicates.
    """

    value: np.ndarray
    bias: np.ndarray | float
    replicates: np.ndarray | None = None

    @property
    def kind(self) -> Kind:
        """Where the error comes from."""
        return "quadrature" if self.replicates is None else "monte_carlo"

    def functional(self, of: Callable[[np.ndarray], float], slope: float = 1.0) -> Estimate:
        """Value of a function of the matrix with its error.

        `slope` bounds how much the function changes when every entry changes by one. The
        statistical part is a jackknife over the replicates, as a 99 % half-width.
        """
        value, error = of(self.value), slope * float(np.max(self.bias))
        if self.replicates is not None:
            error += float(jackknife_error(np.array([of(m) for m in self.replicates])))
        return Estimate(float(value), float(error), self.kind)

    def mapped(self, matrix: np.ndarray) -> OutputGram:
        """The same for features that are linear functions of these, with rows of `matrix`."""
        size = np.abs(matrix)
        return OutputGram(
            matrix @ self.value @ matrix.T,
            size @ np.broadcast_to(self.bias, self.value.shape) @ size.T,
            None if self.replicates is None else matrix @ self.replicates @ matrix.T,
        )

    def entry_error(self) -> np.ndarray:
        """Error of each entry, bias included."""
        if self.replicates is None:
            return np.broadcast_to(self.bias, self.value.shape)
        return jackknife_error(self.replicates) + self.bias


def jackknife_error(values: np.ndarray) -> np.ndarray:
    """Half-width of a 99 % interval from leave-one-out values along the first axis."""
    from scipy.special import stdtrit

    n = len(values)
    spread = np.sqrt((n - 1) / n * ((values - values.mean(axis=0)) ** 2).sum(axis=0))
    return float(stdtrit(n - 1, 0.995)) * spread


def average(grams: list[OutputGram], weights: np.ndarray) -> OutputGram:
    """Weighted mean over conditions; replicate i of the mean is the mean of replicates i."""
    value = sum(w * g.value for w, g in zip(weights, grams, strict=True))
    bias = sum(w * g.bias for w, g in zip(weights, grams, strict=True))
    sizes = {len(g.replicates) for g in grams if g.replicates is not None}
    replicates = None
    if sizes:
        (n,) = sizes
        parts = [
            np.broadcast_to(g.value, (n, *g.value.shape)) if g.replicates is None else g.replicates
            for g in grams
        ]
        replicates = sum(w * p for w, p in zip(weights, parts, strict=True))
    return OutputGram(np.asarray(value), bias, replicates)
