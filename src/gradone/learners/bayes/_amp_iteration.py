r"""One run of Bayes-AMP for a multi-index model: the iteration, its damping, its verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ...channels.samples.channel import Posterior, SampleChannel
from .._callbacks import Step
from ._products import StandardizedProducts

Status = Literal["converged", "not converged", "diverged"]

NEGLIGIBLE = 5.0  # eigenvalues of W'W/d below 5/d are what a random W has: nothing was learned
_FLOOR = 1e-6  # of the variances V; 1e-3 costs 0.01 of overlap in almost noiseless targets
_HEAVIEST = 0.9
_TURN, _STRAIGHT = -0.1, 0.5  # cosine of two consecutive changes: an oscillation; a smooth approach
_QUIET = 3  # changes below the tolerance in a row
_SETTLE = 15  # iterations that a kick is given to grow
_KICKS = 2
_RUNAWAY = 1e6  # self-overlaps are at most 1 in theory; labels of another scale may ask for more


@dataclass
class Trace:
    """What is recorded at every iteration of a run."""

    change: list[float] = field(default_factory=list)
    damping: list[float] = field(default_factory=list)
    log_evidence: list[float] = field(default_factory=list)
    self_overlap: list[np.ndarray] = field(default_factory=list)

    def add(self, change: float, damping: float, log_z: np.ndarray, overlap: np.ndarray) -> None:
        """Record an iteration; the evidence is the mean over the labels that are possible."""
        possible = np.isfinite(log_z)
        self.change.append(change)
        self.damping.append(damping)
        self.log_evidence.append(float(log_z[possible].mean()) if possible.any() else -np.inf)
        self.self_overlap.append(overlap)


@dataclass
class AmpRun:
    """Where a run ended.

    Parameters
    ----------
    W : ndarray (d, r)
        Posterior means, of norm sqrt(d) times the overlap.
    V : ndarray (r, r)
        Posterior covariance, common to all coordinates.
    posterior : Posterior
        Channel at the last cavity means.
    status : {"converged", "not converged", "diverged"}
        Verdict.
    trace : Trace
        History.
    """

    W: np.ndarray
    V: np.ndarray
    posterior: Posterior
    status: Status
    trace: Trace

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return len(self.trace.change)

    @property
    def log_evidence(self) -> float:
        """Mean logarithm of the evidence of the labels at the last cavity means."""
        return self.trace.log_evidence[-1] if self.trace.log_evidence else -np.inf


def run_amp(
    products: StandardizedProducts,
    y: np.ndarray,
    channel: SampleChannel,
    *,
    W: np.ndarray,
    steps: Iterable[Step],
    damping: float,
    tol: float,
    rng: np.random.Generator,
) -> AmpRun:
    r"""Iterate Bayes-AMP from `W` until it settles, diverges, or the steps end.

    With :math:`\tilde X` of variance 1/d, the output function g of the channel, and all updates of
    W, S, V damped by the same :math:`\delta`:

    .. math::
        \Omega &= \tilde X W - S, \qquad g_i = g_{out}(y_i, \Omega_i, V), \qquad
        A = -\tfrac1d \sum_i \partial_\omega g_i, \qquad C = (I + A)^{-1} \\
        W &\leftarrow (\tilde X^\top g + W A)\, C, \qquad S \leftarrow g\, C, \qquad
        V \leftarrow C    [AMP-1]

    Notes
    -----
    The Onsager term S must be filtered exactly like W: then the part of :math:`\tilde X W` that
    comes from a sample itself still cancels, and the damped iteration has the same fixed points.

    Damping :math:`\delta` turns an eigenvalue :math:`\mu` of the undamped iteration into
    :math:`(1 - \delta)\mu + \delta`. Modes with :math:`\mathrm{Re}\,\mu < 1` need enough of it; it
    is never released below the given value, because labels with large
    :math:`\partial_\omega g_i` (products, whose output is unbounded) own localised modes with
    phases around 45 degrees, which look like a smooth approach (consecutive changes have a
    cosine above 0.5) and start to grow when damping is released. Modes with
    :math:`\mathrm{Re}\,\mu > 1` no damping can tame: above a threshold the noise modes of a
    direction that is not yet learned fill a disc of radius :math:`\sqrt{\alpha/\alpha_c}`. The
    direction is learned if its own real eigenvalue, near :math:`\alpha/\alpha_c`, stands outside
    the disc; in a finite sample close to the threshold it may not, and the run then wanders among
    the noise modes.
    """
    r, d, n = channel.r, products.d, len(y)
    identity = np.eye(r)
    S = np.zeros((n, r))
    V = _clipped(identity - W.T @ W / d, _FLOOR, 1.0)
    trace = Trace()
    posterior = Posterior(
        np.full(n, -np.inf), np.zeros((n, r)), np.zeros((n, r, r)), np.full(n, np.inf)
    )
    delta, previous, quiet, kicks, kicked = damping, np.zeros_like(W), 0, 0, 0
    least = np.sqrt(NEGLIGIBLE * r)  # norm of a W that knows nothing: a smaller one is no scale
    for t, step in enumerate(steps):
        posterior = channel.posterior(y, products.forward(W) - S, V)
        A = _clipped(-posterior.dg.sum(axis=0) / d, 0.0, np.inf)
        C = np.linalg.inv(identity + A)
        new = (products.backward(posterior.g) + W @ A) @ C  # [AMP-1]
        if not np.all(np.isfinite(new)) or np.sum(new**2) > _RUNAWAY * r * d:
            return AmpRun(W, V, posterior, "diverged", trace)
        move = new - W
        W = W + (1 - delta) * move
        S = (1 - delta) * posterior.g @ C + delta * S
        V = _clipped((1 - delta) * C + delta * V, _FLOOR, 1.0)
        change = float(np.linalg.norm(move) / max(np.linalg.norm(W), least))
        overlap, axes = np.linalg.eigh(W.T @ W / d)
        trace.add(change, delta, posterior.log_z, overlap)
        step.metadata.update(change=change)
        delta, previous = _next_damping(delta, damping, _cosine(move, previous)), move
        quiet = quiet + 1 if change < tol else 0
        if quiet < _QUIET or t < kicked + _SETTLE:
            continue
        # Directions of a later stage decay while the first ones grow: give them a second chance.
        unlearned = axes[:, overlap < NEGLIGIBLE / d]
        if not unlearned.shape[1] or kicks == _KICKS:
            return AmpRun(W, V, posterior, "converged", trace)
        kick = np.sqrt(3 / d) * rng.standard_normal((len(W), unlearned.shape[1]))
        W = W + (products.factor > 0)[:, None] * (kick @ unlearned.T)
        kicks, kicked, delta = kicks + 1, t, damping
    return AmpRun(W, V, posterior, "not converged", trace)


def _next_damping(delta: float, least: float, cosine: float) -> float:
    """Brake while consecutive changes oppose each other; release, not below `least`."""
    if cosine < _TURN:
        return min(max(_HEAVIEST, least), 1 - 0.8 * (1 - delta))
    if cosine > _STRAIGHT:
        return max(least, 1 - 1.1 * (1 - delta))
    return delta


def _clipped(matrix: np.ndarray, low: float, high: float) -> np.ndarray:
    """Symmetric part with eigenvalues in an interval."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return (vectors * np.clip(values, low, high)) @ vectors.T


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.sum(a * b)) / norm if norm else 0.0
