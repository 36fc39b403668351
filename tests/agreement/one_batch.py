r"""What one gradient step does to a neuron at finite d and n: exact second moments, written out.

The neuron starts at norm 1 with overlaps u = W* w with the hidden directions, and the network with
output zero. With z the projections of a sample, :math:`h = u\cdot z + \sqrt{1-|u|^2}\,\xi` and
:math:`G = \mathbb{E}[y\sigma'(h)x]` the weights :math:`w + \frac{sa}{n}\sum y\sigma'(h)x` have

.. math:: \mathbb{E}|P_Vw|^2 = |u+saG_V|^2 + \frac{s^2a^2}{n}\big(\mathbb{E}[y^2\sigma'^2|z|^2]
          - |G_V|^2\big)

and likewise for the whole norm. No term is left out; [FO-1] is the leading order in 1/d.
"""

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import ndtr, roots_jacobi
from scipy.stats import t as student


def agrees(runs, theory, allowed=0.0):
    """Whether a mean agrees with a number: t-quantile of 1e-6, and a stated finite-size term."""
    runs = np.asarray(runs)
    assert len(runs) >= 12
    error = runs.std(axis=0, ddof=1) / math.sqrt(len(runs))
    distance = np.abs(runs.mean(axis=0) - theory)
    return bool(np.all(distance < student.isf(5e-7, len(runs) - 1) * error + allowed))


@dataclass(frozen=True)
class Leap:
    """A target, a student that sees it at order `leap`, and a step."""

    text: str
    activation: str
    leap: int
    step_size: float
    tensor: list  # first nonzero Hermite tensor C_l of the target
    coefficient: float  # c_l of the activation

    @property
    def function(self):
        return FUNCTIONS[self.leap]

    def step(self, d):
        return self.step_size * d ** ((self.leap - 1) / 2)


FUNCTIONS = {
    1: lambda z: z[:, 0] + (z[:, 1] ** 2 - 1) / 2,
    2: lambda z: (z[:, 0] ** 2 - 1) / 2 + z[:, 0] * z[:, 1],
    3: lambda z: z[:, 0] * (z[:, 1] ** 2 - 1),
}
CUBIC = "z + He2(z)/2 + He3(z)/6"
LEAPS = {
    1: Leap("z1 + He2(z2)/2", "relu(z)", 1, 4.0, [1, 0], 0.5),
    2: Leap("He2(z1)/2 + z1*z2", "relu(z)", 2, 4.0, [[1, 1], [1, 0]], 1 / math.sqrt(2 * math.pi)),
    3: Leap("z1*He2(z2)", CUBIC, 3, 2.0, [[[0, 0], [0, 2]], [[0, 2], [2, 0]]], 1.0),
}


def smeared_slopes(activation, mean, scale):
    r"""Means of s', s' xi, s'^2 and s'^2 xi^2 at the field mean + scale xi."""
    if activation == "relu(z)":
        t = mean / scale
        below, density = ndtr(t), np.exp(-t * t / 2) / math.sqrt(2 * math.pi)
        return below, density, below, below - t * density
    nodes, weights = np.polynomial.hermite_e.hermegauss(6)  # exact: the slope is a quadratic
    weights = weights / weights.sum()
    h = mean[..., None] + scale[:, None] * nodes
    slope = 1 + h + (h * h - 1) / 2
    return tuple(f @ weights for f in (slope, slope * nodes, slope**2, slope**2 * nodes**2))


def gaussian_plane(count=24):
    """Nodes (k, 2) and weights of the plane."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    weights = weights / weights.sum()
    return np.array(list(product(nodes, nodes))), np.outer(weights, weights).ravel()


def exact_squares(case, u, *, d, n, a=1.0):
    """Means over data of |P_V w|^2 and |w|^2 after the step, for neurons of overlaps u (k, 2)."""
    z, weights = gaussian_plane()
    own, s, r = np.sqrt(1 - (u * u).sum(axis=1)), case.step(d), 2
    y, z2 = case.function(z), (z * z).sum(axis=1)
    slope, along, square, square_along = smeared_slopes(case.activation, z @ u.T, own)
    G, g = ((weights * y)[:, None] * slope).T @ z, (weights * y) @ along
    inside = (weights * y * y * z2) @ square - (G * G).sum(axis=1)
    outside = (weights * y * y) @ (square * (d - r - 1) + square_along) - g * g
    subspace = ((u + s * a * G) ** 2).sum(axis=1) + s * s * inside / n
    return subspace, subspace + (own + s * a * g) ** 2 + s * s * outside / n


def leading_squares(case, u, *, d, n, a=1.0):
    """The same by [FO-1] for one neuron, with moments of the label by quadrature."""
    z, weights = gaussian_plane()
    y2, s = case.function(z) ** 2, case.step(d)
    A, B = weights @ y2, weights @ (y2 * (z * z).sum(axis=1))
    steepness = 0.5 if case.activation == "relu(z)" else 2.5
    pushed = np.array(case.tensor, dtype=float)
    for _ in range(case.leap - 1):
        pushed = pushed @ u
    S = a * case.coefficient / math.factorial(case.leap - 1) * pushed
    subspace = np.sum((u + s * S) ** 2) + s * s * B * steepness / n
    total = 1 + 2 * s * u @ S + s * s * (S @ S + ((d - 2) * A + B) * steepness / n)
    return subspace, total


def mean_over_starts(squares, d):
    """Means over rows uniform on the sphere, of a function of their overlaps u (k, 2)."""
    nodes, weights = roots_jacobi(8, (d - 4) / 2, 0.0)  # |u|^2 has the law Beta(1, (d - 2)/2)
    angles = 2 * np.pi * np.arange(16) / 16
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    u = np.sqrt((1 + nodes) / 2)[:, None, None] * circle
    share = np.repeat(weights / weights.sum(), 16) / 16
    return [share @ part for part in squares(u.reshape(-1, 2))]
