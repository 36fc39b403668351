r"""One replicate of gradient descent on a fixed data set that is revealed as the weights move.

The weights are known by their coordinates :math:`\hat W` (p, m) on the directions that the samples
have revealed (:mod:`._reveal`): first those of the target, then those of the start, then one for
each gradient of each neuron. Fields are :math:`U\hat W^\top`, and with the coefficients C (n, p) of
the samples in the gradient,

.. math:: \hat W \leftarrow D(A\hat W + \eta\,C^\top U), \qquad
          M = \hat W_{1..r}, \quad Q = \hat W\hat W^\top     [RV-2]

where A and D are the decay and the geometry. A buffer :math:`\hat V \leftarrow \beta\hat V +
C^\top U` of momentum is a sum of gradients that were revealed before, so that the rows [V; W] have
the same coordinates and nothing more has to be drawn: W moves by :math:`\eta\hat V`, or with
Nesterov by :math:`\eta(C^\top U + \beta\hat V)`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base.seeds import stream
from ..targets.target import Target
from ..targets.training import TrainedStudent
from ._reveal import RevealedSamples, hidden_directions
from ._start import start_factors

_DIVERGED = 1e6
_DISPLACED = ("extragradient", "sam", "sam_normalized")


@dataclass(frozen=True)
class Task:
    """What all replicates of a run have in common; ``student.batch_size`` is at most n."""

    target: Target
    student: TrainedStudent
    n: int
    d: int
    steps: int
    seed: int
    marks: np.ndarray
    test_samples: int
    dtype: str

    @property
    def gradients(self) -> int:
        """Gradients of one update."""
        s = self.student
        return {"plain": 1, "k_steps": s.inner_steps, "look_ahead": s.inner_steps}.get(s.rule, 2)

    @property
    def sums(self) -> int:
        """Sums over samples that the whole run asks for."""
        return self.steps * self.gradients * self.student.width

    @property
    def known(self) -> int:
        """Directions known at the start."""
        return self.target.r + self.student.width

    @property
    def bytes_needed(self) -> int:
        """Memory of one replicate at its peak."""
        room = hidden_directions(self.n, self.d, self.known, self.sums)
        columns = self.known + 2 * room + 8 * self.student.width + 4
        return self.n * columns * np.dtype(self.dtype).itemsize

    def slower(self, factor: float) -> Task:
        """The same with every step size multiplied by a factor."""
        names = ("step_size", "inner_step_size", "train_readout", "train_bias")
        scaled = {
            name: factor * value
            for name in names
            if (value := getattr(self.student, name)) is not None
        }
        return replace(self, student=replace(self.student, **scaled))


@dataclass(frozen=True)
class State:
    """What is kept of one moment."""

    M: np.ndarray
    L: np.ndarray
    readout: np.ndarray
    bias: np.ndarray
    train_mse: float
    test_mse: float
    test_mse_err: float


class Descent:
    """One replicate, advanced by one update at a time.

    Parameters
    ----------
    task : Task
        What is simulated.
    replicate : int
        Its number; with the seed, n and d it addresses all random numbers.
    """

    def __init__(self, task: Task, replicate: int) -> None:
        self.task = task
        student, target, n, d = task.student, task.target, task.n, task.d
        cell = {"d": d, "n": n, "replicate": replicate}
        self.samples = RevealedSamples(
            n, d, task.known, task.sums, rng=stream(task.seed, "data", **cell), dtype=task.dtype
        )
        noise = stream(task.seed, "noise", **cell).standard_normal(n) if target.noise else 0.0
        clean = target(
            self.samples.coordinates[: target.r].T, _latent(target, n, task.seed, **cell)
        )
        self.y = (clean + math.sqrt(target.noise) * noise).astype(task.dtype)
        M, L = start_factors(
            student.start(target.r),
            width=student.width,
            r=target.r,
            d=d,
            rng=stream(task.seed, "init", **cell),
        )
        self.W = np.concatenate([M, L], axis=1)
        self.V = np.zeros_like(self.W)
        self.a, self.b = np.array(student.a), np.array(student.b)
        self._new_a, self._new_b = self.a, self.b
        self.done = 0
        self._scale = _DIVERGED * (1 + float(np.abs(self.W).max() + np.abs(self.y).max()))
        self._slope = student.sigma.derivative()
        self._batches = stream(task.seed, "batches", **cell)
        self._order = np.empty(0, dtype=np.int64)
        self._test = stream(task.seed, "test", **cell).standard_normal(
            (task.known, task.test_samples)
        )
        self._test_latent = _latent(target, task.test_samples, task.seed, of="test", **cell)

    @property
    def diverged(self) -> bool:
        """Whether the weights have run away."""
        return not (np.abs(self.W).max() < self._scale and np.abs(self.a).max() < self._scale)

    def advance(self) -> None:
        """Make one update [RV-2]."""
        student = self.task.student
        rows = self._next_batch()
        step = self._step(rows)
        self.W = _padded(self.W, step.shape[1])
        keep = np.full((student.width, 1), 1 - student.eta * student.weight_decay)
        if student.geometry == "spherical":
            along = (step * self.W).sum(1) / (self.W**2).sum(1)
            keep -= along[:, None]
        self.W = keep * self.W + step
        if student.geometry != "euclidean":
            self.W /= np.linalg.norm(self.W, axis=1, keepdims=True)
        self.a, self.b = self._new_a, self._new_b
        self.done += 1

    def state(self) -> State:
        """Overlaps and errors now; the test error is that of fresh samples."""
        r, target = self.task.target.r, self.task.target
        errors = self._errors(self._fields(self.W, slice(None)), self.y)
        M = self.W[:, :r]
        L = np.asarray(np.linalg.qr(self.W[:, r:].T, mode="r")).T if self.done else self.W[:, r:]
        fresh = M @ self._test[:r] + L @ self._test[r:]
        labels = target(self._test[:r].T, self._test_latent)
        missed = self._errors(fresh, labels).astype(np.float64) ** 2
        return State(
            M,
            L,
            self.a,
            self.b,
            float(np.mean(errors.astype(np.float64) ** 2)),
            float(missed.mean() + target.noise),
            float(missed.std() / math.sqrt(len(missed))),
        )

    # ---- one update

    def _next_batch(self) -> slice | np.ndarray:
        """Rows of the next batch; every epoch takes all rows in a new order."""
        size, n = self.task.student.batch_size, self.task.n
        if size == n:
            return slice(None)
        if not len(self._order):
            self._order = self._batches.permutation(n)
        rows, self._order = self._order[:size], self._order[size:]
        return rows

    def _step(self, rows: slice | np.ndarray) -> np.ndarray:
        """Move of the weights by the rule, in coordinates."""
        student = self.task.student
        if student.rule in _DISPLACED:
            inner = self._gradient(self.W, rows)
            at = _padded(self.W, inner.shape[1]) + self._reach(inner) * inner
            return student.eta * self._gradient(at, rows, outer=True)
        total = self._gradient(self._seen_from(), rows, outer=True)
        for _ in range(self.task.gradients - 1):
            at = _padded(self.W, total.shape[1]) + student.inner_eta * total
            gradient = self._gradient(at, rows)
            total = _padded(total, gradient.shape[1]) + gradient
        if student.rule == "look_ahead":
            return student.inner_eta * float(student.interpolation or 0.0) * total
        return student.eta * self._remembered(total)

    def _seen_from(self) -> np.ndarray:
        """Where the first gradient is taken: at the weights, or ahead of them."""
        student = self.task.student
        if student.nesterov != "look_ahead":
            return self.W
        return self.W + student.eta * student.momentum * _padded(self.V, self.W.shape[1])

    def _remembered(self, gradient: np.ndarray) -> np.ndarray:
        """What momentum makes of a gradient."""
        beta = self.task.student.momentum
        if not beta:
            return gradient
        self.V = beta * _padded(self.V, gradient.shape[1]) + gradient
        return gradient + beta * self.V if self.task.student.nesterov is True else self.V

    def _reach(self, gradient: np.ndarray) -> float:
        """Length of the displacement in units of the gradient."""
        student = self.task.student
        if student.rule != "sam_normalized":
            return student.inner_eta
        size = float(np.linalg.norm(gradient))
        return -float(student.radius or 0.0) / size if size > 0 else 0.0

    def _gradient(
        self, W: np.ndarray, rows: slice | np.ndarray, *, outer: bool = False
    ) -> np.ndarray:
        """Coordinates of the mean of a_j e sigma'(lambda_j) x over a batch, after revealing it.

        The gradients of readout and bias are those at the place of the `outer` one.
        """
        student = self.task.student
        field, y = self._fields(W, rows), self.y[rows]
        kind = field.dtype
        e = self._errors(field, y) if student.loss == "square" else y
        push = (self.a[:, None] / len(y)).astype(kind) * (e * self._slope(self._biased(field)))
        C = push
        if not isinstance(rows, slice):
            C = np.zeros((student.width, self.task.n), kind)
            C[:, rows] = push
        self.samples.reveal(C)
        if outer and student.train_readout is not None:
            pull = student.sigma(self._biased(field)) @ e
            self._new_a = self.a + student.train_readout / len(y) * pull.astype(np.float64)
        if outer and student.train_bias is not None:
            self._new_b = self.b + student.train_bias * push.sum(axis=1, dtype=np.float64)
        gradient: np.ndarray = (push @ self.samples.coordinates[:, rows].T).astype(np.float64)
        return gradient

    def _fields(self, W: np.ndarray, rows: slice | np.ndarray) -> np.ndarray:
        coordinates = self.samples.coordinates
        fields: np.ndarray = W.astype(coordinates.dtype) @ coordinates[: W.shape[1], rows]
        return fields

    def _biased(self, field: np.ndarray) -> np.ndarray:
        return field + self.b[:, None].astype(field.dtype) if self.b.any() else field

    def _errors(self, field: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Errors y - f at the fields of some samples, in their precision."""
        outputs = self.task.student.sigma(self._biased(field))
        errors: np.ndarray = y - self.a.astype(field.dtype) @ outputs
        return errors


def _latent(target: Target, count: int, seed: int, **cell: Any) -> np.ndarray | None:
    """Latent noise (count, q) of samples, if the target has some."""
    return stream(seed, "latent", **cell).standard_normal((count, target.q)) if target.q else None


def _padded(W: np.ndarray, m: int) -> np.ndarray:
    """Coordinates on m directions: 0 on those that were not known yet."""
    padded = np.zeros((len(W), m))
    padded[:, : W.shape[1]] = W
    return padded
