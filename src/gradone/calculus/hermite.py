r"""Hermite polynomials: values, multi-indices, and the closed form for piecewise polynomials."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

import numpy as np

from .polynomial import Polynomial

SQRT_2PI = math.sqrt(2 * math.pi)


def normal_density(z: np.ndarray) -> np.ndarray:
    """Density of the standard normal law."""
    return np.exp(-0.5 * z * z) / SQRT_2PI


def orthonormal_hermite(z: np.ndarray, degree: int) -> Iterator[np.ndarray]:
    r"""Values of :math:`\mathrm{he}_k = \mathrm{He}_k/\sqrt{k!}` for k = 0, ..., degree, in turn.

    Each array is overwritten three steps later; use :func:`hermite_table` to keep them.

    Examples
    --------
    >>> [float(h) for h in orthonormal_hermite(np.array(2.0), 2)][:2]
    [1.0, 2.0]
    """
    buffers = [np.zeros_like(z), np.ones_like(z), np.empty_like(z)]
    for k in range(degree + 1):
        previous, current, new = (buffers[(k + i) % 3] for i in range(3))
        yield current
        _step(z, k, previous, current, new)


def _step(
    z: np.ndarray, k: int, previous: np.ndarray, current: np.ndarray, new: np.ndarray
) -> None:
    """Three-term recurrence ``sqrt(k+1) he_(k+1) = z he_k - sqrt(k) he_(k-1)``."""
    np.multiply(z, current, out=new)
    new /= math.sqrt(k + 1)
    if k:
        new -= math.sqrt(k / (k + 1)) * previous


def hermite_table(z: np.ndarray, degree: int) -> np.ndarray:
    """Orthonormal Hermite values as an array of shape ``(degree + 1, *z.shape)``."""
    z = np.asarray(z, dtype=np.float64)
    table = np.empty((degree + 1, *z.shape))
    table[0] = 1.0
    for k in range(degree):
        _step(z, k, *(table[j, ...] for j in (max(k - 1, 0), k, k + 1)))  # views, also of scalars
    return table


@lru_cache(maxsize=64)
def multi_indices(r: int, degree: int) -> np.ndarray:
    """Every multi-index of total degree at most `degree` as an array (m, r), sorted by degree.

    Examples
    --------
    >>> multi_indices(2, 1).tolist()
    [[0, 0], [1, 0], [0, 1]]
    """
    rows = []
    for total in range(degree + 1):
        for bars in itertools.combinations(range(total + r - 1), r - 1):
            edges = (-1, *bars, total + r - 1)
            rows.append([b - a - 1 for a, b in itertools.pairwise(edges)][::-1])
    result = np.array(rows, dtype=np.int64).reshape(-1, r)
    order = np.lexsort((*(-result.T[::-1]), result.sum(axis=1)))
    result = result[order]
    result.setflags(write=False)
    return result


@cache
def _rule_beyond() -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.legendre.leggauss(40)
    return nodes, weights


@lru_cache(maxsize=256)
def tail_energy(k: int, reach: float) -> float:
    r"""Energy :math:`\mathbb{E}[\mathrm{he}_k(z)^2; |z| > c]` that is lost where a line is cut.

    Examples
    --------
    >>> f"{tail_energy(2, 7.5):.1e}"
    '1.0e-10'
    """
    nodes, weights = _rule_beyond()
    z = reach + 3.0 * (nodes + 1)
    return float(6.0 * (weights * normal_density(z)) @ hermite_table(z, k)[k] ** 2)


@lru_cache(maxsize=256)
def line_end(degree: int, enough: float, decade: int) -> float:
    """Where a line may be cut: up to the degree, a part of 10^decade loses less than `enough`.

    Examples
    --------
    >>> line_end(2, 1e-12, 0), line_end(2, 1e-12, -4)
    (8.5, 7.0)
    """
    ends = (4.0 + 0.5 * i for i in itertools.count())
    return next(end for end in ends if tail_energy(degree, end) < enough / 10.0**decade)


def factorials(beta: np.ndarray) -> np.ndarray:
    r"""Product of factorials :math:`\beta! = \prod_i \beta_i!` along the last axis."""
    table = np.array([float(math.factorial(k)) for k in range(int(beta.max(initial=0)) + 1)])
    return np.prod(table[beta], axis=-1)


def piecewise_polynomial_coefficients(
    pieces: Sequence[Polynomial], breaks: Sequence[float], degree: int
) -> tuple[np.ndarray, np.ndarray]:
    r"""Orthonormal Hermite coefficients, and errors, of a piecewise polynomial of one variable.

    Integrating by parts until the polynomial is gone leaves the jumps of its derivatives,

    .. math::
        c_k = \mathbb{E}[p^{(k)}(z)] + \sum_{b}\sum_{j<k}
              \Delta p^{(j)}(b)\,\mathrm{He}_{k-1-j}(b)\,\varphi(b),
        \qquad \Delta p(b) = p(b^+) - p(b^-), \qquad [GC-3]

    which has no cancellation between large numbers: the error is rounding.

    Examples
    --------
    The coefficients of sign are :math:`c_1 = \sqrt{2/\pi}` and :math:`c_3 = -\sqrt{2/\pi}`:

    >>> one, minus = Polynomial.constant(1, 1), Polynomial.constant(-1, 1)
    >>> a, _ = piecewise_polynomial_coefficients([minus, one], [0.0], 3)
    >>> [round(float(x), 6) for x in a * np.sqrt([1, 1, 2, 6])]
    [0.0, 0.797885, 0.0, -0.797885]
    """
    size = max((piece.degree for piece in pieces), default=0) + 1
    derivatives = np.zeros((max(size, degree) + 1, len(pieces), size))
    for i, piece in enumerate(pieces):
        for j in range(derivatives.shape[0]):
            for (m,), c in piece.coefficients.items():
                derivatives[j, i, m] = float(c)
            piece = piece.derivative(0)
    moments = _interval_moments(breaks, size)  # (pieces, size)
    coefficients, errors = np.zeros(degree + 1), np.zeros(degree + 1)
    points = np.asarray(breaks, dtype=np.float64)
    powers = points[:, None] ** np.arange(size)
    jumps = np.einsum("jbm,bm->jb", derivatives[:, 1:] - derivatives[:, :-1], powers)
    hermite = hermite_table(points, degree) if len(points) else np.zeros((degree + 1, 0))
    hermite *= np.sqrt([float(math.factorial(k)) for k in range(degree + 1)])[:, None]
    density = normal_density(points)
    for k in range(degree + 1):
        inside = derivatives[min(k, len(derivatives) - 1)] * moments
        edge = [jumps[j] * hermite[k - 1 - j] * density for j in range(min(k, size))]
        parts = np.concatenate([inside.ravel(), *edge])
        coefficients[k] = math.fsum(parts)
        errors[k] = 8 * np.finfo(float).eps * np.abs(parts).sum()
    scale = np.sqrt([float(math.factorial(k)) for k in range(degree + 1)])
    return coefficients / scale, errors / scale


def _interval_moments(breaks: Sequence[float], size: int) -> np.ndarray:
    r"""Moments :math:`\int_a^b z^m \varphi(z)\,dz`, m < size, between consecutive breaks."""
    from scipy.special import ndtr

    edges = np.array([-np.inf, *breaks, np.inf])
    low, high = edges[:-1], edges[1:]
    moments = np.zeros((len(low), size))
    # On the right half the complement is the accurate one.
    moments[:, 0] = np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))

    def boundary(m: int) -> np.ndarray:  # [z^m phi(z)] from a to b
        with np.errstate(invalid="ignore"):
            ends = [np.where(np.isinf(x), 0.0, x**m * normal_density(x)) for x in (low, high)]
        return ends[1] - ends[0]

    for m in range(1, size):
        below = (m - 1) * moments[:, m - 2] if m >= 2 else 0.0
        moments[:, m] = below - boundary(m - 1)
    return moments
