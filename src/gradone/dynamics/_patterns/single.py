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
    add_outer,
    fields,
    gradient,
    keep_state,
    label,
    normalize,
    sigma,
    squared_norm,
)

# --------------------------------------------------------------------------------------------------


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
        add_outer(columns, c, x, r, math.sqrt(radius2[n]))
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
