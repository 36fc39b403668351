r"""The weights after one giant step: a rank-one spike over a bulk of larger norm.

With the batch ratio :math:`\alpha_0 = n_0/d`, the step s, the initial readout u and
:math:`\bar y = y - f_0`,

.. math:: W_1 \simeq W + r\,u v^\top, \qquad
          r = s\,\mu_1\sqrt{\mathbb{E}[\bar y^2]/\alpha_0 + \mu_{1\star}^2}, \qquad
          \langle v, \theta\rangle = \gamma
          = \mu_{1\star}\big/\sqrt{\mathbb{E}[\bar y^2]/\alpha_0 + \mu_{1\star}^2}          [OS-1]

.. math:: c_u = (1 + s u c_2\,\mathbb{E}\bar y)^2
          + s^2u^2\,\mathbb{E}[(\sigma'-\mu_1)^2]\,\mathbb{E}[\bar y^2]/\alpha_0            [OS-2]

where :math:`c_u` is the squared norm of a row of the bulk and :math:`c_k = \mathbb{E}[\sigma\,
\mathrm{He}_k]`, :math:`\mu_1 = c_1`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...base.errors import OutOfRegime
from ...base.estimate import Estimate
from ...targets.activation import Activation
from ...targets.target import Target
from ._readout_law import ReadoutLaw

# A coefficient this small beside the others counts as zero.
_ZERO = 1e-9


@dataclass(frozen=True)
class ActivationMoments:
    r"""Gaussian means of an activation.

    Parameters
    ----------
    mean, square : float
        :math:`\mathbb{E}\sigma`, :math:`\mathbb{E}\sigma^2`.
    slope, second, third : float
        :math:`\mathbb{E}[\sigma'\,\mathrm{He}_k]` for k = 0, 1, 2.
    slope_variance : float
        :math:`\mathbb{E}[(\sigma'-\mu_1)^2]`; the same with :math:`\sigma` in place of
        :math:`\sigma'` is a common misprint.
    error : float
        Bound on the errors of all.
    """

    mean: float
    square: float
    slope: float
    second: float
    third: float
    slope_variance: float
    error: float


@dataclass(frozen=True)
class LinkMoments:
    r"""Gaussian means of a target.

    Parameters
    ----------
    mean, square : float
        :math:`\mathbb{E}g`, :math:`\mathbb{E}[g^2]`, without noise.
    linear, quadratic : float
        :math:`\mathbb{E}[g\,\mathrm{He}_k]` for k = 1, 2; of several directions the norm of the
        tensor.
    error : float
        Bound on the errors of all.
    """

    mean: float
    square: float
    linear: float
    quadratic: float
    error: float

    @property
    def beyond_linear(self) -> float:
        r"""Energy :math:`|P_{>1}g|^2` of all degrees above one."""
        return self.square - self.mean**2 - self.linear**2


def read_activation(text: Activation | str) -> Activation:
    """Activation from its text."""
    return text if isinstance(text, Activation) else Activation(text)


@lru_cache(maxsize=128)
def link_function(target: Target) -> Activation:
    """Mean label of a target of one direction as a function of one variable."""
    return Activation.of(target.regression)


@lru_cache(maxsize=128)
def activation_moments(activation: Activation) -> ActivationMoments:
    """Gaussian means of an activation and of its derivative.

    Examples
    --------
    >>> m = activation_moments(Activation("tanh(z)"))
    >>> round(m.slope, 7), round(m.slope_variance, 7), round(m.square, 7)
    (0.6057055, 0.0975237, 0.3942945)
    """
    slope = activation.derivative().expression
    expansion = slope.hermite(2)
    found: list[Estimate] = [
        activation.expression.mean(),
        activation.expression.second_moment(),
        *(expansion.coefficient(k) for k in range(3)),
        slope.second_moment(),
    ]
    jump = activation.hermite(1)
    if abs(jump.value - found[2].value) > 1e-6 * (1 + abs(jump.value)):
        raise OutOfRegime(
            f"the activation '{activation.text}' jumps: its derivative does not see the jump, so "
            "no gradient step moves the weights as the theory says; use a continuous activation"
        )
    mean, square, c1, c2, c3, steep = (e.value for e in found)
    error = max(e.error for e in found)
    return ActivationMoments(mean, square, c1, c2, c3, max(steep - c1 * c1, 0.0), error)


@lru_cache(maxsize=128)
def link_moments(target: Target) -> LinkMoments:
    """Gaussian means of a target.

    Examples
    --------
    >>> m = link_moments(Target("sin(z)"))
    >>> round(m.linear, 7), round(m.square, 7), round(m.beyond_linear, 7)
    (0.6065307, 0.4323324, 0.0644529)
    """
    expansion = target.hermite(2)
    moments = [target.joint.mean(), target.joint.second_moment()]
    if target.r == 1:
        moments += [expansion.coefficient(1), expansion.coefficient(2)]
    else:
        tensors = [expansion.tensor(k) for k in (1, 2)]
        moments += [
            Estimate(float(np.linalg.norm(t.value)), float(np.linalg.norm(t.error)))
            for t in tensors
        ]
    # A coefficient that is zero but for rounding would be a direction of its own in a large batch.
    mean, square, linear, quadratic = (0.0 if e.is_zero else e.value for e in moments)
    return LinkMoments(mean, square, linear, quadratic, max(e.error for e in moments))


def direction_of(target: Target) -> np.ndarray:
    """Unit vector of the linear part of a target; the first axis if it has none.

    Examples
    --------
    >>> direction_of(Target("3*z1 - 4*z2 + z1*z2"))
    array([ 0.6, -0.8])
    """
    linear = np.atleast_1d(target.hermite(1).tensor(1).value)
    size = float(np.linalg.norm(linear))
    return linear / size if size > _ZERO else np.eye(target.r)[0]


@dataclass(frozen=True)
class Spike:
    """Weights after one giant step.

    Parameters
    ----------
    strength : float
        r, the size of the spike per neuron with u = 1.
    alignment : float
        Cosine gamma of the spike with the target's direction.
    scales : ndarray (J,)
        Squared norm c of the rows of the bulk, for each value of the second layer.
    stretch : float
        B of the row norms, for u = 1.
    error : float
        Bound on the errors of the moments behind these numbers.
    """

    strength: float
    alignment: float
    scales: np.ndarray
    stretch: float
    error: float


def spike_of(
    target: Target,
    activation: Activation,
    layer: ReadoutLaw,
    *,
    batch_ratio: float,
    step_size: float,
) -> Spike:
    """Spike, alignment and bulk after one giant step [OS-1], [OS-2].

    Examples
    --------
    >>> layer = ReadoutLaw(np.ones(1), np.ones(1))
    >>> s = spike_of(Target("sin(z)"), Activation("tanh(z)"), layer, batch_ratio=20, step_size=3)
    >>> round(s.strength, 7), round(s.alignment, 7), s.scales.round(7)
    (1.1340555, 0.9718544, array([1.0189732]))
    """
    sigma, g = activation_moments(activation), link_moments(target)
    output = layer.mean * sigma.mean
    residual = g.mean - output
    residual_square = g.square + target.noise - 2 * output * g.mean + output**2
    blur = residual_square / batch_ratio  # an infinite batch has none
    size = math.sqrt(blur + g.linear**2)
    r = step_size * sigma.slope * size
    pull = step_size * layer.values
    scales = (1 + pull * sigma.second * residual) ** 2 + pull**2 * sigma.slope_variance * blur
    return Spike(
        strength=r,
        alignment=g.linear / size if size > 0 else 0.0,
        scales=scales,
        stretch=step_size * size * sigma.third,
        error=sigma.error + g.error,
    )


def spike_obstacle(target: Target, activation: Activation) -> str | None:
    """Why one giant step makes more than one spike, or None."""
    sigma, g = activation_moments(activation), link_moments(target)
    if abs(sigma.slope) < _ZERO:
        return (
            f"the activation '{activation.text}' has no linear part, c_1 = 0, and one step on n "
            "of the order of d moves no neuron along a common direction"
        )
    if abs(sigma.second) > _ZERO and abs(g.quadratic) > _ZERO:
        return (
            f"the activation and the target both have a quadratic part (c_2 = {sigma.second:.3g}, "
            f"|E[g He2]| = {abs(g.quadratic):.3g}), which adds a second spike that is not covered; "
            "an odd activation such as tanh(z) has none"
        )
    return None
