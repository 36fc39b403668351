r"""The chain whose rule sees the same batch several times: the batch is revealed gradually.

Known at any time: the coordinates U (b, m) of the samples on m orthonormal directions, and
orthonormal combinations F of samples whose sums F X lie in the span of these directions. A new sum
c^T X adds, with f the normalized part of c outside F,

.. math:: U \leftarrow [U,\ \chi_{d-m} f + (1 - F^\top F)\,g], \qquad g \sim N(0, I_b)
          \qquad [SG-4]

where F holds f already. The last gradient of a batch uses [SG-3] outside of what is known.
"""

from __future__ import annotations

import math

import numpy as np

from ...base.machine_code import njit
from .frame import (
    DISPLACED,
    NORMALIZED,
    REPEATED,
    absorb,
    gradient,
    helper,
    keep_state,
    label,
    rebuild,
    sigma,
)

# --------------------------------------------------------------------------------------------------


@helper
def remove(F, found, v):
    """Take the rows of F out of v, twice: once leaves errors of the size of what it removed.

    Returns the length of what is left.
    """
    for _ in range(2):
        for i in range(found):
            overlap = 0.0
            for n in range(v.size):
                overlap += F[i, n] * v[n]
            for n in range(v.size):
                v[n] -= overlap * F[i, n]
    total = 0.0
    for n in range(v.size):
        total += v[n] * v[n]
    return math.sqrt(total)


@helper
def reveal(U, F, known, found, c, radius2, g):
    """Append the direction of c^T X to the frame [SG-4]; g is used up.

    A sum that is known already is replaced by another one: what is revealed may depend on the past
    in any way, and the degrees of freedom stay what the caller has drawn for.
    """
    b = c.size
    f = F[found]
    length, share, other = 0.0, 1e-12, -1
    while length == 0.0:
        whole = 0.0
        for n in range(b):
            f[n] = c[n] if other < 0 else 1.0 if n == other else 0.0
            whole += f[n] * f[n]
        length = remove(F, found, f)
        if not length > share * math.sqrt(whole):
            length = 0.0
        share = 0.5 / math.sqrt(b)  # some sample is outside of F by twice that much
        other += 1
    for n in range(b):
        f[n] /= length
    remove(F, found + 1, g)
    for n in range(b):
        U[n, known] = math.sqrt(radius2) * f[n] + g[n]


@njit(
    "int64(float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], float64[:, :, ::1], "
    "float64[:, ::1], float64[:, ::1], float64[:, :, ::1], float64[:, :, ::1], int64, int64[::1], "
    "int64, float64[:, :, ::1], float64[:, :, ::1], float64[:, ::1], float64[:, ::1], "
    "float64, float64, int64, float64, float64, float64, float64)",
    cache=True,
    nogil=True,
    error_model="numpy",
)
def advance(
    M, columns, a, b, samples, noise, radius2, spread, T, done,
    marks, mark, out_M, out_columns, out_a, out_b,
    step, inner, inner_steps, keep, eta_a, eta_b, limit,
):  # fmt: skip
    """Use up the batches `samples` (n, size, r + p); keep the state at the marks.

    `radius2` (n, k) and `spread` (n, k, size) are the draws for k directions to be revealed.
    Returns as the chain of single samples does.
    """
    p, r = M.shape
    size, slots = samples.shape[1], radius2.shape[1]
    frame = r + p + slots
    U, F = np.empty((size, frame)), np.empty((slots, size))
    total, y = np.empty((p, size)), np.empty(size)
    start, field, G = np.empty((size, p)), np.empty((size, p)), np.empty((p, frame))
    push, S, sums = np.empty(p), np.empty((p, p)), np.empty((3, p))
    moves = np.empty((2 * p + slots, p))
    for update in range(samples.shape[0]):
        for n in range(size):
            y[n] = label(samples[update, n]) + noise[update, n]
            for k in range(r + p):
                U[n, k] = samples[update, n, k]
            for j in range(p):
                value = 0.0
                for k in range(r):
                    value += M[j, k] * U[n, k]
                for k in range(j + 1):
                    value += columns[k, j] * U[n, r + k]
                start[n, j] = field[n, j] = value
        for j in range(p):
            sums[1, j] = sums[2, j] = 0.0
            for n in range(size):
                total[j, n] = 0.0
        found = np.int64(0)  # a literal 0 would be a type of its own, and compiled for itself
        gradients = inner_steps if REPEATED else 2
        for turn in range(gradients):
            for n in range(size):
                e = gradient(field[n], y[n], a, b, push)
                for j in range(p):
                    total[j, n] = push[j] if DISPLACED else total[j, n] + push[j]
                    if turn == (1 if DISPLACED else 0):
                        sums[1, j] += e * sigma(field[n, j] + b[j])
                        sums[2, j] += push[j]
            if turn < gradients - 1:
                for j in range(p):
                    if found < slots:
                        # Of the sum of all gradients so far only the last one is outside of F.
                        reveal(
                            U, F, r + p + found, found, total[j],
                            radius2[update, found], spread[update, found],
                        )  # fmt: skip
                        found += 1
            norm = 0.0
            for j in range(p):
                for k in range(r + p + found):
                    value = 0.0
                    for n in range(size):
                        value += total[j, n] * U[n, k]
                    G[j, k] = value
                    norm += value * value
            if turn < gradients - 1:
                reach = inner / size
                if NORMALIZED:
                    reach = inner / math.sqrt(norm) if norm > 0.0 else 0.0
                for n in range(size):
                    for j in range(p):
                        value = 0.0
                        for k in range(r + p + found):
                            value += U[n, k] * G[j, k]
                        field[n, j] = start[n, j] + reach * value

        for j in range(p):
            sums[0, j] = 0.0
            for n in range(size):
                sums[0, j] += total[j, n] * start[n, j]
            remove(F, found, total[j])
            for k in range(p):
                S[k, j] = 0.0
        for n in range(size):
            for j in range(p):
                push[j] = total[j, n]
            absorb(S, push)
        rebuild(M, columns, G, S, sums[0], T[update], step / size, keep, moves)
        moved = 0.0
        for j in range(p):
            a[j] += eta_a / size * sums[1, j]
            b[j] += eta_b / size * sums[2, j]
            for k in range(r + p + found):
                moved += step / size * abs(G[j, k])
        done += 1
        if not moved < limit:
            return -done
        if mark < marks.size and done == marks[mark]:
            keep_state(M, columns, a, b, mark, out_M, out_columns, out_a, out_b)
            mark += 1
    return done
