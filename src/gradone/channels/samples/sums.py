"""Sums from which a posterior is made, and how they are refined until two rules agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

_BLOCK = 1024  # samples that are looked at together
_EXACT = 1e-7  # rules that need no lattice differ by rounding only
SQUARED = 4.0  # error of a rule that converges geometrically, over the square of its last change
ORDER = 2.0  # what halving the step does at least to the error of a rule


class Sums(NamedTuple):
    """Mass, and moments of x = V^(-1/2) (z - omega), of the likelihood times the prior."""

    log_scale: np.ndarray
    """(n,) logarithm of the unit of the others."""
    mass: np.ndarray
    """(n,)."""
    first: np.ndarray
    """(n, k)."""
    second: np.ndarray
    """(n, k, k)."""

    @classmethod
    def zeros(cls, n: int, k: int) -> Sums:
        """Nothing yet."""
        return cls(np.zeros(n), np.zeros(n), np.zeros((n, k)), np.zeros((n, k, k)))

    def add(self, other: Sums) -> None:
        """Add sums in the same unit."""
        for mine, more in zip(self[1:], other[1:], strict=True):
            mine += more

    def rotated(self, frame: np.ndarray) -> Sums:
        """Sums of ``frame @ x`` from those of x."""
        return self._replace(first=self.first @ frame.T, second=frame @ self.second @ frame.T)

    def moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Logarithm of the mass, mean and covariance of x; those of the prior without mass."""
        k = self.first.shape[1]
        is_possible = self.mass > 0
        mass = np.where(is_possible, self.mass, 1.0)
        with np.errstate(divide="ignore"):
            log_z = np.where(is_possible, self.log_scale + np.log(mass), -np.inf)
        mean = np.where(is_possible[:, None], self.first / mass[:, None], 0.0)
        second = np.where(is_possible[:, None, None], self.second / mass[:, None, None], np.eye(k))
        return log_z, mean, second - mean[:, :, None] * mean[:, None, :]


class Moments(NamedTuple):
    """Evidence, and mean and covariance of x under the posterior, with their error."""

    log_z: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    error: np.ndarray
    """(n,) estimated error of the other three; infinite where nothing is known of it."""


Rule = Callable[[np.ndarray, np.ndarray], tuple[Sums, Sums]]
"""Labels (n,) and prior means (n, k) -> sums, and those of the rule with twice the step."""


def later(build: Callable[[], Rule]) -> Rule:
    """Rule that is prepared when it is first used: few samples need the finer ones."""
    built = cache(build)
    return lambda y, omega: built()(y, omega)


def refined(
    rules: Sequence[Rule],
    y: np.ndarray,
    omega: np.ndarray,
    tolerance: float,
    *,
    geometric: int = 0,
) -> Moments:
    """Moments from the first rule whose error is small enough, for each sample on its own.

    The error is estimated from the rule with twice the step; where none is good enough the best
    of them counts. The first `geometric` rules converge geometrically: halving the step squares
    the error.
    """
    n, k = omega.shape
    best = Moments(
        np.full(n, -np.inf), np.zeros((n, k)), np.tile(np.eye(k), (n, 1, 1)), np.full(n, np.inf)
    )
    for start in range(0, n, _BLOCK):
        left = np.arange(start, min(start + _BLOCK, n))
        _refine(rules, y, omega, tolerance, geometric, best, left)
    return best


def _refine(
    rules: Sequence[Rule],
    y: np.ndarray,
    omega: np.ndarray,
    tolerance: float,
    geometric: int,
    best: Moments,
    left: np.ndarray,
) -> None:
    """Write the moments of the samples `left` to `best`."""
    for number, rule in enumerate(rules):
        if not len(left):
            break
        fine, coarse = (sums.moments() for sums in rule(y[left], omega[left]))
        with np.errstate(invalid="ignore"):
            error = np.abs(fine[0] - coarse[0])
        error = np.maximum(error, np.abs(fine[1] - coarse[1]).max(axis=1))
        error = np.maximum(error, np.abs(fine[2] - coarse[2]).max(axis=(1, 2)))
        error = SQUARED * error**2 if number < geometric else error / ORDER
        # Two lattices may agree by chance: no sample claims less than what is asked for.
        error = np.where(error > _EXACT, np.maximum(error, tolerance), error)
        error = np.where(np.isfinite(fine[0]) & np.isfinite(coarse[0]), error, np.inf)
        is_new = (error <= best.error[left]) & np.isfinite(fine[0])
        for all_, new in zip(best, (*fine, error), strict=True):
            all_[left[is_new]] = new[is_new]
        left = left[~(best.error[left] <= tolerance)]
