r"""Integrals over the output of a target, for reference values.

Only numpy and scipy: nothing in this folder shares code with the package. For an output y of
:math:`z \sim \mathcal{N}(0, I)` with density :math:`a_0(y)` and :math:`a_f(y) = a_0\,
\mathbb{E}[f(z)|y]`,

.. math:: \mathbb{E}\big[\mathbb{E}[f|y]\,\mathbb{E}[g|y]\big] = \int \frac{a_f\,a_g}{a_0}\,dy.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.integrate import quad, quad_vec

PI = math.pi


class Number(NamedTuple):
    """Value and a bound of its error."""

    value: float
    error: float = 1e-12

    def inverse(self) -> Number:
        """One over it."""
        return Number(1 / self.value, self.error / self.value**2)


def phi(x):
    """Standard normal density."""
    return np.exp(-0.5 * np.square(x)) / math.sqrt(2 * PI)


def rule(*edges: float, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on consecutive panels."""
    t, w = np.polynomial.legendre.leggauss(n)
    low, high = np.array(edges[:-1])[:, None], np.array(edges[1:])[:, None]
    return ((low + high + (high - low) * t) / 2).ravel(), ((high - low) / 2 * w).ravel()


def integral(f: Callable[[float], float], *edges: float) -> Number:
    """Integral over consecutive panels by adaptive quadrature."""
    parts = [
        quad(f, a, b, epsabs=1e-11, epsrel=1e-10, limit=400) for a, b in itertools.pairwise(edges)
    ]
    return Number(sum(v for v, _ in parts), sum(e for _, e in parts))


def output_matrix(
    moments: Callable[[float], np.ndarray], *edges: float, mass: float | None = 1.0
) -> tuple[np.ndarray, float]:
    r"""Matrix :math:`\int a a^\top/a_0\,dy` and a bound of its error.

    ``moments(y)`` is (a_0, a_1, ...). Entry (0, 0) is the mass, which is checked if it is given.
    """

    def integrand(y: float) -> np.ndarray:
        a = np.asarray(moments(y), dtype=float)
        return np.outer(a, a) / a[0] if a[0] > 1e-280 else np.zeros((len(a), len(a)))

    total, error = 0.0, 0.0
    for low, high in itertools.pairwise(edges):
        value, gap = quad_vec(integrand, low, high, epsabs=1e-10, epsrel=1e-9, limit=2000)
        total, error = total + value, error + float(gap)
    missing = 0.0 if mass is None else abs(total[0, 0] - mass)
    assert missing < 1e-6, f"mass {total[0, 0]}"
    return total, error + 20 * missing + 1e-10
