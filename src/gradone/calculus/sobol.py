r"""Randomized quasi-Monte Carlo: scrambled Sobol points, and Hermite coefficients from them.

The sequence is that of Joe and Kuo (2008) in the first thirteen dimensions, scrambled by a random
lower-triangular matrix and a random digital shift (Matousek 1998): every point is uniform, and the
balance of the net is kept.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np

from ..base.budget import check_budget
from ..base.estimate import Estimate
from .coefficients import BlockCoefficients
from .hermite import hermite_table
from .integrand import Integrand

REPLICATES = 16
_BITS = 30
_START = 10  # 2^10 points in each replicate at first
_HITS = 100
_STRIP = 256
_CHUNK = 2048  # points whose products of Hermite values fit the cache
# Points are drawn from a wider Gaussian and reweighted: growing functions and high degrees have
# their weight in the tails, where the standard law puts no points.
_SCALE = 1.3
_SEED = 20260101

# Primitive polynomials (degree, inner coefficients) and initial direction numbers, dimensions 2-13.
_JOE_KUO = (
    (1, 0, (1,)),
    (2, 1, (1, 3)),
    (3, 1, (1, 3, 1)),
    (3, 2, (1, 1, 1)),
    (4, 1, (1, 1, 3, 3)),
    (4, 4, (1, 3, 5, 13)),
    (5, 2, (1, 1, 5, 5, 17)),
    (5, 4, (1, 1, 5, 5, 5)),
    (5, 7, (1, 1, 7, 11, 19)),
    (5, 11, (1, 1, 5, 1, 1)),
    (5, 13, (1, 1, 1, 3, 11)),
    (5, 14, (1, 3, 5, 5, 31)),
)
MAX_DIMENSION = len(_JOE_KUO) + 1


@lru_cache(maxsize=1)
def _direction_numbers() -> np.ndarray:
    """Direction numbers (dimension, bit) as integers of 30 bits."""
    table = np.zeros((MAX_DIMENSION, _BITS), dtype=np.int64)
    table[0] = 1 << np.arange(_BITS - 1, -1, -1)
    for row, (s, a, initial) in enumerate(_JOE_KUO, start=1):
        m = list(initial)
        for i in range(s, _BITS):
            new = m[i - s] ^ (m[i - s] << s)
            for k in range(1, s):
                if (a >> (s - 1 - k)) & 1:
                    new ^= m[i - k] << k
            m.append(new)
        table[row] = [value << (_BITS - 1 - i) for i, value in enumerate(m)]
    return table


class SobolSequence:
    """Scrambled Sobol points in the unit cube, drawn in order.

    Parameters
    ----------
    dimension : int
        At most 13.
    rng : Generator, optional
        Source of the scramble; None gives the plain sequence, which begins at the origin.

    Examples
    --------
    >>> SobolSequence(2, None).draw(4).tolist()
    [[0.0, 0.0], [0.5, 0.5], [0.75, 0.25], [0.25, 0.75]]
    """

    def __init__(self, dimension: int, rng: np.random.Generator | None) -> None:
        columns = _direction_numbers()[:dimension]
        shift = np.zeros(dimension, dtype=np.int64)
        if rng is not None:
            columns = np.stack([_scramble(row, rng) for row in columns])
            shift = rng.integers(0, 1 << _BITS, dimension)
        self._columns = columns
        self._bits = shift[None, :]
        self._position = 0
        # Half a cell for the scrambled points: uniform within 2^-30, and never 0 or 1.
        self._offset = 0.0 if rng is None else 0.5

    def draw(self, n: int) -> np.ndarray:
        """Next n points, shape (n, dimension)."""
        start, self._position = self._position, self._position + n
        return self.between(start, self._position)

    def between(self, start: int, stop: int) -> np.ndarray:
        """Points number `start` to ``stop - 1``, whatever was drawn."""
        while len(self._bits) < stop:
            # Gray code: the second half is the first in reverse, with one more bit set.
            new = self._columns[:, len(self._bits).bit_length() - 1]
            self._bits = np.concatenate([self._bits, self._bits[::-1] ^ new])
        return (self._bits[start:stop] + self._offset) / (1 << _BITS)


def _scramble(row: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Direction numbers multiplied by a random unit lower-triangular matrix of bits."""
    lower = np.tril(rng.integers(0, 2, (_BITS, _BITS)), -1) + np.eye(_BITS, dtype=np.int64)
    shifts = np.arange(_BITS - 1, -1, -1)
    digits = (row[None, :] >> shifts[:, None]) & 1  # (bit, column)
    return (((lower @ digits) & 1) << shifts[:, None]).sum(axis=0)


def gaussian_points(u: np.ndarray) -> np.ndarray:
    """Points of the unit cube as standard normal ones."""
    from scipy.special import ndtri

    return ndtri(u)


def sobol_coefficients(
    f: Integrand, degree: int, tolerance: float, points: int
) -> BlockCoefficients:
    """Coefficients of a block from sixteen scrambles; the error is a 99 % half-width.

    Few points in case they reach the tolerance, then sixteen times as many, up to the limit.
    """
    from scipy.special import stdtrit

    quantile = float(stdtrit(REPLICATES - 1, 0.995)) / math.sqrt(REPLICATES)
    sums = np.zeros((REPLICATES,) + (degree + 1,) * f.r)
    squares = np.zeros(REPLICATES)
    mass, drawn, batch = 0.0, 0, 1 << _START
    scale = _SCALE / math.sqrt(max(1 - 2 * f.quadratic, 0.05))
    while True:
        for i in range(REPLICATES):
            part, size, square = _sums(f, _cloud(f.r, i, drawn, drawn + batch, scale), degree)
            sums[i] += part
            squares[i] += square
            mass += size / REPLICATES
        drawn += batch
        means, square_means = sums / drawn, squares / drawn
        value, error = means.mean(axis=0), quantile * means.std(axis=0, ddof=1)
        enough = float(error.max()) <= tolerance * max(mass / drawn, 1e-300)
        if enough or 2 * drawn * REPLICATES > points:
            # Layers that hardly any point has hit do not show in the spread.
            share, height = f.thin if f.thin[0] * drawn * REPLICATES < _HITS else (0.0, 0.0)
            error += share * height
            spread = quantile * float(square_means.std(ddof=1)) + share * height**2
            second = Estimate(float(square_means.mean()), spread, "monte_carlo")
            return BlockCoefficients(value, error, "monte_carlo", mass / drawn, second)
        # The balance of a Sobol sequence asks for powers of two.
        batch = min(16 * drawn, 1 << int(math.log2(points / REPLICATES))) - drawn


@lru_cache(maxsize=2 * REPLICATES)
def _sequence(r: int, replicate: int) -> SobolSequence:
    return SobolSequence(r, np.random.default_rng([_SEED, replicate]))


@lru_cache(maxsize=8 * REPLICATES)  # mean, square and coefficients of a function share them
def _cloud(
    r: int, replicate: int, start: int, stop: int, scale: float
) -> tuple[np.ndarray, np.ndarray]:
    """Points (r, n) of a wide Gaussian and their importance weights."""
    points = _sequence(r, replicate).between(start, stop)
    z = scale * gaussian_points(np.ascontiguousarray(points.T))
    return z, scale**r * np.exp(-0.5 * (1 - scale**-2) * (z * z).sum(axis=0))


def _sums(
    f: Integrand, cloud: tuple[np.ndarray, np.ndarray], degree: int
) -> tuple[np.ndarray, float, float]:
    """Sums over points of f he_beta, |f| and f^2, all times the importance weight."""
    z, weight = cloud
    plain = f(list(z))
    values = plain * weight
    size, square = float(np.abs(values).sum()), float(values @ plain)
    if not degree:
        return values.sum().reshape((1,) * f.r), size, square
    total = np.zeros((degree + 1,) * f.r)
    heads = [b for b in itertools.product(range(degree + 1), repeat=f.r - 1) if sum(b) <= degree]
    for start in range(0, len(values), _CHUNK):
        check_budget()
        part = slice(start, start + _CHUNK)
        tables = [hermite_table(column[part], degree) for column in z]
        # Only total degrees up to `degree` are wanted: about 1/r! of the cube.
        products = np.empty((len(heads), len(values[part])))
        for row, head in zip(products, heads, strict=True):
            np.multiply(values[part], tables[0][head[0]] if head else 1.0, out=row)
            for table, k in zip(tables[1:], head[1:], strict=False):
                row *= table[k]
        # In strips so thin that BLAS does not wake its threads, which cost more than they bring.
        strips = range(0, products.shape[1], _STRIP)
        sums = sum(products[:, i : i + _STRIP] @ tables[-1][:, i : i + _STRIP].T for i in strips)
        for row, head in zip(np.asarray(sums), heads, strict=True):
            total[head] += row
    return total, size, square
