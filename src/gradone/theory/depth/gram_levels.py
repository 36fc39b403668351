r"""Levels of the Gram matrix of a first layer whose rows are uniform on the sphere of a subspace.

.. math::
    K = \frac1p \sigma(XW^\top + b)\,\sigma(XW^\top + b)^\top, \qquad
    |w_j| = 1 \text{ in a space of dimension } q, \quad b_j \sim U(-B, B).

The limit of K/n for many samples and neurons is an operator that commutes with rotations. On
functions of angular degree l, of which there are :math:`N_l` for each radial function, it acts by

.. math::
    \xi_l(r, b) = \mathbb{E}_t[\sigma(rt + b)\,Q_l(t)], \qquad
    M_l(b, b') = \mathbb{E}_r[\xi_l(r, b)\,\xi_l(r, b')], \qquad
    \lambda_l = \text{largest eigenvalue of } M_l,                                       [DT-7]

r = \|x\| in that space, t one coordinate of a unit vector and :math:`Q_l` the Gegenbauer
polynomial. For large q it is :math:`\mathbb{E}_b[c_l(b)^2]/q^l`, and the harmonic part of
:math:`\mathrm{He}_l` alone gives :math:`\mathbb{E}_b[c_l(b)^2]/(q(q+2)\cdots(q+2l-2))`. Before the
first stage q = d, after it q is the number of hidden directions: the levels are the powers of the
smaller dimension, and their gaps open.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from ...base.errors import BadData
from ...base.estimate import Estimate
from ...calculus.line import gauss_legendre
from ...targets.activation import Activation
from ...targets.sampled import whole_number
from .._inputs import nonnegative, positive
from ..lazy._levels import gegenbauer, level_dimension

_ANGLES = 1600
_RADII, _BIASES = 32, 24


class GramLevel(NamedTuple):
    """One level of the Gram matrix: angular degree, eigenvalue of K/n, how often it occurs."""

    degree: int
    eigenvalue: Estimate
    multiplicity: float


def gram_levels(
    activation: str | Activation,
    dimension: int,
    degree: int = 3,
    *,
    bias_range: float = 1.0,
    n: float = math.inf,
    width: float = math.inf,
) -> tuple[GramLevel, ...]:
    r"""Levels of the conjugate kernel K/n of degree 0, 1, ... [DT-7].

    Parameters
    ----------
    activation : str or Activation
        Activation of the first layer.
    dimension : int
        Dimension q, at least 3, of the space in which the rows lie.
    degree : int
        Largest degree.
    bias_range : float
        Half-width B of the law of the biases.
    n, width : float
        Finite numbers move the mean of the eigenvalues of a level to first order, by the factor

        .. math:: 1 + \Big(\frac1n + \frac1p\Big) \sum_{k \ne l}
                  \frac{N_k\lambda_k}{\lambda_l - \lambda_k},                           [DT-8]

        which is right while :math:`N_l` is much smaller than both.

    Examples
    --------
    >>> before, after = (gram_levels("relu(z)", q, 2)[2] for q in (64, 8))
    >>> before.multiplicity, after.multiplicity
    (2079.0, 35.0)
    >>> round(after.eigenvalue.value / before.eigenvalue.value)
    54
    """
    sigma = Activation(activation) if isinstance(activation, str) else activation
    q = whole_number("dimension", dimension, least=3)
    degree = whole_number("degree", degree, least=0)
    bias = nonnegative("bias_range", bias_range, what="a half-width")
    n = positive("n", n, infinite=True)
    p = positive("width", width, infinite=True)
    fine = _levels(sigma, q, degree, bias, _ANGLES)
    coarse = _levels(sigma, q, degree, bias, _ANGLES // 2)
    N = np.array([level_dimension(q, k) for k in range(degree + 1)])
    values = fine[: degree + 1] * (1 + (1 / n + 1 / p) * _repulsion(fine, N))
    errors = np.abs(fine - coarse)[: degree + 1] + 1e-12 * fine[0]
    return tuple(
        GramLevel(k, Estimate(float(v), float(e), "quadrature"), float(m))
        for k, (v, e, m) in enumerate(zip(values, errors, N, strict=True))
    )


def _levels(sigma: Activation, q: int, degree: int, bias: float, angles: int) -> np.ndarray:
    """Eigenvalue of each degree, and the trace of all that is above."""
    from scipy.special import roots_genlaguerre

    # t = cos(angle) has the density sin(angle)^(q - 2), which vanishes at both ends.
    angle = (np.arange(angles) + 0.5) * (math.pi / angles)
    weight = np.sin(angle) ** (q - 2)
    weight /= weight.sum()
    half_squares, radial = roots_genlaguerre(_RADII, q / 2 - 1)
    radial = radial / radial.sum()
    r = np.sqrt(2 * half_squares)
    nodes, shares = gauss_legendre(_BIASES) if bias else (np.array([0.5]), np.array([1.0]))
    b = bias * (2 * nodes - 1)
    values = np.asarray(sigma(r[:, None, None] * np.cos(angle) + b[:, None]))
    root = np.sqrt(shares)
    found = []
    for Q in itertools.islice(gegenbauer(np.cos(angle), q), degree + 1):
        xi = values @ (weight * Q)
        found.append(np.linalg.eigvalsh((xi.T * radial) @ xi * np.outer(root, root))[-1])
    if len(found) <= degree:
        raise BadData(f"degree {degree} has too many polynomials in dimension {q} to be resolved")
    square = float(radial @ (values**2 @ weight) @ shares)
    N = np.array([level_dimension(q, k) for k in range(degree + 1)])
    return np.array([*found, max(square - float(N @ found), 0.0)])


def _repulsion(levels: np.ndarray, N: np.ndarray) -> Any:
    """Sum of [DT-8] for each degree; what is above the last counts as eigenvalue zero."""
    values, rest = levels[:-1], levels[-1]
    gaps = values[:, None] - values
    np.fill_diagonal(gaps, np.inf)
    return (N * values / gaps).sum(axis=1) + rest / values
