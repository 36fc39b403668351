r"""Optimizers of a two-layer network on samples, written with whole arrays.

From the gradient G [GD-1] of a batch, minus the derivative of its mean loss, and the buffer V,

.. math:: V \leftarrow \beta V + \mathrm{clip}(G), \qquad D = V \text{ or } \mathrm{clip}(G) +
          \beta V, \qquad W \leftarrow (1 - \eta\,\mathrm{wd})\,W + \eta\,\Psi(D).    [GD-5]
"""

from __future__ import annotations

import math

import numpy as np

from ...targets.optimizers import (
    EPSILON,
    NEWTON_SCHULZ,
    NEWTON_SCHULZ_STEPS,
    Schedule,
)
from ...targets.training import TrainedStudent


class Optimizer:
    """What an optimizer remembers, and what it makes of a gradient.

    Parameters
    ----------
    student : TrainedStudent
        Its optimizer, momentum, clipping and schedule.
    shape : tuple of int
        Of the weights (width, d).
    updates : int
        All updates of the run, for the schedule.

    Examples
    --------
    >>> from gradone.targets.training import read_training
    >>> student = read_training(width=1, optimizers=True, step_size=1.0, momentum=0.5)
    >>> optimizer = Optimizer(student, (1, 2), 10)
    >>> G = np.array([[1.0, 0.0]])
    >>> optimizer.direction(G).tolist(), optimizer.direction(G).tolist()
    ([[1.0, 0.0]], [[1.5, 0.0]])
    """

    def __init__(self, student: TrainedStudent, shape: tuple[int, int], updates: int) -> None:
        self._student, self._updates = student, max(updates, 1)
        self._schedule = None if student.schedule is None else Schedule(student.schedule)
        self._first, self._second = np.zeros(shape), np.zeros(shape)
        self._made = 0

    @property
    def rate(self) -> float:
        """Factor of all step sizes at the next update."""
        if self._schedule is None:
            return 1.0
        return float(self._schedule(np.array(min(self._made / self._updates, 1.0))))

    def seen_from(self, W: np.ndarray) -> np.ndarray:
        """Where the gradient is taken: at the weights, or ahead of them."""
        student = self._student
        if student.nesterov != "look_ahead":
            return W
        ahead = self.rate * student.eta * student.momentum * self._first
        return (W + ahead).astype(W.dtype, copy=False)

    def pushes(self, push: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Coefficients (n, p) of the samples in the gradient, clipped if each sample is."""
        student = self._student
        if student.clip_norm is None or student.clip != "sample":
            return push
        length = np.linalg.norm(push, axis=1) * np.linalg.norm(X, axis=1)
        safe = np.where(length > 0, length, math.inf)
        return push * np.minimum(1.0, student.clip_norm / safe)[:, None]

    def direction(self, G: np.ndarray) -> np.ndarray:
        """Psi(D) of the next update [GD-5]."""
        student = self._student
        self._made += 1
        if student.clip_norm is not None and student.clip == "batch":
            G = G * min(1.0, student.clip_norm / max(float(np.linalg.norm(G)), 1e-300))
        if student.optimizer == "sign":
            return np.sign(G)
        if student.optimizer in ("rmsprop", "adam"):
            return self._adapted(G)
        D, beta = G, student.momentum
        if beta:
            self._first = beta * self._first + G
            D = G + beta * self._first if student.nesterov is True else self._first
        if student.optimizer == "normalized":
            return D / max(float(np.linalg.norm(D)), 1e-300)
        return _orthogonal(D, student.orthogonalize) if student.optimizer == "muon" else D

    def _adapted(self, G: np.ndarray) -> np.ndarray:
        """Adam; RMSprop is the same without the first memory and without corrections."""
        one, two = self._student.betas
        self._second = two * self._second + (1 - two) * G * G
        if self._student.optimizer == "rmsprop":
            return G / (np.sqrt(self._second) + EPSILON)
        self._first = one * self._first + (1 - one) * G
        mean, square = self._first / (1 - one**self._made), self._second / (1 - two**self._made)
        return mean / (np.sqrt(square) + EPSILON)


def _orthogonal(D: np.ndarray, how: str) -> np.ndarray:
    """The nearest matrix with orthonormal rows, or what five Newton-Schulz steps make of it."""
    if how == "polar":
        left, sizes, right = np.linalg.svd(D, full_matrices=False)
        real = sizes > 1e-7 * max(float(sizes[0]), 1e-300)
        return (left * real) @ right
    one, three, five = NEWTON_SCHULZ
    X = D / max(float(np.linalg.norm(D)), 1e-300)
    for _ in range(NEWTON_SCHULZ_STEPS):
        A = X @ X.T
        X = one * X + (three * A + five * A @ A) @ X
    return X


def move(student: TrainedStudent, W: np.ndarray, eta: float, direction: np.ndarray) -> np.ndarray:
    """Move the weights by eta times a direction, in place and in their geometry.

    Returns the lengths of the neurons before they are brought back to the sphere, if they are.

    Examples
    --------
    >>> from gradone.targets.training import read_training
    >>> W = np.array([[0.0, 1.0]])
    >>> move(read_training(geometry="spherical", step_size=1.0), W, 1.0, np.array([[1.0, 3.0]]))
    array([1.41421356])
    >>> W
    array([[0.70710678, 0.70710678]])
    """
    step = eta * direction
    if student.geometry == "spherical":
        squares = (W**2).sum(axis=1, keepdims=True)
        step = step - (step * W).sum(axis=1, keepdims=True) / squares * W
    W[:] = (1 - eta * student.weight_decay) * W + step
    lengths: np.ndarray = np.linalg.norm(W, axis=1)
    if student.geometry != "euclidean":
        W /= lengths[:, None]
    return lengths
