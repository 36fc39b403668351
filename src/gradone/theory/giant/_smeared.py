r"""Means of a function of one variable over a Gaussian window, :math:`\mathbb{E} f(t + s\xi)`.

Two kinds of rules, each a ladder of resolutions. A smooth function is summed with equal steps,
which for analytic functions under a Gaussian converges faster than any power of the step; a
function with kinks is integrated by Gauss-Legendre panels that end where the kinks fall.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...calculus.hermite import normal_density
from ...calculus.line import gauss_legendre
from ...targets.activation import Activation
from ...targets.language.bounds import growth
from ...targets.language.expression import Expression

_STEPS = (0.3, 0.2, 0.1, 0.05, 0.025)
_NODES = (28, 40, 56, 80, 120)  # of a panel from one kink to the next
_SHORT_NODES = (10, 14, 20, 28, 40)  # of a panel of length one
LEVELS = len(_STEPS)

Rule = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Window:
    r"""Means at each center t, arrays of the shape of t.

    Parameters
    ----------
    mean, first, second : ndarray
        :math:`\mathbb{E} f(t+s\xi)\,\mathrm{He}_k(\xi)` for k = 0, 1, 2.
    square : ndarray
        :math:`\mathbb{E} f(t+s\xi)^2`.
    """

    mean: np.ndarray
    first: np.ndarray
    second: np.ndarray
    square: np.ndarray


@lru_cache(maxsize=256)
def reach(expression: Expression) -> float:
    """Radius beyond which the square of a function has no weight under the Gaussian.

    Examples
    --------
    >>> reach(Expression("tanh(z)")) < reach(Expression("z**3")) < 12
    True
    """
    degree, linear, quadratic = growth(expression.tree)
    width = 1 / math.sqrt(max(1 - 4 * quadratic, 0.05))
    return width * (8.3 + 0.7 * math.sqrt(2 * degree + 2) + 2 * linear * width)


@lru_cache(maxsize=64)
def _even_rule(level: int, radius: float) -> Rule:
    h = _STEPS[level]
    count = math.ceil(radius / h)
    z = h * np.arange(-count, count + 1)
    return z, h * normal_density(z)


def line_rule(level: int, radius: float, kinks: Sequence[float] = (), blur: float = 0.0) -> Rule:
    """Nodes and weights for the standard normal law.

    Parameters
    ----------
    level : int
        Resolution, 0 to ``LEVELS - 1``.
    radius : float
        Where the line is cut.
    kinks : sequence of float
        Where the integrand bends.
    blur : float
        Width over which each kink is smeared.

    Examples
    --------
    >>> z, weight = line_rule(1, 9.0, kinks=[0.5])
    >>> round(float(weight @ abs(z - 0.5)), 9)
    0.895593115
    """
    # Steps of a quarter of the blur are as good as exact: exp(-2 pi^2 16).
    if not kinks or blur >= 4 * _STEPS[level]:
        return _even_rule(level, radius)
    inside = [k + s * blur for k in kinks for s in (-8, -3, 0, 3, 8)]
    inside = [x for x in inside if -radius < x < radius]
    edges = np.unique([*np.linspace(-radius, radius, math.ceil(2 * radius) + 1), *inside])
    t, w = gauss_legendre(_SHORT_NODES[level])
    width = np.diff(edges)[:, None]
    z = (edges[:-1, None] + width * t).ravel()
    return z, (width * w).ravel() * normal_density(z)


def window(function: Activation, centers: np.ndarray, scale: float, level: int) -> Window:
    """Means of a function over Gaussian windows.

    Parameters
    ----------
    function : Activation
        The function of one variable, which knows its kinks.
    centers : ndarray (m,)
        Centers t.
    scale : float
        Width s of the window, zero allowed.
    level : int
        Resolution, 0 to ``LEVELS - 1``.

    Examples
    --------
    >>> w = window(Activation("relu(z)"), np.zeros(1), 2.0, level=1)
    >>> (w.mean / 2 * np.sqrt(2 * np.pi)).round(9), w.square.round(9)
    (array([1.]), array([2.]))
    """
    if scale == 0:
        values, nothing = function(centers), np.zeros_like(centers)
        return Window(values, nothing, nothing, values * values)
    radius, kinks = reach(function.expression), function.kinks
    if not kinks:
        z, weights = _even_rule(level, radius)
        values = function(centers[:, None] + scale * z)
        table = np.column_stack([weights, weights * z, weights * (z * z - 1)])
        mean, first, second = (values @ table).T
        return Window(mean, first, second, (values * values) @ weights)
    bends = [np.clip((k - centers) / scale, -radius, radius) for k in kinks]
    edges = np.stack([np.full_like(centers, -radius), *bends, np.full_like(centers, radius)], -1)
    t, w = gauss_legendre(_NODES[level])
    width = np.diff(edges, axis=-1)[..., None]
    points = edges[:, :-1, None] + width * t
    nodes = points.reshape(len(centers), -1)
    mass = (width * w).reshape(nodes.shape) * normal_density(nodes)
    values = function(centers[:, None] + scale * nodes)
    weighted = values * mass
    return Window(
        weighted.sum(axis=1),
        (weighted * nodes).sum(axis=1),
        (weighted * (nodes * nodes - 1)).sum(axis=1),
        (weighted * values).sum(axis=1),
    )
