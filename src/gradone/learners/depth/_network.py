r"""Fully connected ReLU networks, their gradients by backpropagation, and AdamW."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._standardize import chunk_rows, row_blocks

_DECAY_OF_MEAN, _DECAY_OF_SQUARE, _FLOOR = 0.9, 0.999, 1e-8
_RISE, _START, _END = 0.3, 25.0, 1e4  # share of the rise; peak/start, start/end of the rate


class ReluNetwork:
    r"""A network :math:`f = w_L \cdot \sigma(W_{L-1} \cdots \sigma(W_1 x + b_1) \cdots) + b_L`.

    All parameters lie in one vector, of which the matrices are views: an update is a few
    operations on one array.

    Parameters
    ----------
    sizes : sequence of int
        Input dimension and widths of the hidden layers.
    dtype : numpy dtype
        Of the parameters.

    Examples
    --------
    >>> network = ReluNetwork((2, 3), np.float64)
    >>> network.weights[0][:], network.weights[1][:] = 1.0, 2.0
    >>> network(np.array([[1.0, 1.0], [-1.0, 0.0]])).tolist()
    [12.0, 0.0]
    """

    def __init__(self, sizes: Sequence[int], dtype: Any = np.float32) -> None:
        self.sizes = tuple(int(size) for size in sizes)
        shapes = list(zip((*self.sizes[1:], 1), self.sizes, strict=True))
        self.parameters = np.zeros(sum(out * (into + 1) for out, into in shapes), dtype)
        self.weights, self.biases = _views(self.parameters, shapes)
        self._shapes = shapes

    @classmethod
    def drawn(
        cls, rows: np.ndarray, widths: Sequence[int], rng: np.random.Generator
    ) -> ReluNetwork:
        r"""A network with given first rows (p, d), in float32.

        First biases are uniform in :math:`\pm 1`, all other parameters in
        :math:`\pm 1/\sqrt{\text{inputs of their layer}}`.
        """
        network = cls((rows.shape[1], *widths))
        network.weights[0][:], network.biases[0][:] = rows, rng.uniform(-1, 1, len(rows))
        for weights, bias in zip(network.weights[1:], network.biases[1:], strict=True):
            bound = 1 / math.sqrt(weights.shape[1])
            weights[:] = rng.uniform(-bound, bound, weights.shape)
            bias[:] = rng.uniform(-bound, bound, bias.shape)
        return network

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Outputs (n,) in the precision of X."""
        top = np.maximum(self.hidden(X, len(self.sizes) - 1), 0)
        out: np.ndarray = top @ self.weights[-1][0].astype(X.dtype, copy=False)
        return out + self.biases[-1].astype(X.dtype, copy=False)

    def copy(self) -> ReluNetwork:
        """The same parameters in an array of their own."""
        other = ReluNetwork(self.sizes, self.parameters.dtype)
        other.parameters[:] = self.parameters
        return other

    def hidden(self, X: np.ndarray, layer: int) -> np.ndarray:
        """What enters the neurons of a hidden layer (n, width), from 1; above them the output."""
        dtype = X.dtype
        for below in range(min(layer, len(self.weights))):
            if below:
                X = np.maximum(X, 0)
            weights, bias = self.weights[below], self.biases[below]
            X = X @ weights.T.astype(dtype, copy=False) + bias.astype(dtype, copy=False)
        return X

    def sensitivity(self, X: np.ndarray) -> np.ndarray:
        r"""Mean of :math:`\nabla f\, \nabla f^\top` over rows (d, d): what f depends on."""
        total = np.zeros((self.sizes[1], self.sizes[1]))
        for part in row_blocks(len(X), chunk_rows(sum(self.sizes), X.itemsize)):
            layers = range(1, len(self.sizes))
            active = [self.hidden(X[part], layer) > 0 for layer in layers]
            gradient = active[-1] * self.weights[-1][0]
            for layer in reversed(layers[:-1]):
                gradient = (gradient @ self.weights[layer]) * active[layer - 1]
            total += gradient.T @ gradient
        found: np.ndarray = self.weights[0].T @ (total / len(X)) @ self.weights[0]
        return found

    def backpropagation(self, rows: int) -> Backpropagation:
        """Gradients of this network for batches of that many rows."""
        return Backpropagation(self, rows)


class Backpropagation:
    r"""Gradient of the mean of :math:`(y - f)^2` over a batch; every buffer is made once.

    Parameters
    ----------
    network : ReluNetwork
        Read at every call: it may move between them.
    rows : int
        Rows of every batch.
    """

    def __init__(self, network: ReluNetwork, rows: int) -> None:
        dtype = network.parameters.dtype
        self.network = network
        self.gradient = np.zeros_like(network.parameters)
        self._weights, self._biases = _views(self.gradient, network._shapes)
        self._hidden = [np.empty((rows, width), dtype) for width in network.sizes[1:]]
        self._errors = [np.empty((rows, width), dtype) for width in network.sizes[1:]]
        self._ones = np.ones(rows, dtype)

    def __call__(self, X: np.ndarray, y: np.ndarray) -> float:
        """Mean square error of the batch; its gradient is in ``gradient``."""
        network, below = self.network, X
        for layer, hidden in enumerate(self._hidden):
            np.matmul(below, network.weights[layer].T, out=hidden)
            hidden += network.biases[layer]
            np.maximum(hidden, 0, out=hidden)
            below = hidden
        residual = below @ network.weights[-1][0]
        residual += network.biases[-1]
        residual -= y
        loss = float(residual @ residual) / len(y)
        residual *= 2 / len(y)
        np.matmul(residual, below, out=self._weights[-1][0])
        self._biases[-1][0] = residual.sum()
        for layer in reversed(range(len(self._hidden))):
            error, hidden = self._errors[layer], self._hidden[layer]
            if layer == len(self._hidden) - 1:
                np.multiply(residual[:, None], network.weights[-1], out=error)
            else:
                np.matmul(self._errors[layer + 1], network.weights[layer + 1], out=error)
            error *= hidden > 0
            below = self._hidden[layer - 1] if layer else X
            np.matmul(error.T, below, out=self._weights[layer])
            np.matmul(self._ones, error, out=self._biases[layer])
        return loss


class AdamW:
    r"""Adam with decoupled weight decay :math:`p \leftarrow (1 - \eta\lambda) p`.

    Parameters
    ----------
    parameters : ndarray
        Moved in place.
    weight_decay : float
        :math:`\lambda`.

    Examples
    --------
    The first step has the length of the rate, whatever the gradient:

    >>> p = np.array([1.0, 1.0])
    >>> AdamW(p, weight_decay=0.0).step(np.array([1e-3, -5.0]), 0.1)
    >>> p.round(4)
    array([0.9, 1.1])
    """

    def __init__(self, parameters: np.ndarray, *, weight_decay: float) -> None:
        self.parameters, self.weight_decay = parameters, weight_decay
        self._mean, self._square = np.zeros_like(parameters), np.zeros_like(parameters)
        self._scratch, self._root = np.empty_like(parameters), np.empty_like(parameters)
        self._steps = 0

    def step(self, gradient: np.ndarray, rate: float) -> None:
        """Move along a gradient."""
        # Python floats keep float32 arrays what they are; NumPy scalars of float64 would not.
        self._steps += 1
        scratch, root = self._scratch, self._root
        self._mean *= _DECAY_OF_MEAN
        np.multiply(gradient, 1 - _DECAY_OF_MEAN, out=scratch)
        self._mean += scratch
        self._square *= _DECAY_OF_SQUARE
        np.multiply(gradient, gradient, out=scratch)
        scratch *= 1 - _DECAY_OF_SQUARE
        self._square += scratch
        np.sqrt(self._square, out=root)
        root *= 1 / math.sqrt(1 - _DECAY_OF_SQUARE**self._steps)
        root += _FLOOR
        np.divide(self._mean, root, out=scratch)
        scratch *= rate / (1 - _DECAY_OF_MEAN**self._steps)
        self.parameters *= 1 - rate * self.weight_decay
        self.parameters -= scratch


def one_cycle(step: int, total: int, peak: float) -> float:
    r"""Rate of a step: a cosine from peak/25 up over 30% of the steps, then one down to 4e-6 peak.

    Examples
    --------
    >>> [float(f"{one_cycle(step, 101, 1.0):.2g}") for step in (0, 30, 65, 100)]
    [0.04, 1.0, 0.5, 4e-06]
    """
    last = max(total - 1, 1)
    top = _RISE * last
    low, end = peak / _START, peak / (_START * _END)
    if step < top:
        return low + (peak - low) * (1 - math.cos(math.pi * step / top)) / 2
    return end + (peak - end) * (1 + math.cos(math.pi * (step - top) / (last - top))) / 2


def _views(
    vector: np.ndarray, shapes: Sequence[tuple[int, int]]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Matrices (out, in) and biases (out,) of the layers, as views of one vector."""
    weights, biases, at = [], [], 0
    for out, into in shapes:
        weights.append(vector[at : at + out * into].reshape(out, into))
        at += out * into
        biases.append(vector[at : at + out])
        at += out
    return weights, biases
