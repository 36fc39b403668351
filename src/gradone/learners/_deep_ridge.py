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

import numpy as np

from ._deep_data import SplitData
from ._network import ReluNetwork
from ._readout_moments import ReadoutMoments, chosen_ridge
from ._standardize import chunk_rows, row_blocks

_REACH = 2.5  # the link bends within this many standard deviations of its argument


def ridge_network(
    data: SplitData, rows: np.ndarray, widths: tuple[int, ...], rng: np.random.Generator
) -> ReluNetwork:
    """Network of two layers, or of three with a second layer of rank one.

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
        return two
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
    link = _link(units, data.y_held.astype(np.float64))
    three.weights[2][0], three.biases[2][0] = link
    return three


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


def _link(units: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Ridge readout of the last units; every fifth row chooses the ridge, then all are fitted."""
    block = np.column_stack([units, np.ones(len(y)), y])
    compared = np.arange(len(y)) % 5 == 4
    used, held_out = (
        ReadoutMoments(units.shape[1], scale=1.0, fit_intercept=True) for _ in range(2)
    )
    used.add(np.ascontiguousarray(block[~compared]))
    held_out.add(np.ascontiguousarray(block[compared]))
    return (used + held_out).fitted([chosen_ridge(used, held_out)])[0]
