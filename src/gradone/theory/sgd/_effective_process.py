r"""Full-batch gradient descent seen from one sample: a process with memory, solved step by step.

Samples and dimensions go to infinity together, :math:`\alpha = n/d`. A training sample sees the
fields

.. math:: \lambda_t = m_t z + \omega_t + \sum_{s<t} R_{ts}\,\varphi_s, \qquad
          \omega \sim N(0, C), \qquad \varphi_t = a_t\,e_t\,\sigma'(\lambda_t + b_t)     [RB-1]

where :math:`R\varphi` is what the weights remember of this very sample. The weights obey linear
equations with :math:`\eta_s = \eta/\alpha` and :math:`\kappa = 1 - \eta\,\cdot` weight decay,

.. math::
    m_{t+1} &= \kappa m_t + \eta\,\mathbb{E}[\varphi_t z^\top], \qquad
    \Gamma_{ts} = \alpha\,\mathbb{E}[\partial\varphi_t/\partial\omega_s] \\
    R_{t+1,s} &= \kappa R_{ts} + \eta_s \sum_u \Gamma_{tu} R_{us}, \qquad R_{t+1,t} = \eta_s I \\
    B_{t+1} &= \kappa B_t + \eta_s \sum_u \Gamma_{tu} B_u, \qquad B_0 = I                  [RB-2]

which are solved in closed form:

.. math:: C_{ts} = B_t Q_\perp B_s^\top + \sum_{uv} R_{tu}\,\alpha\,
          \mathbb{E}[\varphi_u\varphi_v^\top]\,R_{sv}^\top, \qquad
          Q_t = m_t m_t^\top + C_{tt}.                                                     [RB-3]

Only the means over samples are drawn. No derivative is: with :math:`\omega = \Lambda\xi` and
:math:`\Lambda\Lambda^\top = C`, Stein's identity gives
:math:`\Gamma\Lambda = \alpha\,\mathbb{E}[\varphi\,\xi^\top]`, [RB-4], also for activations with
kinks, whose second derivative is no function.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...base.quantities import recovery_of
from ...calculus.sobol import MAX_DIMENSION, SobolSequence, gaussian_points
from ...targets.target import Target
from ...targets.training import TrainedStudent

# Fields of a network that learns stay of order one.
_DIVERGED = 1e6
# Relative size of directions of omega that are treated as absent.
_FLAT = 1e-9


@dataclass(frozen=True)
class Trajectory:
    """What one solution says of every step 0 ... T; NaN after a divergence."""

    overlap: np.ndarray  # (T + 1, p, r)
    norm: np.ndarray  # (T + 1, p, p)
    readout: np.ndarray  # (T + 1, p)
    bias: np.ndarray  # (T + 1, p)
    train_mse: np.ndarray  # (T + 1,)
    test_mse: np.ndarray  # (T + 1,)

    @property
    def recovery(self) -> np.ndarray:
        """Cosine of each hidden direction with the span of the neurons (T + 1, r)."""
        return recovery_of(self.overlap, self.norm)

    @property
    def steps_done(self) -> int:
        """Last step with numbers."""
        return int(np.isfinite(self.train_mse).sum()) - 1


def solve(
    student: TrainedStudent,
    target: Target,
    start: tuple[np.ndarray, np.ndarray],
    alpha: float,
    steps: int,
    draws: np.ndarray,
) -> Trajectory:
    """Solution from standard normal draws, :func:`draw_count` of them for each sample."""
    (M, Q0), p, r = start, student.width, target.r
    S = draws.shape[1]
    z, xi = draws[:r], draws[len(draws) - (steps + 1) * p :]
    clean = target.joint(draws[: target.joint.r].T)
    y = clean + np.sqrt(target.noise) * draws[target.joint.r] if target.noise else clean
    eta, keep = student.eta, 1 - student.eta * student.weight_decay
    a, b = np.array(student.a), np.array(student.b)
    sigma, slope = student.sigma, student.sigma.derivative()

    perpendicular = Q0 - M @ M.T
    phi = np.empty((steps * p, S))
    R, B = np.zeros(((steps + 1) * p, steps * p)), np.zeros(((steps + 1) * p, p))
    root = np.zeros(((steps + 1) * p, (steps + 1) * p))  # Lambda
    second = np.zeros((steps * p, steps * p))  # alpha E[phi phi^T]
    B[:p] = np.eye(p)
    out = _empty(steps, p, r)
    for t in range(steps + 1):
        now, past, known = slice(t * p, (t + 1) * p), slice(0, t * p), slice(0, (t + 1) * p)
        C = B[now] @ perpendicular @ B[known].T + R[now] @ second @ R[known].T  # [RB-3]
        Q = M @ M.T + C[:, now]
        if not np.abs(Q).max() < _DIVERGED:
            break
        before = root[past, past]
        root[now, past] = C[:, past] @ _inverse(before).T
        root[now, now] = _factor(C[:, now] - root[now, past] @ root[now, past].T)
        field = M @ z + root[now, known] @ xi[known] + R[now, past] @ phi[past]  # [RB-1]
        error = y - a @ sigma(field + b[:, None])
        fresh = M @ z + _factor(C[:, now]) @ xi[:p]  # a sample that no weight remembers
        miss = clean - a @ sigma(fresh + b[:, None])
        out.overlap[t], out.norm[t], out.readout[t], out.bias[t] = M, Q, a, b
        out.train_mse[t], out.test_mse[t] = error @ error / S, miss @ miss / S + target.noise
        if t == steps or not np.isfinite(out.train_mse[t]):
            break

        e = error if student.loss == "square" else y
        phi[now] = a[:, None] * e * slope(field + b[:, None])
        M = keep * M + eta * phi[now] @ z.T / S
        gamma = alpha * (phi[now] @ xi[known].T / S) @ _inverse(root[known, known])  # [RB-4]
        after = slice((t + 1) * p, (t + 2) * p)
        R[after] = keep * R[now] + eta / alpha * gamma @ R[known]  # [RB-2]
        R[after, now] += eta / alpha * np.eye(p)
        B[after] = keep * B[now] + eta / alpha * gamma @ B[known]
        second[now, known] = alpha * phi[now] @ phi[known].T / S
        second[known, now] = second[now, known].T
        if student.train_bias is not None:
            b = b + student.train_bias * phi[now].mean(axis=1)
        if student.train_readout is not None:
            previous = np.array(out.bias[t])[:, None]
            a = a + student.train_readout * sigma(field + previous) @ e / S
    return out


def draw_count(student: TrainedStudent, target: Target, steps: int) -> int:
    """Random numbers behind one sample: directions, noise of the label, a field for each step."""
    return target.joint.r + (target.noise > 0) + student.width * (steps + 1)


def cloud(count: int, samples: int, rng: np.random.Generator) -> np.ndarray:
    """Standard normal draws (count, samples): Sobol points in the first rows, random ones below.

    The first rows are the directions, the noise and the first fields, on which all that follows
    depends: there even points make the means more precise by a factor of 4 to 30.

    Examples
    --------
    >>> draws = cloud(12, 1024, np.random.default_rng(0))
    >>> draws.shape, bool(abs(draws[:10].mean(axis=1)).max() < 0.01)
    ((12, 1024), True)
    """
    even = min(count, MAX_DIMENSION)
    draws = np.empty((count, samples))
    draws[:even] = gaussian_points(SobolSequence(even, rng).draw(samples).T)
    draws[even:] = rng.standard_normal((count - even, samples))
    return draws


def _empty(steps: int, p: int, r: int) -> Trajectory:
    shapes = ((p, r), (p, p), (p,), (p,), (), ())
    return Trajectory(*(np.full((steps + 1, *shape), np.nan) for shape in shapes))


def _factor(C: np.ndarray) -> np.ndarray:
    """Factor F of a covariance C = F F^T that may be singular, or negative by rounding."""
    values, vectors = np.linalg.eigh((C + C.T) / 2)
    factor: np.ndarray = vectors * np.sqrt(np.maximum(values, 0.0))
    return factor


def _inverse(root: np.ndarray) -> np.ndarray:
    """Pseudo-inverse: the response to a direction in which omega does not move has no effect."""
    if not root.size:
        return root
    return np.linalg.pinv(root, rcond=_FLAT)
