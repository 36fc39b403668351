r"""Ridge readout after a small step, :math:`s = \eta/\sqrt{p}` with :math:`\eta` of order one.

The spike has the size of the bulk in operator norm, and the features stay equivalent to a noisy
linear map. With :math:`\bar\alpha = \alpha/\beta`, :math:`\mu_2^2 = \mathbb{E}\sigma^2-\mu_1^2` and
the Marchenko-Pastur transforms s and :math:`g` of :math:`WW^\top` and :math:`W^\top W`,

.. math:: V = \frac{1 - \lambda s/(\hat V\mu_1^2)}{\hat V}, \quad
          \hat V = \frac{\bar\alpha}{1+V}, \quad
          z = \frac{\lambda+\hat V\mu_2^2}{\hat V\mu_1^2}                                [OS-9]

.. math:: q(z) = \frac{\gamma^2g}{1+\theta^2zsg} + (1-\gamma^2)g, \qquad
          E = \nu + \mu_{1\star}^2\Big[zq - \frac{\lambda}{\hat V\mu_1^2}(q+zq')\Big]    [OS-10]

.. math:: R = \frac{E}{1-\bar\alpha\,\mathrm{df}_2/(1+V)^2}, \qquad
          \mathrm{df}_2 = \frac{1-2\lambda t_1+\lambda^2t_2}{\hat V^2}                   [OS-11]

with :math:`t_1 = s/(\hat V\mu_1^2)`, :math:`t_2 = -s'/(\hat V\mu_1^2)^2` and :math:`\nu` the energy
of the label outside degree one. The training error is :math:`R/(1+V)^2`.
"""

from __future__ import annotations

import math

from ...base.errors import OutOfRegime
from ...calculus.marchenko_pastur import resolvent_trace, resolvent_trace_derivative
from ...targets.activation import Activation
from ...targets.target import Target
from ._one_step_model import Point
from ._one_step_spike import activation_moments, link_moments
from ._readout_law import ReadoutLaw

_TOLERANCE = 1e-14
_MAX_ITER = 100_000


def small_spike(
    target: Target,
    activation: Activation,
    layer: ReadoutLaw,
    *,
    batch_ratio: float,
    step_size: float,
) -> tuple[float, float]:
    r"""Strength :math:`\theta` of the spike and its squared alignment :math:`\gamma^2`.

    .. math:: \theta = \eta\mu_1\,\mathrm{rms}(u)\sqrt{\mu_{1\star}^2+\mathbb{E}[y^2]/\alpha_0},
              \qquad \gamma^2
              = \frac{\mu_{1\star}^2}{\mu_{1\star}^2+\mathbb{E}[y^2]/\alpha_0}          [SK-1]

    Examples
    --------
    >>> import numpy as np
    >>> g = Target("z + (z^2 - 1)/2", noise=0.25)
    >>> ones = ReadoutLaw(np.ones(1), np.ones(1))
    >>> theta, _ = small_spike(g, Activation("tanh(z)"), ones, batch_ratio=2.0, step_size=2.0)
    >>> round(theta, 4)
    1.6588
    """
    sigma, g = activation_moments(activation), link_moments(target)
    signal = g.linear**2
    total = signal + (g.square + target.noise) / batch_ratio
    size = math.sqrt(float(layer.shares @ layer.values**2))
    return step_size * abs(sigma.slope) * size * math.sqrt(total), signal / total if total else 0.0


def small_step_point(
    target: Target,
    activation: Activation,
    layer: ReadoutLaw,
    *,
    batch_ratio: float,
    step_size: float,
    readout_ratio: float,
    width_ratio: float,
    ridge: float,
) -> Point:
    """Errors of the readout at one point [OS-9] to [OS-11]."""
    sigma, g = activation_moments(activation), link_moments(target)
    if abs(sigma.mean) > 1e-9:
        raise OutOfRegime(
            f"the small-step formula needs an activation of mean zero, E[{activation.text}] = "
            f"{sigma.mean:.3g}; subtract the mean, or use scaling='giant' with the step divided by "
            "the square root of a finite width, which holds at every size of the step"
        )
    theta, gamma2 = small_spike(
        target, activation, layer, batch_ratio=batch_ratio, step_size=step_size
    )
    beta, samples = width_ratio, readout_ratio / width_ratio
    slope2 = sigma.slope**2
    rest = max(sigma.square - slope2, 0.0)
    V, change, count = sigma.square / ridge, math.inf, 0
    while change > _TOLERANCE and count < _MAX_ITER:
        count += 1
        V_hat = samples / (1 + V)
        z = (ridge + V_hat * rest) / (V_hat * slope2)
        s = float(resolvent_trace(z / beta, 1 / beta)) / beta
        new = (1 - ridge * s / (V_hat * slope2)) / V_hat  # [OS-9]
        change, V = abs(new - V) / (1 + V), new
    s_slope = float(resolvent_trace_derivative(z / beta, 1 / beta)) / beta**2
    trace = float(resolvent_trace(z, beta))
    trace_slope = float(resolvent_trace_derivative(z, beta))
    damping = 1 + theta**2 * z * s * trace
    damping_slope = theta**2 * (s * trace + z * s_slope * trace + z * s * trace_slope)
    q = gamma2 * trace / damping + (1 - gamma2) * trace
    q_slope = (
        gamma2 * (trace_slope / damping - trace * damping_slope / damping**2)
        + (1 - gamma2) * trace_slope
    )
    outside = g.square - g.linear**2 + target.noise
    unit = ridge / (V_hat * slope2)
    population = outside + g.linear**2 * (z * q - unit * (q + z * q_slope))  # [OS-10]
    t1, t2 = s / (V_hat * slope2), -s_slope / (V_hat * slope2) ** 2
    freedom = (1 - 2 * ridge * t1 + ridge**2 * t2) / V_hat**2
    test = population / (1 - samples * freedom / (1 + V) ** 2)  # [OS-11]
    error = 10 * (sigma.error + g.error + change) * (1 + test)
    return Point(
        test, error, test / (1 + V) ** 2, error, count, change <= _TOLERANCE,
        "" if change <= _TOLERANCE else f"the trace still moves by {change:.1e}",
    )  # fmt: skip
