r"""The kernel of any activation by its Hermite series.

With the correlation :math:`t` of preactivations of standard deviations s, s',

.. math:: k_\sigma = \sum_k \frac{c_k(s)\,c_k(s')}{k!}\,t^k, \qquad
          c_k(s) = \mathbb{E}[\sigma(s z)\,\mathrm{He}_k(z)];                       [HK-1]

the tangent kernel has the factor :math:`1 + k` in the sum, because
:math:`s\,\mathbb{E}[\sigma'(s z) \mathrm{He}_k(z)] = c_{k+1}(s)`. What the first terms leave off
is counted where :math:`t = 1`, on the diagonal, as a ridge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...base.errors import BadData
from ...calculus.hermite import normal_density, orthonormal_hermite
from ...targets.activation import Activation
from .._standardize import row_blocks
from ._dot_kernels import Rows

_REACH = 11.0  # standard deviations; beyond, the density is below 1e-27
_PANELS, _NODES = 22, 16  # of Gauss-Legendre between two kinks: exact to 1e-13 for degree 60
_CHUNK_NUMBERS = 1 << 18
_CACHED_NUMBERS = 1 << 15
_NOTHING = 1e-14  # coefficients below this share of the function do not exist


@dataclass(frozen=True)
class HermiteKernel:
    """Kernel of an activation by its Hermite series, for every size of the inputs.

    Parameters
    ----------
    activation : Activation
        The activation.
    degree : int
        Last term of the series.
    tangent : bool
        Whether it is the tangent kernel.

    Examples
    --------
    >>> sign = HermiteKernel(Activation("sign(z)"), 20, tangent=False)
    >>> one = sign.rows(np.ones(1))
    >>> round(float(sign(np.array([[0.3]]), one, one)[0, 0]), 6)
    0.193973
    """

    activation: Activation
    degree: int
    tangent: bool

    def __post_init__(self) -> None:
        if self.tangent and (jump := _jump(self.activation)) is not None:
            raise BadData(
                f"'{self.activation.text}' jumps at z = {jump:g}: its derivative, and with it the "
                "tangent kernel, is infinite. Use kernel='readout', or a continuous activation."
            )

    def rows(self, variances: np.ndarray) -> Rows:
        """Coefficients of rows of these variances, and the diagonal."""
        kinks = np.array([-np.inf, *self.activation.kinks, np.inf])
        per_row = _PANELS * _NODES * (len(kinks) - 1)
        n = len(variances)
        coefficients, diagonal = np.empty((n, self.degree + 1)), np.empty(n)
        for part in row_blocks(n, max(1, _CHUNK_NUMBERS // per_row)):
            s = np.sqrt(variances[part])[:, None]
            z, weights = _nodes(kinks, s)
            with np.errstate(over="ignore", invalid="ignore"):  # looked for below
                values = self.activation(s * z)
                squares = values**2
                if self.tangent:
                    squares += (s * self.activation.derivative()(s * z)) ** 2
                diagonal[part] = np.einsum("iq,iq->i", weights, squares)
                values *= weights
                for k, he in enumerate(orthonormal_hermite(z, self.degree)):
                    coefficients[part, k] = np.einsum("iq,iq->i", values, he)
        if self.tangent:
            coefficients *= np.sqrt(np.arange(1.0, self.degree + 2.0))
        if not np.isfinite(diagonal).all():
            raise BadData(
                f"'{self.activation.text}' overflows at preactivations of size "
                f"{_REACH * math.sqrt(variances.max()):.3g}. Use standardize=True, or an "
                "activation that grows more slowly."
            )
        return Rows(variances, coefficients, diagonal)

    def __call__(self, covariances: np.ndarray, left: Rows, right: Rows) -> np.ndarray:
        """Values (a, b) for covariances (a, b) of two sets of rows."""
        out = np.empty(covariances.shape)
        whole = math.sqrt(max(float(right.diagonal.max()), np.finfo(float).tiny))
        present = np.flatnonzero(np.abs(right.coefficients).max(axis=0) > _NOTHING * whole)
        columns = np.ascontiguousarray(right.coefficients.T)
        for part in row_blocks(len(out), max(1, _CACHED_NUMBERS // covariances.shape[1])):
            sizes = np.sqrt(left.variances[part, None] * right.variances)
            t = covariances[part] / np.maximum(sizes, np.finfo(np.float64).tiny)
            total, power, reached = np.zeros_like(t), np.ones_like(t), 0
            for k in present.tolist():
                for _ in range(k - reached):
                    power *= t
                reached = k
                total += left.coefficients[part, k, None] * columns[k] * power
            out[part] = total
        return out

    def tail(self, rows: Rows) -> float:
        """Largest share of the diagonal that the series leaves off."""
        left_off = rows.diagonal - np.einsum("ik,ik->i", rows.coefficients, rows.coefficients)
        tiny = np.finfo(np.float64).tiny
        return float(np.maximum(left_off / np.maximum(rows.diagonal, tiny), 0.0).max())


def _jump(activation: Activation) -> float | None:
    """A point where the activation is not continuous."""
    for kink in activation.kinks:
        step = 1e-9 * max(1.0, abs(kink))
        below, above = activation(np.array([kink - step, kink + step])).tolist()
        if abs(above - below) > 1e-4 * (1 + abs(below)):
            return kink
    return None


def _nodes(kinks: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes z and Gaussian weights (rows, q) between the points where s z is a kink."""
    x, w = _panel_rule()
    edges = np.clip(kinks / np.maximum(s, 1e-300), -_REACH, _REACH)
    lengths = np.diff(edges, axis=1)[:, :, None]
    z = (edges[:, :-1, None] + lengths * x).reshape(len(s), -1)
    return z, (lengths * w).reshape(len(s), -1) * normal_density(z)


@lru_cache(maxsize=1)
def _panel_rule() -> tuple[np.ndarray, np.ndarray]:
    """Composite Gauss-Legendre rule on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(_NODES)
    starts = np.arange(_PANELS)[:, None]
    return ((starts + (x + 1) / 2) / _PANELS).ravel(), np.tile(w / (2 * _PANELS), _PANELS)
