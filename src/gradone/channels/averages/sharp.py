r"""Posteriors that are too narrow for a lattice: what is left to extrapolate.

Where the posterior is narrow, a label is a linear function of z, with a slope
:math:`\nabla g` and noise of variance :math:`\Delta`:

.. math:: J = \mathbb{E}\,\frac{\nabla g\,\nabla g^\top}{s}, \qquad
          \mathbb{E}\,\mathrm{Var}(y) = \mathbb{E}\,s, \qquad
          I(y; \omega) = \text{const} - \tfrac12 \mathbb{E} \log s, \qquad
          s = \nabla g^\top V\, \nabla g + \Delta.                                           [SH-1]

In these units averages are smooth functions of the width, whatever the shape of V is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...targets.target import Target
from .moments import matrix_power
from .slices import Labels

_STEP = 1e-6  # of the differences
_LEAST = 1e-3  # share of a direction in J, in units of its width, from which on it is not flat


class Units(NamedTuple):
    """Units in which averages at a place are extrapolated."""

    root: np.ndarray
    """Symmetric square root of the unit of J, (r, r)."""
    mse: float
    information: float
    """Where the information of labels begins."""
    limit: np.ndarray
    """Limit of the averages in these units for narrow posteriors; NaN where none is known."""

    def shares(self, numbers: np.ndarray) -> np.ndarray:
        """Entries of J, error of labels and information, in these units."""
        inverse = np.linalg.inv(self.root)
        J = inverse @ numbers[:-2].reshape(self.root.shape) @ inverse
        return np.array([*J.ravel(), numbers[-2] / self.mse, numbers[-1] - self.information])

    def numbers(self, shares: np.ndarray) -> np.ndarray:
        """Inverse of :meth:`shares`."""
        J = self.root @ shares[:-2].reshape(self.root.shape) @ self.root
        return np.array([*J.ravel(), shares[-2] * self.mse, shares[-1] + self.information])


class LinearLabels:
    """Labels as linear functions around each point of a cloud.

    Parameters
    ----------
    target : Target
        The target.
    labels : Labels
        Its cloud.
    """

    def __init__(self, target: Target, labels: Labels) -> None:
        self._noise = target.noise
        z, weight, gradient = labels.halves[0].z, labels.halves[0].weight, 0 * labels.halves[0].z
        if labels.groups == 1 and not target.q:
            ahead = [target(z + _STEP * e) - target(z - _STEP * e) for e in np.eye(labels.r)]
            gradient = np.stack(ahead, axis=1) / (2 * _STEP)
        size = np.linalg.norm(gradient, axis=1)
        regular = (size > 0) & (size < 1e-2 / _STEP)  # next to a jump a difference is no gradient
        self._has_jumps = not regular[size > 0].all()
        self._gradient, self._weight = gradient[regular], weight[regular]

    def units(self, Q: np.ndarray, variances: np.ndarray) -> Units:
        """Units [SH-1] where the posterior has these variances along the axes Q (r, r)."""
        slope = self._gradient @ Q
        s = slope**2 @ variances
        J = (slope * (self._weight / (s + self._noise))[:, None]).T @ slope
        width = np.sqrt(variances)
        is_known = not (self._has_jumps and self._noise) and self._is_steep(J, width)
        if not is_known:
            J = np.eye(len(Q)) if self._noise else np.diag(1 / variances)
        has_slopes = len(s) > 0 and not self._has_jumps
        return Units(
            matrix_power(J, 0.5),
            float(self._weight @ s) if has_slopes else float(width.max()),
            -float(self._weight @ np.log(s + self._noise)) / 2,
            np.array(
                [
                    *(np.eye(len(Q)) if is_known else np.nan * J).ravel(),
                    1 if has_slopes else np.nan,
                    np.nan,
                ]
            ),
        )

    @staticmethod
    def _is_steep(J: np.ndarray, width: np.ndarray) -> bool:
        """Whether labels change along all directions."""
        sizes = np.linalg.eigvalsh(J * np.outer(width, width))
        return bool(sizes[0] > _LEAST * sizes[-1])


def extrapolated(widths: np.ndarray, found: np.ndarray, to: float, limit: np.ndarray) -> np.ndarray:
    """Numbers at a narrower width from those (n, k) at some widths.

    By a polynomial in the width, through the limit at 0 where one is known.
    """
    free = _polynomial(widths, found, to)
    values = np.concatenate([found, limit[None]])
    return np.where(np.isnan(limit), free, _polynomial(np.append(widths, 0.0), values, to))


def _polynomial(x: np.ndarray, values: np.ndarray, at: float) -> np.ndarray:
    """Polynomial through values (n, k) at n places, at another place."""
    coefficients = np.linalg.solve(np.vander(x, increasing=True), values)
    return np.asarray(at ** np.arange(float(len(x))) @ coefficients)
