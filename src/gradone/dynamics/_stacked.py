"""One replicate of the chain of buffers and weights, whose inputs may have several eigenvalues."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._chain import NUMBERS, Chain, Problem
from ._compile import is_separate
from ._start import start_factors


class StackedChain(Chain):
    """A chain [SG-7] with a frame for each eigenvalue [SG-8]; see :class:`._chain.Chain`."""

    def __init__(self, problem: Problem, replicate: int, records: tuple[np.ndarray, ...]) -> None:
        k, self._blocks = problem.rows, problem.blocks
        if self._blocks is None:
            M, columns, a, b = records
            records = M, columns[:, None], a, b
            self._eigenvalues, self._free = [1.0], [problem.free]
            self._scales = np.ones(problem.target.r + k)
        else:
            self._eigenvalues = [part.eigenvalue for part in self._blocks.regular]
            self._free = [int(part.free or 0) for part in self._blocks.regular]
            self._scales = self._blocks.scales(k)
        super().__init__(problem, replicate, records)

    def _start(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Buffers come first, and are zero."""
        student, r, k = self.problem.student, self.problem.target.r, self.problem.rows
        p, start = student.width, student.start(r)
        if self._blocks is None:
            one, L = start_factors(start, width=p, r=r, d=self.problem.d, rng=rng)
            factors = [L]
        else:
            one, factors = self._blocks.start(start, width=p, r=r, rng=rng)
        M, columns = np.zeros((k, one.shape[1])), np.zeros((len(factors), k + 1, k))
        M[k - p :] = one
        for block, L in enumerate(factors):
            columns[block, k - p : k, k - p :] = L.T
        return M, columns

    def _empty_sums(self) -> tuple[np.ndarray, ...]:
        p = self.problem.student.width
        wide = len(self._scales) + len(self._free) * self._slots
        return np.zeros((p, wide)), np.zeros((p, p)), np.zeros((2, p))

    @property
    def _slots(self) -> int:
        """How many coordinates outside a frame the gradient of a batch has."""
        student = self.problem.student
        return student.batch_size if is_separate(student) else student.width

    # ---- random numbers

    def _outside(self, updates: int) -> np.ndarray:
        """Factors (updates, blocks, q, q) of what is outside the frames."""
        q = self._slots
        T = np.zeros((updates, len(self._free), q, q))
        for block, (eigenvalue, free) in enumerate(zip(self._eigenvalues, self._free, strict=True)):
            normal = np.zeros((updates, q, q))
            if q > 1:
                self._rng["outside"].standard_normal(out=normal)
            squares = self._squared_lengths(updates, free - np.arange(q))
            T[:, block] = math.sqrt(eigenvalue) * self._bartlett(normal, squares)
        return T

    def _samples(self, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Samples on the frames, what their labels depend on, and noise."""
        if self._blocks is None:
            samples = self._coordinates((n, len(self._scales)))
            return samples, samples, self._noise((n,))
        samples = self._rng["coordinates"].standard_normal((n, len(self._scales))) * self._scales
        latent = self._rng["latent"].standard_normal((n, self.problem.target.q))
        z = samples[:, : self._blocks.raw] @ self._blocks.mix.T
        return samples, np.concatenate([z, latent], axis=1), self._noise((n,))

    # ---- kernels

    def _numbers(self) -> tuple[Any, ...]:
        s, student = self.problem.settings, self.problem.student
        clip = math.inf if student.clip_norm is None else student.clip_norm
        return (
            s["step"], student.weight_decay, student.momentum, clip, s["eta_a"], s["eta_b"],
            s["limit"], student.nesterov is True,
        )  # fmt: skip

    def _stacked_single(self) -> int:
        n = min(max(NUMBERS // (len(self._scales) + 2), 1), self.problem.steps - self.done)
        radius = np.ascontiguousarray(self._outside(n)[:, :, 0, 0])
        return self._advance(
            *self._states(), *self._samples(n), radius, self._rates(n), *self._keeping(),
            *self._numbers(),
        )  # fmt: skip

    def _stacked_batch(self) -> int:
        student, wide = self.problem.student, len(self._scales)
        size = student.batch_size
        left = (self.problem.steps - self.done) * size - self._filled
        n = min(max(NUMBERS // (wide + 2), 1), left)
        if is_separate(student):  # the whole batch must be there: its samples are not orthogonal
            n = min(max(NUMBERS // (size * (wide + size)), 1) * size, left)
        updates = (self._filled + n) // size
        T = self._outside(updates)
        done = self._advance(
            *self._states(), *self._samples(n), T, size, self._filled, *self._sums,
            self._rates(updates), *self._keeping(), *self._numbers(),
            student.orthogonalize == "newton_schulz",
        )  # fmt: skip
        self._filled = (self._filled + n) % size
        return done
