r"""Levels of a random-features kernel on the sphere: one for each degree of polynomials.

On the sphere of radius :math:`\sqrt d` the polynomials of degree k that are orthogonal to lower
ones form a space of dimension :math:`N_k`, on which the kernel
:math:`\mathbb{E}_w[\sigma(\langle w, x\rangle)\sigma(\langle w, x'\rangle)]` has one eigenvalue,

.. math::
    \eta_k = \xi_k^2, \qquad
    \xi_k = \mathbb{E}[\sigma(\sqrt d\,t)\,Q_k(t)], \qquad
    N_k = \frac{2k + d - 2}{k}\binom{k + d - 3}{k - 1},                                [LZ-2]

with t one coordinate of a unit vector and :math:`Q_k` the Gegenbauer polynomial,
:math:`Q_k(1) = 1`. For large d the weight :math:`N_k\eta_k` tends to that of the activation's
Hermite coefficient, :math:`c_k^2/k!`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...calculus.line import gauss_legendre
from ...targets.activation import Activation
from ...targets.target import Target
from ._deterministic_equivalents import Spectrum

# Levels beyond are too many for any sample: they act as ridge, and rounding would hide them.
_LARGEST_LEVEL = 1e14
_MAX_DEGREE = 30
_TAIL = 1e18  # dimension that stands for all further levels
_ZERO = 1e-13  # eigenvalues by rounding: xi relative to the size of the activation
_PANELS, _NODES = 40, 24


def level_dimension(d: int, k: int) -> float:
    """Dimension N_k of the polynomials of degree k on the sphere in dimension d.

    Examples
    --------
    >>> [level_dimension(30, k) for k in range(4)]
    [1.0, 30.0, 464.0, 4930.0]
    """
    if k == 0:
        return 1.0
    return (2 * k + d - 2) / k * math.comb(k + d - 3, k - 1)


def sphere_levels(activation: Activation, d: int) -> tuple[np.ndarray, np.ndarray, float]:
    r"""Eigenvalues, dimensions, and the weight of the levels that are not listed [LZ-2].

    Examples
    --------
    The kernel of sign is :math:`\frac2\pi\arcsin t`, with no even level; its trace is 1:

    >>> eigenvalues, dimensions, rest = sphere_levels(Activation("sign(z)"), 20)
    >>> bool((eigenvalues[::2] == 0).all()), round(float(eigenvalues @ dimensions + rest), 12)
    (True, 1.0)
    """
    xi, total = gegenbauer_coefficients(activation, d, kinks=activation.kinks)
    N = level_dimensions(d)
    eta = np.where(np.abs(xi) > _ZERO * math.sqrt(total), xi**2, 0.0)
    return eta, N, max(total - float(eta @ N), 0.0)


def level_dimensions(d: int) -> np.ndarray:
    """Dimensions of the levels that are listed."""
    found = [level_dimension(d, k) for k in range(_MAX_DEGREE + 1)]
    return np.array([N for N in found if N <= _LARGEST_LEVEL])


def gegenbauer_coefficients(
    function: Callable[[np.ndarray], np.ndarray], d: int, *, kinks: Sequence[float] = ()
) -> tuple[np.ndarray, float]:
    r"""Means :math:`\mathbb{E}[f(\sqrt d\,t) Q_k(t)]` for the listed levels, and that of f squared.

    Examples
    --------
    >>> values, square = gegenbauer_coefficients(np.square, 10)
    >>> values[:3].round(6), round(square, 6)  # 1, 0, 2/(d + 2); 3 d/(d + 2)
    (array([1.      , 0.      , 0.166667]), 2.5)
    """
    z, weight = _marginal(d, kinks)
    values = np.asarray(function(z))
    weighted = weight * values
    found = [float(weighted @ Q) for Q in gegenbauer(z / math.sqrt(d), d)]
    return np.array(found), float(weighted @ values)


def gegenbauer(t: np.ndarray, d: int) -> Iterator[np.ndarray]:
    """Polynomials Q_0, Q_1, ... of the listed levels, equal to 1 at t = 1."""
    before, here = np.zeros_like(t), np.ones_like(t)
    for k in range(len(level_dimensions(d))):
        yield here
        before, here = here, ((2 * k + d - 2) * t * here - k * before) / (k + d - 2)


def _marginal(d: int, kinks: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for one coordinate of a vector on the sphere of radius sqrt(d)."""
    reach = min(math.sqrt(d), 12.0)
    inside = [kink for kink in kinks if abs(kink) < reach]
    ends = np.unique([*np.linspace(-reach, reach, _PANELS + 1), *inside])
    nodes, weights = gauss_legendre(_NODES)
    lengths = np.diff(ends)[:, None]
    z = (ends[:-1, None] + lengths * nodes).ravel()
    log_density = 0.5 * (d - 3) * np.log1p(-(z**2) / d)
    weight = (lengths * weights).ravel() * np.exp(log_density)
    return z, weight / weight.sum()


class TargetLevels(NamedTuple):
    """Weight of a target at each listed level, above them, and a bound on the error of all."""

    weights: np.ndarray
    above: float
    error: float


def target_levels(target: Target, d: int, highest: int) -> TargetLevels:
    r"""Weights of a target on the sphere in dimension d.

    A sum of functions :math:`g_i` of one variable each is done exactly,

    .. math:: W_k = N_k \sum_{ij} a_{ik} a_{jk} Q_k(\delta_{ij}), \qquad
              a_{ik} = \mathbb{E}[g_i(\sqrt d\,t)\,Q_k(t)].                            [LZ-3]

    Any other target has its Gaussian weights up to degree `highest`, times
    :math:`\prod_{j<k} d/(d + 2j)`, which is right for harmonic polynomials and else up to a
    relative error of order 1/d, which is counted.

    Examples
    --------
    On the sphere He2 of one coordinate has the second moment 2 (d - 1)/(d + 2):

    >>> float(target_levels(Target("He2(z)"), 40, 4).weights[2].round(9)), 2 * 39 / 42
    (1.857142857, 1.8571428571428572)
    """
    expression, N = target.expression, level_dimensions(d)
    origin = float(target(np.zeros(target.r)))
    if expression.is_separable_sum and np.isfinite(origin):
        return _separable(target, origin, d, N)
    expansion = target.hermite(highest)
    weights = np.array([e.value for e in expansion.energies])
    smaller = np.cumprod([1.0, *(d / (d + 2 * k) for k in range(highest))])
    found = np.zeros(max(len(N), highest + 1))
    found[: highest + 1] = weights * smaller
    error = expansion.tail.error + sum(e.error for e in expansion.energies)
    error += float(weights @ (1 - smaller))
    above = max(expansion.tail.value, 0.0) + float(found[len(N) :].sum())
    return TargetLevels(found[: len(N)], above, error)


def _separable(target: Target, origin: float, d: int, N: np.ndarray) -> TargetLevels:
    """Weights [LZ-3] of a sum of functions of one variable each."""
    planes, _ = target.expression.breaks
    parts, rest = [], 0.0
    for axis in range(target.r):
        along = np.eye(target.r)[axis]

        def part(z: np.ndarray, along: np.ndarray = along) -> np.ndarray:
            return np.asarray(target(z[:, None] * along)) - origin

        kinks = [p.offset / p.normal[axis] for p in planes if abs(p.normal[axis]) > 1e-12]
        a, square = gegenbauer_coefficients(part, d, kinks=kinks)
        parts.append(a)
        rest += max(square - float(N @ a**2), 0.0)
    a = np.array(parts)
    at_zero = np.array([float(Q[0]) for Q in gegenbauer(np.zeros(1), d)])
    own, total = (a**2).sum(axis=0), a.sum(axis=0)
    weights = N * (own + at_zero * (total**2 - own))
    weights[0] = (total[0] + origin) ** 2
    rounding = 1e-13 * (float(np.abs(weights).sum()) + rest)
    return TargetLevels(np.maximum(weights, 0.0), rest, rounding)


def level_spectrum(activation: Activation, levels: TargetLevels, d: int) -> Spectrum:
    """Spectrum of the kernel with the weights of the target.

    Weight at a level that the activation does not contain, or above the listed ones, stands at
    eigenvalue zero; the kernel above the listed levels is one level of almost infinite dimension.
    """
    eta, N, rest = sphere_levels(activation, d)
    return Spectrum(
        eigenvalues=np.array([*eta, rest / _TAIL, 0.0]),
        weights=np.array([*(levels.weights / N), 0.0, levels.above]),
        multiplicities=np.array([*N, _TAIL, 1.0]),
    )
