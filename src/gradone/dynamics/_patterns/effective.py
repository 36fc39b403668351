r"""The chain of sign-SGD in the limit of directions that are spread over the coordinates.

The sign of a coordinate of :math:`\sum_\mu \phi_{\mu j} x_\mu` is that of a Gaussian variable. With
the cosines C of the columns :math:`\phi_j` of a batch, the signs of two neurons have the
correlation :math:`N = (2/\pi)\arcsin C`, and along a direction that no coordinate dominates

.. math:: \langle w, \mathrm{sign}\,g_j\rangle = \sqrt{2/\pi}\,
          \frac{\sum_\mu \phi_{\mu j}\langle w, x_\mu\rangle}{|\phi_j|} + \zeta_j, \qquad
          \mathbb{E}[\zeta\zeta^\top] = |w|^2\,(N - \tfrac2\pi C), \qquad [SG-9]

with new Gaussian :math:`\zeta`. The rows of the update have the products d N, exactly for one
sample. Corrections are those of the law of large numbers over the coordinates.
"""

from __future__ import annotations

import math

import numpy as np

from ...base.machine_code import njit
from .frame import fields, gradient, helper, keep_state, label, rebuild, sigma

# --------------------------------------------------------------------------------------------------


@helper
def semidefinite_columns(A, factor):
    """Columns k of a lower-triangular F with F F^T = A, in factor[k]; zero where A has no rank."""
    p = A.shape[0]
    for k in range(p):
        for j in range(p):
            factor[k, j] = 0.0
    for k in range(p):
        pivot = A[k, k]
        for i in range(k):
            pivot -= factor[i, k] * factor[i, k]
        if pivot > 1e-12 * A[k, k]:
            scale = 1.0 / math.sqrt(pivot)
            for j in range(k, p):
                value = A[j, k]
                for i in range(k):
                    value -= factor[i, j] * factor[i, k]
                factor[k, j] = value * scale


@njit(
    "int64(float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], float64[:, :, ::1], "
    "float64[:, ::1], float64[:, :, ::1], float64[::1], int64, int64[::1], int64, "
    "float64[:, :, ::1], float64[:, :, ::1], float64[:, ::1], float64[:, ::1], "
    "int64, float64, float64, float64, float64, float64)",
    cache=True,
    nogil=True,
    error_model="numpy",
)
def advance(
    M, columns, a, b, samples, noise, zeta, rates, done,
    marks, mark, out_M, out_columns, out_a, out_b,
    d, step, decay, eta_a, eta_b, limit,
):  # fmt: skip
    """One update for each batch of samples (updates, size, ...); returns as the other chains do."""
    p, r = M.shape
    size, known = samples.shape[1], r + p
    field, along, sums = np.empty(p), np.zeros(p), np.empty((2, p))
    pushes, lengths = np.empty((size, p)), np.empty(p)
    G, products, rest = np.empty((p, known)), np.empty((p, p)), np.empty((p, p))
    factor, identity, moves = np.empty((p, p)), np.eye(p), np.empty((2 * p, p))
    for n in range(samples.shape[0]):
        for j in range(p):
            sums[0, j] = sums[1, j] = lengths[j] = 0.0
        for m in range(size):
            fields(M, columns, samples[n, m], field)
            e = gradient(field, label(samples[n, m]) + noise[n, m], a, b, pushes[m])
            for j in range(p):
                sums[0, j] += e * sigma(field[j] + b[j]) / size
                sums[1, j] += pushes[m, j] / size
                lengths[j] += pushes[m, j] * pushes[m, j]
        for j in range(p):
            lengths[j] = math.sqrt(lengths[j])
            for k in range(j + 1):
                product = 0.0
                for m in range(size):
                    product += pushes[m, j] * pushes[m, k]
                both = lengths[j] * lengths[k]
                if both > 0.0:
                    product = min(max(product / both, -1.0), 1.0)
                products[j, k] = products[k, j] = 2.0 / math.pi * math.asin(product)
                rest[j, k] = rest[k, j] = products[j, k] - 2.0 / math.pi * product
        semidefinite_columns(rest, factor)
        for j in range(p):
            for i in range(known):
                value = 0.0
                if lengths[j] > 0.0:
                    for m in range(size):
                        value += pushes[m, j] * samples[n, m, i]
                    value *= math.sqrt(2.0 / math.pi) / lengths[j]
                elif lengths[j] != 0.0:
                    value = lengths[j]
                for k in range(j + 1):
                    value += factor[k, j] * zeta[n, k, i]
                G[j, i] = value
        eta, moved = step * rates[n], 0.0
        for j in range(p):
            for k in range(j + 1):
                value = d * products[j, k]
                for i in range(known):
                    value -= G[j, i] * G[k, i]
                rest[j, k] = rest[k, j] = value
            for i in range(known):
                moved += eta * abs(G[j, i])
        semidefinite_columns(rest, factor)
        rebuild(M, columns, G, factor, along, identity, eta, 1.0 - eta * decay, moves)
        for j in range(p):
            a[j] += eta_a * rates[n] * sums[0, j]
            b[j] += eta_b * rates[n] * sums[1, j]
            moved += abs(a[j]) + abs(M[j, 0])  # signs are bounded: only these may run away
        done += 1
        if not moved < limit:
            return -done
        if mark < marks.size and done == marks[mark]:
            keep_state(M, columns, a, b, mark, out_M, out_columns, out_a, out_b)
            mark += 1
    return done
