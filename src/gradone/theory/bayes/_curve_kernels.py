"""Compiled sums over level curves at the prior means of a target of two variables.

Sums over the nodes of a label are tables (order * n1, order * n2): a block holds, at every prior
mean, the moments of one power of the distance along each axis, in units of the variance.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_REACH = 5.8  # widths of the prior beyond which a node has no weight
_NOTHING = 1e-280


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def add_labels(
    sums: np.ndarray,
    labels: np.ndarray,
    chances: tuple[np.ndarray, np.ndarray],
    variances: np.ndarray,
    curvature: bool,
    mean: np.ndarray,
    totals: np.ndarray,
    pairs: np.ndarray,
) -> None:
    """Add labels to averages over prior means.

    Parameters
    ----------
    sums : array (labels, order * n1, order * n2)
        Moments of the posterior of each label.
    labels : array (labels, 3)
        Rule over the labels: dy, y, log_slope.
    chances : pair of arrays (n1,), (n2,)
        Weights of the prior means along each axis.
    variances : array (2,)
        Variances of the prior.
    curvature : bool
        Whether `pairs` is wanted.
    mean : array (n1, n2)
        Receives the mean label at each prior mean.
    totals : array (5,)
        Receives the mean of log Z, the mean square of labels, and J11, J12, J22.
    pairs : array (3, 3)
        Receives the mean products of G11, G12, G22, with G = dg + g g^T, on and above the diagonal.
    """
    n1, n2 = mean.shape
    for label in range(len(labels)):
        dy, y, log_slope = labels[label, 0], labels[label, 1], labels[label, 2]
        of = sums[label]
        for i in range(n1):
            for j in range(n2):
                z = of[i, j]
                if z < _NOTHING:
                    continue
                x1, x2 = of[n1 + i, j], of[i, n2 + j]
                p = chances[0][i] * chances[1][j] * dy
                q = p / z
                mean[i, j] += dy * z * y
                totals[0] += p * z * (math.log(z) + log_slope)
                totals[1] += p * z * y**2
                totals[2] += q * x1 * x1
                totals[3] += q * x1 * x2
                totals[4] += q * x2 * x2
                if curvature:
                    G0 = of[2 * n1 + i, j] - z / variances[0]
                    G1 = of[n1 + i, n2 + j]
                    G2 = of[i, 2 * n2 + j] - z / variances[1]
                    pairs[0, 0] += q * G0 * G0
                    pairs[0, 1] += q * G0 * G1
                    pairs[0, 2] += q * G0 * G2
                    pairs[1, 1] += q * G1 * G1
                    pairs[1, 2] += q * G1 * G2
                    pairs[2, 2] += q * G2 * G2


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _write_factors(
    place: np.ndarray,
    means: np.ndarray,
    variance: float,
    first: np.ndarray,
    ratios: np.ndarray,
    order: int,
    factors: np.ndarray,
) -> None:
    """Write the Gaussian factors of nodes (k,), times powers of the distance, as (order * n, k)."""
    n, inverse = len(means), 1.0 / variance
    middle = n // 2
    factors[middle] = first
    for i in range(middle + 1, n):
        ratio = ratios[min(i, len(ratios)) - 1]
        unit = math.exp(0.5 * (means[i - 1] ** 2 - means[i] ** 2) * inverse)
        for k in range(len(place)):
            factors[i, k] = factors[i - 1, k] * (ratio[k] * unit)
    back = 1.0 / ratios[min(middle, len(ratios)) - 1]
    for i in range(middle - 1, -1, -1):
        if len(ratios) > 1:
            back = 1.0 / ratios[i]
        unit = math.exp(0.5 * (means[i + 1] ** 2 - means[i] ** 2) * inverse)
        for k in range(len(place)):
            factors[i, k] = factors[i + 1, k] * (back[k] * unit)
    for row in range(n, order * n):
        mean = means[row % n]
        for k in range(len(place)):
            factors[row, k] = factors[row - n, k] * ((place[k] - mean) * inverse)


@njit(cache=True, nogil=True, error_model="numpy")
def dense_sums(
    start: np.ndarray,
    x: np.ndarray,
    means: tuple[np.ndarray, np.ndarray],
    first: np.ndarray,
    ratios: tuple[np.ndarray, np.ndarray],
    variances: np.ndarray,
    order: int,
    sums: np.ndarray,
) -> None:
    r"""Moments at a product of prior means, every node taken to every one of them.

    Gaussian factors of one node at neighboring means :math:`\omega, \omega + h` differ by
    :math:`e^{x h/v}`, which is the same for equidistant ones, and by a number that is the same for
    all nodes.

    Parameters
    ----------
    start : array (labels + 1,)
        First node of each label.
    x : array (2, nodes)
        Nodes.
    means : pair of arrays (n1,), (n2,)
        Prior means along each axis.
    first : array (2, nodes)
        Factors of the nodes at the mean in the middle along each axis; the weights of the nodes
        are part of the first.
    ratios : pair of arrays (n1 - 1, nodes), (n2 - 1, nodes)
        Exponentials of x h/v for the gaps h between means; one row if they are the same.
    variances : array (2,)
        Variances of the prior.
    order : int
        Number of powers of the distance, from 0.
    sums : array (labels, order * n1, order * n2)
        Zeros, which receive the moments.
    """
    n1, n2 = order * len(means[0]), order * len(means[1])
    most = 0
    for label in range(len(sums)):
        most = max(most, start[label + 1] - start[label])
    left, right = np.empty(n1 * most), np.empty(n2 * most)
    for label in range(len(sums)):
        a, b = start[label], start[label + 1]
        if a == b:
            continue
        rows, columns = left[: n1 * (b - a)], right[: n2 * (b - a)]
        up, across = rows.reshape((n1, b - a)), columns.reshape((n2, b - a))
        _write_factors(
            x[0, a:b], means[0], variances[0], first[0, a:b], ratios[0][:, a:b], order, up
        )
        _write_factors(
            x[1, a:b], means[1], variances[1], first[1, a:b], ratios[1][:, a:b], order, across
        )
        sums[label] = np.dot(up, across.T)


@njit(cache=True, nogil=True, error_model="numpy")
def _window(
    place: float, means: np.ndarray, step: float, variance: float, factor: np.ndarray
) -> tuple[int, int]:
    r"""Write :math:`\exp(-(a-\omega)^2/2v)` at the means close to a; which they are.

    At equidistant means (a step that is not 0) three exponentials will do: with the nearest mean at
    distance :math:`\delta`, :math:`(\delta - kh)^2 = \delta^2 - 2 k h \delta + k^2 h^2`.
    """
    n = len(means)
    if step == 0.0:
        for i in range(n):
            factor[i] = math.exp(-0.5 * (place - means[i]) ** 2 / variance)
        return 0, n
    center = int(math.floor((place - means[0]) / step + 0.5))
    center = min(max(center, 0), n - 1)
    far = int(math.ceil(_REACH * math.sqrt(variance) / step))
    first, end = max(center - far, 0), min(center + far + 1, n)
    delta = place - means[center]
    if abs(delta) > 0.51 * step:  # beyond the last mean
        for i in range(first, end):
            factor[i] = math.exp(-0.5 * (place - means[i]) ** 2 / variance)
        return first, end
    at, ratio = math.exp(-0.5 * delta * delta / variance), math.exp(delta * step / variance)
    unit = math.exp(-0.5 * step * step / variance)
    for sign in (1, -1):
        value, growth = at, (ratio if sign > 0 else 1.0 / ratio) * unit
        i = center
        while first <= i < end:
            factor[i] = value
            value *= growth
            growth *= unit * unit
            i += sign
    return first, end


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def sparse_sums(
    start: np.ndarray,
    x: np.ndarray,
    weight: np.ndarray,
    means: tuple[np.ndarray, np.ndarray],
    steps: tuple[float, float],
    variances: np.ndarray,
    order: int,
    sums: np.ndarray,
) -> None:
    """The same for narrow priors, each node taken to the prior means close to it.

    `steps` between the prior means along each axis, 0 where they are not equidistant.
    """
    n1, n2 = len(means[0]), len(means[1])
    a, b = np.zeros(order * n1), np.zeros(order * n2)
    scale = 1.0 / (2.0 * math.pi * math.sqrt(variances[0] * variances[1]))
    for label in range(len(sums)):
        of = sums[label]
        for k in range(start[label], start[label + 1]):
            i0, i1 = _window(x[0, k], means[0], steps[0], variances[0], a)
            j0, j1 = _window(x[1, k], means[1], steps[1], variances[1], b)
            for i in range(i0, i1):
                a[i] *= scale * weight[k]
                gap = (x[0, k] - means[0][i]) / variances[0]
                for power in range(1, order):
                    a[power * n1 + i] = gap * a[(power - 1) * n1 + i]
            for j in range(j0, j1):
                gap = (x[1, k] - means[1][j]) / variances[1]
                for power in range(1, order):
                    b[power * n2 + j] = gap * b[(power - 1) * n2 + j]
            for up in range(order):
                for across in range(order - up):
                    for i in range(i0, i1):
                        factor = a[up * n1 + i]
                        for j in range(j0, j1):
                            of[up * n1 + i, across * n2 + j] += factor * b[across * n2 + j]
