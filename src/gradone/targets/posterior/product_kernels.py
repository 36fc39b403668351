"""Level sets of a product of three variables: a plane rule over products of two."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from .contour_kernels import contour_moments, contour_table
from .rule_kernels import MAX_RULE, graded_rule

_HALVINGS = 4  # of the rule over the planes, where it is too coarse
_ROUNDING = 1e-10  # planes closer to zero than this are not told apart


@njit(cache=True, nogil=True, error_model="numpy")
def product_moments(
    y: np.ndarray,
    mean: np.ndarray,
    distance: np.ndarray,
    outer: np.ndarray,
    p: np.ndarray,
    a: np.ndarray,
    D: np.ndarray,
    depth: float,
    steps: tuple[float, float],
    tolerance: float,
    contour_step: float,
    contour_tolerance: float,
    mass: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
) -> None:
    """Moments of x - mean given x_0 x_1 x_2 = y, in units of exp(-distance^2/2).

    In sample i the variable o = outer[i] is constant on planes, t standard deviations from its
    mean: x = mean + p[o] t + D[o] v with standard t and v (2,). The product of the other two is the
    quadratic function of v with the eigenvalues a[o], whose axes are those of v.
    """
    table = contour_table(contour_step)
    work, b, part = np.empty((5, 2)), np.empty(2), np.empty((3, 3))
    node, space = np.empty(MAX_RULE), np.empty(MAX_RULE)
    center, width = np.empty(1), np.empty(1)
    moved, total = np.empty(3), np.empty((4, 4))
    for i in range(len(y)):
        o = outer[i]
        i0, i1 = (o + 1) % 3, (o + 2) % 3
        reach = math.sqrt(distance[i] * distance[i] + 2.0 * depth)
        size = p[o, o]
        for halving in range(_HALVINGS + 1):
            # Where this variable vanishes the product of the others is infinite: the density goes
            # to zero like exp(-|y/(2 a x)|).
            center[0] = -mean[i, o] / size
            width[0] = max(abs(y[i]) / (10.0 * max(abs(a[o, 0]), abs(a[o, 1]))), _ROUNDING) / size
            count = graded_rule(
                -reach,
                reach,
                steps[0] / 2**halving,
                center,
                width,
                1,
                steps[1] / 2**halving,
                node,
                space,
            )
            total[:] = 0.0
            change, sign = 0.0, 1.0
            for j in range(count):
                t = node[j]
                x = mean[i, o] + size * t
                if x == 0.0:
                    sign = -sign
                    continue
                left, right = mean[i, i0] + p[o, i0] * t, mean[i, i1] + p[o, i1] * t
                for c in range(2):
                    b[c] = D[o, i0, c] * right + D[o, i1, c] * left
                lift = 0.5 * (distance[i] * distance[i] - t * t) - math.log(abs(x))
                scale = contour_moments(
                    y[i] / x - left * right,
                    a[o],
                    b,
                    contour_step,
                    contour_tolerance,
                    -depth - lift,
                    table,
                    work,
                    part,
                )
                weight = space[j] * math.exp(scale + lift)
                change += sign * weight * part[0, 0]
                sign = -sign
                total[0, 0] += weight * part[0, 0]
                for c in range(3):
                    moved[c] = D[o, c, 0] * part[1, 0] + D[o, c, 1] * part[2, 0]
                for c in range(3):
                    along = p[o, c] * t
                    total[c + 1, 0] += weight * (along * part[0, 0] + moved[c])
                    for d in range(c + 1):
                        other = p[o, d] * t
                        total[c + 1, d + 1] += weight * (
                            along * other * part[0, 0]
                            + along * moved[d]
                            + other * moved[c]
                            + D[o, c, 0] * D[o, d, 0] * part[1, 1]
                            + D[o, c, 1] * D[o, d, 1] * part[2, 2]
                            + (D[o, c, 0] * D[o, d, 1] + D[o, c, 1] * D[o, d, 0]) * part[2, 1]
                        )
            if abs(change) <= tolerance * total[0, 0] or width[0] <= _ROUNDING / size:
                break
        constant = 1.0 / math.sqrt(2.0 * math.pi)
        mass[i] = constant * total[0, 0]
        for c in range(3):
            first[i, c] = constant * total[c + 1, 0]
            for d in range(c + 1):
                second[i, c, d] = constant * total[c + 1, d + 1]
