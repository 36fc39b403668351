r"""Hermite coefficients of any block by randomized quasi-Monte Carlo.

Sixteen independently scrambled Sobol sequences; the error is the half-width of a 99 % interval
from the spread of the sixteen means.
"""

from __future__ import annotations

import math

import numpy as np

from .coefficients import BlockCoefficients
from .hermite import hermite_table
from .integrand import Integrand

REPLICATES = 16
_START = 10  # 2^10 points in each replicate at first
# Points are drawn from a wider Gaussian and reweighted: growing functions and high degrees have
# their weight in the tails, where the standard law puts no points.
_SCALE = 1.3
_SEED = 20260101


def sobol_coefficients(
    f: Integrand, degree: int, tolerance: float, points: int
) -> BlockCoefficients:
    """Coefficients of a block; doubles the points until the tolerance or the limit is reached."""
    from scipy.special import stdtrit
    from scipy.stats import qmc

    sequences = [
        qmc.Sobol(f.r, scramble=True, rng=np.random.default_rng([_SEED, i]))
        for i in range(REPLICATES)
    ]
    quantile = float(stdtrit(REPLICATES - 1, 0.995))
    sums = np.zeros((REPLICATES,) + (degree + 1,) * f.r)
    mass, drawn, batch = 0.0, 0, 1 << _START
    scale = _SCALE / math.sqrt(max(1 - 2 * f.quadratic, 0.05))
    while True:
        for i, sequence in enumerate(sequences):
            part, size = _sums(f, sequence.random(batch), degree, scale)
            sums[i] += part
            mass += size / REPLICATES
        drawn += batch
        means = sums / drawn
        value = means.mean(axis=0)
        error = quantile * means.std(axis=0, ddof=1) / math.sqrt(REPLICATES)
        enough = float(error.max()) <= tolerance * max(mass / drawn, 1e-300)
        if enough or 2 * drawn * REPLICATES > points:
            return BlockCoefficients(value, error, "monte_carlo")
        batch = drawn  # the balance of a Sobol sequence asks for powers of two


def _sums(f: Integrand, u: np.ndarray, degree: int, scale: float) -> tuple[np.ndarray, float]:
    """Sums over points of f he_beta times the importance weight, and of |f|."""
    from scipy.special import ndtri

    z = scale * ndtri(np.clip(u, 1e-16, 1 - 1e-16))
    weight = scale**f.r * np.exp(-0.5 * (1 - scale**-2) * np.einsum("nr,nr->n", z, z))
    values = f(list(z.T)) * weight
    tables = [hermite_table(column, degree) for column in z.T]
    result = values[None, :]
    for table in tables[:-1]:
        result = (result[:, None, :] * table).reshape(-1, len(values))
    total = result @ tables[-1].T
    return total.reshape((degree + 1,) * f.r), float(np.abs(values).sum())
