r"""Pattern of the compiled Markov chain of SGD on order parameters.

What stands below the line of dashes is copied into a generated module (:mod:`._compile`), where the
names above that line are those of one student and target: here they are those of a relu that
learns z1 by plain SGD, so that this file can be read, checked and run as it is.

State: the overlaps M (p, r) and the columns of a lower-triangular L, meaning W = M W* + L E with
orthonormal rows in E, orthogonal to W*; E is never stored. ``columns[k]`` is column k of L; the
array has one more row, room for a fresh direction. A fresh sample has the coordinates

.. math:: x = (u^\star, u, \rho), \quad u^\star \sim N(0, I_r), \quad u \sim N(0, I_p),
          \quad \rho^2 \sim \chi^2_{d-r-p} \qquad [SG-1]

and an update W <- D (A W + c x^T), A and D diagonal, becomes

.. math:: M \leftarrow D(AM + c\,u^{\star\top}), \qquad
          L \leftarrow D\,\mathrm{tri}[AL + c\,u^\top,\ \rho\,c] \qquad [SG-2]

with the lower-triangular factor tri(B) tri(B)^T = B B^T, found by rotations of columns: no matrix
is ever subtracted, so that Q - M M^T = L L^T cannot become negative, and is known to the square of
the rounding error.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

SQUARE_LOSS = True  # e = y - f; otherwise e = y
DISPLACED = False  # the gradient is taken at a displaced point
NORMALIZED = False  # ... at a fixed distance
REPEATED = False  # several steps on the same batch
UNIT_NORM = False  # projected and spherical
TANGENT = False  # spherical


@njit
def sigma(x):
    return max(x, 0.0)


@njit
def slope(x):
    return 1.0 if x > 0 else 0.0


@njit
def label(z):
    return z[0]


# --------------------------------------------------------------------------------------------------


@njit(nogil=True, error_model="numpy")
def rotate(columns, k, i, first, second):
    """Rotate columns k and k + 1 from row i on, so that (first, second) becomes (h, 0); h."""
    h = math.sqrt(first * first + second * second)
    if h > 0.0:
        cosine, sine = first / h, second / h
        for j in range(i, columns.shape[1]):
            left, right = columns[k, j], columns[k + 1, j]
            columns[k, j] = cosine * left + sine * right
            columns[k + 1, j] = cosine * right - sine * left
    return h


@njit(nogil=True, error_model="numpy")
def add_outer(columns, c, u, rho):
    """L <- tri([L, 0] + c (u, rho)^T) in two sweeps of rotations."""
    p = c.size
    h = abs(rho)
    columns[p, :] = 0.0
    for k in range(p - 1, -1, -1):  # (u, rho) becomes (h, 0, ..., 0), L gets a superdiagonal
        h = rotate(columns, k, k, u[k], h)
    for j in range(p):
        columns[0, j] += h * c[j]
    for k in range(p):  # which is removed again
        rotate(columns, k, k, columns[k, k], columns[k + 1, k])


@njit(nogil=True, error_model="numpy")
def absorb(columns, v):
    """L <- tri([L, v]); v is used up."""
    p = v.size
    for k in range(p):
        first, second = columns[k, k], v[k]
        h = math.sqrt(first * first + second * second)
        if h > 0.0:
            cosine, sine = first / h, second / h
            for j in range(k, p):
                left, right = columns[k, j], v[j]
                columns[k, j] = cosine * left + sine * right
                v[j] = cosine * right - sine * left


@njit(nogil=True, error_model="numpy")
def gradient(field, y, a, b, push):
    """push_j = a_j e sigma'(field_j + b_j); returns e."""
    e = y
    if SQUARE_LOSS:
        for j in range(a.size):
            e -= a[j] * sigma(field[j] + b[j])
    for j in range(a.size):
        push[j] = a[j] * e * slope(field[j] + b[j])
    return e


@njit(nogil=True, error_model="numpy")
def add_outputs(e, field, push, b, outputs, biases):
    """Add the gradients of readout and bias at one sample."""
    for j in range(b.size):
        outputs[j] += e * sigma(field[j] + b[j])
        biases[j] += push[j]


@njit(nogil=True, error_model="numpy")
def squared_norm(M, columns, j):
    """Q_jj."""
    total = 0.0
    for k in range(M.shape[1]):
        total += M[j, k] * M[j, k]
    for k in range(j + 1):
        total += columns[k, j] * columns[k, j]
    return total


@njit(nogil=True, error_model="numpy")
def normalize(M, columns):
    """Bring every neuron to unit norm."""
    for j in range(M.shape[0]):
        scale = 1.0 / math.sqrt(squared_norm(M, columns, j))
        for k in range(M.shape[1]):
            M[j, k] *= scale
        for k in range(j + 1):
            columns[k, j] *= scale


@njit(nogil=True, error_model="numpy")
def single(
    rng, M, columns, a, b, dof, noise, step, inner, inner_steps, keep, eta_a, eta_b,
    z, u, field, at, c, push, outputs, biases,
):  # fmt: skip
    """One update with one fresh sample [SG-2]; returns the length of the largest move."""
    p, r = M.shape
    length2 = 0.0
    for k in range(r):
        z[k] = rng.standard_normal()
        length2 += z[k] * z[k]
    for k in range(p):
        u[k] = rng.standard_normal()
        length2 += u[k] * u[k]
    rho2 = rng.chisquare(dof) if dof > 0.0 else 0.0
    length2 += rho2
    y = label(z)
    if noise > 0.0:
        y += noise * rng.standard_normal()
    for j in range(p):
        value = 0.0
        for k in range(r):
            value += M[j, k] * z[k]
        for k in range(j + 1):
            value += columns[k, j] * u[k]
        field[j] = value

    e = gradient(field, y, a, b, c)
    if DISPLACED:
        reach = inner * length2
        if NORMALIZED:
            size = 0.0
            for j in range(p):
                size += c[j] * c[j]
            reach = inner * math.sqrt(length2 / size) if size > 0.0 else 0.0
        for j in range(p):
            at[j] = field[j] + reach * c[j]
        e = gradient(at, y, a, b, c)
    if eta_a > 0.0 or eta_b > 0.0:
        outputs[:] = 0.0
        biases[:] = 0.0
        add_outputs(e, at if DISPLACED else field, c, b, outputs, biases)
    if REPEATED:
        for _ in range(inner_steps - 1):
            for j in range(p):
                at[j] = field[j] + inner * length2 * c[j]
            gradient(at, y, a, b, push)
            for j in range(p):
                c[j] += push[j]

    largest = 0.0
    for j in range(p):
        c[j] *= step
        move = abs(c[j])
        largest = move if not move < largest else largest
        factor = keep
        if TANGENT:
            factor -= c[j] * field[j] / squared_norm(M, columns, j)
        for k in range(r):
            M[j, k] = factor * M[j, k] + c[j] * z[k]
        for k in range(j + 1):
            columns[k, j] *= factor
    add_outer(columns, c, u, math.sqrt(rho2))
    if UNIT_NORM:
        normalize(M, columns)
    if eta_a > 0.0 or eta_b > 0.0:
        for j in range(p):
            a[j] += eta_a * outputs[j]
            b[j] += eta_b * biases[j]
    return largest * math.sqrt(length2)
