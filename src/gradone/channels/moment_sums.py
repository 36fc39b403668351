"""Mass, mean and second moments of z - omega for many samples, on a logarithmic scale."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .base import Posterior


class MomentSums(NamedTuple):
    """Moments of z - omega in units of exp(top), each sample with its own.

    Examples
    --------
    >>> sums = MomentSums.zeros(1, 2)
    >>> sums.merge(np.array([0]), np.zeros(1), np.ones(1), np.ones((1, 2)), np.ones((1, 2, 2)))
    >>> sums.posterior(np.eye(2)).g
    array([[1., 1.]])
    """

    top: np.ndarray
    """(n,) log scale; -inf while nothing has been added."""
    mass: np.ndarray
    """(n,) moment of order zero."""
    first: np.ndarray
    """(n, r) first moments."""
    second: np.ndarray
    """(n, r, r) second moments, below the diagonal and on it."""

    @classmethod
    def zeros(cls, n: int, r: int) -> MomentSums:
        """Sums of nothing."""
        return cls(np.full(n, -np.inf), np.zeros(n), np.zeros((n, r)), np.zeros((n, r, r)))

    def merge(
        self,
        index: np.ndarray,
        top: np.ndarray,
        mass: np.ndarray,
        first: np.ndarray,
        second: np.ndarray,
    ) -> None:
        """Add moments that are given in units of exp(top) to the samples `index`."""
        top = np.where(mass > 0, top, -np.inf)
        high = np.maximum(self.top[index], top)
        with np.errstate(invalid="ignore"):
            old, new = (np.nan_to_num(np.exp(t - high)) for t in (self.top[index], top))
        self.top[index] = high
        self.mass[index] = old * self.mass[index] + new * mass
        self.first[index] = old[:, None] * self.first[index] + new[:, None] * first
        self.second[index] = old[:, None, None] * self.second[index] + new[:, None, None] * second

    def posterior(self, V: np.ndarray) -> Posterior:
        """Posterior that has these moments, under a prior of covariance V."""
        possible = self.mass > 0
        mass = np.where(possible, self.mass, 1.0)
        mean = self.first / mass[:, None]
        lower = self.second / mass[:, None, None]
        second = lower + np.tril(lower, -1).transpose(0, 2, 1)
        covariance = second - mean[:, :, None] * mean[:, None, :]
        inverse = np.linalg.inv(V)
        dg = inverse @ covariance @ inverse - inverse
        return Posterior(
            np.where(possible, self.top + np.log(mass), -np.inf),
            np.where(possible[:, None], mean @ inverse, 0.0),
            np.where(possible[:, None, None], dg, 0.0),
        )
