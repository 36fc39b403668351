r"""Huber loss on real labels: averages in closed form given the projections.

The residual :math:`e = y - \omega - b` given z is Gaussian of mean
:math:`\mu = g(z) - \langle m, z\rangle - b` and variance :math:`S^2 = q - |m|^2 + \Delta`, and the
output function is :math:`e/(1 + V)` clipped to :math:`[-\delta, \delta]`. Its moments are error
functions [EM-4]; what is left is an integral over z, and nothing if g is linear.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from ...base.seeds import stream
from ...calculus.grid import product_rule
from ...calculus.hermite import normal_density
from ...calculus.integrand import Integrand
from ...calculus.line import gauss_legendre
from ...calculus.sobol import SobolSequence
from ...targets.target import Target
from ._erm_solve import Averages, Field

_PANEL = 0.75  # of a line of one variable
_LINE_NODES = (8, 12)
_PLANE_NODES = (28, 40)  # per panel of two variables, by resolution
_SPACE_NODES = (14, 20)  # of three
_DRAWS = 2**15


class Noise(NamedTuple):
    """Component of the label noise: its share of the samples and its variance."""

    share: float
    variance: float


class HuberOutput:
    """Averages of the Huber loss.

    Parameters
    ----------
    target : Target
        The target; its own noise is not used.
    delta : float
        Residual at which the loss becomes linear.
    noise : sequence of Noise
        Gaussian components of the label noise; the shares add up to 1.
    """

    def __init__(self, target: Target, delta: float, noise: Sequence[Noise]) -> None:
        self.target, self.delta, self.noise, self.r = target, delta, tuple(noise), target.r
        polynomial = target.expression.polynomial
        self._is_linear = polynomial is not None and polynomial.degree <= 1
        expansion = target.hermite(1)
        self._mean = expansion.coefficient(*(0,) * target.r).value
        self._slope = expansion.tensor(1).value
        self._rules = [] if self._is_linear else [_nodes(target, i) for i in (0, 1)]

    def averages(self, field: Field, resolution: int = 0) -> Averages:
        """Averages at a law of the output."""
        V, q, m, b = field
        if self._is_linear:
            # The residual is Gaussian outright, and H = E[d_z g] = slope * D by Stein's lemma.
            gap = self._slope - m
            found = self._moments(field, np.array([self._mean - b]), float(gap @ gap), np.ones(1))
            return Averages(found.D, found.G, self._slope * found.D, found.mean, found.loss)
        points, weights, values = self._rules[resolution]
        found = self._moments(field, values - points @ m - b, 0.0, weights)
        H = (weights * found.each) @ points + m * found.D
        return Averages(found.D, found.G, H, found.mean, found.loss)

    def train_mse(self, field: Field) -> float:
        """Mean square of the training residuals, those of the proximal points."""
        if self._is_linear:
            gap = self._slope - field.m
            mean = np.array([self._mean - field.b])
            return self._moments(field, mean, float(gap @ gap), np.ones(1)).train_mse
        points, weights, values = self._rules[1]
        return self._moments(field, values - points @ field.m - field.b, 0.0, weights).train_mse

    def _moments(
        self, field: Field, mean: np.ndarray, more_variance: float, weights: np.ndarray
    ) -> _Moments:
        """Moments of the clipped residual [EM-4], for means (n,) of the residual with weights."""
        V, delta = field.V, self.delta
        bound = delta * (1 + V)
        each = np.zeros_like(mean)
        D = G = loss = train_mse = 0.0
        for share, variance in self.noise:
            S = math.sqrt(field.q - float(field.m @ field.m) + variance + more_variance)
            high, low = (bound - mean) / S, (-bound - mean) / S
            above, below = ndtr(-high), ndtr(low)
            outside = above + below
            at_high, at_low = S * normal_density(high), S * normal_density(low)
            first = mean * (1 - outside) - (at_high - at_low)
            second = (mean**2 + S**2) * (1 - outside)
            second -= (mean + bound) * at_high - (mean - bound) * at_low
            size = mean * (above - below) + at_high + at_low  # E|e| outside
            each += share * (first / (1 + V) + delta * (above - below))
            inside = float(weights @ second) / (1 + V) ** 2
            out, far = float(weights @ outside), float(weights @ size)
            D += share * (1 - out) / (1 + V)
            G += share * (inside + delta**2 * out)
            loss += share * (inside / 2 + delta * far - delta**2 * (V + 0.5) * out)
            square = float(weights @ (mean**2 + S**2 - second))
            train_mse += share * (inside + square - 2 * V * delta * far + (V * delta) ** 2 * out)
        return _Moments(D, G, each, float(weights @ each), loss, train_mse)


class _Moments(NamedTuple):
    D: float
    G: float
    each: np.ndarray
    """E[g | z] at each node."""
    mean: float
    loss: float
    train_mse: float


def _nodes(target: Target, resolution: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points (n, r), weights (n,) and noiseless labels (n,) of a rule for the projections."""
    planes, is_curved = target.expression.breaks
    if target.r == 1:
        reach = 10.0
        ends = np.arange(-reach, reach + _PANEL, _PANEL)
        ends = np.unique([*ends, *(k for k in target.kinks if abs(k) < reach)])
        t, w = gauss_legendre(_LINE_NODES[resolution])
        lengths = np.diff(ends)[:, None]
        z = (ends[:-1, None] + lengths * t).ravel()
        points, weights = z[:, None], (lengths * w).ravel() * normal_density(z)
        return points, weights, np.asarray(target(points))
    rule = None
    if target.r <= 3:
        shape = Integrand(lambda columns: columns[0], target.r, planes, is_curved, degree=4.0)
        rule = product_rule(shape, (_PLANE_NODES if target.r == 2 else _SPACE_NODES)[resolution])
    if rule is None:
        # Curved breaks, or many variables: two independent scramblings tell the error.
        rng = stream(0, "points", theory="huber", r=target.r, replicate=resolution)
        points = ndtri(SobolSequence(target.r, rng).draw(_DRAWS))
        rule = points, np.full(_DRAWS, 1 / _DRAWS)
    return *rule, np.asarray(target(rule[0]))
