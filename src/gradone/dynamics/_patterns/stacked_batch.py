r"""The chain of buffers and weights with batches, and that of Muon.

The rows of buffers and weights are written out in the coordinates of the frame and of what the
batch adds to it, where [SG-7] is what it says; their triangular factor [SG-3] is the new frame.
Muon turns the rows of D until they are orthogonal (one-sided Jacobi rotations J): with
:math:`J D = \Sigma V^\top`, its orthogonal factor is :math:`J^\top V^\top`.
"""

from __future__ import annotations

import math

import numpy as np

from ...base.machine_code import njit
from .frame import TANGENT, UNIT_NORM, absorb, gradient, helper, label, sigma
from .stack import LOOK_AHEAD, MOMENTUM, UNIT_STEP, keep_stack, stacked_field

MUON = False
SEPARATE = False  # what is outside the frame is known of every sample: for clipping them, or one

# --------------------------------------------------------------------------------------------------


@helper
def orthogonalize(D, turned, newton_schulz):
    """Make the rows of D orthonormal, or nearly so; `turned` is room for J D and J."""
    p, width = D.shape
    total = 0.0
    for i in range(p):
        for m in range(width):
            total += D[i, m] * D[i, m]
            turned[i, m] = D[i, m]
        for m in range(p):
            turned[i, width + m] = 1.0 if i == m else 0.0
    least = 1e-26 * total  # rows that are shorter are rounding errors of a matrix of lower rank
    for _ in range(30):
        rotations = 0
        for i in range(p - 1):
            for j in range(i + 1, p):
                one, two, both = 0.0, 0.0, 0.0
                for m in range(width):
                    left, right = turned[i, m], turned[j, m]
                    one += left * left
                    two += right * right
                    both += left * right
                if both * both > 1e-30 * one * two and min(one, two) > least:
                    rotations += 1
                    ratio = (two - one) / (2.0 * both)
                    t = 1.0 / (abs(ratio) + math.sqrt(1.0 + ratio * ratio))
                    if ratio < 0.0:
                        t = -t
                    cosine = 1.0 / math.sqrt(1.0 + t * t)
                    sine = t * cosine
                    for m in range(width + p):
                        left, right = turned[i, m], turned[j, m]
                        turned[i, m] = cosine * left - sine * right
                        turned[j, m] = sine * left + cosine * right
        if rotations == 0:
            break
    for i in range(p):
        one, size = 0.0, total  # which is 0, or not a number, if there is no direction to take
        for m in range(width):
            one += turned[i, m] * turned[i, m]
        if newton_schulz and total > 0.0:
            size = 1.0
            for _ in range(5):
                square = one / total * size * size
                size *= 3.4445 - 4.7750 * square + 2.0315 * square * square
            size /= math.sqrt(total)
        elif total > 0.0:
            size = 1.0 / math.sqrt(one) if one > least else 0.0
        for m in range(width):
            turned[i, m] *= size
    for i in range(p):
        for m in range(width):
            D[i, m] = 0.0
            for j in range(p):
                D[i, m] += turned[j, width + i] * turned[j, m]


@njit(
    "int64(float64[:, ::1], float64[:, :, ::1], float64[::1], float64[::1], float64[:, ::1], "
    "float64[:, ::1], float64[::1], float64[:, :, :, ::1], int64, int64, float64[:, ::1], "
    "float64[:, ::1], float64[:, ::1], float64[::1], int64, int64[::1], int64, "
    "float64[:, :, ::1], float64[:, :, :, ::1], float64[:, ::1], float64[:, ::1], "
    "float64, float64, float64, float64, float64, float64, float64, boolean, boolean)",
    cache=True,
    nogil=True,
    error_model="numpy",
)
def advance(
    M, columns, a, b, samples, known, noise, T, size, filled, G, S, sums, rates, done,
    marks, mark, out_M, out_columns, out_a, out_b,
    step, decay, beta, clip, eta_a, eta_b, limit, nesterov, newton_schulz,
):  # fmt: skip
    """Use up the samples, one update for each `size` of them; keep the state at the marks.

    `known` holds what the labels depend on, `T` (updates, blocks, q, q) the factors of what is
    outside the frames, `rates` the factors of the step sizes; G, S and the sums are what earlier
    samples of the batch have left. Returns as the other chains do.
    """
    k, raw = M.shape
    p, blocks, q = a.size, T.shape[1], T.shape[2]
    first, wide = k - p, raw + T.shape[1] * k
    total = wide + blocks * q
    field, c, column = np.empty(p), np.empty(p), np.empty(k)
    rows, D, turned = np.empty((k, total)), np.empty((p, total)), np.empty((p, total + p))
    update = 0
    for n in range(samples.shape[0]):
        x = samples[n]
        for j in range(p):
            field[j] = stacked_field(M, columns, first + j, x)
            if LOOK_AHEAD:
                field[j] += step * rates[update] * beta * stacked_field(M, columns, j, x)
        e = gradient(field, label(known[n]) + noise[n], a, b, c)
        shrink = 1.0
        if SEPARATE:
            size2, length2 = 0.0, 0.0
            for i in range(wide):
                length2 += x[i] * x[i]
            for block in range(blocks):
                for i in range(q):
                    length2 += T[update, block, filled, i] * T[update, block, filled, i]
            for j in range(p):
                size2 += c[j] * c[j] * length2
            if not size2 <= clip * clip:
                shrink = clip / math.sqrt(size2)
        for j in range(p):
            sums[0, j] += e * sigma(field[j] + b[j])
            sums[1, j] += c[j]
            c[j] *= shrink / size
            for i in range(wide):
                G[j, i] += c[j] * x[i]
            if SEPARATE:
                for block in range(blocks):
                    for i in range(q):
                        G[j, wide + block * q + i] += c[j] * T[update, block, filled, i]
        if not SEPARATE:
            absorb(S, c)
        filled += 1
        if filled < size:
            continue

        # ---- the gradient of the batch is known, outside the frames too: its length
        shrink = 1.0
        if not SEPARATE:
            size2 = 0.0
            for j in range(p):
                for block in range(blocks):
                    for m in range(q):
                        for i in range(j + 1):
                            G[j, wide + block * q + m] += S[i, j] * T[update, block, i, m]
                for i in range(total):
                    size2 += G[j, i] * G[j, i]
            if not size2 <= clip * clip:
                shrink = clip / math.sqrt(size2)

        # ---- new rows, in coordinates
        for row in range(k):
            for i in range(total):
                rows[row, i] = M[row, i] if i < raw else 0.0
            for block in range(blocks):
                for i in range(row + 1):
                    rows[row, raw + block * k + i] = columns[block, i, row]
        size2 = 0.0
        for j in range(p):
            for i in range(total):
                value = shrink * G[j, i]
                if MOMENTUM:
                    rows[j, i] = beta * rows[j, i] + value
                    value = value + beta * rows[j, i] if nesterov else rows[j, i]
                D[j, i] = value
                size2 += value * value
                G[j, i] = 0.0
        eta, moved = step * rates[update], 0.0
        if MUON:
            orthogonalize(D, turned, newton_schulz)
        power = eta
        if UNIT_STEP:
            power = eta / math.sqrt(size2) if size2 > 0.0 else size2
        for j in range(p):
            keep = 1.0 - eta * decay
            if TANGENT:
                along, length2 = 0.0, 0.0
                for i in range(total):
                    along += rows[j, i] * D[j, i]
                    length2 += rows[j, i] * rows[j, i]
                keep -= power * along / length2
            length2 = 0.0
            for i in range(total):
                value = keep * rows[first + j, i] + power * D[j, i]
                moved += power * abs(D[j, i])
                rows[first + j, i] = value
                length2 += value * value
            if UNIT_NORM:
                for i in range(total):
                    rows[first + j, i] /= math.sqrt(length2)

        # ---- the frame that they span
        for row in range(k):
            for i in range(raw):
                M[row, i] = rows[row, i]
            for block in range(blocks):
                for i in range(k):
                    columns[block, i, row] = 0.0
        for block in range(blocks):
            for i in range(k + q):
                place = raw + block * k + i if i < k else wide + block * q + i - k
                for row in range(k):
                    column[row] = rows[row, place]
                absorb(columns[block], column)
        for j in range(p):
            a[j] += eta_a * rates[update] / size * sums[0, j]
            b[j] += eta_b * rates[update] / size * sums[1, j]
            sums[0, j] = sums[1, j] = 0.0
            for i in range(p):
                S[i, j] = 0.0
        filled = 0
        update += 1
        done += 1
        if not moved < limit:
            return -done
        if mark < marks.size and done == marks[mark]:
            keep_stack(M, columns, a, b, mark, out_M, out_columns, out_a, out_b)
            mark += 1
    return done
