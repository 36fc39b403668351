"""Compiled averages over the prior means and the labels of a target of two variables."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_REACH = 5.8  # widths of the prior beyond which a node has no weight
_NOTHING = 1e-280
_DENSE = 1600  # prior means up to which every node is taken to every one of them


@njit(cache=True, nogil=True, error_model="numpy")
def _window(
    place: float, means: np.ndarray, step: float, variance: float, decay: np.ndarray,
    factor: np.ndarray,
) -> tuple[int, int]:  # fmt: skip
    r"""Write :math:`\exp(-(a-\omega)^2/2v)` at the prior means close to a; first and end of them.

    Equidistant ones need two exponentials: with the nearest mean at distance :math:`\delta`,
    :math:`(\delta - kh)^2 = \delta^2 - 2 k h \delta + k^2 h^2`.
    """
    n = len(means)
    if step == 0.0:
        for i in range(n):
            factor[i] = math.exp(-0.5 * (place - means[i]) ** 2 / variance)
        return 0, n
    center = int(math.floor((place - means[0]) / step + 0.5))
    center = min(max(center, 0), n - 1)
    far = len(decay) - 1
    first, end = max(center - far, 0), min(center + far + 1, n)
    delta = place - means[center]
    if abs(delta) > 0.51 * step:  # beyond the last mean
        for i in range(first, end):
            factor[i] = math.exp(-0.5 * (place - means[i]) ** 2 / variance)
        return first, end
    at, ratio = math.exp(-0.5 * delta * delta / variance), math.exp(delta * step / variance)
    power = at
    for i in range(center, end):
        factor[i] = power * decay[i - center]
        power *= ratio
    power, ratio = at, 1.0 / ratio
    for i in range(center - 1, first - 1, -1):
        power *= ratio
        factor[i] = power * decay[center - i]
    return first, end


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def curve_sums(
    start: np.ndarray,
    x: np.ndarray,
    weight: np.ndarray,
    dy: np.ndarray,
    y: np.ndarray,
    log_slope: np.ndarray,
    first_means: np.ndarray,
    second_means: np.ndarray,
    first_chance: np.ndarray,
    second_chance: np.ndarray,
    steps: np.ndarray,
    variances: np.ndarray,
    curvature: bool,
    mean: np.ndarray,
    totals: np.ndarray,
    pairs: np.ndarray,
) -> None:
    """Averages over a product of prior means, in coordinates in which the prior is diagonal.

    Parameters
    ----------
    start, x, weight : arrays
        Nodes of the level curves, by label.
    dy, y, log_slope : arrays (labels,)
        Rule over the labels.
    first_means, second_means, first_chance, second_chance : arrays
        Prior means along each axis, and their weights.
    steps, variances : arrays (2,)
        Distance of equidistant prior means, 0 for others, and the variances of the prior.
    curvature : bool
        Whether `pairs` is wanted.
    mean : array (n1, n2)
        Receives the mean label at each prior mean.
    totals : array (6,)
        Receives the mass, the mean of log Z, the mean square of labels, and J11, J12, J22.
    pairs : array (3, 3)
        Receives the mean products of G11, G12, G22, with G = dg + g g^T.
    """
    n1, n2 = len(first_means), len(second_means)
    v1, v2 = variances
    inverse1, inverse2 = 1.0 / v1, 1.0 / v2
    decays = []
    for axis in range(2):
        h, v = steps[axis], variances[axis]
        far = 0 if h == 0.0 else int(math.ceil(_REACH * math.sqrt(v) / h))
        decays.append(np.exp(-0.5 * (np.arange(far + 1) * h) ** 2 / v))
    order = 3 if curvature else 2
    # Blocks of Z and its moments: powers of the distance along the first and the second axis.
    sums = np.zeros((order * n1, order * n2))
    scale = 1.0 / (2.0 * math.pi * math.sqrt(v1 * v2))
    most = int(np.diff(start).max()) if len(dy) else 0
    is_dense = n1 * n2 <= _DENSE
    left = np.zeros((most if is_dense else 1, order * n1))
    right = np.zeros((most if is_dense else 1, order * n2))
    for label in range(len(dy)):
        first, count = start[label], start[label + 1] - start[label]
        if not count:
            continue
        sums[:] = 0.0
        for k in range(count):
            row = k if is_dense else 0
            place1, place2 = x[0, first + k], x[1, first + k]
            a, b = left[row], right[row]
            i0, i1 = _window(place1, first_means, steps[0], v1, decays[0], a)
            j0, j1 = _window(place2, second_means, steps[1], v2, decays[1], b)
            if is_dense:
                a[:i0], a[i1:n1], b[:j0], b[j1:n2] = 0.0, 0.0, 0.0, 0.0
                i0, i1, j0, j1 = 0, n1, 0, n2
            for i in range(i0, i1):
                a[i] *= scale * weight[first + k]
                gap = (place1 - first_means[i]) * inverse1
                for power in range(1, order):
                    a[power * n1 + i] = gap * a[(power - 1) * n1 + i]
            for j in range(j0, j1):
                gap = (place2 - second_means[j]) * inverse2
                for power in range(1, order):
                    b[power * n2 + j] = gap * b[(power - 1) * n2 + j]
            if not is_dense:
                for up in range(order):
                    for across in range(order - up):
                        for i in range(i0, i1):
                            factor = a[up * n1 + i]
                            for j in range(j0, j1):
                                sums[up * n1 + i, across * n2 + j] += factor * b[across * n2 + j]
        if is_dense:
            sums[:] = np.dot(left[:count].T, right[:count])
        Z, X, Y = sums[:n1, :n2], sums[n1 : 2 * n1, :n2], sums[:n1, n2 : 2 * n2]
        for i in range(n1):
            for j in range(n2):
                z = Z[i, j]
                if z < _NOTHING:
                    continue
                p = first_chance[i] * second_chance[j] * dy[label]
                q = p / z
                mean[i, j] += dy[label] * z * y[label]
                totals[0] += p * z
                totals[1] += p * z * (math.log(z) + log_slope[label])
                totals[2] += p * z * y[label] ** 2
                totals[3] += q * X[i, j] * X[i, j]
                totals[4] += q * X[i, j] * Y[i, j]
                totals[5] += q * Y[i, j] * Y[i, j]
                if curvature:
                    G0 = sums[2 * n1 + i, j] - z / v1
                    G1 = sums[n1 + i, n2 + j]
                    G2 = sums[i, 2 * n2 + j] - z / v2
                    pairs[0, 0] += q * G0 * G0
                    pairs[0, 1] += q * G0 * G1
                    pairs[0, 2] += q * G0 * G2
                    pairs[1, 1] += q * G1 * G1
                    pairs[1, 2] += q * G1 * G2
                    pairs[2, 2] += q * G2 * G2
    pairs[1, 0], pairs[2, 0], pairs[2, 1] = pairs[0, 1], pairs[0, 2], pairs[1, 2]
