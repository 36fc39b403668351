r"""Hermite coefficients of a function of one Gaussian variable."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from .coefficients import BlockCoefficients
from .hermite import hermite_table, piecewise_polynomial_coefficients
from .integrand import Integrand

_FINE, _COARSE = 24, 16
_MAX_PANELS = 4000
_NOISE, _SAFETY = 0.01, 10.0
_EPS = float(np.finfo(float).eps)


@lru_cache(maxsize=64)
def gauss_legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the Gauss-Legendre rule on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return (nodes + 1) / 2, weights / 2


def line_coefficients(f: Integrand, degree: int, tolerance: float) -> BlockCoefficients:
    r"""Coefficients :math:`a_k = \mathbb{E}[f\,\mathrm{He}_k]/\sqrt{k!}` for k = 0..degree.

    Piecewise polynomials have a closed form; anything else is integrated by Gauss-Legendre panels
    that begin and end at the breaks and are halved where two rules disagree. The error is the
    disagreement of the two rules summed over panels, plus rounding and layers that may be missed.
    """
    if f.pieces is not None:
        return BlockCoefficients(*piecewise_polynomial_coefficients(f.pieces, f.breaks, degree))
    reach = f.reach(degree)
    inner = [b for b in (*f.breaks, *f.sharp) if -reach < b < reach]
    edges = np.unique([*np.linspace(-reach, reach, 2 * math.ceil(reach / 2) + 1), *inner])
    low, high = edges[:-1], edges[1:]
    most = _MAX_PANELS + 2 * len(low)
    total, error, size = np.zeros(degree + 1), np.zeros(degree + 1), 0.0
    panels = 0
    while len(low):
        panels += len(low)
        fine, mass = _panels(f, low, high, degree, _FINE)
        coarse, _ = _panels(f, low, high, degree, _COARSE)
        gap = np.abs(fine - coarse)
        size = max(size, math.sqrt(float((fine.sum(axis=0) ** 2).sum())), float(mass.sum()))
        # Each panel may use a share of the tolerance in proportion to its length, and the square
        # root keeps panels next to a singularity from being halved for ever.
        share = np.sqrt((high - low) / (2 * reach))
        poor = gap.max(axis=1) > tolerance * size * share / 10
        poor &= high - low > 1e-13 * (1 + np.abs(low))
        if panels > most:  # give up, honestly: the gaps go into the error
            poor[:] = False
        # Where both rules see noise (fast oscillations) their difference is small by chance.
        gap[gap.max(axis=1) > _NOISE * mass] *= _SAFETY
        total += fine[~poor].sum(axis=0)
        error += gap[~poor].sum(axis=0)
        middle = (low[poor] + high[poor]) / 2
        low, high = np.concatenate([low[poor], middle]), np.concatenate([middle, high[poor]])
    share, height = f.thin
    floor = 16 * _EPS * size * np.sqrt(np.arange(degree + 1) + 1.0) + share * height
    return BlockCoefficients(total, error + floor)


def _panels(
    f: Integrand, low: np.ndarray, high: np.ndarray, degree: int, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Integrals of f he_k phi over panels, (panels, degree + 1), and of |f| phi."""
    nodes, weights = gauss_legendre(n)
    z = low[:, None] + (high - low)[:, None] * nodes
    density = np.exp((f.tilt - 0.5) * z * z) / math.sqrt(2 * math.pi)
    values = f([z]) * weights * density * (high - low)[:, None]
    return np.einsum("kpn,pn->pk", hermite_table(z, degree), values), np.abs(values).sum(axis=1)
