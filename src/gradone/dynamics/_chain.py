"""One replicate of SGD as a Markov chain: its state, its random numbers, its records."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..base.seeds import stream
from ..targets.optimizers import Schedule
from ..targets.target import Target
from ..targets.training import TrainedStudent
from ._blocks import Blocks
from ._compile import Kind, compiled_chain, kind_of_chain
from ._start import start_factors

STREAMS = (
    ("data", "coordinates"), ("data", "lengths"), ("data", "outside"), ("noise", "noise"),
    ("latent", "latent"),
)  # fmt: skip
NUMBERS = 1 << 16  # random numbers of one block: they stay in the cache of the processor


@dataclass(frozen=True)
class Problem:
    """What all replicates of a run have in common.

    Parameters
    ----------
    target : Target
        What is learned.
    student : TrainedStudent
        Network and rule, with a number as its step size.
    d, steps, seed : int
        Input dimension, number of updates, seed.
    marks : ndarray of int
        Increasing numbers of updates after which the state is kept.
    blocks : Blocks, optional
        Eigenvalues of the covariance of the inputs; None if all are one.
    effective : bool
        Whether signs are taken in the limit of directions that are spread over the coordinates.
    rivals : tuple of TrainedStudent
        Students with other optimizers that see the same samples, for runs in d dimensions.
    """

    target: Target
    student: TrainedStudent
    d: int
    steps: int
    seed: int
    marks: np.ndarray
    blocks: Blocks | None = None
    effective: bool = False
    rivals: tuple[TrainedStudent, ...] = ()

    @property
    def students(self) -> tuple[TrainedStudent, ...]:
        """All that see the samples."""
        return (self.student, *self.rivals)

    @property
    def kind(self) -> Kind:
        """Which of the patterns simulates it."""
        if self.effective:
            return "effective"
        return kind_of_chain(self.student, blocks=self.blocks is not None)

    def slower(self, factor: float, steps: int) -> Problem:
        """The same with every step size multiplied by a factor, over other steps, no records."""
        names = ("step_size", "inner_step_size", "train_readout", "train_bias")
        scaled = {
            name: factor * value
            for name in names
            if (value := getattr(self.student, name)) is not None
        }
        student, *rivals = (replace(one, **scaled) for one in self.students)
        return replace(
            self, student=student, rivals=tuple(rivals), steps=steps, marks=self.marks[:0]
        )

    @property
    def slots(self) -> int:
        """How many directions are revealed in one update of a repeated batch."""
        s = self.student
        gradients = s.inner_steps if s.rule in ("k_steps", "look_ahead") else 2
        return min(s.width * (gradients - 1), s.batch_size, self.free)

    @property
    def free(self) -> int:
        """Degrees of freedom outside the directions of target and student."""
        return self.d - self.target.r - self.rows

    @property
    def rows(self) -> int:
        """Rows of the state: the neurons, and before them their buffers if there is momentum."""
        return self.student.width * (2 if self.student.momentum else 1)

    @cached_property
    def settings(self) -> dict[str, float]:
        """Numbers of the update as the kernels take them."""
        s = self.student
        step, inner = s.eta, 0.0
        if s.rule in ("extragradient", "sam", "k_steps", "look_ahead"):
            inner = s.inner_eta
        if s.rule == "sam_normalized":
            inner = -float(s.radius or 0.0)
        if s.rule == "look_ahead":
            step = inner * float(s.interpolation or 0.0)
        return {
            "step": step,
            "inner": inner,
            "keep": 1.0 - s.eta * s.weight_decay,
            "eta_a": s.train_readout or 0.0,
            "eta_b": s.train_bias or 0.0,
            "limit": self._limit,
        }

    @property
    def _limit(self) -> float:
        """Length of a move that no run makes that is to be taken seriously."""
        z = stream(0, "test", part="scale of labels").standard_normal((1024, self.target.joint.r))
        start = self.student.start(self.target.r)
        size = 1.0 if isinstance(start, str) else math.sqrt(float(np.diag(start[1]).max()))
        return 1e6 * (1.0 + size + float(np.abs(self.target.joint(z)).max()))


@dataclass
class Records:
    """States at the marks: M, columns of L, readout and bias; NaN where nothing is known.

    With momentum the rows of M and L are those of the buffers, then those of the weights. Rivals
    have an axis after that of the marks.
    """

    M: np.ndarray
    columns: np.ndarray
    readout: np.ndarray
    bias: np.ndarray

    @classmethod
    def empty(cls, problem: Problem, replicates: int) -> Records:
        """Room for the records of all replicates."""
        p, k, r = problem.student.width, problem.rows, problem.target.r
        shape: tuple[int, ...] = (replicates, len(problem.marks))
        blocks = problem.blocks
        if problem.rivals:
            shape += (len(problem.students),)
        state = (
            ((k, r), (k, k)) if blocks is None else ((k, blocks.raw), (len(blocks.regular), k, k))
        )
        return cls(*(np.full(shape + tail, np.nan) for tail in (*state, (p,), (p,))))

    def of(self, replicate: int) -> tuple[np.ndarray, ...]:
        """Records of one replicate, to be filled."""
        return tuple(part[replicate] for part in vars(self).values())


class Chain:
    """One replicate, advanced in blocks that take a small part of a second.

    Parameters
    ----------
    problem : Problem
        What is simulated.
    replicate : int
        Its number; with the seed, d and the target's r it addresses all random numbers.
    records : tuple of arrays
        Where states are kept.
    """

    def __init__(self, problem: Problem, replicate: int, records: tuple[np.ndarray, ...]) -> None:
        self.problem = problem
        self._records = records
        self.done = 0
        self.diverged_at: int | None = None
        cell = {"d": problem.d, "replicate": replicate}
        self._rng = {part: stream(problem.seed, role, part=part, **cell) for role, part in STREAMS}
        self.M, self.columns = self._start(stream(problem.seed, "init", **cell))
        self.a, self.b = np.array(problem.student.a), np.array(problem.student.b)
        if len(problem.marks) and problem.marks[0] == 0:
            now = (self.M, self.columns[..., : problem.rows, :], self.a, self.b)
            for kept, value in zip(records, now, strict=True):
                kept[0] = value
        self._advance = compiled_chain(problem.student, problem.target, problem.kind)
        self._block: Callable[[], int] = getattr(self, f"_{problem.kind}")
        self._sums = self._empty_sums()
        self._filled = 0

    def advance(self) -> None:
        """Simulate one block; where the weights run away, `diverged_at` says so."""
        done = self._block()
        self.done = abs(done)
        if done < 0:
            self.diverged_at = -done

    def _start(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """First overlaps and columns, which have room for one more."""
        p, r, student = self.problem.student.width, self.problem.target.r, self.problem.student
        M, L = start_factors(student.start(r), width=p, r=r, d=self.problem.d, rng=rng)
        columns = np.zeros((p + 1, p))
        columns[:p] = L.T
        return M, columns

    def _empty_sums(self) -> tuple[np.ndarray, ...]:
        """Room for what a batch of which a part was seen has left."""
        p, r = self.problem.student.width, self.problem.target.r
        return np.zeros((p, r + p)), np.zeros((p, p)), np.zeros((3, p))

    # ---- random numbers

    def _noise(self, shape: tuple[int, ...]) -> np.ndarray:
        noise = self.problem.target.noise
        if not noise:
            return np.zeros(shape)
        return math.sqrt(noise) * self._rng["noise"].standard_normal(shape)

    def _coordinates(self, shape: tuple[int, ...]) -> np.ndarray:
        """Coordinates of samples on the known directions, with latent noise behind them."""
        found = self._rng["coordinates"].standard_normal(shape)
        if not (q := self.problem.target.q):
            return found
        xi = self._rng["latent"].standard_normal((*shape[:-1], q))
        return np.concatenate([found, xi], axis=-1)

    def _squared_lengths(self, n: int, degrees: np.ndarray) -> np.ndarray:
        """Independent chi^2 variables (n, k), zero where there is no degree of freedom."""
        lengths = np.zeros((n, len(degrees)))
        real = degrees > 0
        lengths[:, real] = self._rng["lengths"].chisquare(degrees[real], (n, int(real.sum())))
        return lengths

    def _bartlett(self, normal: np.ndarray, squares: np.ndarray) -> np.ndarray:
        """Lower-triangular factors from normal numbers (n, p, p) and squared diagonals (n, p)."""
        T = np.tril(normal, -1)
        k = np.arange(squares.shape[1])
        T[:, k, k] = np.sqrt(squares)
        return np.where(squares[:, None, :] > 0, T, 0.0)  # without freedom, no column

    def _rates(self, updates: int) -> np.ndarray:
        """Factors of the step sizes of the next updates."""
        schedule = self.problem.student.schedule
        if schedule is None:
            return np.ones(updates)
        return Schedule(schedule)((self.done + np.arange(updates)) / self.problem.steps)

    # ---- kernels

    def _states(self) -> tuple[Any, ...]:
        return self.M, self.columns, self.a, self.b

    def _keeping(self) -> tuple[Any, ...]:
        marks = self.problem.marks
        mark = int(np.searchsorted(marks, self.done, side="right"))
        return self.done, marks, mark, *self._records

    def _single(self) -> int:
        problem, s = self.problem, self.problem.settings
        k = problem.target.r + problem.student.width
        n = min(max(NUMBERS // (k + 2), 1), problem.steps - self.done)
        samples = self._coordinates((n, k))
        lengths = self._squared_lengths(n, np.array([problem.free]))[:, 0]
        return self._advance(
            *self._states(), samples, np.ascontiguousarray(lengths), self._noise((n,)),
            *self._keeping(), s["step"], s["inner"], problem.student.inner_steps, s["keep"],
            s["eta_a"], s["eta_b"], s["limit"],
        )  # fmt: skip

    def _batch(self) -> int:
        problem, s = self.problem, self.problem.settings
        p, size = problem.student.width, problem.student.batch_size
        k = problem.target.r + p
        left = (problem.steps - self.done) * size - self._filled
        n = min(max(NUMBERS // (k + 2), 1), left)
        updates = (self._filled + n) // size
        T = self._bartlett(
            self._rng["outside"].standard_normal((updates, p, p)),
            self._squared_lengths(updates, problem.free - np.arange(p)),
        )
        samples = self._coordinates((n, k))
        done = self._advance(
            *self._states(), samples, self._noise((n,)), T, size, self._filled, *self._sums,
            *self._keeping(), s["step"], s["keep"], s["eta_a"], s["eta_b"], s["limit"],
        )  # fmt: skip
        self._filled = (self._filled + n) % size
        return done

    def _repeated(self) -> int:
        problem, s, slots = self.problem, self.problem.settings, self.problem.slots
        p, size = problem.student.width, problem.student.batch_size
        k = problem.target.r + p
        n = min(max(NUMBERS // (size * (k + slots + 1)), 1), problem.steps - self.done)
        outside = self._rng["outside"].standard_normal((n, slots * size + p * p))
        lengths = self._squared_lengths(n, problem.free - np.arange(slots + p))
        T = self._bartlett(outside[:, slots * size :].reshape(n, p, p), lengths[:, slots:])
        return self._advance(
            *self._states(),
            self._coordinates((n, size, k)),
            self._noise((n, size)),
            np.ascontiguousarray(lengths[:, :slots]),
            np.ascontiguousarray(outside[:, : slots * size]).reshape(n, slots, size),
            T,
            *self._keeping(),
            s["step"], s["inner"], problem.student.inner_steps, s["keep"], s["eta_a"], s["eta_b"],
            s["limit"],
        )  # fmt: skip

    def _effective(self) -> int:
        problem, s, student = self.problem, self.problem.settings, self.problem.student
        p, size, each = student.width, student.batch_size, problem.target.r + student.width
        numbers = (size + p) * each + size
        n = min(max(NUMBERS // numbers, 1), problem.steps - self.done)
        return self._advance(
            *self._states(), self._coordinates((n, size, each)), self._noise((n, size)),
            self._rng["outside"].standard_normal((n, p, each)), self._rates(n), *self._keeping(),
            problem.d, s["step"], student.weight_decay, s["eta_a"], s["eta_b"], s["limit"],
        )  # fmt: skip
