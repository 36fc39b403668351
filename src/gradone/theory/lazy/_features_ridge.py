r"""Ridge regression on random features: one scalar equation, then closed form.

Per unit of the linear part of the target, of weight :math:`F_1`, with everything else in it
(weight :math:`F_{NL}`) acting as noise beside the label noise :math:`\Delta`,

.. math::
    \kappa\,(\alpha - \mathrm{df}_1(\kappa)) = \lambda, \qquad
    E_\mathrm{test} = \frac{F_1 (1 - 2A + A_2) + F_{NL} + \Delta}{1 - \mathrm{df}_2/\alpha},
    \qquad E_\mathrm{train} = E_\mathrm{test} \Big(\frac{\lambda}{\alpha\kappa}\Big)^2. [LR-3]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._features_spectrum import FeatureSpectrum, Sums

_EPS = float(np.finfo(float).eps)
_MAX_ITER = 200
_SMALLEST = 1e-250  # stands for an effective ridge of zero; no formula squares it


@dataclass(frozen=True)
class RidgeSolution:
    """Effective ridge and what follows from it, as arrays over the points."""

    kappa: np.ndarray
    sums: Sums
    shrink: np.ndarray
    """Residual of a training sample over that of a new one."""
    room: np.ndarray
    """1 - df2/alpha, the inverse of the factor by which noise is amplified; 0 at the peak."""
    converged: np.ndarray

    def bias(self) -> np.ndarray:
        """Squared bias per unit of linear target."""
        return 1 - 2 * self.sums.learned + self.sums.learned2

    @property
    def accuracy(self) -> np.ndarray:
        """Relative error of the test error by rounding."""
        # The root is known to eps/room, and so is room; at the peak both matter.
        with np.errstate(divide="ignore"):
            return 16 * _EPS * (1 + self.room**-2.0)


def effective_ridge(
    spectrum: FeatureSpectrum, alpha: np.ndarray, ridge: np.ndarray
) -> RidgeSolution:
    r"""Root :math:`\kappa` of [LR-3] for many alphas and ridges at once; ridge 0 is the limit.

    Newton's iteration from above: :math:`\kappa(\alpha - \mathrm{df}_1)` is convex with slope
    :math:`\alpha - \mathrm{df}_2`, so it decreases to the root, near the peak too.

    Examples
    --------
    >>> found = effective_ridge(FeatureSpectrum(1.0, 0.25, 0.09), np.array(2.0), np.array(0.1))
    >>> float(abs(found.kappa * (2.0 - found.sums.df1) - 0.1)) < 1e-15
    True
    """
    alpha, ridge, trace = np.broadcast_arrays(alpha, ridge, np.asarray(spectrum.trace))
    is_unique = (ridge == 0) & (spectrum.rank <= alpha)  # least squares: no ridge is left
    kappa = np.where(is_unique, _SMALLEST, (ridge + trace) / alpha)
    moving = ~is_unique
    for _ in range(_MAX_ITER):
        if not moving.any():
            break
        sums = spectrum.sums(kappa)
        with np.errstate(invalid="ignore"):  # at the peak itself, where kappa is known
            new = (ridge + kappa * (sums.df1 - sums.df2)) / (alpha - sums.df2)
        # Rounding ends the descent: from there on the iterates may go up.
        moving = moving & (new < kappa * (1 - 4 * _EPS)) & (new > 0)
        kappa = np.where(moving, new, kappa)
    sums = spectrum.sums(kappa)
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink = np.where(ridge > 0, ridge / (alpha * kappa), np.maximum(1 - sums.df1 / alpha, 0.0))
    if spectrum.rank >= alpha.min():
        shrink = np.where((ridge == 0) & (spectrum.rank >= alpha), 0.0, shrink)
    room = np.maximum(1 - sums.df2 / alpha, 0.0)
    room = np.where(is_unique & (spectrum.rank == alpha), 0.0, room)
    return RidgeSolution(kappa, sums, shrink, room, ~moving)
