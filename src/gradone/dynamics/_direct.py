"""Replicates of optimizers without an exact reduction: the network itself, in d dimensions."""

from __future__ import annotations

import math

import numpy as np

from ..base.seeds import stream
from ..targets.optimizers import Schedule
from ..targets.training import TrainedStudent
from ._chain import Problem
from ._compile import compiled_chain
from ._start import semidefinite_factor, start_factors

_NUMBERS = 1 << 20  # coordinates of the samples of one block


class _Network:
    """Weights and moments of one student."""

    def __init__(self, problem: Problem, student: TrainedStudent, W: np.ndarray) -> None:
        self.student, self.W = student, W.copy()
        self.a, self.b = np.array(student.a), np.array(student.b)
        self._first, self._second = np.zeros_like(W), np.zeros_like(W)
        self._advance = compiled_chain(student, problem.target)
        self._settings = problem.settings  # step sizes, which all students share

    def advance(self, hidden: np.ndarray, samples: tuple[np.ndarray, ...], done: int) -> int:
        """Use up the samples; returns as the kernels do."""
        s, student, (one, two) = self._settings, self.student, self.student.betas
        X, latent, noise, rates = samples
        clip = math.inf if student.clip_norm is None else student.clip_norm
        return self._advance(
            self.W, self._first, self._second, hidden, self.a, self.b, X, latent, noise,
            student.batch_size, rates, done, s["step"], student.weight_decay, one, two, clip,
            s["eta_a"], s["eta_b"], s["limit"],
        )  # fmt: skip

    def state(self, hidden: np.ndarray) -> tuple[np.ndarray, ...]:
        """What a chain keeps: M, columns of L, readout and bias."""
        M, Q = self.W @ hidden.T, self.W @ self.W.T
        return M, semidefinite_factor(Q - M @ M.T, scale=np.diag(Q)).T, self.a, self.b


class DirectRun:
    """One replicate, advanced in blocks; what it keeps is what a chain keeps.

    All students of a problem see the same samples, which are drawn once: at a width of a few
    neurons that is most of the work.

    Parameters
    ----------
    problem : Problem
        What is simulated.
    replicate : int
        Its number; runs with other optimizers see the same samples.
    records : tuple of arrays
        Where overlaps, factors of the norms, readouts and biases are kept.
    """

    def __init__(self, problem: Problem, replicate: int, records: tuple[np.ndarray, ...]) -> None:
        self.problem, self._records = problem, records
        self.done = 0
        self.diverged_at: int | None = None
        p, r, d = problem.student.width, problem.target.r, problem.d
        cell = {"d": d, "replicate": replicate}
        parts = (("data", "inputs"), ("noise", "noise"), ("latent", "latent"))
        self._rng = {part: stream(problem.seed, role, part=part, **cell) for role, part in parts}
        init = stream(problem.seed, "init", **cell)
        M, L = start_factors(problem.student.start(r), width=p, r=r, d=d, rng=init)
        frame = np.linalg.qr(init.standard_normal((d, r + p)))[0].T  # spread over the coordinates
        self.hidden = np.ascontiguousarray(frame[:r])
        W = M @ self.hidden + L @ frame[r:]
        self.networks = [_Network(problem, student, W) for student in problem.students]
        self.first_to_fall = self.networks[0]
        self._keep()

    def advance(self) -> None:
        """Simulate up to the next mark, or one block."""
        samples, before = self._samples(), self.done
        for network in self.networks:
            done = network.advance(self.hidden, samples, before)
            self.done = max(self.done, abs(done))
            if done < 0 and (self.diverged_at is None or -done < self.diverged_at):
                self.diverged_at, self.first_to_fall = -done, network
        if self.diverged_at is None:
            self._keep()

    def _samples(self) -> tuple[np.ndarray, ...]:
        """Inputs, latent variables and noise of the next block, and the factors of its steps."""
        problem, student = self.problem, self.problem.student
        marks = problem.marks[problem.marks > self.done]
        until = int(marks[0]) if len(marks) else problem.steps
        size, d = student.batch_size, problem.d
        updates = min(max(_NUMBERS // (size * d), 1), until - self.done)
        n = updates * size
        X = self._rng["inputs"].standard_normal((n, d), dtype=np.float32)
        latent = self._rng["latent"].standard_normal((n, problem.target.q))
        noise = math.sqrt(problem.target.noise) * self._rng["noise"].standard_normal(n)
        t = (self.done + np.arange(updates)) / problem.steps
        rates = np.ones(updates) if student.schedule is None else Schedule(student.schedule)(t)
        return X, latent, noise, rates

    def _keep(self) -> None:
        """Keep overlaps and norms if this is a mark."""
        mark = int(np.searchsorted(self.problem.marks, self.done))
        if mark == len(self.problem.marks) or self.problem.marks[mark] != self.done:
            return
        states = [network.state(self.hidden) for network in self.networks]
        for kept, now in zip(self._records, zip(*states, strict=True), strict=True):
            kept[mark] = np.stack(now) if self.problem.rivals else now[0]
