"""One replicate of the stacked chain on inputs whose covariance has several eigenvalues."""

from __future__ import annotations

import math

import numpy as np

from ..base.seeds import stream
from ._chain import NUMBERS, STREAMS, Chain, Problem
from ._compile import compiled_chain


class AnisotropicChain(Chain):
    """A chain with a frame for each eigenvalue [SG-8]; see :class:`._chain.Chain`."""

    def __init__(self, problem: Problem, replicate: int, records: tuple[np.ndarray, ...]) -> None:
        assert problem.blocks is not None
        self.problem, self._records, self._blocks = problem, records, problem.blocks
        self.done, self._filled = 0, 0
        self.diverged_at = None
        p, r, k = problem.student.width, problem.target.r, problem.rows
        cell = {"d": problem.d, "replicate": replicate}
        self._rng = {part: stream(problem.seed, role, part=part, **cell) for role, part in STREAMS}
        raw, factors = self._blocks.start(
            problem.student.start(r), width=p, r=r, rng=stream(problem.seed, "init", **cell)
        )
        self.M = np.zeros((k, self._blocks.raw))
        self.columns = np.zeros((len(factors), k + 1, k))
        self.M[k - p :] = raw
        for block, L in enumerate(factors):
            self.columns[block, k - p : k, k - p :] = L.T
        self.a, self.b = np.array(problem.student.a), np.array(problem.student.b)
        if len(problem.marks) and problem.marks[0] == 0:
            now = (self.M, self.columns[:, :k], self.a, self.b)
            for kept, value in zip(records, now, strict=True):
                kept[0] = value
        self._advance = compiled_chain(problem.student, problem.target, "stacked")
        self._scales = self._blocks.scales(k)
        self._sums = np.zeros((p, len(self._scales))), np.zeros((p, p)), np.zeros((3, p))

    def advance(self) -> None:
        """Simulate one block of samples."""
        problem, s, student = self.problem, self.problem.settings, self.problem.student
        size, q = student.batch_size, 1 if self.problem.student.batch_size == 1 else student.width
        left = (problem.steps - self.done) * size - self._filled
        n = min(max(NUMBERS // (len(self._scales) + 2), 1), left)
        updates = (self._filled + n) // size
        T = np.zeros((updates, len(self._blocks.regular), q, q))
        for block, part in enumerate(self._blocks.regular):
            assert part.free is not None
            normal = self._rng["outside"].standard_normal((updates, q, q))
            squares = self._squared_lengths(updates, part.free - np.arange(q))
            T[:, block] = math.sqrt(part.eigenvalue) * self._bartlett(normal, squares)
        samples = self._rng["coordinates"].standard_normal((n, len(self._scales))) * self._scales
        latent = self._rng["latent"].standard_normal((n, problem.target.q))
        z = samples[:, : self._blocks.raw] @ self._blocks.mix.T
        done = self._advance(
            self.M, self.columns, self.a, self.b, samples, np.concatenate([z, latent], axis=1),
            self._noise((n,)), T, size, self._filled, *self._sums, self._rates(updates),
            *self._keeping(), s["step"], student.weight_decay, student.momentum,
            math.inf if student.clip_norm is None else student.clip_norm,
            s["eta_a"], s["eta_b"], s["limit"], student.nesterov, False,
            student.orthogonalize == "newton_schulz",
        )  # fmt: skip
        self._filled = (self._filled + n) % size
        self.done = abs(done)
        if done < 0:
            self.diverged_at = -done
