r"""Densities of a noisy label on a grid, from the nodes of an integral over z.

For every prior mean and every feature :math:`\phi`,

.. math:: f_\phi(y) = \sum_j w_j \phi_j N(y; m_j, D_j).                              [OD-1]
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from ..base.errors import NotConverged
from ..calculus.smoothing import smoothing_filter

_DEPOSITS, _ROUGH_DEPOSITS = 12, 8  # cells in one standard deviation where nodes are deposited
_CELLS = 2  # cells in one standard deviation where densities are read
_MARGIN = 8.0
_MOST_CELLS = 2**16
_NEGLIGIBLE = 1e-15
_SEEN = 1e-12  # densities below this share of the largest are rounding


class OutputDensity(NamedTuple):
    """Densities on one grid for each prior mean, all of the same length."""

    y: np.ndarray
    """(m, K) labels."""
    step: float
    """Distance of two labels."""
    mass: np.ndarray
    """(m, K) density of the label; 0 where it is not resolved."""
    features: np.ndarray
    """(m, K, c) densities of the features, in the same order as the averages q."""
    second: np.ndarray | None
    """(m, K, c, c) densities of q q^T - diag(I, beta beta^T / D), if asked for."""


def output_density(
    owner: np.ndarray,
    count: int,
    weight: np.ndarray,
    x: np.ndarray,
    mean: np.ndarray,
    variance: Any,
    beta: list[Any],
    *,
    curvature: bool = False,
    rough: bool = False,
) -> OutputDensity:
    r"""Densities of the label and of the features x and :math:`\beta (y - m)/D`.

    Parameters
    ----------
    owner : array (N,)
        Number of the prior mean that each node belongs to, in increasing order.
    count : int
        Number of prior means.
    weight, x : arrays (N,), (N, k)
        Weights and standardized nodes.
    mean, variance : arrays (N,)
        Law of the label at each node; a variance () is the same at all nodes.
    beta : list of arrays (N,) or ()
        Coefficients of the linear part.
    curvature : bool
        Whether second moments of the features are needed.
    rough : bool
        Whether an error of 1e-6 will do, in place of 2e-7, where splines are used.

    Notes
    -----
    With one variance the nodes are deposited as cubic splines and smoothed by FFT, at a cost that
    does not depend on the noise; else every node is spread over the grid by itself.
    """
    variance = np.asarray(variance)
    if not x.shape[1]:  # a single node
        variance = np.broadcast_to(variance, mean.shape)
    deviation = np.sqrt(variance)
    reach = _reach(weight, deviation) if variance.ndim else _MARGIN * deviation
    begin = np.searchsorted(owner, np.arange(count))
    low = np.minimum.reduceat(mean - reach, begin)
    high = np.maximum.reduceat(mean + reach, begin)
    step = float(deviation.min()) / _CELLS
    cells = float((high - low).max()) / step + 8
    if cells > _MOST_CELLS:
        raise NotConverged(
            f"the labels spread over {cells / _CELLS:.0e} standard deviations of what is noise to "
            f"them, at most {_MOST_CELLS / _CELLS:.0e} can be resolved: the noise is too small. "
            "Use a larger noise, or noise = 0."
        )
    length = int(cells) + 1
    k, c = x.shape[1], x.shape[1] + len(beta)
    if variance.ndim == 0:
        densities = _smoothed(
            owner, weight, x, mean, float(variance), low, length, step, beta, curvature,
            (_ROUGH_DEPOSITS if rough else _DEPOSITS) // _CELLS,
        )  # fmt: skip
    else:
        columns = np.stack([np.broadcast_to(b, mean.shape) for b in beta])
        more = c * (c + 1) // 2 if curvature else 0
        densities = np.zeros((count, 1 + c + more, length))
        _spread(owner, weight, x, mean, variance, columns, reach, low, step, densities)
    mass = densities[:, 0]
    second = _as_matrices(densities[:, 1 + c :], mass, k, c) if curvature else None
    mass = np.where(mass > _SEEN * mass.max(axis=1, keepdims=True), mass, 0.0)
    y = low[:, None] + step * np.arange(length)
    return OutputDensity(y, step, mass, np.moveaxis(densities[:, 1 : 1 + c], 1, 2), second)


def _as_matrices(products: np.ndarray, mass: np.ndarray, k: int, c: int) -> np.ndarray:
    """Symmetric matrices (m, K, c, c) from the rows of their lower triangles (m, ..., K)."""
    second = np.empty((*mass.shape, c, c))
    for place, (a, b) in enumerate(zip(*np.tril_indices(c), strict=True)):
        second[..., a, b] = products[:, place]
        if a == b and a < k:
            second[..., a, a] -= mass
        second[..., b, a] = second[..., a, b]
    return second


def _reach(weight: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Distance from the mean at which the contribution of a node is negligible."""
    decades = np.log(np.maximum(weight / _NEGLIGIBLE, 1.0))
    return deviation * np.sqrt(2 * decades + 1.0)


def _smoothed(
    owner: np.ndarray,
    weight: np.ndarray,
    x: np.ndarray,
    mean: np.ndarray,
    variance: float,
    low: np.ndarray,
    length: int,
    step: float,
    beta: list[float],
    curvature: bool,
    ratio: int,
) -> np.ndarray:
    r"""Densities of 1, of q, and of the products of q (their lower triangle, by rows).

    With :math:`\rho = (y - m)/D`, derivatives of a Gaussian are its products with
    :math:`-\rho` and :math:`\rho^2 - 1/D`.
    """
    from scipy.fft import irfft, next_fast_len, rfft

    k = x.shape[1]
    short = next_fast_len(length, real=True)
    size, fine = short * ratio, step / ratio
    grid = np.zeros((len(low), 1 + k + (k * (k + 1) // 2 if curvature else 0), size))
    _deposit(owner, weight, x, (mean - low[owner]) / fine, grid)
    frequency, kernel = smoothing_filter(size, fine, variance)
    kept = short // 2 + 1
    spectrum = rfft(grid, axis=-1)[..., :kept] * (kernel[:kept] / (fine * ratio))
    plain, products = spectrum[:, : 1 + k], spectrum[:, 1 + k :]
    rows = [plain]
    if beta:
        slope = -beta[0] * 1j * frequency[:kept]
        if short % 2 == 0:
            slope[-1] = 0.0  # the highest frequency has no phase
        rows.append(plain[:, :1] * slope)
    rows.append(products)
    if beta and curvature:
        rows += [plain[:, 1:] * slope, plain[:, :1] * -((beta[0] * frequency[:kept]) ** 2)]
    return irfft(np.concatenate(rows, axis=1), short, axis=-1)[..., :length]


@njit(cache=True, nogil=True, error_model="numpy")
def _deposit(
    owner: np.ndarray, weight: np.ndarray, x: np.ndarray, position: np.ndarray, grid: np.ndarray
) -> None:
    """Add each node to four cells, as a cubic spline around its position.

    Rows of the grid: 1, x, and if there are more, the lower triangle of x x^T.
    """
    k = x.shape[1]
    curvature = grid.shape[1] > 1 + k
    for j in range(len(owner)):
        cell = int(position[j])
        t = position[j] - cell
        w = weight[j] / 6
        spline = (
            w * (1 - t) ** 3,
            w * (3 * t**3 - 6 * t**2 + 4),
            w * (-3 * t**3 + 3 * t**2 + 3 * t + 1),
            w * t**3,
        )
        rows = grid[owner[j]]
        for i in range(4):
            rows[0, cell - 1 + i] += spline[i]
            place = 1 + k
            for a in range(k):
                value = x[j, a] * spline[i]
                rows[1 + a, cell - 1 + i] += value
                if curvature:
                    for b in range(a + 1):
                        rows[place, cell - 1 + i] += x[j, b] * value
                        place += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _spread(
    owner: np.ndarray,
    weight: np.ndarray,
    x: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    beta: np.ndarray,
    reach: np.ndarray,
    low: np.ndarray,
    step: float,
    densities: np.ndarray,
) -> None:
    """Add the Gaussian of each node to the grid [OD-1]: 1, q and, if there are rows, q q^T."""
    k, s = x.shape[1], beta.shape[0]
    curvature = densities.shape[1] > 1 + k + s
    length = densities.shape[2]
    value, push, bent = np.empty(length), np.empty(length), np.empty(length)
    for j in range(len(owner)):
        rows = densities[owner[j]]
        start = low[owner[j]]
        first = max(0, int((mean[j] - reach[j] - start) / step) + 1)
        last = min(length - 1, int((mean[j] + reach[j] - start) / step))
        n = last + 1 - first
        scale = weight[j] / math.sqrt(2 * math.pi * variance[j])
        # Neighboring values of a Gaussian have ratios that are themselves in geometric progression.
        distance = start + first * step - mean[j]
        at = scale * math.exp(-0.5 * distance * distance / variance[j])
        ratio = math.exp(-(distance + 0.5 * step) * step / variance[j])
        bend = math.exp(-step * step / variance[j])
        for i in range(n):
            value[i] = at
            at *= ratio
            ratio *= bend
        for i in range(n):
            push[i] = value[i] * ((distance + i * step) / variance[j])
        # Row by row: such loops become vector instructions.
        _add(rows[0, first:], 1.0, value, n)
        for a in range(k):
            _add(rows[1 + a, first:], x[j, a], value, n)
        for b in range(s):
            _add(rows[1 + k + b, first:], beta[b, j], push, n)
        if curvature:
            for i in range(n):
                rho = (distance + i * step) / variance[j]
                bent[i] = value[i] * (rho * rho - 1 / variance[j])
            place = 1 + k + s
            for a in range(k):
                for b in range(a + 1):
                    _add(rows[place, first:], x[j, a] * x[j, b], value, n)
                    place += 1
            for a in range(s):
                for b in range(k):
                    _add(rows[place, first:], beta[a, j] * x[j, b], push, n)
                    place += 1
                for b in range(a + 1):
                    _add(rows[place, first:], beta[a, j] * beta[b, j], bent, n)
                    place += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _add(row: np.ndarray, factor: float, values: np.ndarray, n: int) -> None:
    """Add a multiple of the first n values to a row."""
    for i in range(n):
        row[i] += factor * values[i]
