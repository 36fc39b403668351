r"""Mean-field limit on Gaussian inputs with a covariance, for any directions of the target.

The weights of a neuron are :math:`w + e^{\Sigma H} w_0`: a learned vector w, which all neurons of
the same readout share, and the start, which grew by one number H and acts as noise of its own,

.. math:: s^2(H) = \frac1d\,\mathrm{Tr}\,\Sigma e^{2\Sigma H}.                          [MF-3]

All fields and projections are jointly Gaussian. Stein's lemma turns the mean of
:math:`e\,\sigma'\,x` into vectors of known covariance times scalar means: with
:math:`z = W^\star x` and the shares :math:`\pi` of the neurons,

.. math::
    \dot w = a\,\Sigma\Big(\mathbb{E}[e\,\sigma'']\,w + W^{\star\top}\,\mathbb{E}[\nabla g\,\sigma']
    - \sum_k \pi_k a_k \mathbb{E}[\sigma_k'\sigma']\,w_k\Big), \qquad
    \dot H = a\,\mathbb{E}[e\,\sigma''].                                               [MF-4]

A mean with the target is over z, where the field has a Gaussian law; a mean of two neurons is over
the learned field of one of them. Eigenvectors as directions are a special case: then w stays in
their span.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import BadData
from ...calculus.grid import gauss_hermite
from ...targets.on_inputs import OnInputs
from ._particles import Motion, Particles
from ._smoothed import SmoothedActivation

_PAIRS = 60  # nodes for the field of one neuron, where two of them meet


class Frame:
    """Covariance and directions in the eigenvectors of the covariance.

    Random directions have their limit in a high dimension: each of them lies evenly in a copy of
    the spectrum of its own.

    Parameters
    ----------
    law : OnInputs
        Target on Gaussian inputs with a covariance.

    Examples
    --------
    >>> from gradone import Target, inputs
    >>> frame = Frame(Target("z1*z2").on(inputs.gaussian(spectrum=[3.0, 1.0, 2.0])))
    >>> (frame.directions * frame.eigenvalues @ frame.directions.T).round(12).tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """

    def __init__(self, law: OnInputs) -> None:
        d = getattr(law.inputs, "dimension", None)
        if d is None:
            raise BadData(
                "the flow depends on the eigenvalues, and these on d: write "
                "gd.inputs.gaussian(power_law=..., d=...)"
            )
        values, r = law.inputs.covariance(d), law.r
        sizes, vectors = (values, None) if values.ndim == 1 else np.linalg.eigh(values)
        sizes = np.maximum(sizes, 0.0)
        if law.directions == "random":
            self.eigenvalues = np.tile(sizes, r)
            self.directions = np.kron(np.eye(r), np.full(d, d**-0.5))
            self.free = np.full(r * d, 1 / (r * d))
        else:
            rows = law.rows(d)
            self.eigenvalues = sizes
            self.directions = rows if vectors is None else rows @ vectors
            # Along the target the weights are learned: the rest of the start is noise.
            self.free = (1 - (self.directions**2).sum(axis=0)) / d


class CovarianceField:
    """What the particles feel, and their state: readouts, biases, H, and learned vectors.

    Parameters
    ----------
    frame : Frame
        Covariance and directions.
    z, weights, labels : ndarray (m, r), (m,), (m,)
        Nodes of standard Gaussian projections, their weights, and E[y|z] of the reduced target.
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
        frame: Frame,
        z: np.ndarray,
        weights: np.ndarray,
        labels: np.ndarray,
        noise: float,
        sigma: SmoothedActivation,
        shares: np.ndarray,
        motion: Motion,
    ) -> None:
        self._frame, self._sigma, self._shares, self._motion = frame, sigma, shares, motion
        self._z, self._noise = z, noise
        self._pull, self._square = weights * labels, float(weights @ labels**2)
        self._rate = frame.eigenvalues
        sizes, vectors = np.linalg.eigh((frame.directions * self._rate) @ frame.directions.T)
        # Standard projections are A^-1 W* x.
        self._whiten = (vectors / np.sqrt(sizes)) @ vectors.T @ frame.directions
        self._x, self._density = gauss_hermite(_PAIRS)

    def state(self, particles: Particles) -> np.ndarray:
        """Start as a vector: nothing is learned, H = 0."""
        N, D = len(particles.a), len(self._rate)
        return np.concatenate([particles.a, particles.b, np.zeros(N), np.zeros(N * D)])

    def velocity(self, state: np.ndarray) -> np.ndarray:
        """Time derivative of the state [MF-4]."""
        a, b, H, w = self._parts(state)
        motion, means = self._motion, _Means(self, b, H, w)
        seen, curved, along, sloped = means.value, means.curvature, means.gradient, means.slope
        back = np.zeros_like(w)
        if not motion.is_correlation:
            weight = self._shares * a
            seen = seen - means.pairs("value", "value") @ weight
            curved = curved - means.pairs("curvature", "value") @ weight
            sloped = sloped - means.pairs("slope", "value") @ weight
            back = (means.pairs("slope", "slope") * weight) @ w
        da = motion.train_readout * seen - motion.readout_decay * a
        db = motion.train_bias * a * sloped
        dw = a[:, None] * self._rate * (curved[:, None] * w + along @ self._whiten - back)
        return np.concatenate([da, db, a * curved, dw.ravel()])

    def readings(self, states: np.ndarray) -> dict[str, np.ndarray]:
        """What a curve says about states (times, ...)."""
        rows = [self._reading(state) for state in states]
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}

    def _reading(self, state: np.ndarray) -> dict[str, Any]:
        a, b, H, w = self._parts(state)
        means, weight = _Means(self, b, H, w), self._shares * a
        square = weight @ means.pairs("value", "value") @ weight
        return {
            "test_mse": self._square - 2 * float(means.value @ weight) + square + self._noise,
            "overlap": w @ self._frame.directions.T,
            "orthogonal_norm": means.beyond,
            "readout": a,
            "bias": b,
        }

    def _parts(self, state: np.ndarray) -> tuple[np.ndarray, ...]:
        N = len(self._shares)
        a, b, H, w = np.split(state, [N, 2 * N, 3 * N])
        return a, b, H, w.reshape(N, -1)


class _Means:
    """Means over the inputs at one state: with the target (N, ...), and of two neurons (N, N)."""

    def __init__(self, field: CovarianceField, b: np.ndarray, H: np.ndarray, w: np.ndarray) -> None:
        rate, sigma = field._rate, field._sigma
        grown = field._frame.free * rate * np.exp(2 * np.multiply.outer(H, rate))
        s = np.sqrt(grown.sum(axis=1))
        inner = (w * rate) @ w.T
        q = np.maximum(np.diag(inner), 0.0)
        # Given the projections z the field has the mean <k, z> + b and the rest as noise.
        k = (w * rate) @ field._whiten.T
        self.beyond = np.sqrt(np.maximum(q - (k**2).sum(axis=1), 0.0) + s**2)
        value, by_v, by_s = sigma(field._z @ k.T + b, self.beyond)
        self.value, self.slope = field._pull @ value, field._pull @ by_v
        with_target = (field._pull @ by_s) / self.beyond
        self.curvature = with_target
        # E[grad g sigma'] in standard projections, by Stein's lemma.
        self.gradient = by_v.T @ (field._pull[:, None] * field._z) - with_target[:, None] * k
        # Given the learned field sqrt(q) x of one neuron, that of another is a part of it and rest.
        x, root = field._x, np.sqrt(q)
        part = np.divide(inner, root[:, None], out=np.zeros_like(inner), where=root[:, None] > 0)
        rest = np.sqrt(np.maximum(q - part**2, 0.0) + s**2)
        one = sigma(root[:, None] * x + b[:, None], s[:, None])
        other = sigma(part[..., None] * x + b[:, None], rest[..., None])
        self._one = {"value": one.value, "slope": one.by_v, "curvature": one.by_s / s[:, None]}
        self._other = {"value": other.value, "slope": other.by_v}
        self._density = field._density

    def pairs(self, one: str, other: str) -> np.ndarray:
        """Means (N, N) of a function of each neuron times a function of each other."""
        return np.einsum("nm,nkm,m->nk", self._one[one], self._other[other], self._density)
