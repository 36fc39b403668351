r"""Gradient of one large batch for the first layer of a two-layer network, block by block.

.. math:: G_i = \frac{a_i}{n_B} \sum_\mu (y_\mu - f(x_\mu))\,
          \sigma'(\langle w_i, x_\mu\rangle + b_i)\, x_\mu, \qquad
          f(x) = \frac1p \sum_i a_i\, \sigma(\langle w_i, x\rangle + b_i).    [GS-1]

For labels -1 and 1 and the logistic loss the residual y - f becomes :math:`(y - \tanh(f/2))/2`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...targets.activation import Activation
from ...targets.language.evaluate import evaluate_columns
from .._feature_map import CACHED_NUMBERS
from .._standardize import row_blocks


@dataclass(frozen=True)
class FirstLayer:
    r"""Two-layer network whose first layer moves.

    Parameters
    ----------
    activation : Activation
        :math:`\sigma`.
    weights : ndarray (p, d)
        Rows w.
    bias, readout : ndarray (p,)
        b and a.
    mirrored : bool
        Whether the second half of the neurons is the first with opposite a, so that f = 0.
    logistic : bool
        Whether the steps are those of the logistic loss, else of the square loss.
    """

    activation: Activation
    weights: np.ndarray
    bias: np.ndarray
    readout: np.ndarray
    mirrored: bool
    logistic: bool = False


class GradientSum:
    r"""Minus the gradient [GS-1] of a network, times p, summed over blocks of rows.

    Parameters
    ----------
    layer : FirstLayer
        The network.
    with_output : bool
        Whether the output f is taken off the labels, or left out of [GS-1].
    with_linear : bool
        Whether the leading order :math:`\overline{\sigma'}\;\overline{y x}` stays in the mean.

    Examples
    --------
    >>> one = np.ones((1, 1))
    >>> layer = FirstLayer(Activation("z"), one, np.zeros(1), np.ones(1), mirrored=False)
    >>> total = GradientSum(layer)
    >>> total.add(one, np.array([3.0]))
    >>> total.mean, total.mean_square
    (array([[2.]]), 4.0)
    """

    def __init__(
        self, layer: FirstLayer, *, with_output: bool = True, with_linear: bool = True
    ) -> None:
        self._layer, self._with_output = layer, with_output and not layer.mirrored
        self._with_linear = with_linear
        p, d = layer.weights.shape
        # A mirrored network is zero, and the gradients of its pairs are opposite.
        self._q = p // 2 if layer.mirrored else p
        self._total, self._squares, self._n = np.zeros((self._q, d)), 0.0, 0
        self._slopes, self._linear = np.zeros(self._q), np.zeros(d)
        self._slope = layer.activation.derivative()
        self._readout = (layer.readout / p).astype(layer.weights.dtype)
        self._buffer = np.empty((0, self._q), layer.weights.dtype)

    def add(self, X: np.ndarray, y: np.ndarray) -> None:
        """Count the rows of a block."""
        q, n = self._q, len(y)
        if len(self._buffer) < n:
            self._buffer = np.empty((n, q), self._buffer.dtype)
        field = np.matmul(X, self._layer.weights[:q].T, out=self._buffer[:n])
        for part in row_blocks(n, max(1, CACHED_NUMBERS // q)):
            self._squares += self._pull(field[part], y[part])
        self._total += field.T @ X
        self._n += n
        if not self._with_linear:
            self._linear += y @ X

    @property
    def mean(self) -> np.ndarray:
        """Mean (p, d) over the rows."""
        mean = self._total / self._n
        if not self._with_linear:
            mean -= np.outer(self._slopes / self._n, self._linear / self._n)
        mean *= self._layer.readout[: self._q, None]
        return np.concatenate([mean, -mean]) if self._layer.mirrored else mean

    @property
    def mean_square(self) -> float:
        """Mean of (y - f)^2 over the rows; of (y - tanh(f/2))^2 for the logistic loss."""
        return self._squares / self._n

    def _pull(self, field: np.ndarray, y: np.ndarray) -> float:
        """Turn fields into the residual times the slope, in place; returns the sum of squares."""
        layer, residual = self._layer, y
        if layer.bias.any():
            field += layer.bias[: self._q]
        if self._with_output:
            output = values_of(layer.activation, field) @ self._readout
            residual = y - (np.tanh(output / 2) if layer.logistic else output)
        missed = float(residual @ residual)
        if layer.logistic:
            residual = residual / 2
        slopes = values_of(self._slope, field)
        if not self._with_linear:
            self._slopes += np.sum(slopes, axis=0)
        np.multiply(slopes, residual[:, None].astype(field.dtype), out=field)
        return missed


def values_of(function: Activation, field: np.ndarray) -> np.ndarray:
    """Values of a function at fields, as they are."""
    values: np.ndarray = evaluate_columns(function.expression.tree, lambda index: field)
    return values
