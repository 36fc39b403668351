r"""What the label of a target tells given the projection on the spike of one giant step.

With n of the order of d the step learns one direction, :math:`v = \gamma e + \sqrt{1-\gamma^2}\,
\eta`, where e is the linear part of the target and :math:`\eta` is noise. Given
:math:`\kappa = \langle v, x\rangle` a target of several directions has

.. math:: z = \big(\gamma\kappa + \sqrt{1-\gamma^2}\,x_1\big)\,e + \sum_{k\ge2} x_k e_k, \qquad
          h = \mathbb{E}[y\mid\kappa], \qquad h_k = \mathbb{E}[y\,x_k\mid\kappa],      [OS-14]

with independent Gaussian x and an orthonormal basis :math:`e, e_2, \dots` of its directions. The
features see all :math:`x_k` alike, through independent projections of the isotropic bulk, so the
readout has one overlap :math:`\psi_k` for each of them, and nothing else of the target enters.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import ndtri

from ...base.seeds import stream
from ...calculus.grid import gauss_hermite
from ...calculus.sobol import SobolSequence
from ...targets.activation import Activation
from ...targets.target import Target
from ._one_step_spike import direction_of, link_function
from ._smeared import window

_NODES = (8, 12, 16, 24, 32)  # in each direction, for smooth targets
_POINTS = 512  # of a cloud at the coarsest resolution, before their signs are turned


@dataclass(frozen=True)
class Labels:
    """Means of the label given kappa, on the nodes of a rule.

    Parameters
    ----------
    mean, square : ndarray (K,)
        E[y] and E[y^2] given kappa.
    slopes : ndarray (L, K)
        E[y x_k] given kappa, for each direction of the target.
    """

    mean: np.ndarray
    square: np.ndarray
    slopes: np.ndarray


def labels_given(target: Target, alignment: float, kappa: np.ndarray, level: int) -> Labels:
    """Means of the label given the projection on the spike [OS-14].

    Parameters
    ----------
    target : Target
        Target in its own directions.
    alignment : float
        Cosine of the spike with the linear part of the target.
    kappa : ndarray (K,)
        Projections.
    level : int
        Resolution.

    Examples
    --------
    >>> found = labels_given(Target("z1 + z1*z2"), 0.8, np.array([2.0]), 4)
    >>> found.mean.round(3), found.slopes.round(3).ravel()
    (array([1.6]), array([0.6, 1.6]))
    """
    blur = float(np.sqrt(max(1 - alignment * alignment, 0.0)))
    if target.r == 1:
        label = window(link_function(target), alignment * kappa, blur, level)
        square = label.square + target.noise
        if target.q:  # its variance depends on z, so that kappa tells something about it
            variance = Activation.of(target.conditional_variance)
            square = square + window(variance, alignment * kappa, blur, level).mean
        return Labels(label.mean, square, label.first[None])
    basis, (x, weights) = _basis(target), _points(target, level)
    mean, square = np.empty(len(kappa)), np.empty(len(kappa))
    slopes = np.empty((target.r, len(kappa)))
    for i, place in enumerate(kappa):
        z = np.column_stack([alignment * place + blur * x[:, 0], x[:, 1:]]) @ basis
        y = target.mean(z)
        weighted = weights * y
        mean[i], slopes[:, i] = weighted.sum(), weighted @ x
        square[i] = weighted @ y + target.noise
        if target.q:
            square[i] += weights @ target.conditional_variance(z)
    return Labels(mean, square, slopes)


def _basis(target: Target) -> np.ndarray:
    """Orthonormal rows, the first along the linear part of the target."""
    first = direction_of(target)
    rows = np.linalg.qr(np.column_stack([first, np.eye(target.r)]))[0].T
    return rows * np.sign(rows[0] @ first)


def _points(target: Target, level: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights for as many Gaussians as the target has directions."""
    r, (planes, has_curved_breaks) = target.r, target.regression.breaks
    if not planes and not has_curved_breaks:
        nodes, weights = gauss_hermite(_NODES[level])
        grid = np.stack(np.meshgrid(*[nodes] * r, indexing="ij"), axis=-1).reshape(-1, r)
        mass = np.stack(np.meshgrid(*[weights] * r, indexing="ij"), axis=-1).reshape(-1, r)
        return grid, mass.prod(axis=1)
    # A jump stops the rule of Gauss; points with all their mirror images keep odd moments exact.
    u = SobolSequence(r, stream(level, "points", labels=r)).draw(_POINTS << level)
    quarter = np.abs(ndtri(u))
    quarter /= np.sqrt((quarter**2).mean(axis=0))
    signs = np.array(list(product((-1.0, 1.0), repeat=r)))
    cloud = (quarter[:, None, :] * signs).reshape(-1, r)
    return cloud, np.full(len(cloud), 1 / len(cloud))
