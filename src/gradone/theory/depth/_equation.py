"""The spectral equation [DT-1] of the first stage, by Newton's method at many points at once."""

from __future__ import annotations

import numpy as np

from ._labels import LabelLaw

_TOLERANCE = 1e-9
_BLOCK = 2**21  # complex numbers of one block


class SpectralEquation:
    r"""Equation [DT-1] in the unknowns :math:`u = ((d-K)s, D_g r_g, B)`.

    With :math:`c_j(t)` the second moment given t that belongs to unknown j (1 for the directions
    that the label does not see), :math:`nQ(t) = \sum_j c_j(t) u_j`. B is the resolvent on the sums
    of the groups, if the law has their correlations.

    Parameters
    ----------
    law : LabelLaw
        Law of the score and of the directions.
    d, n : int
        Dimension, samples.
    whitened : bool
        Whether the eigenvalues are those relative to the sample covariance S: the resolvent is
        that of C - x S, so t - x stands for t, and 0 for x.
    """

    def __init__(self, law: LabelLaw, d: int, n: int, *, whitened: bool = False) -> None:
        self.law, self.n, self.groups = law, n, len(law.sizes)
        self.whitened = whitened
        self.members = np.array([d - int(law.sizes.sum()), *law.members], dtype=float)
        columns = [np.ones((len(law.t), 1)), law.rest]
        if law.common is not None:
            columns.append(law.common.reshape(len(law.t), -1))
        self.moments = np.concatenate(columns, axis=1)
        self.weighted = law.share[:, None] * self.moments
        size = self.moments.shape[1]
        self._pairs = np.triu_indices(size)
        self._products = self.weighted[:, self._pairs[0]] * self.moments[:, self._pairs[1]]

    def far(self, x: np.ndarray) -> np.ndarray:
        """Unknowns at large x, where the resolvent is -1/x."""
        u = np.zeros((len(x), self.moments.shape[1]), dtype=complex)
        u[:, : len(self.members)] = -self.members / x[:, None]
        if self.law.common is not None:
            u[:, len(self.members) :: self.groups + 1] = -1 / x[:, None]
        return u

    def parts(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Traces of the resolvent on the unseen directions and on each group (x, groups)."""
        seen = u[:, 1 : len(self.members)]
        if self.law.common is not None:
            seen = seen + u[:, len(self.members) :: self.groups + 1]
        return u[:, 0], seen

    def count(self, u: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Resolvent whose imaginary part counts eigenvalues."""
        unseen, seen = self.parts(u)
        if not self.whitened:
            return np.asarray(unseen + seen.sum(axis=1))
        Q = u @ (self.moments.T / self.n)  # the trace of S times the resolvent
        return np.asarray(self.n * (Q / (1 + (self.law.t - x[:, None]) * Q)) @ self.law.share)

    def newton(self, u: np.ndarray, x: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
        """Iterates of Newton's method, and whether each is the solution.

        The equation maps functions Q with values in the upper half plane into themselves, so it
        has one solution there: a root at which every Q(t) has a positive imaginary part is it.
        """
        u, done = u.copy(), np.zeros(len(u), dtype=bool)
        rows = max(_BLOCK // (4 * len(self.law.t)), 1)
        for _ in range(steps):
            places = np.flatnonzero(~done)
            for start in range(0, len(places), rows):
                some = places[start : start + rows]
                u[some], done[some] = self._step(u[some], x[some])
            if done.all():
                break
        return u, done

    def _step(self, u: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mapped, slope = self._map(u, x)
        change = np.linalg.solve(np.eye(u.shape[1]) - slope, (mapped - u)[:, :, None])[:, :, 0]
        moved = u + change
        inside = ((moved @ self.moments.T).imag > 0).all(axis=1)
        small = np.abs(change).max(axis=1) < _TOLERANCE * np.abs(moved).max(axis=1)
        # The map itself never leaves the half plane.
        return np.where(inside[:, None], moved, mapped), inside & small

    def _map(self, u: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Right side of the equation, and its derivative by the unknowns."""
        t, scalars = self.law.t, len(self.members)
        if self.whitened:
            t, x = t - x[:, None], np.zeros_like(x)
        kernel = t / (1 + t * (u @ (self.moments.T / self.n)))
        means = kernel @ self.weighted
        size = u.shape[1]
        curvature = np.empty((len(u), size, size), dtype=complex)
        curvature[:, self._pairs[0], self._pairs[1]] = (kernel**2) @ self._products
        curvature[:, self._pairs[1], self._pairs[0]] = curvature[:, self._pairs[0], self._pairs[1]]
        curvature /= -self.n
        r = 1 / (means[:, :scalars] - x[:, None])
        mapped = np.empty_like(u)
        mapped[:, :scalars] = self.members * r
        slope = np.empty_like(curvature)
        slope[:, :scalars] = -(self.members * r**2)[:, :, None] * curvature[:, :scalars]
        if self.law.common is not None:
            g = self.groups
            matrix = means[:, scalars:].reshape(-1, g, g) - x[:, None, None] * np.eye(g)
            B = np.linalg.inv(matrix)
            mapped[:, scalars:] = B.reshape(-1, g * g)
            inner = curvature[:, scalars:].reshape(-1, g, g, size)
            turned = -np.einsum("xab,xbcj,xcd->xadj", B, inner, B, optimize=True)
            slope[:, scalars:] = turned.reshape(-1, g * g, size)
        return mapped, slope
