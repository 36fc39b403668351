r"""Second and third layer in closed form: one preconditioned step, then a link on fresh rows.

From :math:`W_2 = 0` one step on the second layer, preconditioned by the covariance of the first
features F, is of rank one,

.. math:: W_2 = c\,\hat\beta^\top, \qquad
          \hat\beta = (F F^\top + \lambda I)^{-1} F y,    [LW-5]

so that every neuron of the second layer sees the same function
:math:`\hat h(x) = \langle\hat\beta, \sigma(W_1 x + b_1)\rangle`, the ridge fit of two layers. The
last layer is a function of :math:`\hat h` alone. It is fitted to rows that :math:`\hat\beta` has
not seen: on its own rows :math:`\hat h` is too close to the labels.
"""

from __future__ import annotations

import math
from functools import reduce
from operator import add

import numpy as np

from .._standardize import chunk_rows, row_blocks
from ..giant._readout_moments import ReadoutMoments, chosen_ridge
from ._data import SplitData, beats
from ._network import ReluNetwork

_FOLDS = 5  # parts of the rows that a link is fitted to
_CLEAR = 1.0  # standard deviations by which a link must be better than the identity
_REACH = 2.5  # the link bends within this many standard deviations of its argument


def ridge_network(
    data: SplitData, rows: np.ndarray, widths: tuple[int, ...], rng: np.random.Generator
) -> tuple[ReluNetwork, np.ndarray]:
    """Network of two layers, or of three with a second layer of rank one, and its errors.

    They are errors on the rows held out, none of which the link that is compared has seen.

    The link of three layers is the identity unless it predicts rows that it has not seen better
    than that: three layers are not worse than two.

    Parameters
    ----------
    data : SplitData
        The rows held out choose the ridge of the second layer and fit the third.
    rows : ndarray (p, d)
        First layer.
    widths : tuple of int
        Of one or two hidden layers.
    rng : Generator
        Biases.
    """
    bias = rng.uniform(-1, 1, len(rows))
    two = ReluNetwork((rows.shape[1], len(rows)))
    two.weights[0][:], two.biases[0][:] = rows, bias
    beta, constant = _readout(two, data)
    two.weights[1][0], two.biases[1][0] = beta, constant
    if len(widths) == 1:
        return two, data.held_out_errors(two)
    three = ReluNetwork((rows.shape[1], len(rows), widths[1]))
    three.weights[0][:], three.biases[0][:] = rows, bias
    argument = two(data.X_held).astype(np.float64)
    center, scale = float(argument.mean()), float(argument.std()) or 1.0
    # Both signs of the slope at equal offsets: the identity is among the links.
    slope = np.where(np.arange(widths[1]) % 2, -1.0, 1.0) / scale
    offset = np.repeat(rng.uniform(-_REACH, _REACH, -(-widths[1] // 2)), 2)[: widths[1]]
    three.weights[1][:] = slope[:, None] * beta
    three.biases[1][:] = slope * (constant - center - scale * offset)
    units = np.maximum((argument - center)[:, None] * slope - slope * scale * offset, 0.0)
    labels, unlinked = data.y_held.astype(np.float64), data.held_out_errors(two)
    weights, bottom, errors = _link(units, labels)
    if len(slope) > 1 and not beats(errors, unlinked, _CLEAR):
        weights, bottom, errors = np.zeros(len(slope)), center + scale * offset[0], unlinked
        weights[0], weights[1] = scale, -scale
    three.weights[2][0], three.biases[2][0] = weights, bottom
    return three, errors


def _readout(network: ReluNetwork, data: SplitData) -> tuple[np.ndarray, float]:
    """Ridge readout of the first features; the rows held out choose the ridge."""
    p = network.sizes[1]
    scale = 1 / math.sqrt(p)
    sums = []
    for X, y in ((data.X, data.y), (data.X_held, data.y_held)):
        moments = ReadoutMoments(p, scale=scale, fit_intercept=True)
        for part in row_blocks(len(y), chunk_rows(p, 4)):
            block = np.empty((part.stop - part.start, p + 2), np.float32)
            np.maximum(network.hidden(X[part], 1), 0, out=block[:, :p])
            block[:, -2], block[:, -1] = 1.0, y[part]
            moments.add(block)
        sums.append(moments)
    used, held_out = sums
    a, constant = used.fitted([chosen_ridge(used, held_out)])[0]
    return scale * a, constant


def _link(units: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """Ridge readout of the last units, and errors (n,) on rows that it has not seen.

    Every fifth row chooses the ridge; then all are fitted, and for the errors each fifth of them is
    predicted by the others.
    """
    block = np.column_stack([units, np.ones(len(y)), y])
    fold = np.arange(len(y)) % _FOLDS
    parts = []
    for k in range(_FOLDS):
        part = ReadoutMoments(units.shape[1], scale=1.0, fit_intercept=True)
        part.add(np.ascontiguousarray(block[fold == k]))
        parts.append(part)
    others = [reduce(add, parts[:k] + parts[k + 1 :]) for k in range(_FOLDS)]
    ridge = chosen_ridge(others[-1], parts[-1])
    errors = np.array(y)
    for k, rest in enumerate(others):
        if rest.n:
            a, constant = rest.fitted([ridge])[0]
            errors[fold == k] -= units[fold == k] @ a + constant
    weights, constant = reduce(add, parts).fitted([ridge])[0]
    return weights, constant, errors
