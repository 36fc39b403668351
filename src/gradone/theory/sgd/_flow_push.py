r"""The push of one sample on every neuron, for every rule, in the limit of high dimension.

A step moves :math:`w_j` by :math:`(s_j/d)\,x`; this file computes :math:`s`. In the limit
:math:`|x|^2/d = 1` and different samples are orthogonal, so an inner move by c x moves a sample's
own field by d c, and those of the other samples of the batch not at all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...targets.activation import Activation
from ...targets.training import TrainedStudent


class Neurons(NamedTuple):
    """State of the student in the limit: the order parameters and what else is trained.

    Parameters
    ----------
    M : ndarray (p, r)
        Overlaps with the hidden directions.
    rest : ndarray (p, p)
        Q - M M^T: products of the parts of the weights outside the hidden directions.
    a, b : ndarray (p,)
        Readout and bias.
    """

    M: np.ndarray
    rest: np.ndarray
    a: np.ndarray
    b: np.ndarray


class Pushes(NamedTuple):
    """What one sample does; n samples, p neurons.

    Parameters
    ----------
    moves : ndarray (n, p)
        The pushes s.
    error, features, slopes : ndarray (n,), (n, p), (n, p)
        e, sigma and sigma' that train readout and bias.
    misfit : ndarray (n,)
        y - f before the update, whatever the loss.
    """

    moves: np.ndarray
    error: np.ndarray
    features: np.ndarray
    slopes: np.ndarray
    misfit: np.ndarray


class Push:
    r"""Moves of all neurons at given fields and labels.

    .. math::
        s_j = \gamma\,a_j\,e(\tilde\lambda)\,\sigma'(\tilde\lambda_j), \qquad
        \tilde\lambda_j = \lambda_j + \frac{\rho}{b}\,a_j\,e(\lambda)\,\sigma'(\lambda_j),
        \qquad [FL-2]

    for a batch of b samples; for several steps on one batch s is their sum.

    Parameters
    ----------
    student : TrainedStudent
        With d times the step sizes, and :math:`\sqrt d` times the radius.
    """

    def __init__(self, student: TrainedStudent) -> None:
        self.student = student
        self.activation: Activation = student.sigma
        self._slope = student.sigma.derivative()

    @property
    def is_plain(self) -> bool:
        """Whether the push is linear in the label."""
        return self.student.is_plain_gradient

    @property
    def is_bounded(self) -> bool:
        """Whether the optimizer clips, normalizes or takes signs of gradients."""
        return self.student.optimizer != "sgd" or self.student.clip_norm is not None

    @property
    def has_jumps(self) -> bool:
        """Whether the push may jump, or have a kink, when the fields move."""
        kinks = bool(self.activation.kinks) or self.student.residual.has_kinks
        return kinks or self.is_bounded or self.student.rule == "sam_normalized"

    @property
    def gain(self) -> float:
        """Factor of the moves that their noise does not have."""
        return math.sqrt(2 / math.pi) if self.student.optimizer == "sign" else 1.0

    def __call__(self, fields: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray) -> Pushes:
        """Moves at fields (n, p) and labels (n,)."""
        student = self.student
        gamma = student.rate
        push, error, features, slopes = before = self.gradient(fields, y, a, b)
        misfit = error if student.loss == "square" else y - np.einsum("nj,j->n", features, a)
        if student.rule in ("extragradient", "sam", "sam_normalized"):
            fields = fields + self._displacement(push)
            push, error, features, slopes = self.gradient(fields, y, a, b)
            return Pushes(gamma * push, error, features, slopes, misfit)
        if self.is_bounded:  # one sample; batches are tied together elsewhere
            return Pushes(gamma * self._bounded(push), error, features, slopes, misfit)
        size, factor = gamma, 1.0
        if student.rule in ("k_steps", "look_ahead"):
            if student.rule == "look_ahead":
                assert student.interpolation is not None
                size, factor = student.inner_eta, student.interpolation
            total = push
            for _ in range(student.inner_steps - 1):
                moved = fields + (size / student.batch_size) * total
                total = total + self.gradient(moved, y, a, b)[0]
            push = total
        return Pushes(factor * size * push, *before[1:], misfit)

    def _bounded(self, push: np.ndarray) -> np.ndarray:
        """What the optimizer makes of the push of a sample [FL-6]."""
        student = self.student
        if student.optimizer == "sign":
            return self.gain * np.sign(push)
        length = np.sqrt(np.einsum("nj,nj->n", push, push))[:, None]
        safe = np.where(length > 0, length, math.inf)
        if student.optimizer != "sgd":
            return push / safe
        assert student.clip_norm is not None
        return push * np.minimum(1.0, student.clip_norm / safe)

    def _displacement(self, push: np.ndarray) -> np.ndarray:
        """What the inner move adds to the fields."""
        student = self.student
        if student.rule != "sam_normalized":
            return (student.inner_eta / student.batch_size) * push
        assert student.radius is not None
        length = np.sqrt(np.einsum("nj,nj->n", push, push))[:, None]
        return -student.radius * push / np.where(length > 0, length, math.inf)

    def gradient(
        self, fields: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The plain push a_j e sigma'(lambda_j + b_j), then e, sigma and sigma'."""
        inside = fields + b
        features, slopes = self.activation(inside), self._slope(inside)
        if self.student.loss == "correlation":
            error = y
        else:
            output = np.einsum("nj,j->n", features, a)
            square = self.student.loss == "square"
            error = y - output if square else self.student.residual(y, output)
        return a * slopes * error[:, None], error, features, slopes
