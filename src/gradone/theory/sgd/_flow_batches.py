r"""Means of the flow for optimizers that tie the samples of a batch together.

In the limit the samples of a batch of O(1) are orthogonal and have the same length. Pushes
:math:`\Phi` (b, p) of a batch become the effective pushes S (b, p) and the noise N (p, p):

.. math::
    \text{clip: } S = \frac{\gamma}{b}\,\Phi \min\!\Big(1, \frac{cb}{|\Phi|}\Big), \qquad
    \text{normalized: } S = \gamma\,\frac{\Phi}{|\Phi|}, \qquad
    \text{Muon: } S = \gamma\,\Phi(\Phi^\top\Phi)^{-1/2}, \qquad N = S^\top S     [FL-6]

and for signs, along directions that are spread over the coordinates, with :math:`\Phi_j` the column
of neuron j, :math:`S_j = \gamma\sqrt{2/\pi}\,\Phi_j/|\Phi_j|` and
:math:`N_{jl} = \gamma^2 (2/\pi) \arcsin\cos(\Phi_j, \Phi_l)`.
"""

from __future__ import annotations

import math

import numpy as np

from ...targets.target import Target
from ...targets.training import TrainedStudent
from ._flow_means import MeanRule, Means, cloud_of, mirrors, root, widening
from ._flow_push import Neurons, Push

_TINY = 1e-13  # squared singular values below this share of the largest are rounding errors


def effective(student: TrainedStudent, Phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Effective pushes S (n, b, p) and noise N (n, p, p) of pushes (n, b, p), for gamma = 1.

    Examples
    --------
    >>> from gradone.targets.training import read_training
    >>> student = read_training(width=1, optimizers=True, optimizer="normalized", batch_size=2)
    >>> effective(student, np.array([[[3.0], [4.0]]]))[0]
    array([[[0.6],
            [0.8]]])
    """
    Phi = clipped(student, Phi)
    if student.optimizer == "sign":
        length = np.sqrt((Phi**2).sum(axis=1))
        unit = Phi / np.where(length > 0, length, math.inf)[:, None]
        cosines = np.clip(unit.transpose(0, 2, 1) @ unit, -1.0, 1.0)
        return math.sqrt(2 / math.pi) * unit, 2 / math.pi * np.arcsin(cosines)
    if student.optimizer == "muon":
        S = Phi @ inverse_root(Phi.transpose(0, 2, 1) @ Phi)
    elif student.optimizer == "normalized":
        whole = np.sqrt((Phi**2).sum(axis=(1, 2), keepdims=True))
        S = Phi / np.where(whole > 0, whole, math.inf)
    else:
        S = Phi / Phi.shape[1]
    return S, S.transpose(0, 2, 1) @ S


def clipped(student: TrainedStudent, Phi: np.ndarray) -> np.ndarray:
    """Pushes (n, b, p) after the clipping of gradients, if there is one."""
    if student.clip_norm is None:
        return Phi
    if student.clip == "sample":
        length = np.sqrt((Phi**2).sum(axis=2, keepdims=True))
    else:
        length = np.sqrt((Phi**2).sum(axis=(1, 2), keepdims=True)) / Phi.shape[1]
    factors: np.ndarray = np.minimum(1.0, student.clip_norm / np.where(length > 0, length, 1.0))
    return Phi * factors


def inverse_root(H: np.ndarray) -> np.ndarray:
    """Pseudo-inverse of the root of symmetric matrices (..., p, p)."""
    sizes, axes = np.linalg.eigh(H)
    real = sizes > _TINY * np.maximum(sizes[..., -1:], 1e-300)
    inverse = np.where(real, 1 / np.sqrt(np.where(real, sizes, 1.0)), 0.0)
    found: np.ndarray = (axes * inverse[..., None, :]) @ np.swapaxes(axes, -1, -2)
    return found


class BatchMeans(MeanRule):
    """Means over a net whose points are whole batches.

    Parameters
    ----------
    push : Push
        The gradient of one sample.
    target : Target
        What is learned.
    M : ndarray (p, r)
        Overlaps at the start, whose symmetries the points respect.
    scramble, points : int
        Number of the scramble, and of batches.
    """

    is_smooth = False

    def __init__(
        self, push: Push, target: Target, M: np.ndarray, *, scramble: int, points: int
    ) -> None:
        student, g, r = push.student, target.joint, target.r
        p, b = student.width, student.batch_size
        # A net that is made wider in many dimensions has few points that count.
        scales = ((widening(g) if b <= 2 else 1.0,) * g.r + (1.0,) * p) * b
        scales += (1.0,) * (b * (target.noise > 0))
        flips = mirrors(g, np.pad(M, ((0, 0), (0, target.q))))
        tail = (1,) * (b * (target.noise > 0))
        signs = tuple((sign + (1,) * p) * b + tail for sign in flips)
        cloud, self._weight = cloud_of(scales, signs, scramble, points)
        inside = cloud[:, : b * (g.r + p)].reshape(len(cloud), b, g.r + p)
        self._push = push
        self._z, self._u = inside[..., :r].copy(), inside[..., g.r :].copy()
        self._y = g(inside[..., : g.r].copy())
        if target.noise:
            self._y = self._y + math.sqrt(target.noise) * cloud[:, b * (g.r + p) :]

    def __call__(self, neurons: Neurons) -> Means:
        """Means at a state."""
        student = self._push.student
        n, b, p = self._u.shape
        rest = self._u @ root(neurons.rest)
        fields = self._z @ neurons.M.T + rest
        Phi, error, features, slopes = self._push.gradient(
            fields.reshape(n * b, p), self._y.ravel(), neurons.a, neurons.b
        )
        S, N = effective(student, Phi.reshape(n, b, p))
        S, N = student.rate * S, student.rate**2 * N
        weighted = S * self._weight[:, None, None]
        each = np.repeat(self._weight / b, b)
        misfit = self._y.ravel() - features @ neurons.a
        return Means(
            with_z=np.einsum("nbj,nbk->jk", weighted, self._z),
            with_rest=np.einsum("nbj,nbk->jk", weighted, rest),
            squares=b * np.einsum("n,njl->jl", self._weight, N),  # divided by b later
            readout=(each * error) @ features,
            bias=neurons.a * ((each * error) @ slopes),
            mse=float(each @ misfit**2),
        )
