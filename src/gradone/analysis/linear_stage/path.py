r"""How long the escape takes: the velocity of the overlap, integrated."""

from __future__ import annotations

import math

import numpy as np

from ...base.estimate import Estimate
from ...calculus.hermite import normal_density
from ...calculus.line import gauss_legendre
from ...targets.language.expression import Expression
from .rules import Update

_ROUGH = "leading order, carried up to the threshold"


def decided_sign(value: float, error: float) -> int | None:
    """Sign of a number with an error; None if it can be called neither zero nor nonzero."""
    if abs(value) <= 1.5 * error:
        return 0
    return int(math.copysign(1, value)) if abs(value) > 3 * error else None


def linear_time(gamma: float, push: float, slope: float, start: float, end: float) -> Estimate:
    r"""Time steps/d for :math:`\dot m = \gamma(\text{push} + \text{slope}\,m)`.

    Examples
    --------
    >>> linear_time(0.1, 0.0, 1.0, 0.01, 0.5).value == 10 * math.log(50)
    True
    """
    if push + slope * end <= 0:
        reason = (
            f"the overlap stops growing near {-push / slope:.2g}"
            if push
            else "the step is too large"
        )
        return Estimate(math.inf, note=reason)
    if abs(slope) * end < 1e-9 * push:
        time = (end - start) / (gamma * push)
    else:
        time = math.log((push + slope * end) / (push + slope * start)) / (gamma * slope)
    return Estimate(time, 0.5 * time, "extrapolation", _ROUGH)


def power_time(gamma: float, kappa: float, brake: float, *, order: int, start: float) -> Estimate:
    r"""Time steps/d to escape when the tensor of order l >= 3 pushes first.

    The integral :math:`\int_1^\infty dx/(x^{l-1} - b x) = -\ln(1-b)/((l-2) b)` in units of
    :math:`1/(\gamma\kappa m_0^{l-2})`, with :math:`b = \gamma V/(2\kappa m_0^{l-2})`.
    """
    scale = kappa * start ** (order - 2)
    b = brake / scale
    if b >= 1:
        return Estimate(math.inf, note=f"the step is too large: delta V/(2 kappa) = {b:.2g} > 1")
    time = -math.log1p(-b) / b / (order - 2) / (gamma * scale)
    return Estimate(time, 0.5 * time, "extrapolation", _ROUGH)


class Path:
    r"""Velocity of the overlap m of a neuron with a single-index target, on the sphere.

    .. math::
        \frac{dm}{d\tau} = \gamma\,\mathbb{E}[\phi c] - \frac{\gamma^2}{2} m\,\mathbb{E}[\phi^2],
        \qquad c = t - mu = (1-m^2)\,t - m\sqrt{1-m^2}\,w \qquad [ES-5]
    """

    def __init__(self, update: Update, target: Expression, noise: float, sign: float) -> None:
        self._update = update
        nodes, weights = gauss_legendre(10)
        edges = np.unique([*np.linspace(-9.0, 9.0, 25), *np.clip(target.kinks, -9.0, 9.0)])
        length = np.diff(edges)[:, None]
        t = (edges[:-1, None] + length * nodes).ravel()
        mass = (length * weights).ravel() * normal_density(t)
        y = target(t[:, None])
        if noise:
            xi, share = np.polynomial.hermite_e.hermegauss(16)
            y = (y[:, None] + math.sqrt(noise) * xi).ravel()
            mass, t = np.outer(mass, share / share.sum()).ravel(), np.repeat(t, len(xi))
        self._t, self._y, self._mass = sign * t, y, mass
        self._jumps = update.jumps(y)

    def samples(self, m: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""Quadrature over the samples that a neuron of overlap m sees.

        Returns
        -------
        tuple of ndarray
            Weights, pushes, and parts :math:`c = t - mu` of the direction across the neuron.
        """
        width = math.sqrt(1 - m * m)
        w, mass, push = self._update.points(
            self._y, mean=m * self._t, width=width, jumps=self._jumps, nodes=8, cells=12
        )
        return self._mass[:, None] * mass, push, width * (width * self._t[:, None] - m * w)

    def velocity(self, m: float, gamma: float) -> float:
        """Velocity per unit of time steps/d at overlap m."""
        weight, push, across = self.samples(m)
        weighted = weight * push
        return float(gamma * (weighted * across).sum() - gamma**2 / 2 * m * (weighted * push).sum())

    def hitting_time(self, gamma: float, start: float, threshold: float) -> Estimate:
        """Time steps/d from overlap `start` to `threshold`; infinite if the velocity vanishes."""
        times = []
        for n in (14, 20):
            x, weights = gauss_legendre(n)
            width = math.log(threshold / start)
            m = start * np.exp(width * x)
            speed = np.array([self.velocity(float(point), gamma) for point in m])
            if (speed <= 0).any():
                stop = float(m[np.argmax(speed <= 0)])
                return Estimate(math.inf, note=f"the overlap stops growing near {stop:.2g}")
            times.append(float((weights * width * m / speed).sum()))
        return Estimate(times[1], abs(times[1] - times[0]) + 1e-9 * times[1], "quadrature")
