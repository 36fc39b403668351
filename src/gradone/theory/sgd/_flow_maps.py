r"""Batches in proportion to the dimension, b = alpha d: updates of order one, one after the other.

The mean gradient of such a batch has a part that is no noise,
:math:`J = \mathbb{E}[\phi\,(u^\star, u)^\top]` on the directions of target and neurons, and
:math:`H = G G^\top = J J^\top + \mathbb{E}[\phi\phi^\top]/\alpha`. For optimizers that do not know
the axes, :math:`K = 1`, :math:`1/\sqrt{\mathrm{tr} H}` or :math:`H^{-1/2}`, and

.. math::
    M' = M + \eta K\,\mathbb{E}[\phi z^\top], \qquad
    Q' = Q + \eta K\,\mathbb{E}[\phi\lambda^\top] + \text{transpose} + \eta^2 K H K. \qquad [FL-11]

For those that treat the coordinates one by one it is the law of one coordinate that closes. With
:math:`\omega = \sqrt d\,w_i`, :math:`\omega^\star` standard normal and
:math:`\eta = h/\sqrt d`,

.. math::
    \sqrt d\,g = \alpha_\lambda\omega + \alpha_z\omega^\star
    + (\mathbb{E}[\phi\phi^\top]/\alpha)^{1/2}\xi, \qquad
    (\alpha_\lambda, \alpha_z) = \mathbb{E}[\phi(\lambda, z)^\top]\,
    \mathrm{Cov}(\lambda, z)^{-1}, \qquad
    \omega' = \omega + h\,u(g), \qquad [FL-12]

:math:`M = \mathbb{E}[\omega\omega^{\star\top}]`, :math:`Q = \mathbb{E}[\omega\omega^\top]`; u is
the sign, or what RMSprop or Adam make of the gradients of this coordinate.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from ...targets.optimizers import COORDINATEWISE, Schedule
from ...targets.target import Target
from ...targets.training import TrainedStudent
from ._flow_batches import inverse_root
from ._flow_integrate import Trajectory
from ._flow_means import MeanRule, Means, cloud_of, mirrors, root
from ._flow_motions import on_rest
from ._flow_push import Neurons

_DIVERGED = 1e4
_SEED = 20260104


class _Population(ABC):
    """What the updates move: the order parameters, or the law of one coordinate."""

    def __init__(self, student: TrainedStudent, start: Neurons, ratio: float) -> None:
        self.student, self.neurons, self.ratio = student, start, ratio

    def update(self, found: Means, rate: float) -> None:
        """One update of the whole network."""
        student, old = self.student, self.neurons
        M, rest = self._moved(found, rate * student.eta)
        if student.geometry != "euclidean":
            scale = 1 / np.sqrt((M * M).sum(axis=1) + np.diag(rest))
            M, rest = scale[:, None] * M, scale[:, None] * rest * scale
            self._rescale(scale)
        a = old.a + rate * (student.train_readout or 0.0) * found.readout
        b = old.b + rate * (student.train_bias or 0.0) * found.bias
        self.neurons = Neurons(M, rest, a, b)

    def gradient_norms(self, found: Means) -> np.ndarray:
        """H of the gradient."""
        J = found.with_rest @ inverse_root(self.neurons.rest)
        H: np.ndarray = found.with_z @ found.with_z.T + J @ J.T + found.squares / self.ratio
        return H

    def shrinking(self, H: np.ndarray) -> float:
        """Factor of the clipping."""
        if self.student.clip_norm is None:
            return 1.0
        return min(1.0, self.student.clip_norm / max(math.sqrt(np.trace(H)), 1e-300))

    @abstractmethod
    def _moved(self, found: Means, eta: float) -> tuple[np.ndarray, np.ndarray]:
        """New overlaps, and products outside the hidden directions."""

    def _rescale(self, scale: np.ndarray) -> None:  # noqa: B027 (order parameters are rescaled)
        """Make what else is known of the neurons longer or shorter."""


class _Whole(_Population):
    """Optimizers that do not know the axes [FL-11]."""

    def _moved(self, found: Means, eta: float) -> tuple[np.ndarray, np.ndarray]:
        student, (M, rest, *_) = self.student, self.neurons
        H = self.gradient_norms(found)
        K = self.shrinking(H) * np.eye(len(H))
        if student.optimizer == "normalized":
            K = np.eye(len(H)) / math.sqrt(max(np.trace(H), 1e-300))
        elif student.optimizer == "muon":
            K = inverse_root(H)
        keep = np.full(len(M), 1 - eta * student.weight_decay)
        if student.geometry == "spherical":  # what the step has along w_j is taken out
            with_fields = found.with_z @ M.T + found.with_rest
            keep -= eta * np.diag(K @ with_fields) / ((M * M).sum(axis=1) + np.diag(rest))
        along = eta * keep * (K @ found.with_rest)
        outside = K @ (H - found.with_z @ found.with_z.T) @ K
        return (
            keep[:, None] * M + eta * K @ found.with_z,
            keep[:, None] * rest * keep + along + along.T + eta**2 * outside,
        )


class _Coordinates(_Population):
    """Optimizers that treat the coordinates one by one [FL-12]."""

    def __init__(
        self, student: TrainedStudent, start: Neurons, ratio: float, target: Target, *,
        scramble: int, points: int,
    ) -> None:  # fmt: skip
        super().__init__(student, start, ratio)
        p, r = start.M.shape
        signs = {sign[:r] + (1,) * p for sign in mirrors(target.joint, _padded(start.M, target.q))}
        self._copies = len(signs)
        cloud, _ = cloud_of((1.0,) * (r + p), tuple(sorted(signs)), scramble, points)
        self._hidden = cloud[:, :r]
        self._weights = self._hidden @ start.M.T + cloud[:, r:] @ root(start.rest)
        self._first, self._second = np.zeros((2, *self._weights.shape))
        self._rng = np.random.default_rng([_SEED, scramble])
        self._done = 0

    def _moved(self, found: Means, eta: float) -> tuple[np.ndarray, np.ndarray]:
        student, (M, rest, *_) = self.student, self.neurons
        on_fields = on_rest(found, rest)
        on_hidden = found.with_z - on_fields @ M
        xi = self._rng.standard_normal((len(self._weights) // self._copies, len(M)))
        noise = np.tile(xi, (self._copies, 1)) @ root(found.squares / self.ratio)
        g = self._weights @ on_fields.T + self._hidden @ on_hidden.T + noise
        g *= self.shrinking(self.gradient_norms(found))
        self._done += 1
        keep = 1 - eta * student.weight_decay
        self._weights = keep * self._weights + eta * self._rule(g)
        n = len(self._weights)
        M = self._weights.T @ self._hidden / n
        return M, self._weights.T @ self._weights / n - M @ M.T

    def _rule(self, g: np.ndarray) -> np.ndarray:
        if self.student.optimizer == "sign":
            return np.sign(g)
        one, two = self.student.betas
        self._second = two * self._second + (1 - two) * g**2
        if self.student.optimizer == "rmsprop":
            return g / np.sqrt(np.maximum(self._second, 1e-300))
        self._first = one * self._first + (1 - one) * g
        second = self._second / (1 - two**self._done)
        found: np.ndarray = self._first / (1 - one**self._done)
        return found / np.sqrt(np.maximum(second, 1e-300))

    def _rescale(self, scale: np.ndarray) -> None:
        self._weights = self._weights * scale


def _padded(M: np.ndarray, latent: int) -> np.ndarray:
    return np.pad(M, ((0, 0), (0, latent)))


def iterate(
    means: MeanRule,
    student: TrainedStudent,
    start: Neurons,
    updates: np.ndarray,
    *,
    ratio: float,
    target: Target,
    scramble: int,
    points: int,
) -> Trajectory:
    """States after increasing numbers of updates.

    Parameters
    ----------
    means : MeanRule
        Means of pushes without a step size.
    student : TrainedStudent
        With its step size.
    start : Neurons
        State before the first update.
    updates : ndarray
        Increasing whole numbers.
    ratio : float
        alpha, samples of a batch over the dimension.
    target, scramble, points
        For the coordinates of one population.
    """
    population: _Population
    if student.optimizer in COORDINATEWISE:
        population = _Coordinates(student, start, ratio, target, scramble=scramble, points=points)
    else:
        population = _Whole(student, start, ratio)
    schedule = None if student.schedule is None else Schedule(student.schedule)
    limit = _DIVERGED * (1 + _size(start))
    wanted, states, mse = set(updates.tolist()), [], []
    last, why = int(updates[-1]), ""
    for done in range(1, last + 1):
        rate = 1.0 if schedule is None else float(schedule(np.array((done - 1) / last)))
        population.update(means(population.neurons), rate)
        if not _size(population.neurons) < limit:
            why = f"the weights diverge at update {done}: the step size is too large"
            last = done - 1
            break
        if done in wanted:
            states.append(population.neurons)
            mse.append(means(population.neurons).mse)
    missing = len(updates) - len(states)
    nothing = Neurons(*(np.full_like(part, np.nan) for part in start))
    return Trajectory(
        states + [nothing] * missing, np.array(mse + [np.nan] * missing), float(last), why
    )


def _size(neurons: Neurons) -> float:
    return float(np.trace(neurons.rest) + (neurons.M**2).sum())
