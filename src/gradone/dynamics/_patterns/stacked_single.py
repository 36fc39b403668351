r"""The chain of buffers and weights with one sample for each update.

The gradient c x^T has rank one and [SG-7] is an update A S + e x^T of the stack with A lower
triangular, since buffers come first: one outer product [SG-2]. The length of the step D = v V + u
c x^T, which normalized steps need, is

.. math:: |D|^2 = v^2 |V|^2 + 2 u v \sum_j c_j \langle V_j, x\rangle + u^2 |c|^2 |x|^2.
"""

from __future__ import annotations

import math

import numpy as np

from ...base.machine_code import njit
from .frame import TANGENT, UNIT_NORM, add_outer, gradient, helper, label, sigma
from .stack import LOOK_AHEAD, MOMENTUM, UNIT_STEP, keep_stack, stacked_field

# --------------------------------------------------------------------------------------------------


@helper
def row_length2(M, columns, row):
    """Squared norm of a row of the stack."""
    total = 0.0
    for i in range(M.shape[1]):
        total += M[row, i] * M[row, i]
    for block in range(columns.shape[0]):
        for i in range(row + 1):
            total += columns[block, i, row] * columns[block, i, row]
    return total


@helper
def scale_row(M, columns, row, factor):
    """Multiply a row of the stack."""
    for i in range(M.shape[1]):
        M[row, i] *= factor
    for block in range(columns.shape[0]):
        for i in range(row + 1):
            columns[block, i, row] *= factor


@helper
def slide_row(M, columns, row, source, factor):
    """Add a multiple of an earlier row of the stack."""
    for i in range(M.shape[1]):
        M[row, i] += factor * M[source, i]
    for block in range(columns.shape[0]):
        for i in range(source + 1):
            columns[block, i, row] += factor * columns[block, i, source]


@njit(
    "int64(float64[:, ::1], float64[:, :, ::1], float64[::1], float64[::1], float64[:, ::1], "
    "float64[:, ::1], float64[::1], float64[:, ::1], float64[::1], int64, int64[::1], int64, "
    "float64[:, :, ::1], float64[:, :, :, ::1], float64[:, ::1], float64[:, ::1], "
    "float64, float64, float64, float64, float64, float64, float64, boolean)",
    cache=True,
    nogil=True,
    error_model="numpy",
)
def advance(
    M, columns, a, b, samples, known, noise, radius, rates, done,
    marks, mark, out_M, out_columns, out_a, out_b,
    step, decay, beta, clip, eta_a, eta_b, limit, nesterov,
):  # fmt: skip
    """Use up the samples, one update for each; keep the state at the marks.

    `known` holds what the labels depend on, `radius` (updates, blocks) the lengths of the samples
    outside the frames, `rates` the factors of the step sizes. Returns as the other chains do.
    """
    k, raw = M.shape
    p, first, wide = a.size, k - a.size, raw + columns.shape[0] * k
    field, c, pushed = np.empty(p), np.empty(p), np.empty(k)
    for n in range(samples.shape[0]):
        x = samples[n]
        length2, push2 = 0.0, 0.0
        for i in range(wide):
            length2 += x[i] * x[i]
        for block in range(radius.shape[1]):
            length2 += radius[n, block] * radius[n, block]
        for j in range(p):
            field[j] = stacked_field(M, columns, first + j, x)
            if LOOK_AHEAD:
                field[j] += step * rates[n] * beta * stacked_field(M, columns, j, x)
        e = gradient(field, label(known[n]) + noise[n], a, b, c)
        for j in range(p):
            push2 += c[j] * c[j]
            a[j] += eta_a * rates[n] * e * sigma(field[j] + b[j])
        for j in range(p):
            b[j] += eta_b * rates[n] * c[j]
        eta, shrink = step * rates[n], 1.0
        if not push2 * length2 <= clip * clip:
            shrink = clip / math.sqrt(push2 * length2)
        one = beta * beta if nesterov else beta
        two = shrink * (1.0 + beta) if nesterov else shrink
        if UNIT_STEP:
            size2 = two * two * push2 * length2
            if MOMENTUM:
                for j in range(p):
                    size2 += 2.0 * one * two * c[j] * stacked_field(M, columns, j, x)
                    size2 += one * one * row_length2(M, columns, j)
            eta *= 1.0 / math.sqrt(size2) if size2 > 0.0 else size2

        # ---- new rows: A S, then e x^T
        moved = 0.0
        for j in range(p):
            pushed[first + j] = eta * two * c[j]
            keep = 1.0 - step * rates[n] * decay
            if TANGENT:
                keep -= pushed[j] * field[j] / row_length2(M, columns, j)
            scale_row(M, columns, first + j, keep)
            if MOMENTUM:
                pushed[j] = shrink * c[j]
                moved += abs(pushed[j])
                slide_row(M, columns, first + j, j, eta * one)
                scale_row(M, columns, j, beta)
            moved += abs(pushed[first + j])
        for row in range(k):
            for i in range(raw):
                M[row, i] += pushed[row] * x[i]
        for block in range(columns.shape[0]):
            add_outer(columns[block], pushed, x, raw + block * k, radius[n, block])
        if UNIT_NORM:
            for row in range(first, k):
                scale_row(M, columns, row, 1.0 / math.sqrt(row_length2(M, columns, row)))
        done += 1
        if not moved * math.sqrt(length2) < limit:
            return -done
        if mark < marks.size and done == marks[mark]:
            keep_stack(M, columns, a, b, mark, out_M, out_columns, out_a, out_b)
            mark += 1
    return done
