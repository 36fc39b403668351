r"""What no ridge readout after one step can beat, and what the best one does beat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...base.errors import OutOfRegime
from ...base.estimate import Estimate
from ...targets.activation import Activation
from ...targets.sampled import Sampled
from ...targets.target import Target, as_target
from .._inputs import number
from ._one_direction import one_direction, one_direction_obstacle
from ._one_step_spike import link_moments, read_activation
from ._smeared import line_rule, reach, window

_COARSE, _FINE = 1, 2
_SLOPES = np.geomspace(0.02, 40.0, 60)


@dataclass(frozen=True)
class RiskBounds:
    """Bounds on the clean risk of the best ridge readout after one step.

    Parameters
    ----------
    lower, upper : Estimate
        The risk minimized over the ridge lies between them.
    """

    lower: Estimate
    upper: Estimate


@dataclass(frozen=True)
class BestNeuron:
    """Error of the best smoothed neuron.

    Parameters
    ----------
    error : Estimate
        K* of Ba et al.
    slope : Estimate
        The slope k at which it is attained.
    beyond_linear : float
        Error of the best linear function.
    """

    error: Estimate
    slope: Estimate
    beyond_linear: float

    @property
    def beats_linear(self) -> bool:
        """Whether ten times the error, a bound of the risk at large n, beats linear functions."""
        return 10 * self.error.value < self.beyond_linear


def risk_bounds(
    target: Sampled | str, activation: Activation | str, spike: float | Sequence[float]
) -> RiskBounds:
    r"""Bounds on the risk of the best ridge readout for a spike along the target's direction.

    .. math:: \inf_b \mathbb{E}(g - b\mu_0)^2 \;\ge\; \inf_\lambda R \;\ge\;
              \inf_{b_1, b_2}\mathbb{E}(g - b_1\mu_0 - b_2\kappa\mu_1)^2                [OS-12]

    with :math:`\mu_0(\kappa) = \mathbb{E}_z\sigma(r\kappa+z)` and
    :math:`\mu_1 = \mathbb{E}_z\sigma'(r\kappa+z)`: the limit of a large batch. A second layer of
    several values makes spikes of several strengths, and every one adds its functions to those
    that are combined.

    Parameters
    ----------
    target : Target or str
        Target of one direction; its label noise does not count.
    activation : Activation or str
        Activation of the student.
    spike : float or sequence of float
        Strength r of the spike; one for each value of the second layer.

    References
    ----------
    Ba et al. 2022, arXiv:2205.01445; Cui et al. 2024, arXiv:2402.04980.

    Examples
    --------
    >>> bounds = risk_bounds("sin(z)", "tanh(z)", 0.9)
    >>> round(bounds.upper.value, 7), round(bounds.lower.value, 7)
    (0.0291049, 0.0016691)
    >>> round(risk_bounds("sin(z)", "tanh(z)", [0.306, 1.233]).upper.value, 7)
    0.0013256
    """
    target, activation = _one_direction(target), read_activation(activation)
    spikes = [number("spike", one) for one in np.atleast_1d(spike)]
    fine, coarse = (_projections(target, activation, spikes, level) for level in (_FINE, _COARSE))
    lower, upper = (
        Estimate(value, abs(value - other) + 1e-14, "quadrature")
        for value, other in zip(fine, coarse, strict=True)
    )
    return RiskBounds(lower, upper)


def best_neuron(target: Sampled | str, activation: Activation | str) -> BestNeuron:
    r"""Error of the best smoothed neuron.

    .. math:: K^\star = \inf_k \mathbb{E}[(g(z_1) - \mathbb{E}_{z_2}\sigma(kz_1+z_2))^2]   [OS-13]

    After one giant step of suitable size the risk is at most
    :math:`10K^\star + O(\sqrt{K^\star d/n} + d/n)`.

    Parameters
    ----------
    target : Target or str
        Target of one direction; its label noise does not count.
    activation : Activation or str
        Activation of the student.

    References
    ----------
    Ba et al. 2022, arXiv:2205.01445.

    Examples
    --------
    >>> best = best_neuron("tanh(z)", "tanh(z)")
    >>> round(best.error.value, 8), round(best.slope.value, 4), best.beats_linear
    (9.453e-05, 1.5883, True)
    """
    from scipy.optimize import minimize_scalar

    target, activation = _one_direction(target), read_activation(activation)

    def error(slope: float, level: int = _FINE) -> float:
        return _distance(target, activation, slope, level)

    slopes = np.concatenate([-_SLOPES[::-1], _SLOPES])
    place = int(np.argmin([error(float(k), _COARSE) for k in slopes]))
    around = slopes[max(place - 1, 0)], slopes[min(place + 1, len(slopes) - 1)]
    found = minimize_scalar(error, bounds=around, method="bounded", options={"xatol": 1e-9})
    k, value = float(found.x), float(found.fun)
    gap = abs(value - error(k, _COARSE)) + 1e-15
    return BestNeuron(  # [OS-13]
        Estimate(max(value, 0.0), gap, "quadrature"),
        # The error is flat at its minimum: its rounding moves the slope by the square root.
        Estimate(k, 1e-9 + 10 * gap**0.5, "iteration"),
        link_moments(target).beyond_linear,
    )


def _one_direction(target: Sampled | str) -> Target:
    target = as_target(target)
    if not isinstance(target, Target) or one_direction_obstacle(target):
        raise OutOfRegime(
            f"these bounds are about targets of one direction, {target!r} is none; "
            "gd.analyze gives the plateaus of targets of several directions"
        )
    return one_direction(target.averaged)


def _projections(
    target: Target, activation: Activation, spikes: list[float], level: int
) -> tuple[float, float]:
    """Errors of the best combinations of both functions, and of the first alone [OS-12]."""
    kappa, weights, g = _link(target, activation, level)
    windows = [window(activation, spike * kappa, 1.0, level) for spike in spikes]
    means, slopes = [w.mean for w in windows], [kappa * w.first for w in windows]
    root = np.sqrt(weights)
    errors = []
    for columns in (means + slopes, means):
        basis = np.column_stack(columns) * root[:, None]
        best = np.linalg.lstsq(basis, g * root, rcond=None)[0]
        errors.append(float(np.sum((g * root - basis @ best) ** 2)))
    return errors[0], errors[1]


def _distance(target: Target, activation: Activation, slope: float, level: int) -> float:
    kappa, weights, g = _link(target, activation, level)
    return float(weights @ (g - window(activation, slope * kappa, 1.0, level).mean) ** 2)


def _link(
    target: Target, activation: Activation, level: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    radius = max(reach(target.expression), reach(activation.expression))
    kappa, weights = line_rule(level, radius, target.kinks)
    return kappa, weights, target.link(kappa)
