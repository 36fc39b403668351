r"""The chain of every optimizer that does not know the axes: buffers and weights as one stack.

Rows S = [V; W] of buffers and weights (W alone without momentum), k of them, are held as in
:mod:`.frame`. With the coordinates :math:`\hat G` of the mean gradient on the frame and outside it,

.. math:: \hat V' = \beta \hat V + c\,\hat G, \qquad \hat D = \hat V' \text{ or }
          c\,\hat G + \beta \hat V', \qquad
          \hat W' = (1 - \eta\,\mathrm{wd})\,\hat W + \eta\,\Psi(\hat D) \qquad [SG-7]

with the factor c of the clipping and :math:`\Psi(D) = P D`, where P is 1, :math:`1/|D|` or a
function of the matrix :math:`D D^\top`: lengths are those of the coordinates. The new rows are
A S + E G with A lower triangular since buffers come first, so that one sample costs one outer
product [SG-2] and a batch one triangular factor [SG-3].

Inputs may have several eigenvalues: then there is a frame for each, and all share E and A. A sample
has `raw` coordinates on the hidden directions and, for each of the blocks, k more on its frame;
they come in with the roots of their eigenvalues, and so do the factors T of what is outside.
"""

from __future__ import annotations

import math

import numpy as np

from ...base.machine_code import njit
from .frame import (
    TANGENT,
    UNIT_NORM,
    absorb,
    add_outer,
    gradient,
    helper,
    label,
    sigma,
)

SINGLE = True  # one sample for each update
MUON = False
UNIT_STEP = False  # normalized; what else there is to choose is chosen while it runs

# --------------------------------------------------------------------------------------------------


@helper
def eigenvectors(H, vectors):
    """Turn H into the diagonal matrix of its eigenvalues, by Jacobi rotations."""
    p = H.shape[0]
    for i in range(p):
        for j in range(p):
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(30):
        off, total = 0.0, 0.0
        for i in range(p):
            total += H[i, i] * H[i, i]
            for j in range(i):
                off += H[i, j] * H[i, j]
        if not off > 1e-32 * total:
            return
        for i in range(p - 1):
            for j in range(i + 1, p):
                if H[i, j] == 0.0:
                    continue
                ratio = (H[j, j] - H[i, i]) / (2.0 * H[i, j])
                t = 1.0 / (abs(ratio) + math.sqrt(1.0 + ratio * ratio))
                if ratio < 0.0:
                    t = -t
                cosine = 1.0 / math.sqrt(1.0 + t * t)
                sine = t * cosine
                for m in range(p):
                    left, right = H[m, i], H[m, j]
                    H[m, i], H[m, j] = cosine * left - sine * right, sine * left + cosine * right
                for m in range(p):
                    left, right = H[i, m], H[j, m]
                    H[i, m], H[j, m] = cosine * left - sine * right, sine * left + cosine * right
                for m in range(p):
                    left, right = vectors[m, i], vectors[m, j]
                    vectors[m, i] = cosine * left - sine * right
                    vectors[m, j] = sine * left + cosine * right


@helper
def orthogonalizer(H, vectors, P, newton_schulz):
    """P with P D orthogonal, or nearly so, from H = D D^T, which is used up."""
    p = H.shape[0]
    total = 0.0
    for i in range(p):
        total += H[i, i]
    eigenvectors(H, vectors)
    for i in range(p):
        for j in range(p):
            P[i, j] = 0.0
    if not total > 0.0:
        if total != total:
            P[0, 0] = total
        return
    for m in range(p):
        share = H[m, m] / total
        size = 0.0
        if newton_schulz:
            size = 1.0
            for _ in range(5):
                square = max(share, 0.0) * size * size
                size *= 3.4445 - 4.7750 * square + 2.0315 * square * square
            size /= math.sqrt(total)
        elif share > 1e-13:  # what is smaller is a rounding error of a matrix of lower rank
            size = 1.0 / math.sqrt(H[m, m])
        for i in range(p):
            for j in range(p):
                P[i, j] += size * vectors[i, m] * vectors[j, m]


@helper
def scale_rows(M, columns, p, P, keep, slide, beta):
    """W <- keep W + slide P V, then V <- beta V."""
    k, raw = M.shape
    for j in range(p):
        row = k - p + j
        for i in range(raw):
            value = keep * M[row, i]
            if k > p:
                if MUON:
                    for m in range(p):
                        value += slide * P[j, m] * M[m, i]
                else:
                    value += slide * M[j, i]
            M[row, i] = value
        for block in range(columns.shape[0]):
            for i in range(row + 1):
                value = keep * columns[block, i, row]
                if k > p:
                    if MUON:
                        for m in range(i, p):
                            value += slide * P[j, m] * columns[block, i, m]
                    elif i <= j:
                        value += slide * columns[block, i, j]
                columns[block, i, row] = value
    if k > p:
        for j in range(p):
            for i in range(raw):
                M[j, i] *= beta
            for block in range(columns.shape[0]):
                for i in range(j + 1):
                    columns[block, i, j] *= beta


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
def coordinates_of_step(M, columns, G, outside, one, two, D):
    """D = one V + two G in coordinates of the frame and outside of it."""
    k, raw = M.shape
    p, blocks = G.shape[0], columns.shape[0]
    wide = raw + blocks * k
    for j in range(p):
        for i in range(wide):
            D[j, i] = two * G[j, i]
        for i in range(outside.shape[1]):
            D[j, wide + i] = two * outside[j, i]
        if k > p:
            for i in range(raw):
                D[j, i] += one * M[j, i]
            for block in range(blocks):
                for i in range(j + 1):
                    D[j, raw + block * k + i] += one * columns[block, i, j]


@njit(
    "int64(float64[:, ::1], float64[:, :, ::1], float64[::1], float64[::1], float64[:, ::1], "
    "float64[:, ::1], float64[::1], float64[:, :, :, ::1], int64, int64, float64[:, ::1], "
    "float64[:, ::1], float64[:, ::1], float64[::1], int64, int64[::1], int64, "
    "float64[:, :, ::1], float64[:, :, :, ::1], float64[:, ::1], float64[:, ::1], "
    "float64, float64, float64, float64, float64, float64, float64, boolean, boolean, boolean)",
    cache=True,
    nogil=True,
    error_model="numpy",
)
def advance(
    M, columns, a, b, samples, known, noise, T, size, filled, G, S, sums, rates, done,
    marks, mark, out_M, out_columns, out_a, out_b,
    step, decay, beta, clip, eta_a, eta_b, limit, nesterov, per_sample, newton_schulz,
):  # fmt: skip
    """Use up the samples, one update for each `size` of them; keep the state at the marks.

    `known` holds what the labels depend on, `T` (updates, blocks, q, q) the factors of what is
    outside the frames, `rates` the factors of the step sizes. Returns as the other chains do.
    """
    k, raw = M.shape
    p, blocks, q = a.size, columns.shape[0], T.shape[2]
    first, wide = k - p, raw + columns.shape[0] * k
    field, c, mean, pushed = np.empty(p), np.empty(p), np.empty(p), np.empty(k)
    outside, D = np.empty((p, blocks * q)), np.empty((p, wide + blocks * q))
    H, P, vectors = np.empty((p, p)), np.empty((p, p)), np.empty((p, p))
    lift, moves = np.empty((k, p)), np.empty((k + q, k))
    update = 0
    for n in range(samples.shape[0]):
        x = samples[n]
        for j in range(p):
            value = 0.0
            for i in range(raw):
                value += M[first + j, i] * x[i]
            for block in range(blocks):
                for i in range(first + j + 1):
                    value += columns[block, i, first + j] * x[raw + block * k + i]
            field[j] = value
        e = gradient(field, label(known[n]) + noise[n], a, b, c)
        for j in range(p):
            sums[0, j] += e * sigma(field[j] + b[j])
            sums[1, j] += c[j]
        length2, push2 = 0.0, 0.0
        if SINGLE or per_sample:
            for i in range(wide):
                length2 += x[i] * x[i]
            for block in range(blocks):
                for i in range(q):
                    length2 += T[update, block, filled, i] * T[update, block, filled, i]
            for j in range(p):
                push2 += c[j] * c[j]
        if not SINGLE and per_sample:
            size2 = push2 * length2
            if not size2 <= clip * clip:
                shrink = clip / math.sqrt(size2)
                for j in range(p):
                    c[j] *= shrink
            if filled == 0:
                for j in range(p):
                    for i in range(blocks * q):
                        outside[j, i] = 0.0
            for j in range(p):
                for block in range(blocks):
                    for i in range(q):
                        outside[j, block * q + i] += c[j] * T[update, block, filled, i] / size
        if not SINGLE:
            for j in range(p):
                mean[j] = c[j] / size
                for i in range(wide):
                    G[j, i] += mean[j] * x[i]
            if not per_sample:
                absorb(S, mean)
        filled += 1
        if filled < size:
            continue

        # ---- the gradient of the batch is known: its length, and what the optimizer makes of it
        eta = step * rates[update]
        if not SINGLE and not per_sample:
            for j in range(p):
                for block in range(blocks):
                    for m in range(p):
                        value = 0.0
                        for i in range(j + 1):
                            value += S[i, j] * T[update, block, i, m]
                        outside[j, block * q + m] = value
        if SINGLE and (UNIT_STEP or MUON):
            for j in range(p):
                for i in range(wide):
                    G[j, i] = c[j] * x[i]
                for block in range(blocks):
                    outside[j, block] = c[j] * T[update, block, 0, 0]
        shrink = 1.0
        if not per_sample and clip < math.inf:
            size2 = push2 * length2
            if not SINGLE:
                size2 = 0.0
                for j in range(p):
                    for i in range(wide):
                        size2 += G[j, i] * G[j, i]
                    for i in range(blocks * q):
                        size2 += outside[j, i] * outside[j, i]
            if not size2 <= clip * clip:
                shrink = clip / math.sqrt(size2)
        one = beta * beta if nesterov else beta
        two = shrink * (1.0 + beta) if nesterov else shrink
        power = 1.0
        if UNIT_STEP or MUON:
            coordinates_of_step(M, columns, G, outside, one, two, D)
        if UNIT_STEP:
            size2 = 0.0
            for j in range(p):
                for i in range(wide + blocks * q):
                    size2 += D[j, i] * D[j, i]
            power = 1.0 / math.sqrt(size2) if size2 > 0.0 else size2
        if MUON:
            for j in range(p):
                for m in range(j + 1):
                    value = 0.0
                    for i in range(wide + blocks * q):
                        value += D[j, i] * D[m, i]
                    H[j, m] = H[m, j] = value
            orthogonalizer(H, vectors, P, newton_schulz)
        scale_rows(M, columns, p, P, 1.0 - eta * decay, eta * power * one, beta)
        for j in range(p):
            for m in range(p):
                if first > 0:
                    lift[j, m] = shrink if j == m else 0.0
                if MUON:
                    lift[first + j, m] = eta * two * P[j, m]
                else:
                    lift[first + j, m] = eta * two * power if j == m else 0.0

        # ---- new rows: A S, which is there, and E G
        moved = 0.0
        if SINGLE:
            for row in range(k):
                value = 0.0
                for m in range(p):
                    value += lift[row, m] * c[m]
                pushed[row] = value
                moved += abs(value)
            moved *= math.sqrt(length2)
            if TANGENT:
                for j in range(p):
                    part = pushed[j] * field[j] / row_length2(M, columns, j)
                    scale_row(M, columns, j, 1.0 - part)
            for row in range(k):
                for i in range(raw):
                    M[row, i] += pushed[row] * x[i]
            for block in range(blocks):
                start = raw + block * k
                add_outer(columns[block], pushed, x[start : start + k], T[update, block, 0, 0])
        else:
            if TANGENT:
                for j in range(p):
                    along = 0.0
                    for m in range(p):
                        value = 0.0
                        for i in range(raw):
                            value += G[m, i] * M[j, i]
                        for block in range(blocks):
                            for i in range(j + 1):
                                value += G[m, raw + block * k + i] * columns[block, i, j]
                        along += lift[j, m] * value
                    scale_row(M, columns, j, 1.0 - along / row_length2(M, columns, j))
            for row in range(k):
                for i in range(raw):
                    value = 0.0
                    for m in range(p):
                        value += lift[row, m] * G[m, i]
                    M[row, i] += value
                    moved += abs(value)
            for block in range(blocks):
                start = raw + block * k
                for row in range(k):
                    for i in range(k):
                        value = columns[block, i, row] if i <= row else 0.0
                        for m in range(p):
                            change = lift[row, m] * G[m, start + i]
                            value += change
                            moved += abs(change)
                        moves[i, row] = value
                    for i in range(q):
                        value = 0.0
                        for m in range(p):
                            value += lift[row, m] * outside[m, block * q + i]
                        moves[k + i, row] = value
                for i in range(k):
                    for row in range(k):
                        columns[block, i, row] = 0.0
                for i in range(k + q):
                    absorb(columns[block], moves[i])
        if UNIT_NORM:
            for j in range(p):
                scale_row(
                    M, columns, first + j, 1.0 / math.sqrt(row_length2(M, columns, first + j))
                )
        for j in range(p):
            a[j] += eta_a * rates[update] / size * sums[0, j]
            b[j] += eta_b * rates[update] / size * sums[1, j]
            sums[0, j] = sums[1, j] = 0.0
            for i in range(wide):
                G[j, i] = 0.0
            for i in range(p):
                S[i, j] = 0.0
        filled = 0
        update += 1
        done += 1
        if not moved < limit:
            return -done
        if mark < marks.size and done == marks[mark]:
            for j in range(p):
                out_a[mark, j], out_b[mark, j] = a[j], b[j]
            for row in range(k):
                for i in range(raw):
                    out_M[mark, row, i] = M[row, i]
                for block in range(blocks):
                    for i in range(k):
                        out_columns[mark, block, i, row] = columns[block, i, row]
            mark += 1
    return done
