"""Level sets of a product of three variables: a lattice in the logarithms of two of them."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_SHARP = 0.2  # how much x^2, in units of its variance, narrows log|x|
_HALVINGS = 3  # of a step, where it is too large
_SEARCH = 15  # steps to the point next to the mean
_FOUND = 0.03  # length of a step, on the axes log|x|, that ends the search
_LONGEST = 1.0  # length of a step there


@njit(cache=True, nogil=True, error_model="numpy")
def product_moments(
    y: np.ndarray,
    mean: np.ndarray,
    C: np.ndarray,
    P: np.ndarray,
    depth: float,
    step: float,
    tolerance: float,
    farthest: float,
    square: np.ndarray,
    mass: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
) -> None:
    r"""Moments of x - mean given x_0 x_1 x_2 = y, in units of exp(-square/2).

    Parameters
    ----------
    y : array (n,)
        Labels, none of them zero.
    mean : array (n, 3)
        Means of x.
    C, P : array (3, 3)
        Covariance of x, and its inverse.
    depth : float
        Minus the logarithm of what is left out, relative to the point of the largest density.
    step : float
        Step of the lattice where the variables are close to zero.
    tolerance : float
        Change by leaving out every other line of the lattice above which the step is halved. The
        rule converges exponentially: its own error is about the square of that.
    farthest : float
        Distance of a level set from the mean in standard deviations beyond which mass is zero.
    square : array (n,)
        Square of that distance, on return.
    mass, first, second : array (n,), (n, 3), (n, 3, 3)
        The moments on return, second ones below the diagonal and on it.
    """
    width = np.sqrt(np.diag(C))
    point, total = np.empty(3), np.empty((4, 4))
    m, c, p = np.empty(3), np.empty((3, 3)), np.empty((3, 3))
    order, steps, sharpness = np.empty(3, np.int64), np.empty(2), np.empty(3)
    for i in range(len(y)):
        square[i] = _nearest(y[i], mean[i], P, width, point)
        if square[i] > farthest * farthest:
            continue
        for k in range(3):
            # Given the others the variable has the variance 1/P_kk, around a mean that varies.
            x = max(abs(mean[i, k]), abs(point[k]))
            sharpness[k] = 1.0 + _SHARP * ((x * x + C[k, k]) * P[k, k] - 1.0)
        _arrange(sharpness, order)
        for j in range(3):
            m[j] = mean[i, order[j]]
            for k in range(3):
                c[j, k], p[j, k] = C[order[j], order[k]], P[order[j], order[k]]
        for j in range(2):
            steps[j] = step / math.sqrt(sharpness[order[j]])
        for _ in range(_HALVINGS + 1):
            changes = _lattice(y[i], m, c, p, square[i], depth, steps, total)
            is_fine = True
            for j in range(2):
                if not changes[j] <= tolerance * total[0, 0]:
                    steps[j] *= 0.5
                    is_fine = False
            if is_fine:
                break
        mass[i] = total[0, 0]
        for j in range(3):
            first[i, order[j]] = total[j + 1, 0]
            for k in range(j + 1):
                high, low = max(order[j], order[k]), min(order[j], order[k])
                second[i, high, low] = total[j + 1, k + 1]


@njit(cache=True, nogil=True, error_model="numpy")
def _arrange(sharpness: np.ndarray, order: np.ndarray) -> None:
    """Order of the variables on the lattice: outer axis, inner axis, eliminated by the label.

    The logarithm that is spread most is eliminated; the sharpest one has most nodes and is inside.
    """
    most, least = 1, 2
    for k in range(3):
        if sharpness[k] > sharpness[most]:
            most = k
    if most == 2:
        least = 0
    for k in range(3):
        if sharpness[k] < sharpness[least]:
            least = k
    order[0], order[1], order[2] = 3 - most - least, most, least


@njit(cache=True, nogil=True, error_model="numpy")
def _nearest(
    y: float, mean: np.ndarray, P: np.ndarray, width: np.ndarray, point: np.ndarray
) -> float:
    """Squared distance from the mean to a point of the level set that is about the nearest.

    Newton's steps on the axes log|x| for each choice of signs, with a Hessian made positive.
    """
    best = np.inf
    x, pull, log_x, H = np.empty(3), np.empty(3), np.empty(3), np.empty((3, 3))
    signs = np.empty(3)
    for octant in range(4):
        signs[0], signs[1] = 1.0 - 2.0 * (octant % 2), 1.0 - 2.0 * (octant // 2)
        signs[2] = math.copysign(1.0, y) * signs[0] * signs[1]
        gap, soft = math.log(abs(y)), 0.0
        for k in range(3):
            log_x[k] = math.log(max(signs[k] * mean[k], 0.5 * width[k]))
            gap -= log_x[k]
            soft += math.exp(-2.0 * log_x[k]) * width[k] * width[k]
        for k in range(3):  # who is known least moves most
            log_x[k] += gap * math.exp(-2.0 * log_x[k]) * width[k] * width[k] / soft
        for _ in range(_SEARCH):
            for k in range(3):
                x[k] = signs[k] * math.exp(log_x[k])
            distance = 0.0
            for j in range(3):
                slope = 0.0
                for k in range(3):
                    slope += P[j, k] * (x[k] - mean[k])
                    H[j, k] = x[j] * x[k] * P[j, k]
                distance += slope * (x[j] - mean[j])
                pull[j] = x[j] * slope
                H[j, j] += abs(pull[j])
            if distance < best:
                best = distance
                point[:] = x
            a = H[0, 0] - 2.0 * H[0, 2] + H[2, 2]
            b = H[0, 1] - H[0, 2] - H[1, 2] + H[2, 2]
            d = H[1, 1] - 2.0 * H[1, 2] + H[2, 2]
            u, v = pull[2] - pull[0], pull[2] - pull[1]
            determinant = a * d - b * b
            if not determinant > 0.0:
                break
            u, v = (d * u - b * v) / determinant, (a * v - b * u) / determinant
            length = max(abs(u), abs(v), abs(u + v))
            if not length > _FOUND:
                break
            shrink = min(1.0, _LONGEST / length)
            log_x[0] += shrink * u
            log_x[1] += shrink * v
            log_x[2] -= shrink * (u + v)
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def _lattice(
    y: float,
    mean: np.ndarray,
    C: np.ndarray,
    P: np.ndarray,
    square: float,
    depth: float,
    steps: np.ndarray,
    total: np.ndarray,
) -> tuple[float, float]:
    """Moments of (1, x - mean) on the lattice of log|x_0| and log|x_1|, below the diagonal.

    The density on these axes is the Gaussian one of x, so the trapezoidal rule converges
    exponentially. Returns what leaving out every other line along each axis changes in the mass.
    """
    total[:] = 0.0
    changes = 0.0, 0.0
    limit = square + 2.0 * depth
    reach = math.sqrt(limit)
    label = abs(y)
    slope1, slope2 = C[1, 0] / C[0, 0], C[2, 0] / C[0, 0]
    width0 = math.sqrt(C[0, 0])
    width1, width2 = math.sqrt(C[1, 1] - slope1 * C[1, 0]), math.sqrt(C[2, 2] - slope2 * C[2, 0])
    most = abs(mean[1]) + reach * math.sqrt(C[1, 1])
    most *= abs(mean[2]) + reach * math.sqrt(C[2, 2])
    ratio = math.exp(steps[1])
    inverse = 1.0 / ratio
    area = steps[0] * steps[1]
    for octant in range(4):
        sign0, sign1 = 1.0 - 2.0 * (octant % 2), 1.0 - 2.0 * (octant // 2)
        sign2 = math.copysign(1.0, y) * sign0 * sign1
        high = sign0 * mean[0] + reach * width0
        low = max(sign0 * mean[0] - reach * width0, label / most)
        if not low < high:
            continue
        change0 = change1 = both = 0.0
        for i in range(
            math.ceil(math.log(low) / steps[0]), math.floor(math.log(high) / steps[0]) + 1
        ):
            x0 = math.exp(i * steps[0])
            d0 = sign0 * x0 - mean[0]
            rest = limit - d0 * d0 / C[0, 0]
            if rest <= 0.0:
                continue
            rest = math.sqrt(rest)
            # Ends of |x_1| from its own law given x_0, and from that of x_2.
            center1, center2 = sign1 * (mean[1] + slope1 * d0), sign2 * (mean[2] + slope2 * d0)
            high1, high2 = center1 + rest * width1, center2 + rest * width2
            if high1 <= 0.0 or high2 <= 0.0:
                continue
            low1, low2 = max(center1 - rest * width1, label / (x0 * high2)), center2 - rest * width2
            if low2 > 0.0:
                high1 = min(high1, label / (x0 * low2))
            if not low1 < high1:
                continue
            start = math.ceil(math.log(low1) / steps[1])
            x1 = sign1 * math.exp(start * steps[1])
            x2 = y / (sign0 * x0 * x1)
            sign = 1.0 - 2.0 * (start % 2)
            begin = P[0, 0] * d0 * d0
            pull1, pull2 = 2.0 * P[0, 1] * d0, 2.0 * P[0, 2] * d0
            m = m1 = m2 = m11 = m12 = m22 = alternating = 0.0
            for _ in range(start, math.floor(math.log(high1) / steps[1]) + 1):
                d1, d2 = x1 - mean[1], x2 - mean[2]
                exponent = begin + d1 * (pull1 + P[1, 1] * d1 + 2.0 * P[1, 2] * d2)
                exponent += d2 * (pull2 + P[2, 2] * d2)
                if exponent < limit:
                    weight = math.exp(0.5 * (square - exponent))
                    alternating += sign * weight
                    m += weight
                    m1 += weight * d1
                    m2 += weight * d2
                    m11 += weight * d1 * d1
                    m12 += weight * d1 * d2
                    m22 += weight * d2 * d2
                sign = -sign
                x1 *= ratio
                x2 *= inverse
            sign = area * (1.0 - 2.0 * (i % 2))
            change0 += sign * m
            change1 += area * alternating
            both += sign * alternating
            total[0, 0] += area * m
            total[1, 0] += area * m * d0
            total[2, 0] += area * m1
            total[3, 0] += area * m2
            total[1, 1] += area * m * d0 * d0
            total[2, 1] += area * m1 * d0
            total[3, 1] += area * m2 * d0
            total[2, 2] += area * m11
            total[3, 2] += area * m12
            total[3, 3] += area * m22
        changes = (
            changes[0] + max(abs(change0), abs(both)),
            changes[1] + max(abs(change1), abs(both)),
        )
    return changes
