"""Replicates of optimizers without an exact reduction: the network itself, in d dimensions."""

from __future__ import annotations

import math

import numpy as np

from ..base.seeds import stream
from ..targets.optimizers import Schedule
from ._chain import Problem
from ._compile import compiled_chain
from ._start import semidefinite_factor, start_factors

_NUMBERS = 1 << 20  # coordinates of the samples of one block


class DirectRun:
    """One replicate, advanced in blocks; what it keeps is what a chain keeps.

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
        self._hidden = np.ascontiguousarray(frame[:r])
        self.W = M @ self._hidden + L @ frame[r:]
        self._moments = np.zeros((p, d)), np.zeros((p, d))
        self.a, self.b = np.array(problem.student.a), np.array(problem.student.b)
        self._advance = compiled_chain(problem.student, problem.target)
        self._keep()

    def advance(self) -> None:
        """Simulate up to the next mark, or one block."""
        problem, student = self.problem, self.problem.student
        size, d = student.batch_size, problem.d
        marks = problem.marks[problem.marks > self.done]
        until = int(marks[0]) if len(marks) else problem.steps
        updates = min(max(_NUMBERS // (size * d), 1), until - self.done)
        n = updates * size
        X = self._rng["inputs"].standard_normal((n, d), dtype=np.float32)
        latent = self._rng["latent"].standard_normal((n, problem.target.q))
        noise = math.sqrt(problem.target.noise) * self._rng["noise"].standard_normal(n)
        t = (self.done + np.arange(updates)) / problem.steps
        rates = np.ones(updates) if student.schedule is None else Schedule(student.schedule)(t)
        settings, (one, two) = problem.settings, student.betas
        done = self._advance(
            self.W, *self._moments, self._hidden, self.a, self.b, X, latent, noise, size, rates,
            self.done, settings["step"], student.weight_decay, one, two,
            math.inf if student.clip_norm is None else student.clip_norm,
            settings["eta_a"], settings["eta_b"], settings["limit"],
        )  # fmt: skip
        self.done = abs(done)
        if done < 0:
            self.diverged_at = -done
        else:
            self._keep()

    def _keep(self) -> None:
        """Keep overlaps and norms if this is a mark."""
        mark = int(np.searchsorted(self.problem.marks, self.done))
        if mark == len(self.problem.marks) or self.problem.marks[mark] != self.done:
            return
        M, Q = self.W @ self._hidden.T, self.W @ self.W.T
        L = semidefinite_factor(Q - M @ M.T, scale=np.diag(Q))
        for kept, now in zip(self._records, (M, L.T, self.a, self.b), strict=True):
            kept[mark] = now
