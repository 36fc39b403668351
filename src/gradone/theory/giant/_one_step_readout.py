r"""Ridge regression on the features after one giant step, in closed form.

Given :math:`\kappa = \langle v, x\rangle` a feature of a neuron with the initial readout u is
equivalent to

.. math:: \varphi \simeq \mu_0 + \mu_1\,(Wx) + \mu_2\,\xi, \qquad
          \mu_0 = \mathbb{E}\sigma(ru\kappa+\sqrt{c}z), \quad
          \mu_1 = \mathbb{E}[z\sigma]/\sqrt c, \quad
          \mu_2^2 = \mathbb{E}\sigma^2 - \mu_0^2 - c\mu_1^2.                              [OS-3]

Let j count the values of u, with shares :math:`\pi_j`; E is over :math:`\kappa`; write
:math:`\bar\alpha = \alpha/\beta` and :math:`D = 1/(1+\sum\mu_1^j\mu_1^l V_{jl} +
\sum(\mu_2^j)^2\pi_j\tau_j)`. The resolvent:

.. math:: C_{jl} &= \bar\alpha\,\mathbb{E}[\mu_1^j\mu_1^l D], \quad
          S = \mathrm{diag}(c_j\beta\pi_j\tau_j), \quad P = (I+CS)^{-1}, \quad N = PC, \\
          \tau_j &= 1/(\lambda + \bar\alpha\,\mathbb{E}[(\mu_2^j)^2D] + c_jN_{jj}), \quad
          V = SP/\beta.                                                                   [OS-4]

The mean :math:`\sum_j (m_j\mu_0^j + \zeta_j\chi_j)` of the predictor along the spike minimizes

.. math:: \mathbb{E}\Big[\Big(h - \sum_j m_j\mu_0^j - \sum_j\zeta_j\chi_j\Big)^2 D\Big]
          + \sum_j\frac{\zeta_j^2}{\bar\alpha S_j}
          + \frac1p\sum_j\frac{m_j^2}{\bar\alpha\,\pi_j\tau_j}                            [OS-5]

with :math:`\chi = \kappa\mu_1 + u B\mu_0''`; the last term is the finite width p. B is the change
of the row norms by the step, zero for the spiked model. With the overlaps
:math:`\hat\psi_j = \bar\alpha\,\mathbb{E}[\mu_1^jh_1D]`, :math:`\psi=\beta V\hat\psi`, the residual

.. math:: \mathrm{res} = \mathbb{E}[y^2|\kappa] - 2\,\mathrm{mean}\,h + \mathrm{mean}^2
          - 2 h_1\sum_j\mu_1^j\psi_j + \sum\mu_1^j\mu_1^lQ_{jl} + \sum(\mu_2^j)^2q_j      [OS-6]

(a target of several directions has one :math:`\psi_k` and one :math:`h_k` for each of them, whose
products are added [OS-14]) is linear in Q and q, and these are linear in the residual; then
``test`` is E[res] and ``train`` is :math:`\mathbb{E}[\mathrm{res}\,D^2]`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...targets.activation import Activation
from ...targets.target import Target
from ._one_step_labels import Labels, labels_given
from ._one_step_spike import Spike
from ._readout_law import ReadoutLaw
from ._smeared import line_rule, reach, window

TOLERANCE = 1e-13
MAX_ITER = 100_000
_FINEST = 2  # resolution in kappa from which on a cloud of labels is the larger error


@dataclass(frozen=True)
class Fields:
    """Everything that depends on kappa, on the nodes of a rule.

    Parameters
    ----------
    weights : ndarray (K,)
        Weights of the rule.
    mean, slope, rest, mode : ndarray (J, K)
        mu_0, mu_1, mu_2^2 and chi of the activation [OS-3].
    label : Labels
        Means of the label given kappa: h = E[y], h_k = E[y x_k] with x_k the parts of the target's
        directions orthogonal to the spike, and E[y^2].
    scales, shares : ndarray (J,)
        Squared norms of the bulk and shares of the values of the second layer.
    """

    weights: np.ndarray
    mean: np.ndarray
    slope: np.ndarray
    rest: np.ndarray
    mode: np.ndarray
    label: Labels
    scales: np.ndarray
    shares: np.ndarray


@dataclass(frozen=True)
class Readout:
    """Solution at one point.

    Parameters
    ----------
    test, train : float
        Mean squared errors, label noise included.
    m, zeta, q : ndarray (J,)
        Overlaps of the readout with the ones and with W v, and its squared norm.
    psi : ndarray (J, L)
        Overlaps with W x_k, for each direction of the target.
    Q, V1 : ndarray (J, J)
        Products of the readout with the bulk, and the traces of the resolvent.
    V2 : ndarray (J,)
        Shares times tau.
    error : float
        Relative error of tau that remains from the iteration.
    n_iter : int
        Iterations.
    converged : bool
        Whether the iteration reached its tolerance.
    """

    test: float
    train: float
    m: np.ndarray
    zeta: np.ndarray
    psi: np.ndarray
    q: np.ndarray
    Q: np.ndarray
    V1: np.ndarray
    V2: np.ndarray
    error: float
    n_iter: int
    converged: bool


def fields(
    target: Target,
    activation: Activation,
    layer: ReadoutLaw,
    spike: Spike,
    *,
    row_norms: bool,
    level: int,
) -> Fields:
    """Means of features and labels given kappa, at one resolution.

    Parameters
    ----------
    row_norms : bool
        Whether the change of the row norms by the step is kept.
    level : int
        Resolution.
    """
    gamma = spike.alignment
    blur = float(np.sqrt(max(1 - gamma * gamma, 0.0)))
    radius = max(reach(target.regression), reach(activation.expression))
    kinks = [k / gamma for k in target.regression.kinks] if gamma and target.r == 1 else []
    fineness = level if target.r == 1 else min(level, _FINEST)
    kappa, weights = line_rule(fineness, radius, kinks, abs(blur / gamma) if gamma else 0.0)
    label = labels_given(target, gamma, kappa, level)
    rows = []
    for u, c in zip(layer.values, spike.scales, strict=True):
        w = window(activation, spike.strength * u * kappa, float(np.sqrt(c)), level)
        slope = w.first / np.sqrt(c)
        rest = np.maximum(w.square - w.mean**2 - w.first**2, 0.0)
        stretch = u * spike.stretch if row_norms else 0.0
        rows.append((w.mean, slope, rest, kappa * slope + stretch * w.second / c))  # [OS-3]
    mean, slope, rest, mode = (np.array(part) for part in zip(*rows, strict=True))
    return Fields(
        weights, mean, slope, rest, mode, label, spike.scales, layer.shares
    )  # fmt: skip


def solve_readout(
    f: Fields, *, readout_ratio: float, width_ratio: float, ridge: float, width: float
) -> Readout:
    """Errors of the ridge readout at one point [OS-4] to [OS-6]."""
    from ._one_step_kernels import resolvent

    beta, samples = width_ratio, readout_ratio / width_ratio
    tau, V1, C, change, rate, count = resolvent(
        f.weights, f.slope, f.rest, f.scales, f.shares, samples, beta, ridge, TOLERANCE, MAX_ITER
    )
    V2 = f.shares * tau
    D = 1 / (1 + ((V1 @ f.slope) * f.slope).sum(axis=0) + V2 @ f.rest)
    weighted = samples * f.weights * D
    S = f.scales * beta * V2
    m, zeta = _along_spike(f, weighted, S, V2, width)
    mean = m @ f.mean + zeta @ f.mode
    psi_hat = f.slope @ (weighted * f.label.slopes).T
    psi = beta * V1 @ psi_hat
    along = ((psi.T @ f.slope) * f.label.slopes).sum(axis=0)
    base = f.label.square + mean * (mean - 2 * f.label.mean) - 2 * along
    zeta_hat = zeta / S
    force = f.scales * beta * zeta_hat**2 + m**2 / (width * V2**2)
    drive = np.concatenate([beta * (psi_hat @ psi_hat.T).ravel(), force])
    Q, q = _norms(f, weighted * D, base, drive, C, tau, beta)
    residual = base + ((Q @ f.slope) * f.slope).sum(axis=0) + q @ f.rest  # [OS-6]
    return Readout(
        test=float(f.weights @ residual),
        train=float(f.weights @ (residual * D * D)),
        m=m, zeta=zeta, psi=psi, q=q, Q=Q, V1=V1, V2=V2,
        error=change / max(1 - rate, 1e-6), n_iter=count, converged=bool(change <= TOLERANCE),
    )  # fmt: skip


def _along_spike(
    f: Fields, weighted: np.ndarray, S: np.ndarray, V2: np.ndarray, width: float
) -> tuple[np.ndarray, np.ndarray]:
    """Overlaps m and zeta: a least-squares problem with penalties [OS-5].

    As least squares, not as normal equations: the functions mu_0 of different u are nearly
    collinear. If they are so exactly the smallest m is taken; the errors do not depend on it.
    """
    J, root = len(S), np.sqrt(weighted)
    rows = np.vstack([f.mean * root, f.mode * root]).T
    penalty = np.diag(np.sqrt(np.concatenate([1 / (width * V2), 1 / S])))
    known = np.concatenate([f.label.mean * root, np.zeros(2 * J)])
    found = np.linalg.lstsq(np.vstack([rows, penalty]), known, rcond=1e-14)[0]
    return found[:J], found[J:]


def _norms(
    f: Fields,
    weighted: np.ndarray,
    base: np.ndarray,
    drive: np.ndarray,
    C: np.ndarray,
    tau: np.ndarray,
    beta: float,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Q (J, J) and q (J,), which drive the residual and are driven by it: one linear system.

    The derivative of [OS-4] in the direction of
    :math:`\hat A = \bar\alpha\,\mathbb{E}[\mu_1\mu_1^\top\mathrm{res}D^2]
    + \beta\hat\psi\hat\psi^\top` and
    :math:`\hat B_j = \bar\alpha\,\mathbb{E}[(\mu_2^j)^2\mathrm{res}D^2] +
    c_j\beta(\zeta_j/S_j)^2 + m_j^2/(p\pi_j^2\tau_j^2)` is

    .. math:: d\tau &= -L^{-1}(\hat B + c\,\mathrm{diag}(P\hat AP^\top)), \quad
              L = \mathrm{diag}(\tau^{-2}) - [c_jN_{jl}^2c_l\beta\pi_l], \\
              q &= -\pi\,d\tau, \quad
              Q = (K\hat AK^\top - P^\top\mathrm{diag}(c\beta\pi\,d\tau)P)/\beta,
              \quad K = SP.                                                          [OS-7]
    """
    J = len(tau)
    c, shares = f.scales, f.shares
    S = c * beta * shares * tau
    P = np.linalg.inv(np.eye(J) + C * S)
    N, K = P @ C, S[:, None] * P
    L = np.diag(1 / tau**2) - c[:, None] * N**2 * (c * beta * shares)
    pairs = (P[:, :, None] * P[:, None, :]).reshape(J, J * J)
    d_tau = -np.linalg.solve(L, np.hstack([c[:, None] * pairs, np.eye(J)]))
    response = np.vstack([-pairs.T @ ((c * shares)[:, None] * d_tau), -shares[:, None] * d_tau])
    response[: J * J, : J * J] += (K[:, None, :, None] * K[None, :, None, :]).reshape(
        J * J, -1
    ) / beta

    products = (f.slope[:, None, :] * f.slope[None, :, :]).reshape(J * J, -1)
    basis = np.vstack([products, f.rest])
    gram = (basis * weighted) @ basis.T
    driven = response @ (drive + basis @ (weighted * base))
    found = np.linalg.solve(np.eye(len(basis)) - response @ gram, driven)
    return found[: J * J].reshape(J, J), found[J * J :]
