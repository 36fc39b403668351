r"""Pattern of the compiled updates of a two-layer network on samples (x, y).

What stands below the line of dashes is copied into a generated module (:mod:`._machine`), where
``sigma`` and ``slope`` are a typed activation and its derivative and ``residual`` is minus the
derivative of the loss by the output; here they are those of the relu and of the square loss, so
that this file can be read, checked and run as it is. With the samples of a batch as rows of X,

.. math:: G_j(W) = \frac1b \sum_\mu a_j e_\mu \sigma'(\langle w_j, x_\mu\rangle + b_j)\,x_\mu,
          \qquad e_\mu = -\partial_f\,\ell(y_\mu, f(x_\mu)).    [GD-1]

Fields and gradients are products with the samples; nothing is known of where they come from. The
weights have the precision of X.
"""

from __future__ import annotations

import math

import numpy as np

from ...base.machine_code import njit


@njit
def sigma(x: float) -> float:
    """Activation."""
    return max(x, 0.0)


@njit
def slope(x: float) -> float:
    """Its derivative."""
    return 1.0 if x > 0 else 0.0


@njit
def residual(y: float, f: float) -> float:
    """Minus the derivative of the loss by the output."""
    return y - f


# --------------------------------------------------------------------------------------------------

Array = np.ndarray
PLAIN, DISPLACED, NORMALIZED, REPEATED = 0, 1, 2, 3
EUCLIDEAN, PROJECTED, SPHERICAL = 0, 1, 2


@njit(nogil=True, error_model="numpy")
def downhill(
    W: Array, X: Array, y: Array, a: Array, b: Array,
    fields: Array, pulls: Array, G: Array, G_a: Array, G_b: Array, errors: Array,
    label_limit: float,
) -> bool:  # fmt: skip
    """Gradient [GD-1] of a batch at W in `G`, of the readout in `G_a`, of the bias in `G_b`.

    `errors` receives y - f of every sample. Returns whether all f are smaller than `label_limit`.
    """
    n, p = len(y), len(a)
    np.dot(X, W.T, fields)
    for j in range(p):
        G_a[j] = 0.0
        G_b[j] = 0.0
    sound = True
    for m in range(n):
        f = 0.0
        for j in range(p):
            f += a[j] * sigma(fields[m, j] + b[j])
        sound = sound and abs(f) < label_limit
        errors[m] = y[m] - f
        e = residual(y[m], f)  # type: ignore[call-arg]
        for j in range(p):
            field = fields[m, j] + b[j]
            pull = a[j] * e * slope(field) / n
            pulls[m, j] = pull
            G_a[j] += e * sigma(field) / n  # type: ignore[operator]
            G_b[j] += pull
    np.dot(pulls.T, X, G)
    return sound


@njit(nogil=True, error_model="numpy")
def shift(at: Array, W: Array, factor: float, G: Array) -> None:
    """Set ``at = W + factor G``."""
    for j in range(W.shape[0]):
        for k in range(W.shape[1]):
            at[j, k] = W[j, k] + factor * G[j, k]


@njit(nogil=True, error_model="numpy")
def finish(W: Array, S: Array, keep: float, geometry: int, limit: float) -> bool:
    """W <- keep W + S, in the geometry of the sphere if it is asked for.

    Returns whether all neurons, before they are normalized, are shorter than `limit`.
    """
    sound = True
    for j in range(W.shape[0]):
        w, s = W[j], S[j]
        if geometry == SPHERICAL:
            along = np.dot(s, w) / np.dot(w, w)
            for k in range(len(w)):
                s[k] -= along * w[k]
        for k in range(len(w)):
            w[k] = keep * w[k] + s[k]
        length = math.sqrt(np.dot(w, w))
        sound = sound and length < limit
        if geometry != EUCLIDEAN:
            for k in range(len(w)):
                w[k] /= length
    return sound


@njit(cache=True, nogil=True, error_model="numpy")
def descend(
    W: Array, a: Array, b: Array, X: Array, y: Array, errors: Array,
    batch: int, kind: int, geometry: int,
    step: float, inner: float, inner_steps: int, interpolation: float, keep: float,
    step_a: float, step_b: float, limit: float, label_limit: float,
) -> int:  # fmt: skip
    """One update for every `batch` rows of X, in their order; W, a and b change in place.

    `errors` (n,) receives y - f of every sample before the update that uses it. Returns the number
    of updates, or minus the number of the one at which a neuron or a label left its limits.
    """
    p, d = W.shape
    rows = min(batch, len(y))
    fields, pulls = np.empty((rows, p), W.dtype), np.empty((rows, p), W.dtype)
    G, S, at = np.empty_like(W), np.empty_like(W), np.empty_like(W)
    G_a, G_b, later_a, later_b = np.empty(p), np.empty(p), np.empty(p), np.empty(p)
    later = np.empty(rows)
    updates = 0
    for first in range(0, len(y), rows):
        x, label = X[first : first + rows], y[first : first + rows]
        n = len(label)
        F, C = fields[:n], pulls[:n]
        sound = downhill(W, x, label, a, b, F, C, G, G_a, G_b, errors[first:], label_limit)
        if kind == DISPLACED or kind == NORMALIZED:
            reach = inner
            if kind == NORMALIZED:
                size = math.sqrt(np.dot(G.reshape(p * d), G.reshape(p * d)))
                reach = inner / size if size > 0.0 else 0.0
            shift(at, W, reach, G)
            sound = sound and downhill(at, x, label, a, b, F, C, G, G_a, G_b, later, label_limit)
        if kind == REPEATED:
            shift(at, W, inner, G)
            for _ in range(inner_steps - 1):
                sound = sound and downhill(
                    at, x, label, a, b, F, C, G, later_a, later_b, later, label_limit
                )
                shift(at, at, inner, G)
            for j in range(p):
                for k in range(d):
                    S[j, k] = interpolation * (at[j, k] - W[j, k])
        else:
            for j in range(p):
                for k in range(d):
                    S[j, k] = step * G[j, k]
        sound = finish(W, S, keep, geometry, limit) and sound
        for j in range(p):
            a[j] += step_a * G_a[j]
            b[j] += step_b * G_b[j]
        updates += 1
        if not sound:
            return -updates
    return updates
