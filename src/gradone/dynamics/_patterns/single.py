r"""The chain with one sample for each update.

A fresh sample is x = (u*, u, rho) with rho^2 ~ chi^2_{d-r-p} and an update W <- D (A W + c x^T),
A and D diagonal, becomes

.. math:: M \leftarrow D(AM + c\,u^{\star\top}), \qquad
          L \leftarrow D\,\mathrm{tri}[AL + c\,u^\top,\ \rho\,c] \qquad [SG-2]

with the lower-triangular factor tri(B) tri(B)^T = B B^T, found by rotations of columns: no matrix
is ever subtracted, so that Q - M M^T = L L^T cannot become negative, and is known to the square of
the rounding error.
"""

from __future__ import annotations

import math

import numpy as np

from ...base.machine_code import njit
from .frame import (
    DISPLACED,
    NORMALIZED,
    REPEATED,
    TANGENT,
    UNIT_NORM,
    fields,
    gradient,
    helper,
    keep_state,
    label,
    normalize,
    sigma,
    squared_norm,
)

# --------------------------------------------------------------------------------------------------


@helper
def add_outer(columns, c, u, rho):
    """L <- tri([L, 0] + c (u, rho)^T) in two sweeps of rotations of neighboring columns."""
    p = c.size
    h = rho
    for j in range(p):
        columns[p, j] = 0.0
    # The first sweep turns (u, rho) into (h, 0, ..., 0), which gives L a superdiagonal; then the
    # outer product has one column; the second sweep removes the superdiagonal.
    for turn in range(2 * p):
        k = p - 1 - turn if turn < p else turn - p
        if turn == p:
            for j in range(p):
                columns[0, j] += h * c[j]
        if turn < p:
            first, second = u[k], h
        else:
            first, second = columns[k, k], columns[k + 1, k]
        h = math.sqrt(first * first + second * second)
        if h > 0.0:
            cosine, sine = first / h, second / h
            for j in range(k, p):
                left, right = columns[k, j], columns[k + 1, j]
                columns[k, j] = cosine * left + sine * right
                columns[k + 1, j] = cosine * right - sine * left
        if turn >= p:
            columns[k + 1, k] = 0.0  # but for rounding, it is


@njit(
    "int64(float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], float64[:, ::1], "
    "float64[::1], float64[::1], int64, int64[::1], int64, float64[:, :, ::1], float64[:, :, ::1], "
    "float64[:, ::1], float64[:, ::1], float64, float64, int64, float64, float64, float64, "
    "float64)",
    cache=True,
    nogil=True,
    error_model="numpy",
)
def advance(
    M, columns, a, b, samples, radius2, noise, done,
    marks, mark, out_M, out_columns, out_a, out_b,
    step, inner, inner_steps, keep, eta_a, eta_b, limit,
):  # fmt: skip
    """Use up the samples, one update for each; keep the state at the marks.

    Returns the number of updates made so far, or minus the number of the one whose move was longer
    than `limit` or not a number.
    """
    p, r = M.shape
    field, at, c, push, outputs, biases = (
        np.empty(p), np.empty(p), np.empty(p), np.empty(p), np.empty(p), np.empty(p),
    )  # fmt: skip
    for n in range(samples.shape[0]):
        x = samples[n]
        length2 = radius2[n]
        for k in range(r + p):
            length2 += x[k] * x[k]
        y = label(x) + noise[n]
        fields(M, columns, x, field)
        e = gradient(field, y, a, b, c)
        for j in range(p):
            at[j] = field[j]
        if DISPLACED:
            reach = inner * length2
            if NORMALIZED:
                size = 0.0
                for j in range(p):
                    size += c[j] * c[j]
                reach = inner * math.sqrt(length2 / size) if size > 0.0 else 0.0
            for j in range(p):
                at[j] += reach * c[j]
            e = gradient(at, y, a, b, c)
        if eta_a > 0.0 or eta_b > 0.0:
            for j in range(p):
                outputs[j], biases[j] = e * sigma(at[j] + b[j]), c[j]
        if REPEATED:
            for _ in range(inner_steps - 1):
                for j in range(p):
                    at[j] = field[j] + inner * length2 * c[j]
                gradient(at, y, a, b, push)
                for j in range(p):
                    c[j] += push[j]

        moved = 0.0  # a sum, not a maximum: that would lose a NaN
        for j in range(p):
            c[j] *= step
            moved += abs(c[j])
            factor = keep
            if TANGENT:
                factor -= c[j] * field[j] / squared_norm(M, columns, j)
            for k in range(r):
                M[j, k] = factor * M[j, k] + c[j] * x[k]
            for k in range(j + 1):
                columns[k, j] *= factor
        add_outer(columns, c, x[r:], math.sqrt(radius2[n]))
        if UNIT_NORM:
            normalize(M, columns)
        if eta_a > 0.0 or eta_b > 0.0:
            for j in range(p):
                a[j] += eta_a * outputs[j]
                b[j] += eta_b * biases[j]
        done += 1
        if not moved * math.sqrt(length2) < limit:
            return -done
        if mark < marks.size and done == marks[mark]:
            keep_state(M, columns, a, b, mark, out_M, out_columns, out_a, out_b)
            mark += 1
    return done
