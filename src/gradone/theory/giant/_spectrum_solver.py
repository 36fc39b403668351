r"""Spectrum of the feature covariance :math:`\Phi^\top\Phi/n` after one giant step.

With :math:`\beta` = width / d, :math:`\rho` = width / n, the moments :math:`\mu_0, \mu_1, \mu_2` of
[OS-3] and E over :math:`\kappa`, the transform :math:`\tau(z)` of the bulk solves

.. math:: D = \frac{1}{1+\mu_1^2V_1+\mu_2^2V_2}, \quad C_i = \mathbb{E}[\mu_i^2D], \quad
          V_2 = \rho\tau, \quad V_1(1+c\beta C_1\tau) = \rho c\tau,

.. math:: c\beta C_1(C_2-z)\,\tau^2 + (C_2-z+cC_1-c\beta C_1)\,\tau - 1 = 0             [FS-1]

and the density is :math:`\mathrm{Im}\,\tau(x+i0)/\pi`. Outliers are the zeros outside the bulk of

.. math:: \Big(\mathbb{E}[\mu_0^2D]+\frac{1}{nV_2}\Big)\big(1+S\,\mathbb{E}[\kappa^2\mu_1^2D]\big)
          - S\,\mathbb{E}[\kappa\mu_0\mu_1D]^2, \qquad S = c\beta\tau.                  [FS-2]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from ._one_step_readout import Fields

_HEIGHT = 1e-11  # above the real axis, in units of the largest eigenvalue of the bulk
_POINTS = 33
_ROUNDS = 5
_LOWEST = 1e-5  # smallest eigenvalue looked at, in the same unit
INSIDE = 3e-5  # imaginary part of tau, times the unit, that counts as density


@dataclass(frozen=True)
class Bulk:
    """Feature covariance of one student.

    Parameters
    ----------
    fields : Fields
        Moments of the features without the change of row norms, one value of the second layer.
    width_ratio, readout_ratio : float
        Width and samples per dimension.
    """

    fields: Fields
    width_ratio: float
    readout_ratio: float

    @property
    def ratio(self) -> float:
        """Width per sample."""
        return self.width_ratio / self.readout_ratio

    @property
    def bound(self) -> float:
        """Number that no eigenvalue of the bulk exceeds."""
        f = self.fields
        largest = f.scales[0] * f.slope[0] ** 2 * (1 + np.sqrt(self.width_ratio)) ** 2 + f.rest[0]
        heavy = f.weights > 1e-12 * f.weights.max()
        return float(largest[heavy].max() * (1 + np.sqrt(self.ratio)) ** 2)

    def transform(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tau, V1 just above the real axis at each x, and the error that Newton's method left."""
        from ._spectrum_kernels import transform

        f = self.fields
        return transform(
            np.asarray(x, dtype=np.float64), self.bound, _HEIGHT * self.bound, f.weights,
            f.slope[0] ** 2, f.rest[0], float(f.scales[0]), self.width_ratio, self.ratio,
        )  # fmt: skip

    def density(self, x: np.ndarray) -> np.ndarray:
        """Density of the eigenvalues at positive numbers."""
        return np.maximum(self.transform(x)[0].imag, 0.0) / np.pi

    @property
    def zeros(self) -> float:
        """Share of zero eigenvalues: more neurons than samples, or linear features."""
        rank = 1 / self.ratio
        if self.fields.rest.max() < 1e-12:
            rank = min(rank, 1 / self.width_ratio)
        return max(0.0, 1 - rank)

    def is_inside(self, x: np.ndarray) -> np.ndarray:
        """Whether there is density at each x."""
        height = _HEIGHT * self.bound
        foot = self.zeros * height / (x * x + height * height)  # of the zero eigenvalues
        return (self.transform(x)[0].imag - foot) * self.bound > INSIDE

    def edges(self) -> tuple[float, float, float]:
        """Smallest and largest eigenvalue of the bulk, and the error of both."""
        x = np.geomspace(_LOWEST, 1.01, 4 * _POINTS) * self.bound
        inside = np.flatnonzero(self.is_inside(x))
        high = _refined(self.is_inside, x[inside[-1]], x[min(inside[-1] + 1, len(x) - 1)])
        if inside[0] == 0:  # the bulk reaches zero, as far as can be seen
            return 0.0, sum(high) / 2, max(high[1] - high[0], float(x[0]))
        low = _refined(lambda t: ~self.is_inside(t), x[inside[0] - 1], x[inside[0]])
        return sum(low) / 2, sum(high) / 2, max(high[1] - high[0], low[1] - low[0])

    def outlier_function(self, x: np.ndarray, n: float) -> np.ndarray:
        """The function whose zeros outside the bulk are outliers [FS-2]."""
        f, rho = self.fields, self.ratio
        tau, V1, _ = self.transform(x)
        D = 1 / (1 + V1[:, None].real * f.slope[0] ** 2 + rho * tau[:, None].real * f.rest[0])
        mode = f.mode[0]
        own = D @ (f.weights * f.mean[0] ** 2) + 1 / (n * rho * tau.real)
        other = D @ (f.weights * mode**2)
        both = D @ (f.weights * f.mean[0] * mode)
        S = f.scales[0] * self.width_ratio * tau.real
        return own * (1 + S * other) - S * both**2

    def _has_sign(self, x: np.ndarray, *, n: float, sign: bool) -> np.ndarray:
        return (self.outlier_function(x, n) > 0) == sign

    def outliers(self, n: float, low: float, high: float) -> list[float]:
        """Eigenvalues outside the bulk [low, high], in increasing order."""
        f = self.fields
        largest = 4 * n * self.ratio * float(f.weights @ f.mean[0] ** 2) + 4 * high
        ranges = [np.geomspace(high * (1 + 1e-4), largest, 6 * _POINTS)]
        if low > 10 * _LOWEST * self.bound:
            ranges.insert(0, np.geomspace(low * 1e-2, low * (1 - 1e-4), 2 * _POINTS))
        found = []
        for x in ranges:
            sign = self.outlier_function(x, n) > 0
            for i in np.flatnonzero(sign[1:] != sign[:-1]):
                same = partial(self._has_sign, n=n, sign=bool(sign[i]))
                found.append(sum(_refined(same, x[i], x[i + 1])) / 2)
        return found


def _refined(
    is_before: Callable[[np.ndarray], np.ndarray], low: float, high: float
) -> tuple[float, float]:
    """Narrow bracket of the place where a property that holds at `low` and not at `high` ends."""
    for _ in range(_ROUNDS):
        x = np.linspace(low, high, _POINTS)
        last = int(np.flatnonzero(is_before(x[1:-1])).max(initial=-1)) + 1
        low, high = float(x[last]), float(x[last + 1])
    return low, high
