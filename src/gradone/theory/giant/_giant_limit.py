r"""Exact limit of T giant steps on fresh batches, :math:`n = \alpha d`, d then width to infinity.

Neurons with the same readout a and bias b form a class, with probability P. A neuron of class c
sees a sample through :math:`h_c = M_c\cdot u + b_c` and a Gaussian of its own with scale
:math:`S_c`; u holds the projections z of the target and one shared Gaussian for each direction of
noise that earlier steps left in all neurons. With means over the own Gaussian,
:math:`s_0 = \mathbb{E}\sigma`, :math:`s_1 = \mathbb{E}\sigma'`, :math:`s_2 = \mathbb{E}\sigma'^2`,
:math:`s_\xi = \mathbb{E}[\sigma'\xi]`, and :math:`\epsilon = g(z) - \sum_cP_ca_cs_0^c`,

.. math:: G_c &= a_c\,\mathbb{E}[\epsilon\,s_1^c\,u], \qquad
          g_c = a_c\,\mathbb{E}[\epsilon\,s_\xi^c], \\
          K_{cc'} &= \tfrac1\alpha a_ca_{c'}\mathbb{E}[(\epsilon^2+\Delta)s_1^cs_1^{c'}], \qquad
          v_c = \tfrac1\alpha a_c^2\,\mathbb{E}[(\epsilon^2+\Delta)(s_2^c-(s_1^c)^2)]      [GL-1]

and, with :math:`K = LL^\top`,

.. math:: M_c \leftarrow (M_c + sG_c,\; sL_c), \qquad
          S_c \leftarrow \sqrt{(S_c+sg_c)^2+s^2v_c}.                                      [GL-2]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...targets.activation import Activation
from ...targets.target import Target
from ._smeared import window

_LEVEL = 1
_PER_SCALE = 12  # nodes of a table in one own scale: cubic interpolation is good to 1e-7
_MOST_NODES = 20_000
# Share of the noise covariance below which a direction of noise is dropped.
_FLAT = 1e-9
_DIVERGED = 1e4


@dataclass(frozen=True)
class Classes:
    """Neurons by their readout and bias.

    Parameters
    ----------
    readout, bias, share : ndarray (C,)
        a, b and the probability of each class.
    """

    readout: np.ndarray
    bias: np.ndarray
    share: np.ndarray


@dataclass(frozen=True)
class Course:
    """What one solution says of the weights after 0 ... T steps; NaN after a divergence."""

    overlap: np.ndarray  # (T + 1, C, r)
    norm: np.ndarray  # (T + 1, C)
    gradient_cosine: np.ndarray  # (T + 1, C, r)
    test_mse: np.ndarray  # (T + 1,)

    @property
    def steps_done(self) -> int:
        """Last step with numbers."""
        return int(np.isfinite(self.test_mse).sum()) - 1


def draw_count(classes: Classes, target: Target, steps: int) -> int:
    """Most Gaussians behind one sample: directions, noise of all steps but the last, latent noise.

    Neurons share the first two; the third is that of the label.
    """
    return target.joint.r + steps * len(classes.readout)


def course(
    target: Target,
    activation: Activation,
    classes: Classes,
    *,
    batch_ratio: float,
    step_size: float,
    steps: int,
    draws: np.ndarray,
) -> Course:
    """Solution from standard normal draws, :func:`draw_count` of them for each sample."""
    a, b, P = classes.readout, classes.bias, classes.share
    C, r, N = len(a), target.r, draws.shape[1]
    slope = activation.derivative()
    g = target.joint(np.concatenate([draws[:r], draws[len(draws) - target.q :]]).T)
    # The points miss some of the energy of targets with heavy tails, which is known better.
    energy = target.joint.second_moment()
    lost = energy.value - (g * g).mean() if energy.error < 1e-4 * energy.value else 0.0
    M, S, used = np.zeros((C, r)), np.ones(C), r
    out = Course(*(np.full((steps + 1, *shape), np.nan) for shape in ((C, r), (C,), (C, r), ())))
    for t in range(steps + 1):
        if not (np.abs(M).max() < _DIVERGED and S.max() < _DIVERGED):
            break
        u = draws[:used]
        h = M @ u + b[:, None]
        s0, s1, s2, sx = _smeared(activation, slope, h, S)
        miss = g - (P * a) @ s0
        square = miss * miss + target.noise + lost
        if not square.mean() < _DIVERGED**2 * energy.value:
            break
        out.overlap[t], out.norm[t] = M[:, :r], np.sqrt((M * M).sum(axis=1) + S * S)
        out.test_mse[t] = square.mean()
        G = a[:, None] * ((s1 * miss) @ u.T) / N  # [GL-1]
        own = a * (sx @ miss) / N
        K = np.outer(a, a) * ((s1 * square) @ s1.T) / (N * batch_ratio)
        v = np.maximum(a * a * ((s2 - s1 * s1) @ square) / (N * batch_ratio), 0.0)
        length = np.sqrt((G * G).sum(axis=1) + own * own + np.diag(K) + v)
        out.gradient_cosine[t] = G[:, :r] / np.where(length > 0, length, 1.0)[:, None]
        L = _factor(K)
        M = np.hstack([M + step_size * G, step_size * L])  # [GL-2]
        S = np.sqrt((S + step_size * own) ** 2 + step_size**2 * v)
        used += L.shape[1]
    return out


def _smeared(
    activation: Activation, slope: Activation, h: np.ndarray, S: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Means over each class's own Gaussian, (C, N) each, from tables in h."""
    from scipy.interpolate import CubicSpline

    found = np.empty((4, *h.shape))
    for c, (row, scale) in enumerate(zip(h, S, strict=True)):
        low, high = row.min(), row.max()
        if high - low < 1e-12:  # before the first step all samples look alike
            low, high = low - scale, high + scale
        count = int(min(np.ceil((high - low) / scale * _PER_SCALE) + 8, _MOST_NODES))
        nodes = np.linspace(low, high, count)
        sigma, prime = (window(f, nodes, float(scale), _LEVEL) for f in (activation, slope))
        table = np.column_stack([sigma.mean, prime.mean, prime.square, prime.first])
        # exp overflows where the weights are about to diverge: the error then says so.
        is_finite = np.isfinite(table).all()
        found[:, c] = CubicSpline(nodes, table)(row).T if is_finite else np.nan
    return found[0], found[1], found[2], found[3]


def _factor(K: np.ndarray) -> np.ndarray:
    """Factor L of a covariance, without the directions in which nothing varies."""
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    keep = values > _FLAT * max(float(values.max(initial=0.0)), 1e-300)
    # The largest first: the first rows of the draws are the even ones.
    return (vectors[:, keep] * np.sqrt(values[keep]))[:, ::-1]
