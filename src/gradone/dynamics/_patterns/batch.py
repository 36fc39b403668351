r"""The chain with the mean gradient of a batch for each update; no sample is kept.

With coefficients C (b, p) of the samples, U* and U their coordinates and S^T S = C^T C,

.. math:: M \leftarrow D(AM + C^\top U^\star), \qquad
          L \leftarrow D\,\mathrm{tri}[AL + C^\top U,\ S^\top T] \qquad [SG-3]

where T is the Bartlett factor of a Wishart matrix with d - r - p degrees of freedom. S is updated
with each sample, so that the cost is O(b p (r + p)) and the memory does not grow with b.
"""

from __future__ import annotations

import numpy as np

from ...base.machine_code import njit
from .frame import absorb, fields, gradient, keep_state, label, rebuild, sigma

# --------------------------------------------------------------------------------------------------


@njit(
    "int64(float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], float64[:, ::1], "
    "float64[::1], float64[:, :, ::1], int64, int64, float64[:, ::1], float64[:, ::1], "
    "float64[:, ::1], int64, int64[::1], int64, float64[:, :, ::1], float64[:, :, ::1], "
    "float64[:, ::1], float64[:, ::1], float64, float64, float64, float64, float64)",
    cache=True,
    nogil=True,
    error_model="numpy",
)
def advance(
    M, columns, a, b, samples, noise, T, size, filled, G, S, sums, done,
    marks, mark, out_M, out_columns, out_a, out_b,
    step, keep, eta_a, eta_b, limit,
):  # fmt: skip
    """Use up the samples, one update for each `size` of them; keep the state at the marks.

    The first update has seen `filled` samples before; G, S and the sums over the batch of
    c_j lambda_j, e sigma and c_j hold what they left. Returns as the chain of single samples does.
    """
    p, r = M.shape
    field, c, moves = np.empty(p), np.empty(p), np.empty((2 * p, p))
    update = 0
    for n in range(samples.shape[0]):
        x = samples[n]
        fields(M, columns, x, field)
        e = gradient(field, label(x) + noise[n], a, b, c)
        for j in range(p):
            sums[0, j] += c[j] * field[j]
            sums[2, j] += c[j]
            for k in range(r + p):
                G[j, k] += c[j] * x[k]
            if eta_a > 0.0:
                sums[1, j] += e * sigma(field[j] + b[j])
        absorb(S, c)
        filled += 1
        if filled < size:
            continue

        rebuild(M, columns, G, S, sums[0], T[update], step / size, keep, moves)
        moved = 0.0
        for j in range(p):
            a[j] += eta_a / size * sums[1, j]
            b[j] += eta_b / size * sums[2, j]
            for k in range(r + p):
                moved += step / size * abs(G[j, k])
                G[j, k] = 0.0
            for k in range(p):
                S[k, j] = 0.0
            for k in range(3):
                sums[k, j] = 0.0
        filled = 0
        update += 1
        done += 1
        if not moved < limit:
            return -done
        if mark < marks.size and done == marks[mark]:
            keep_state(M, columns, a, b, mark, out_M, out_columns, out_a, out_b)
            mark += 1
    return done
