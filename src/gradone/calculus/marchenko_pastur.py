r"""Spectrum of Wishart matrices.

W has :math:`\beta d` rows of d independent entries of variance 1/d. The matrix :math:`W^\top W`
(d x d) has, as d grows, the Marchenko-Pastur spectrum with the transform

.. math:: g(z) = \frac1d \mathrm{Tr}\,(W^\top W + z)^{-1}, \qquad
          z g^2 + (z + \beta - 1)\, g - 1 = 0. \qquad [MP-1]
"""

from __future__ import annotations

import math

import numpy as np

from ..base.errors import BadData


def _check(ratio: float) -> None:
    if not (math.isfinite(ratio) and ratio > 0):
        raise BadData(f"the ratio rows/d must be a positive number, got {ratio}")


def resolvent_trace(z: np.ndarray | float, ratio: float) -> np.ndarray:
    r"""Transform :math:`g(z) = \lim \frac1d\mathrm{Tr}(W^\top W + z)^{-1}` for z > 0 [MP-1].

    Parameters
    ----------
    z : array or float
        Positive.
    ratio : float
        :math:`\beta` = rows / d.

    Examples
    --------
    >>> float(resolvent_trace(1.0, 1.0).round(6))
    0.618034
    """
    _check(ratio)
    z = np.asarray(z, dtype=np.float64)
    if not (z > 0).all():
        raise BadData("the transform is evaluated at z > 0 only, outside the spectrum")
    b = z + ratio - 1
    s = np.sqrt(b * b + 4 * z)
    # The two forms are equal; each avoids the subtraction of nearly equal numbers on its side.
    return np.where(b > 0, 2 / (np.abs(b) + s), (s + np.abs(b)) / (2 * z))


def resolvent_trace_derivative(z: np.ndarray | float, ratio: float) -> np.ndarray:
    r"""Derivative :math:`g'(z) = -(g^2 + g)/\sqrt{(z+\beta-1)^2+4z}`.

    Examples
    --------
    >>> h = 1e-6
    >>> slope = (resolvent_trace(1 + h, 2.0) - resolvent_trace(1 - h, 2.0)) / (2 * h)
    >>> bool(abs(resolvent_trace_derivative(1.0, 2.0) - slope) < 1e-8)
    True
    """
    g = resolvent_trace(z, ratio)
    z = np.asarray(z, dtype=np.float64)
    return -(g * g + g) / np.sqrt((z + ratio - 1) ** 2 + 4 * z)


def edges(ratio: float) -> tuple[float, float]:
    r"""Ends :math:`(1\mp\sqrt\beta)^2` of the bulk of :math:`W^\top W`.

    Examples
    --------
    >>> edges(4.0)
    (1.0, 9.0)
    """
    _check(ratio)
    return (1 - math.sqrt(ratio)) ** 2, (1 + math.sqrt(ratio)) ** 2


def density(x: np.ndarray | float, ratio: float) -> np.ndarray:
    r"""Density of the nonzero eigenvalues of :math:`W^\top W` per dimension.

    .. math:: \rho(x) = \frac{\sqrt{(x_+-x)(x-x_-)}}{2\pi x}

    It integrates to min(1, ratio); the rest is an atom at zero (:func:`atom_at_zero`).

    Examples
    --------
    >>> x = np.linspace(*edges(0.5), 100_001)
    >>> round(float(np.trapezoid(density(x, 0.5), x)), 4)
    0.5
    """
    low, high = edges(ratio)
    x = np.asarray(x, dtype=np.float64)
    inside = np.clip((high - x) * (x - low), 0, None)
    return np.sqrt(inside) / (2 * np.pi * np.where(x > 0, x, np.inf))


def atom_at_zero(ratio: float) -> float:
    r"""Share of zero eigenvalues of :math:`W^\top W`.

    Examples
    --------
    >>> atom_at_zero(0.25)
    0.75
    """
    _check(ratio)
    return max(0.0, 1 - ratio)
