r"""Kernels that depend on inputs through the covariances of two Gaussian preactivations.

With :math:`u = \langle w, x\rangle + b`, :math:`u' = \langle w, x'\rangle + b`, Gaussian of
variances :math:`v, v'` and covariance c, and :math:`t = c/\sqrt{v v'}`,

.. math:: k_\sigma = \mathbb{E}[\sigma(u)\sigma(u')], \qquad
          k_\sigma + c\,k_{\sigma'} \quad \text{(tangent kernel)}.      [DK-1]

Closed forms are known for few activations; :mod:`._hermite_kernel` covers the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from ...targets.activation import Activation


class Rows(NamedTuple):
    """What a kernel needs of inputs besides their covariances.

    Parameters
    ----------
    variances : ndarray (n,)
        v of every row.
    coefficients : ndarray (n, K)
        Of its series; no columns for a closed form.
    diagonal : ndarray (n,)
        Value of the kernel of a row with itself.
    """

    variances: np.ndarray
    coefficients: np.ndarray
    diagonal: np.ndarray

    def part(self, rows: slice) -> Rows:
        """The same for some rows."""
        return Rows(*(values[rows] for values in self))


class DotKernel(Protocol):
    """A kernel of [DK-1]."""

    def rows(self, variances: np.ndarray) -> Rows:
        """Facts about rows of these variances."""

    def __call__(self, covariances: np.ndarray, left: Rows, right: Rows) -> np.ndarray:
        """Values (a, b) for covariances (a, b) of two sets of rows."""


Form = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class ClosedKernel:
    """Kernel with a closed form.

    Parameters
    ----------
    form : callable
        ``(c, v, v')`` to values, on arrays.

    Examples
    --------
    >>> relu = closed_kernel(Activation("relu(z)"), tangent=False)
    >>> one = relu.rows(np.ones(1))
    >>> round(float(relu(np.array([[0.3]]), one, one)[0, 0]), 6)
    0.241372
    """

    form: Form

    def rows(self, variances: np.ndarray) -> Rows:
        """Facts about rows of these variances."""
        diagonal = self.form(variances, variances, variances)
        return Rows(variances, np.empty((len(variances), 0)), diagonal)

    def __call__(self, covariances: np.ndarray, left: Rows, right: Rows) -> np.ndarray:
        """Values (a, b) for covariances (a, b) of two sets of rows."""
        return self.form(covariances, left.variances[:, None], right.variances[None, :])


@dataclass(frozen=True)
class PolynomialKernel:
    r"""Kernel :math:`\sum_j v_j c^j`.

    Parameters
    ----------
    coefficients : tuple of float
        :math:`v_0, v_1, \ldots`

    Examples
    --------
    >>> PolynomialKernel((1.0, 0.0, 2.0)).value(np.array([3.0]))
    array([19.])
    """

    coefficients: tuple[float, ...]

    def value(self, c: np.ndarray) -> np.ndarray:
        """Value at covariances."""
        return np.polynomial.polynomial.polyval(c, self.coefficients)

    def rows(self, variances: np.ndarray) -> Rows:
        """Facts about rows of these variances."""
        return Rows(variances, np.empty((len(variances), 0)), self.value(variances))

    def __call__(self, covariances: np.ndarray, left: Rows, right: Rows) -> np.ndarray:
        """Values (a, b) for covariances (a, b) of two sets of rows."""
        return self.value(covariances)


def closed_kernel(activation: Activation, *, tangent: bool) -> ClosedKernel | None:
    """Kernel of an activation in closed form, or None if none is known.

    Examples
    --------
    >>> closed_kernel(Activation("tanh(z)"), tangent=False) is None
    True
    """
    known = _closed_forms().get(activation)
    if known is None:
        return None
    value, slope = known
    if not tangent:
        return ClosedKernel(value)
    if slope is None:
        return None
    return ClosedKernel(lambda c, v, w: value(c, v, w) + c * slope(c, v, w))


@lru_cache(maxsize=1)
def _closed_forms() -> dict[Activation, tuple[Form, Form | None]]:
    """Kernel of the activation and, where it has one, of its derivative."""
    return {
        Activation("relu(z)"): (_relu, _step),
        Activation("abs(z)"): (_abs, _sign),
        Activation("step(z)"): (_step, None),
        Activation("sign(z)"): (_sign, None),
        Activation("erf(z)"): _erf(2.0),
        Activation("erf(z/sqrt(2))"): _erf(1.0),
    }


def _correlation(c: np.ndarray, v: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """sqrt(v w), and the correlation; 0 for an input that is zero."""
    size = np.sqrt(v * w)
    return size, np.clip(c / np.maximum(size, np.finfo(np.float64).tiny), -1.0, 1.0)


def _relu(c: np.ndarray, v: np.ndarray, w: np.ndarray) -> np.ndarray:
    size, t = _correlation(c, v, w)
    value: np.ndarray = np.sqrt(1 - t * t) + t * (math.pi - np.arccos(t))
    return size * value / (2 * math.pi)


def _abs(c: np.ndarray, v: np.ndarray, w: np.ndarray) -> np.ndarray:
    size, t = _correlation(c, v, w)
    value: np.ndarray = np.sqrt(1 - t * t) + t * np.arcsin(t)
    return size * value * (2 / math.pi)


def _step(c: np.ndarray, v: np.ndarray, w: np.ndarray) -> np.ndarray:
    return 0.5 - np.arccos(_correlation(c, v, w)[1]) / (2 * math.pi)


def _sign(c: np.ndarray, v: np.ndarray, w: np.ndarray) -> np.ndarray:
    return np.arcsin(_correlation(c, v, w)[1]) * (2 / math.pi)


def _erf(twice: float) -> tuple[Form, Form]:
    """Of erf(sqrt(twice/2) z)."""

    def value(c: np.ndarray, v: np.ndarray, w: np.ndarray) -> np.ndarray:
        inside = twice * c / np.sqrt((1 + twice * v) * (1 + twice * w))
        return np.arcsin(inside) * (2 / math.pi)

    def slope(c: np.ndarray, v: np.ndarray, w: np.ndarray) -> np.ndarray:
        inside = (1 + twice * v) * (1 + twice * w) - (twice * c) ** 2
        return (2 * twice / math.pi) / np.sqrt(inside)

    return value, slope
