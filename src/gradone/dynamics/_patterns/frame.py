r"""What the compiled chains have in common.

What stands below the line of dashes of a pattern is copied into a generated module, where the
names above that line are those of one student and target: here they are those of a relu that
learns z1 by plain SGD, so that the files can be read, checked and run as they are.

State: the overlaps M (p, r) and the columns of a lower-triangular L, meaning W = M W* + L E with
orthonormal rows in E, orthogonal to W*; E is never stored. ``columns[k]`` is column k of L. A
sample has the coordinates (u*, u) on the rows of W* and E, and a part outside that is Gaussian and
never seen. Overlaps and fields are

.. math:: Q = MM^\top + LL^\top, \qquad \lambda = M u^\star + L u. \qquad [SG-1]

Random numbers come in: a kernel has none. Loops are written out: what numba makes of whole arrays
takes seconds to compile.
"""

from __future__ import annotations

import math

from ...base.machine_code import njit

SQUARE_LOSS = True  # e = y - f
OTHER_LOSS = False  # e is the residual of the label and the output; if neither, e = y
DISPLACED = False  # the gradient is taken at a displaced point
NORMALIZED = False  # ... at a fixed distance
REPEATED = False  # several steps on the same batch
UNIT_NORM = False  # projected and spherical
TANGENT = False  # spherical


@njit
def sigma(x):
    """Activation."""
    return max(x, 0.0)


@njit
def slope(x):
    """Derivative of the activation."""
    return 1.0 if x > 0 else 0.0


@njit
def residual(y, f):
    """Minus the derivative of the loss by the output."""
    return y - f


@njit
def label(x):
    """Noiseless label of a sample, from its first r coordinates."""
    return x[0]


# --------------------------------------------------------------------------------------------------

# For functions that only compiled code calls: without what Python would need to call them they
# compile in less time. The types that numba publishes do not know these options.
WITHOUT_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
helper = njit(nogil=True, error_model="numpy", **WITHOUT_WRAPPERS)  # type: ignore[call-overload]


@helper
def gradient(field, y, a, b, push):
    """push_j = a_j e sigma'(field_j + b_j); returns e."""
    e = y
    if SQUARE_LOSS:
        for j in range(a.size):
            e -= a[j] * sigma(field[j] + b[j])
    if OTHER_LOSS:
        output = 0.0
        for j in range(a.size):
            output += a[j] * sigma(field[j] + b[j])
        e = residual(y, output)
    for j in range(a.size):
        push[j] = a[j] * e * slope(field[j] + b[j])
    return e


@helper
def fields(M, columns, x, field):
    """Fields of a sample, M u* + L u."""
    p, r = M.shape
    for j in range(p):
        value = 0.0
        for k in range(r):
            value += M[j, k] * x[k]
        for k in range(j + 1):
            value += columns[k, j] * x[r + k]
        field[j] = value


@helper
def squared_norm(M, columns, j):
    """Q_jj."""
    total = 0.0
    for k in range(M.shape[1]):
        total += M[j, k] * M[j, k]
    for k in range(j + 1):
        total += columns[k, j] * columns[k, j]
    return total


@helper
def normalize(M, columns):
    """Bring every neuron to unit norm."""
    for j in range(M.shape[0]):
        scale = 1.0 / math.sqrt(squared_norm(M, columns, j))
        for k in range(M.shape[1]):
            M[j, k] *= scale
        for k in range(j + 1):
            columns[k, j] *= scale


@helper
def absorb(columns, v):
    """L <- tri([L, v]) by rotations; v is used up."""
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


@helper
def add_outer(columns, c, x, r, rho):
    """L <- tri([L, 0] + c (u, rho)^T), u = x[r:], in two sweeps of rotations of columns."""
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
            first, second = x[r + k], h
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


@helper
def rebuild(M, columns, G, S, along, T, scale, keep, moves):
    """M <- A M + scale G*, L <- tri[A L + scale G', scale S^T T], then the geometry.

    G = (G*, G') is the gradient on the m known directions, ``S[k]`` column k of a factor of
    C^T C, where C (b, p) are the coefficients that act outside of them: there X is Gaussian, and
    C^T X has the law of S^T T with a Bartlett factor T. `moves` (m - r + p, p) is room for work.
    """
    p, r = M.shape
    known = moves.shape[0] - p
    for j in range(p):
        factor = keep
        if TANGENT:
            factor -= scale * along[j] / squared_norm(M, columns, j)
        for k in range(r):
            M[j, k] = factor * M[j, k] + scale * G[j, k]
        for k in range(known):
            moves[k, j] = scale * G[j, r + k]
        for k in range(j + 1):
            moves[k, j] += factor * columns[k, j]
        for k in range(p):
            value = 0.0
            for i in range(j + 1):
                value += S[i, j] * T[i, k]
            moves[known + k, j] = scale * value
    for k in range(p):
        for j in range(p):
            columns[k, j] = 0.0
    for k in range(known + p):
        absorb(columns, moves[k])
    if UNIT_NORM:
        normalize(M, columns)


@helper
def keep_state(M, columns, a, b, mark, out_M, out_columns, out_a, out_b):
    """Copy the state."""
    p, r = M.shape
    for j in range(p):
        out_a[mark, j], out_b[mark, j] = a[j], b[j]
        for k in range(r):
            out_M[mark, j, k] = M[j, k]
        for k in range(p):
            out_columns[mark, j, k] = columns[j, k]
