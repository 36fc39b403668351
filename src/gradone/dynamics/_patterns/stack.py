r"""What the chains of buffers and weights have in common.

Rows S = [V; W] of buffers and weights (W alone without momentum), k of them, are held as in
:mod:`.frame`. With the coordinates :math:`\hat G` of the mean gradient on the frame and outside it,

.. math:: \hat V' = \beta \hat V + c\,\hat G, \qquad \hat D = \hat V' \text{ or }
          c\,\hat G + \beta \hat V', \qquad
          \hat W' = (1 - \eta\,\mathrm{wd})\,\hat W + \eta\,\Psi(\hat D) \qquad [SG-7]

with the factor c of the clipping and :math:`\Psi(D)` = D, :math:`D/|D|` or the orthogonal factor of
D: lengths are those of the coordinates.

Inputs may have several eigenvalues: then there is a frame for each, and all share the coefficients.
A sample has `raw` coordinates on the hidden directions and, for each of the blocks, k more on its
frame; they come in with the roots of their eigenvalues, and so do the factors of what is outside.
"""

from __future__ import annotations

from .frame import helper

MOMENTUM = False  # there are buffers
LOOK_AHEAD = False  # the gradient is taken at W + eta beta V
UNIT_STEP = False  # normalized

# --------------------------------------------------------------------------------------------------


@helper
def stacked_field(M, columns, row, x):
    """Field of a row of the stack."""
    k, raw = M.shape
    value = 0.0
    for i in range(raw):
        value += M[row, i] * x[i]
    for block in range(columns.shape[0]):
        for i in range(row + 1):
            value += columns[block, i, row] * x[raw + block * k + i]
    return value


@helper
def keep_stack(M, columns, a, b, mark, out_M, out_columns, out_a, out_b):
    """Copy the state."""
    k, raw = M.shape
    for j in range(a.size):
        out_a[mark, j], out_b[mark, j] = a[j], b[j]
    for row in range(k):
        for i in range(raw):
            out_M[mark, row, i] = M[row, i]
        for block in range(columns.shape[0]):
            for i in range(k):
                out_columns[mark, block, i, row] = columns[block, i, row]
