r"""A two-layer network with one output for each class, trained by the cross-entropy.

With outputs :math:`f_c = \sum_j A_{cj} \sigma(\langle w_j, x\rangle + b_j)` and the probabilities
:math:`p_c \propto e^{f_c}`, minus the gradient of :math:`-\log p_y` for neuron j is

.. math:: \sum_c A_{cj}\,(1[y = c] - p_c)\,\sigma'(\langle w_j, x\rangle + b_j)\,x. \qquad [GD-6]
"""

from __future__ import annotations

import numpy as np

from ...targets.training import TrainedStudent
from ._optimizers import Optimizer, move

_FAR = 1e6


def first_readout(classes: int, width: int) -> np.ndarray:
    """Readout (classes, width): neurons speak for the classes in turn, and sum to zero over them.

    Examples
    --------
    >>> first_readout(2, 2)
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    return (np.arange(width) % classes == np.arange(classes)[:, None]) - 1 / classes


class SoftmaxNetwork:
    """Weights, readout and bias of a network that is being trained.

    Parameters
    ----------
    student : TrainedStudent
        The network and its update, with a number as its step size.
    weights, readout, bias : ndarray (width, d), (classes, width), (width,)
        They are changed in place.
    optimizer : Optimizer
        What is made of a gradient.
    """

    def __init__(
        self, student: TrainedStudent, weights: np.ndarray, readout: np.ndarray, bias: np.ndarray,
        optimizer: Optimizer,
    ) -> None:  # fmt: skip
        self.student, self.optimizer = student, optimizer
        self.weights, self.readout, self.bias = weights, readout, bias
        self.updates, self.diverged = 0, False

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Outputs (n, classes) at the rows of X."""
        fields = (X @ self.weights.T).astype(np.float64) + self.bias
        return self.student.sigma(fields) @ self.readout.T

    def train(self, X: np.ndarray, which: np.ndarray) -> np.ndarray:
        """One update for every batch of rows; -log p of the class of each row before its update."""
        s, losses = self.student, np.zeros(len(which))
        slope = s.sigma.derivative()
        for first in range(0, len(which), s.batch_size):
            rows = slice(first, first + s.batch_size)
            x, classes = X[rows], which[rows]
            seen_from = self.optimizer.seen_from(self.weights)
            fields = (x @ seen_from.T).astype(np.float64) + self.bias
            features = s.sigma(fields)
            p = probabilities(features @ self.readout.T)
            each = np.arange(len(classes))
            losses[rows] = -np.log(np.maximum(p[each, classes], 1e-300))
            missed = -p
            missed[each, classes] += 1
            push = (missed @ self.readout) * slope(fields)
            rate = self.optimizer.rate
            gradient = self.optimizer.pushes(push, x).T @ x / len(classes)
            sizes = move(s, self.weights, rate * s.eta, self.optimizer.direction(gradient))
            self.readout += rate * (s.train_readout or 0.0) * missed.T @ features / len(classes)
            self.bias += rate * (s.train_bias or 0.0) * push.mean(axis=0)
            self.updates += 1
            self.diverged = not ((sizes < _FAR).all() and np.isfinite(self.readout).all())
            if self.diverged:
                break
        return losses


def probabilities(outputs: np.ndarray) -> np.ndarray:
    """Shares (n, classes) in proportion to the exponentials of the outputs."""
    shares: np.ndarray = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)
