r"""SGD in d dimensions, for optimizers that treat the coordinates one by one.

Weights, buffers and samples are what they are: O(d p) for each sample. Sums are in double
precision, samples in single. One pass over the coordinates gives the fields and the hidden
projections, a second one the update, so that a sample is read twice and the weights are written
once; the gradient itself is written only for batches of several samples.
"""

from __future__ import annotations

import math

import numpy as np

from ...base.machine_code import njit
from .frame import UNIT_NORM, gradient, label, sigma

SIGN, RMSPROP, ADAM = True, False, False
EPSILON = 1e-8

# --------------------------------------------------------------------------------------------------


@njit(
    "int64(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[::1], "
    "float64[::1], float32[:, ::1], float64[:, ::1], float64[::1], int64, float64[::1], int64, "
    "float64, float64, float64, float64, float64, float64, float64, float64)",
    cache=True,
    nogil=True,
    error_model="numpy",
    fastmath={"reassoc", "contract", "nsz"},  # sums over coordinates in the order of the machine
)
def advance(
    W, first, second, hidden, a, b, samples, latent, noise, size, rates, done,
    step, decay, one, two, clip, eta_a, eta_b, limit,
):  # fmt: skip
    """One update for each `size` samples; returns as the chains do.

    `first` and `second` are the moments of Adam; `hidden` (r, d) are the hidden directions.
    """
    p, d = W.shape
    r = hidden.shape[0]
    field, push, known = np.empty(p), np.empty(p), np.empty(r + latent.shape[1])
    sums, G = np.zeros((2, p)), np.zeros((p, d))
    for n in range(samples.shape[0]):
        x = samples[n]
        for k in range(r):
            value = 0.0
            for i in range(d):
                value += hidden[k, i] * x[i]
            known[k] = value
        for k in range(latent.shape[1]):
            known[r + k] = latent[n, k]
        for j in range(p):
            value = 0.0
            for i in range(d):
                value += W[j, i] * x[i]
            field[j] = value
        e = gradient(field, label(known) + noise[n], a, b, push)
        for j in range(p):
            sums[0, j] += e * sigma(field[j] + b[j]) / size
            sums[1, j] += push[j] / size
            scale = push[j] / size
            if size > 1:
                for i in range(d):
                    G[j, i] += scale * x[i]
        if (n + 1) % size > 0:
            continue

        update = n // size
        eta = step * rates[update]
        shrink = 1.0
        if clip < math.inf:
            size2, length2 = 0.0, 0.0
            if size == 1:
                for i in range(d):
                    length2 += x[i] * x[i]
            for j in range(p):
                size2 += length2 * push[j] * push[j]
                for i in range(d):
                    size2 += G[j, i] * G[j, i]  # zero for one sample
            if not size2 <= clip * clip:
                shrink = clip / math.sqrt(size2)
        done += 1
        correct_one, correct_two = 1.0 - one**done, 1.0 - two**done
        moved = 0.0
        for j in range(p):
            length2, scale = 0.0, shrink * push[j]
            for i in range(d):
                g = scale * x[i] if size == 1 else shrink * G[j, i]
                if SIGN:
                    u = 1.0 if g > 0.0 else -1.0 if g < 0.0 else g
                else:
                    second[j, i] = two * second[j, i] + (1.0 - two) * g * g
                    if RMSPROP:
                        u = g / (math.sqrt(second[j, i]) + EPSILON)
                    else:
                        first[j, i] = one * first[j, i] + (1.0 - one) * g
                        u = first[j, i] / correct_one
                        u /= math.sqrt(second[j, i] / correct_two) + EPSILON
                W[j, i] = (1.0 - eta * decay) * W[j, i] + eta * u
                length2 += W[j, i] * W[j, i]
            moved += math.sqrt(length2)
            if size > 1:
                for i in range(d):
                    G[j, i] = 0.0
            if UNIT_NORM:
                scale = 1.0 / math.sqrt(length2)
                for i in range(d):
                    W[j, i] *= scale
            a[j] += eta_a * rates[update] * sums[0, j]
            b[j] += eta_b * rates[update] * sums[1, j]
            sums[0, j] = sums[1, j] = 0.0
        if not moved < limit:
            return -done
    return done
