r"""Means of the flow for optimizers that remember earlier gradients, over one long run of batches.

The memories forget within O(1) updates, in which overlaps and norms do not change: at a frozen
state they are stationary. Batches :math:`\Phi` (b, p) of pushes, Z, :math:`\Lambda` follow each
other in one long sequence, and all that is remembered is a linear filter of it.

**Momentum with normalized gradients or Muon.** The step :math:`D_t = \sum_s d_{t-s}G_s`, with
:math:`d_k = \beta^k` (Nesterov: :math:`\beta^{k+1}`, and 1 more at k = 0), has in the limit
:math:`H_t = D_t D_t^\top/d = \sum_s d_{t-s}^2\Phi_s^\top\Phi_s`; it is multiplied by :math:`K =
H^{-1/2}` or :math:`1/\sqrt{\mathrm{tr} H}`, and

.. math::
    \dot M = \gamma\,\mathbb{E}\Big[K_t \sum_s d_{t-s}\Phi_s^\top Z_s\Big], \qquad
    N = \gamma^2\,\mathbb{E}[K_t H_t K_t + K_t X_t + X_t^\top K_t], \qquad
    X_t = \sum_{u < t} \frac{D_t D_u^\top}{d} K_u. \qquad [FL-7]

X is what earlier updates have added to the weights along the samples that are still remembered.

**RMSprop and Adam**, along directions that are spread over the coordinates. One coordinate sees
:math:`g_s = \Phi_s^\top\xi_s/b` with independent standard :math:`\xi`, and moves by
:math:`u_t = \sum_s c_{t-s} g_s/\sqrt{v_t}`. The squares v do not change with the sign of
:math:`\xi_s`, so that of :math:`\mathbb{E}[u_t \langle\xi_s, z_s\rangle]` and
:math:`\mathbb{E}[u_t u_{t'}]` only products of the same batch are left:

.. math::
    \dot M = \gamma\,\mathbb{E}\Big[\sum_s \frac{c_{t-s}\,g_s\langle\xi_s, Z_s\rangle}{\sqrt{v_t}}
    \Big], \qquad N_{jl} = \gamma^2 \sum_{t'} \mathbb{E}[u_{j,t} u_{l,t'}]. \qquad [FL-8]
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...targets.target import Target
from ._flow_batches import clipped, inverse_root
from ._flow_means import MeanRule, Means, mirrors, root
from ._flow_push import Neurons, Push

_SEED = 20260103
_FORGOTTEN = 7.0  # memories are left alone for so many times their length, then they are stationary


class _Batches(NamedTuple):
    """Pushes Phi and hidden projections Z, and rest = lambda - M z: (time, copy, b, p or r)."""

    Phi: np.ndarray
    Z: np.ndarray
    rest: np.ndarray


class MemoryMeans(MeanRule):
    """Means over one long run of batches; see [FL-7] and [FL-8].

    Parameters
    ----------
    push : Push
        The gradient of one sample.
    target : Target
        What is learned.
    M : ndarray (p, r)
        Overlaps at the start, whose symmetries the runs respect.
    scramble, points : int
        Number of the run, and of its batches.
    """

    is_smooth = False

    def __init__(
        self, push: Push, target: Target, M: np.ndarray, *, scramble: int, points: int
    ) -> None:
        self._push, student, g, r = push, push.student, target.joint, target.r
        p, b = student.width, student.batch_size
        flips = np.array(mirrors(g, np.pad(M, ((0, 0), (0, target.q)))))
        longest = student.momentum
        if student.optimizer in ("rmsprop", "adam"):
            longest = max(student.betas[student.optimizer == "rmsprop" :])
        self._skip = math.ceil(_FORGOTTEN / (1 - longest))
        times = self._skip + max(points // len(flips), 1)
        rng = np.random.default_rng([_SEED, scramble])
        noisy = target.noise > 0
        cloud = _white(_strata((times * b, g.r + p + noisy), rng)).reshape(times, 1, b, -1)
        hidden = cloud[..., : g.r] * flips[:, None]
        own = np.broadcast_to(cloud[..., g.r : g.r + p], (*hidden.shape[:-1], p))
        self._z, self._u = hidden[..., :r].copy(), own.copy()
        self._y = g(hidden)
        if noisy:
            self._y = self._y + math.sqrt(target.noise) * cloud[..., -1]
        self._xi = _strata((times * b, 1), rng).reshape(times, 1, b)

    def __call__(self, neurons: Neurons) -> Means:
        """Means at a state."""
        student, shape = self._push.student, self._u.shape
        rest = self._u @ root(neurons.rest)
        fields = self._z @ neurons.M.T + rest
        Phi, error, features, slopes = self._push.gradient(
            fields.reshape(-1, shape[-1]), self._y.ravel(), neurons.a, neurons.b
        )
        misfit = self._y.ravel() - features @ neurons.a
        of_batches = clipped(student, Phi.reshape(-1, *shape[2:])).reshape(shape)
        run = _Batches(of_batches, self._z, rest)
        separate = student.optimizer in ("rmsprop", "adam")
        with_z, with_rest, N = self._coordinates(run) if separate else self._rows(run)
        gamma = student.eta
        return Means(
            with_z=gamma * with_z,
            with_rest=gamma * with_rest,
            squares=gamma**2 * shape[2] * N,  # divided by b later
            readout=error @ features / len(error),
            bias=neurons.a * (error @ slopes) / len(error),
            mse=float(np.mean(misfit**2)),
        )

    def _mean(self, series: np.ndarray) -> np.ndarray:
        found: np.ndarray = series[self._skip :].mean(axis=(0, 1))
        return found

    def _rows(self, run: _Batches) -> tuple[np.ndarray, ...]:
        """[FL-7]: steps that are normalized as a whole, or made orthogonal."""
        student = self._push.student
        beta = student.momentum
        own = 1.0 if student.nesterov else 0.0  # 1 more of the newest gradient
        fade = beta if student.nesterov else 1.0  # d_k = fade beta^k for k > 0
        newest = own + fade
        Phi_T = run.Phi.transpose(0, 1, 3, 2)
        squares = Phi_T @ run.Phi
        H = _remembered(squares, beta**2, newest**2, (fade * beta) ** 2)
        with_z, with_rest = (
            _remembered(Phi_T @ part, beta, newest, fade * beta) for part in (run.Z, run.rest)
        )
        if student.optimizer == "muon":
            K = inverse_root(H)
        else:
            trace = np.trace(H, axis1=2, axis2=3)[..., None, None]
            K = np.eye(H.shape[-1]) / np.sqrt(np.where(trace > 0, trace, math.inf))
        # D_t D_u^T/d = beta^(t-u) J_u for u < t.
        J = _remembered(squares, beta**2, fade * newest, (fade * beta) ** 2)
        X = _remembered(J @ K, beta, 0.0, beta)
        lagged = self._mean(K @ X)
        return (
            self._mean(K @ with_z),
            self._mean(K @ with_rest),
            self._mean(K @ H @ K) + lagged + lagged.T,
        )

    def _coordinates(self, run: _Batches) -> tuple[np.ndarray, ...]:
        """[FL-8]: steps that are divided coordinate by coordinate."""
        student = self._push.student
        one, two = student.betas
        one = 0.0 if student.optimizer == "rmsprop" else one
        g, of_z, of_rest = (np.einsum("tcb,tcbj->tcj", self._xi, part) for part in run)
        v = _remembered(g**2, two, 1 - two, (1 - two) * two, start=(g**2).mean(axis=0))
        # Where nothing but zeros was seen, nothing moves.
        w = 1 / np.sqrt(np.where(v > 0, v, math.inf))
        with_z, with_rest = (
            _remembered(g[..., None] * part[..., None, :], one, 1 - one, (1 - one) * one)
            for part in (of_z, of_rest)
        )
        pairs = g[..., None] * g[..., None, :]
        Y = _remembered(pairs, one**2, (1 - one) ** 2, (1 - one) ** 2 * one**2)
        X = _remembered(Y * w[..., None, :], one, 0.0, one)
        lagged = self._mean(w[..., None] * X)
        return (
            self._mean(w[..., None] * with_z),
            self._mean(w[..., None] * with_rest),
            self._mean(Y * w[..., None] * w[..., None, :]) + lagged + lagged.T,
        )


def _remembered(
    series: np.ndarray, fade: float, first: float, second: float, start: np.ndarray | None = None
) -> np.ndarray:
    """Sums over the past with weights first, second, second fade, second fade^2, ...

    Before the series stands the value `start` of the sums, zero by default.

    Examples
    --------
    >>> _remembered(np.array([[1.0], [0.0], [0.0]]), 0.5, 2.0, 1.0).ravel()
    array([2. , 1. , 0.5])
    """
    from scipy.signal import lfilter

    before = np.zeros((1, *series.shape[1:]))
    if start is not None:
        before[0] = fade * start
    found: np.ndarray = lfilter(
        [first, second - fade * first], [1, -fade], series, axis=0, zi=before
    )[0]
    return found


def _strata(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Standard normal numbers whose columns are the same quantiles in different random orders."""
    from scipy.special import ndtri

    quantiles = ndtri((np.arange(shape[0]) + 0.5) / shape[0])
    return np.stack([rng.permutation(quantiles) for _ in range(shape[1])], axis=1)


def _white(points: np.ndarray) -> np.ndarray:
    """Points with mean zero and unit covariance."""
    points = points - points.mean(axis=0)
    factor = np.linalg.cholesky(points.T @ points / len(points))
    white: np.ndarray = np.linalg.solve(factor, points.T).T
    return white
