r"""The particles of the mean-field limit: their law at the start, and how they move.

A neuron is :math:`(a, b, u, s)`: readout, bias, overlaps with the r directions of the target, and
the norm of the rest of its weights, which acts as Gaussian noise :math:`sG` of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from ...base.errors import BadData
from ...base.seeds import stream
from ...calculus.grid import gauss_hermite
from ...calculus.line import gauss_legendre
from ...calculus.sobol import SobolSequence, gaussian_points
from ._smoothed import SmoothedActivation

READOUTS = ("signs", "uniform", "gaussian")


class Particles(NamedTuple):
    """State of N particles of given weights."""

    a: np.ndarray
    b: np.ndarray
    u: np.ndarray
    s: np.ndarray


@dataclass(frozen=True)
class Motion:
    """How the particles move: rates, decays, temperature, loss and geometry."""

    train_readout: float = 1.0
    train_bias: float = 0.0
    weight_decay: float = 0.0
    readout_decay: float = 0.0
    temperature: float = 0.0
    is_correlation: bool = False
    is_spherical: bool = False


def limit_start(readout: Any, bias: float, r: int, nodes: int) -> tuple[Particles, np.ndarray]:
    """Particles and weights in infinite dimension: no overlap at all, one particle per readout."""
    if isinstance(readout, str):
        if readout == "signs":
            a, weight = np.array([-1.0, 1.0]), np.full(2, 0.5)
        elif readout == "uniform":
            t, weight = gauss_legendre(nodes)
            a = 2 * t - 1
        elif readout == "gaussian":
            a, weight = gauss_hermite(nodes)
        else:
            raise BadData(
                f"readout must be one of {', '.join(map(repr, READOUTS))} or an array, got "
                f"{readout!r}"
            )
    else:
        a = np.atleast_1d(np.asarray(readout, dtype=np.float64))
        if a.ndim != 1 or not np.isfinite(a).all() or not a.any():
            raise BadData(f"readout must be finite numbers, not all zero, got {readout!r}")
        weight = np.full(len(a), 1 / len(a))
    N = len(a)
    return Particles(a, np.full(N, bias), np.zeros((N, r)), np.ones(N)), np.asarray(weight)


def finite_start(
    readout: Any, bias: float, r: int, d: float, count: int, replicate: int
) -> tuple[Particles, np.ndarray]:
    r"""Particles in dimension d: :math:`u \sim N(0, I/d)`, on the unit sphere, by Sobol points."""
    rng = stream(0, "init", theory="mean_field", r=r, replicate=replicate)
    points = SobolSequence(r + 1, rng).draw(count)
    u = gaussian_points(points[:, :r]) / np.sqrt(d)
    # Few neurons of a small d have |u| > 1: they lie in the span of the target.
    u /= np.maximum(np.sqrt((u**2).sum(axis=1, keepdims=True)), 1.0)
    law, _ = limit_start(readout, bias, r, 8)
    last = points[:, r]
    if readout == "uniform":
        a = 2 * last - 1
    elif readout == "gaussian":
        a = gaussian_points(last)
    else:
        a = law.a[np.minimum((last * len(law.a)).astype(np.int64), len(law.a) - 1)]
    s = np.sqrt(np.maximum(1 - (u**2).sum(axis=1), 1e-6))
    return Particles(a, np.full(count, bias), u, s), np.full(count, 1 / count)


class Field:
    """What the particles feel: the error of the network on nodes of the projections.

    Parameters
    ----------
    z, weights, labels : ndarray (m, r), (m,), (m,)
        Nodes, their weights, and E[y|z] there.
    noise : float
        Mean variance of the label given z.
    sigma : SmoothedActivation
        Activation of the neurons.
    shares : ndarray (N,)
        Weight of each particle.
    motion : Motion
        Rates.
    """

    def __init__(
        self,
        z: np.ndarray,
        weights: np.ndarray,
        labels: np.ndarray,
        noise: float,
        sigma: SmoothedActivation,
        shares: np.ndarray,
        motion: Motion,
    ) -> None:
        self._z, self._weights, self._labels, self._noise = z, weights, labels, noise
        self._sigma, self._shares, self._motion = sigma, shares, motion
        self._means = np.ascontiguousarray(z.T), weights, labels, np.asarray(shares, np.float64)

    def state(self, particles: Particles) -> np.ndarray:
        """Start as a vector."""
        return np.concatenate([part.ravel() for part in particles])

    def readings(self, states: np.ndarray) -> dict[str, np.ndarray]:
        """What a curve says about states (times, ...)."""
        parts = [self._particles(state) for state in states]
        if self._sigma.parts is None:
            error = [self._labels - self._features(p)[0] @ (self._shares * p.a) for p in parts]
            risk = np.square(error) @ self._weights
        else:
            from ._particle_kernels import risks

            risk = risks(states, *self._means, *self._sigma.parts)
        a, b, u, s = (np.stack(rows) for rows in zip(*parts, strict=True))
        return {
            "test_mse": risk + self._noise, "overlap": u, "orthogonal_norm": s, "readout": a,
            "bias": b,
        }  # fmt: skip

    def integrated(
        self, first: np.ndarray, times: np.ndarray, tolerance: float, limit: float
    ) -> tuple[np.ndarray, float] | None:
        """States at the times, as far as they exist, and the last time; None if not compiled."""
        if self._sigma.parts is None:
            return None
        from ._particle_kernels import integrate

        rates = np.array([float(getattr(self._motion, field.name)) for field in fields(Motion)])
        found, done, last = integrate(
            first, np.asarray(times, np.float64), tolerance, limit, *self._means, rates,
            *self._sigma.parts,
        )  # fmt: skip
        return found[:done], last

    def velocity(self, state: np.ndarray) -> np.ndarray:
        """Time derivative of the state [MF-1]."""
        motion = self._motion
        a, b, u, s = particles = self._particles(state)
        value, by_v, by_s = self._features(particles)
        error = self._labels
        if not motion.is_correlation:
            error = error - value @ (self._shares * a)
        pull = self._weights * error
        da = motion.train_readout * (pull @ value) - motion.readout_decay * a
        du = a[:, None] * (by_v.T @ (pull[:, None] * self._z)) - motion.weight_decay * u
        ds = a * (pull @ by_s) - motion.weight_decay * s
        if motion.temperature:
            ds = ds + motion.temperature / s
        if motion.is_spherical:  # what would change the norm is taken back
            along = (du * u).sum(axis=1) + ds * s
            du, ds = du - along[:, None] * u, ds - along * s
        db = motion.train_bias * a * (pull @ by_v)
        return self.state(Particles(da, db, du, ds))

    def _particles(self, state: np.ndarray) -> Particles:
        N = len(self._shares)
        a, b, u, s = np.split(state, [N, 2 * N, len(state) - N])
        return Particles(a, b, u.reshape(N, -1), s)

    def _features(self, particles: Particles) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._sigma(self._z @ particles.u.T + particles.b, np.abs(particles.s))
