r"""Regions between planes in closed form: mean products of signs of Gaussian variables.

A function of the signs of m affine forms :math:`u \sim N(\mu, R)` of z is a sum of products of
them, so all that is needed is :math:`E_A = \mathbb{E}\prod_{i \in A} \mathrm{sign}(u_i)`. With
Owen's function T, for two forms of unit variance and means of one sign,

.. math:: E_{12} = 1 - 4\,T(\mu_1, a_1) - 4\,T(\mu_2, a_2), \qquad
          a_1 = \frac{\mu_2/\mu_1 - \rho}{\sqrt{1 - \rho^2}},                             [PS-1]

and every derivative is a smaller problem, in which the other forms are known to vanish:

.. math::
    \partial_i E_A = 2\,N(0; \mu_i)\, E_{A \setminus i}[u_i = 0], \qquad
    \partial_i\partial_j E_A = 4\,N(0; \mu_{ij})\, E_{A \setminus ij}[u_i = u_j = 0],     [PS-2]

while :math:`\mu_i \partial_i E_A + \sum_j R_{ij}\,\partial_i\partial_j E_A = 0`, because the
length of a form does not matter. Larger sets fall into two parts B and C that would be
independent without the correlations between them, which are switched on:

.. math:: E_A = E_B E_C + \int_0^1 dt \sum_{i \in B, j \in C} R_{ij}\,
          \partial_i\partial_j E_A(t).                                                   [PS-3]
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.special import erf, owens_t

from ...calculus.line import gauss_legendre

MOST_FORMS = 4
ROUNDING = 1e-14  # of a mean product of signs
_NODES = (8, 5)  # of the integral over t; the second is the check of the first
_PARALLEL = 1e-14


def sign_moments(
    table: np.ndarray, mean: np.ndarray, V: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mean of a function of signs, with its gradient and curvature in the means of the forms.

    Parameters
    ----------
    table : array (n or 1, 2, ..., 2)
        The function of m signs for every sample; index 1 stands for a positive sign.
    mean : array (n, m)
        Means of the forms.
    V : array (m, m)
        Their covariance.

    Returns
    -------
    tuple of arrays (n,), (n, m), (n, m, m) and (n,)
        The last one is the mean by a coarser integral over t.

    Examples
    --------
    The probability that two independent forms have one sign:

    >>> both = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    >>> mass, *_ = sign_moments(both, np.array([[1.0, 0.5]]), np.eye(2))
    >>> round(float(mass[0]), 9), round((1 + math.erf(0.5**0.5) * math.erf(0.125**0.5)) / 2, 9)
    (0.63070941, 0.63070941)
    """
    n, m = mean.shape
    scale = np.sqrt(np.diag(V))
    u, R = mean / scale, V / np.outer(scale, scale)
    coefficients = table
    for axis in range(1, m + 1):
        low, high = np.moveaxis(coefficients, axis, 0)
        coefficients = np.stack([(high + low) / 2, (high - low) / 2], axis=axis)
    mass, check, first, second = np.zeros(n), np.zeros(n), np.zeros((n, m)), np.zeros((n, m, m))
    subsets = itertools.product((0, 1), repeat=m)
    for weight, chosen in zip(coefficients.reshape(-1, 2**m).T, subsets, strict=True):
        A = [i for i in range(m) if chosen[i]]
        if not weight.any():
            continue
        part, correlations = u[:, A], R[np.ix_(A, A)]
        fine = coarse = _product(part, correlations, _NODES[0])
        if len(A) > 2:  # smaller sets have no integral over t
            coarse = _product(part, correlations, _NODES[1])
        mass, check = mass + weight * fine, check + weight * coarse
        gradient, curvature = _derivatives(part, correlations, _NODES[0])
        first[:, A] += weight[:, None] * gradient
        second[np.ix_(range(n), A, A)] += weight[:, None, None] * curvature
    return mass, first / scale, second / np.outer(scale, scale), check


def _product(u: np.ndarray, R: np.ndarray, nodes: int) -> np.ndarray:
    """Mean product (n,) of the signs of all forms, of unit variance."""
    n, m = u.shape
    if m == 0:
        return np.ones(n)
    if m == 1:
        return np.asarray(erf(u[:, 0] / math.sqrt(2)))
    if m == 2:
        return _pair(u[:, 0], u[:, 1], R[0, 1])
    B = min(
        (list(b) for b in itertools.combinations(range(m), m // 2)),
        key=lambda b: np.abs(np.delete(R[b], b, axis=1)).max(),
    )
    C = [i for i in range(m) if i not in B]
    total = _product(u[:, B], R[np.ix_(B, B)], nodes) * _product(u[:, C], R[np.ix_(C, C)], nodes)
    for t, weight in zip(*gauss_legendre(nodes), strict=True):
        path = R.copy()
        path[np.ix_(B, C)] *= t
        path[np.ix_(C, B)] *= t
        for i, j in itertools.product(B, C):
            if R[i, j]:
                total += weight * R[i, j] * _mixed(u, path, i, j, nodes)
    return total


def _pair(h: np.ndarray, k: np.ndarray, rho: float) -> np.ndarray:
    """Mean product of two signs [PS-1]."""
    h, k = (np.where(np.abs(x) < 1e-100, 1e-100, x) for x in (h, k))
    side = np.sign(h) * np.sign(k)  # means of opposite signs: turn one form around
    h, k, rho_ = np.abs(h), np.abs(k), rho * side
    root = math.sqrt(max(1 - rho * rho, _PARALLEL))
    with np.errstate(over="ignore"):
        unlike = owens_t(h, (k / h - rho_) / root) + owens_t(k, (h / k - rho_) / root)
    return np.asarray(side * (1 - 4 * unlike))


def _mixed(u: np.ndarray, R: np.ndarray, i: int, j: int, nodes: int) -> np.ndarray:
    """Second derivative (n,) in the means of two forms [PS-2]."""
    left = max(1 - R[i, j] ** 2, _PARALLEL)
    square = (u[:, i] ** 2 + u[:, j] ** 2 - 2 * R[i, j] * u[:, i] * u[:, j]) / left
    density = np.exp(-square / 2) / (2 * math.pi * math.sqrt(left))
    return np.asarray(4 * density * _product(*_given(u, R, [i, j]), nodes))


def _derivatives(u: np.ndarray, R: np.ndarray, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Gradient (n, m) and curvature (n, m, m) of the mean product of all signs."""
    n, m = u.shape
    gradient, curvature = np.zeros((n, m)), np.zeros((n, m, m))
    for i in range(m):
        density = np.exp(-(u[:, i] ** 2) / 2) / math.sqrt(2 * math.pi)
        gradient[:, i] = 2 * density * _product(*_given(u, R, [i]), nodes)
    for i, j in itertools.combinations(range(m), 2):
        curvature[:, i, j] = curvature[:, j, i] = _mixed(u, R, i, j, nodes)
    for i in range(m):
        curvature[:, i, i] = -u[:, i] * gradient[:, i] - curvature[:, i] @ R[i]
    return gradient, curvature


def _given(u: np.ndarray, R: np.ndarray, known: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Means and correlations of the other forms where some vanish, in units of what is left."""
    rest = [i for i in range(len(R)) if i not in known]
    if not rest:
        return u[:, rest], R[np.ix_(rest, rest)]
    gain = np.linalg.lstsq(R[np.ix_(known, known)], R[np.ix_(known, rest)])[0]
    left = R[np.ix_(rest, rest)] - R[np.ix_(rest, known)] @ gain
    scale = np.sqrt(np.maximum(np.diag(left), _PARALLEL))
    return (u[:, rest] - u[:, known] @ gain) / scale, left / np.outer(scale, scale)
