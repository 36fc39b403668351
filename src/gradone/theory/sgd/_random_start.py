r"""How long SGD takes from a random start: the overlap as a diffusion.

One sample with push :math:`\phi` moves the overlap of a neuron on the sphere by

.. math:: \Delta = \frac{m + \eta\phi c}{\sqrt{1 + \eta^2\phi^2(d - 2 + c^2/(1-m^2))}} - m,
          \qquad c = z - m\lambda, \qquad [HT-3]

with the field :math:`\lambda` of the neuron. A random start is as small as what the noise of the
steps adds up to, :math:`1/\sqrt d`, so that the flow alone says little: starts on the wrong side,
or too close to 0, wait until the noise has carried them to where the drift takes over. The overlap
is taken for the diffusion with the first two moments of this step,

.. math:: dm = d\,\mathbb{E}[\Delta]\,d\tau + \sqrt{d\,\mathbb{E}[\Delta^2]}\,dB,
          \qquad \tau = \text{steps}/d. \qquad [HT-4]

It does not jump over its end as the steps do; an end farther out by
:math:`0.5826\sqrt{\mathbb{E}[\Delta^2]}` makes up for this. Its error is that of a
step that is not small beside :math:`1/\sqrt d`: the first term that is left out has the relative
size :math:`d\,\mathbb{E}[\Delta^4]/(12\,\mathbb{E}[\Delta^2])` at the start; twice this is stated.
"""

from __future__ import annotations

import math

import numpy as np

from ...analysis.linear_stage.path import Path
from ...base.estimate import Estimate
from ._first_passage import median_passage

_OVERSHOOT = 0.5826  # -zeta(1/2)/sqrt(2 pi)
_GRIDS = ((33, 601), (49, 1201))  # terms of the moments' series, points of the equation
_SMALL = 1e-9  # no variance is smaller beside that at the start
_PATIENCE = 1e6  # times in which the noise alone forgets the start


def median_from_random_start(path: Path, d: int, gamma: float, threshold: float) -> Estimate:
    """Median number of steps until the overlap reaches a threshold, in absolute value."""
    from scipy.stats import beta

    def moments(m: float) -> np.ndarray:
        """E[Delta], E[Delta^2] and E[Delta^4]."""
        weight, push, across = path.samples(m)
        move = gamma / d * push
        stretch = np.sqrt(1 + move**2 * (d - 2 + across**2 / (1 - m * m)))
        # m (1/stretch - 1) without the difference of two numbers that are almost equal
        change = (move * across - m * (stretch**2 - 1) / (stretch + 1)) / stretch
        return np.array([(weight * change**k).sum() for k in (1, 2, 4)])

    def end(side: float) -> float:
        beyond = _OVERSHOOT * math.sqrt(moments(side * threshold)[1])
        return side * min(threshold + beyond, (1 + threshold) / 2)

    ends = end(-1.0), end(1.0)
    _, square, fourth = moments(0.0)
    if square == 0:
        return Estimate(math.inf, note="the samples do not move the neuron")

    nodes = np.polynomial.chebyshev.chebpts1(_GRIDS[-1][0])
    middle, half = (ends[1] + ends[0]) / 2, (ends[1] - ends[0]) / 2
    values = np.array([moments(middle + half * x)[:2] for x in nodes])
    series = np.polynomial.chebyshev.chebfit(nodes, values, len(nodes) - 1)

    def time(terms: int, points: int) -> float:
        def coefficients(m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            first, second = np.polynomial.chebyshev.chebval((m - middle) / half, series[:terms])
            return d * first, d / 2 * np.maximum(second, _SMALL * square)

        return median_passage(
            coefficients, lambda m: beta.cdf((1 + m) / 2, (d - 1) / 2, (d - 1) / 2), ends,
            scale=1 / math.sqrt(d), patience=_PATIENCE / (d**2 * square), points=points,
        )  # fmt: skip

    coarse, fine = (time(*grid) for grid in _GRIDS)
    if math.isinf(fine) or math.isinf(coarse):
        steps = _PATIENCE / (d * square)
        return Estimate(math.inf, note=f"the overlap stays small: more than {steps:.0e} steps")
    # Half the spacing halves the error where the drift is stronger than the noise.
    best = 2 * fine - coarse
    error = abs(fine - coarse) + best * d * fourth / (6 * square)
    return Estimate(d * best, d * error + 1, "extrapolation", "median over random starts")
