r"""Spectrum of the covariance of random features, and the sums over it that learning needs.

In the limit of n, width and d in proportion, features :math:`\sigma(\langle w, x\rangle)` act like
:math:`\mu_0 + \mu_1 \langle w, x\rangle + \mu_\star \xi` with independent Gaussian :math:`\xi`
(Gaussian equivalence). Their covariance is :math:`\Omega = \mu_1^2 WW^\top + \mu_\star^2`, of
Marchenko-Pastur form. With :math:`\beta` = width/d and :math:`k = \beta\kappa`,

.. math::
    \mathrm{df}_j = \frac1d \mathrm{Tr}\,[\Omega(\Omega + k)^{-1}]^j, \qquad
    A = c^\top(\Omega + k)^{-1}c, \qquad A_2 = c^\top\Omega(\Omega + k)^{-2}c,         [LR-1]

where :math:`c = \mu_1 W\theta` is the covariance of the features with a linear field
:math:`\langle\theta, x\rangle` of unit variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...base.errors import BadData, OutOfRegime
from ...calculus.marchenko_pastur import resolvent_trace
from ...targets.activation import Activation


class Moments(NamedTuple):
    r"""What learning sees of an activation: its mean, its linear part and the rest, with errors.

    ``linear`` and ``rest`` are the squares :math:`\mu_1^2` and :math:`\mu_\star^2`.
    """

    mean: float
    linear: float
    rest: float
    mean_error: float = 0.0
    linear_error: float = 0.0
    rest_error: float = 0.0

    @property
    def has_mean(self) -> bool:
        """Whether the features have a mean, which fits a constant at no cost."""
        return abs(self.mean) > max(self.mean_error, 1e-12)


def activation_moments(activation: Activation, *, tangent: bool = False) -> Moments:
    r"""Moments :math:`\mu_0, \mu_1^2, \mu_\star^2` of an activation under the standard Gaussian.

    .. math:: \mu_0 = c_0, \quad \mu_1 = c_1, \quad
              \mu_\star^2 = \mathbb{E}[\sigma^2] - c_0^2 - c_1^2                       [LR-2]

    For the tangent kernel of both layers, :math:`\sum_j (1 + j) w_j t^j` with
    :math:`w_j = c_j^2/j!`, they are :math:`2 c_1^2` and
    :math:`\mathbb{E}[\sigma^2] + \mathbb{E}[\sigma'^2] - c_0^2 - 2 c_1^2`.

    Examples
    --------
    >>> mean, linear, rest, *_ = activation_moments(Activation("relu(z)"))
    >>> round(mean, 8), round(linear**0.5, 8), round(rest**0.5, 8)
    (0.39894228, 0.5, 0.30140514)
    """
    expression = activation.expression
    expansion = expression.hermite(1)
    c0, c1, second = (
        expansion.coefficient(0), expansion.coefficient(1), expansion.second_moment
    )  # fmt: skip
    w0, w1 = expansion.energy(0), expansion.energy(1)
    total, total_error, factor = second.value, second.error, 1
    if tangent:
        if _jumps(activation):
            raise OutOfRegime(
                f"the activation '{activation.text}' jumps: its tangent kernel is infinite. Use a "
                "continuous activation, or kernel='readout'."
            )
        slope = expression.derivative().second_moment()
        total, total_error, factor = total + slope.value, total_error + slope.error, 2
    rest = total - w0.value - factor * w1.value
    rest_error = total_error + w0.error + factor * w1.error + 4e-16 * total
    if rest <= rest_error:  # a linear activation; rounding must not make a small rest of it
        rest = 0.0
    if c1.is_zero or w1.value < 1e-26 * second.value:
        linear = 0.0
    else:
        linear = factor * w1.value
    if linear == rest == 0.0:
        raise BadData(
            f"the activation '{activation.text}' is constant: its features carry nothing. Use a "
            "function of z such as 'tanh(z)'."
        )
    return Moments(c0.value, linear, rest, c0.error, factor * w1.error, rest_error)


def _jumps(activation: Activation) -> bool:
    """Whether the function itself is discontinuous, not only its slope."""
    for kink in activation.kinks:
        gap = 1e-9 * (1 + abs(kink))
        low, high = activation(np.array([kink - gap, kink + gap]))
        # A slope as steep as 1e6 would be needed to be taken for a jump.
        if abs(high - low) > 2e6 * gap:
            return True
    return False


class Sums(NamedTuple):
    """Sums [LR-1] over the spectrum, per dimension."""

    df1: np.ndarray
    df2: np.ndarray
    learned: np.ndarray
    """A: share of a linear field that the features explain at this ridge."""
    learned2: np.ndarray
    """A_2: square of the prediction of a unit linear field."""


@dataclass(frozen=True)
class FeatureSpectrum:
    r"""Spectrum of random features at one ratio width/d, which may be infinite.

    Parameters
    ----------
    width_ratio : float
        :math:`\beta` = width/d.
    linear, rest : float or ndarray
        :math:`\mu_1^2` and :math:`\mu_\star^2`.

    Examples
    --------
    At ridge zero the features have as many degrees of freedom as there are, here half of d:

    >>> sums = FeatureSpectrum(0.5, 0.25, 0.09).sums(1e-15)
    >>> [round(float(x), 6) for x in (sums.df1, sums.df2, sums.learned)]
    [0.5, 0.5, 0.32593]
    """

    width_ratio: float
    linear: float | np.ndarray
    rest: float | np.ndarray

    @property
    def trace(self) -> float | np.ndarray:
        """Mean eigenvalue, the limit of kappa df1 for large kappa."""
        return self.linear + self.rest

    @property
    def rank(self) -> float:
        """Degrees of freedom at ridge zero, per dimension."""
        if np.all(np.asarray(self.rest) > 0):
            return self.width_ratio
        return min(self.width_ratio, 1.0)

    def sums(self, kappa: float | np.ndarray) -> Sums:
        """Sums at a positive effective ridge kappa = k/width_ratio."""
        kappa = np.asarray(kappa, dtype=np.float64)
        a, rest, beta = np.asarray(self.linear), np.asarray(self.rest), self.width_ratio
        if math.isinf(beta):  # d eigenvalues a; the rest acts as ridge
            share = a / (a + kappa)
            return Sums(share + rest / kappa, share**2, share, share**2)
        k = beta * kappa
        if not np.any(a):
            share = rest / (rest + k)
            nothing = np.zeros_like(share)
            return Sums(beta * share, beta * share**2, nothing, nothing)
        zeta, z = rest / a, (rest + k) / a
        g = resolvent_trace(z, beta)
        A = beta * g / (1 + g)  # = 1 - z g, without cancellation
        b2 = z * (beta + 1) * 2 + (beta - 1) ** 2
        s = np.sqrt(z * z + b2)
        A2 = A * (b2 / (s + z) + zeta) / s  # A + k dA/dk with dA/dz = -A/s
        df1 = A + zeta * (beta - A) / z
        df2 = A2 + zeta / z * (zeta * (beta - A) / z + (k / a) * A / s)
        return Sums(df1, df2, A, A2)
