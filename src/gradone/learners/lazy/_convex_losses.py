r"""Convex losses of a prediction, with the derivatives that Newton's method needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np


class SmoothLoss(Protocol):
    """Loss l(y, f) that is convex in f, with a continuous derivative."""

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Loss of each row."""

    def slope(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Derivative by f."""

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Second derivative by f, where it exists."""

    def majorant(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Curvature of a parabola that touches the loss at f and lies above it everywhere."""


@dataclass(frozen=True)
class Logistic:
    """log(1 + exp(-y f)) for labels -1 and 1.

    Examples
    --------
    >>> round(float(Logistic().value(np.array([-1.0]), np.array([0.0]))[0]), 6)
    0.693147
    """

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Loss of each row."""
        return np.logaddexp(0.0, -y * f)

    def slope(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Derivative by f."""
        from scipy.special import expit

        return -y * expit(-y * f)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Second derivative by f."""
        from scipy.special import expit

        return expit(f) * expit(-f)

    def majorant(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Curvature of a parabola above the loss that touches it at f."""
        size = np.maximum(np.abs(f), 1e-6)
        return np.tanh(size / 2) / (2 * size)


@dataclass(frozen=True)
class Huber:
    """(y - f)^2/2 up to a distance delta, then delta |y - f| - delta^2/2.

    Examples
    --------
    >>> Huber(1.0).value(np.array([0.0, 0.0]), np.array([0.5, 3.0]))
    array([0.125, 2.5  ])
    """

    delta: float

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Loss of each row."""
        distance = np.abs(y - f)
        near = np.minimum(distance, self.delta)
        return near * (distance - near / 2)

    def slope(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Derivative by f."""
        return np.clip(f - y, -self.delta, self.delta)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Second derivative by f."""
        return (np.abs(y - f) <= self.delta).astype(np.float64)

    def majorant(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Curvature of a parabola above the loss that touches it at f."""
        return self.delta / np.maximum(np.abs(y - f), self.delta)


@dataclass(frozen=True)
class Hinge:
    """max(0, 1 - y f) for labels -1 and 1.

    Examples
    --------
    >>> Hinge().value(np.array([1.0, 1.0]), np.array([0.5, 3.0]))
    array([0.5, 0. ])
    """

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Loss of each row."""
        return np.maximum(0.0, 1.0 - y * f)
