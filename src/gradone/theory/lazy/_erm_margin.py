r"""Logistic and hinge loss on labels of two values: averages over one Gaussian variable.

With :math:`\omega = \sqrt q\,\xi` and the law of the label given :math:`\xi` [EM-3], the output
function of the label y is :math:`y\gamma(y(\omega + b))` with :math:`\gamma` of [PX-1]. All
averages are integrals over :math:`\xi`, done by Gauss-Legendre panels that are narrow where the
proximal map bends and where the label changes.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...calculus.hermite import normal_density
from ...calculus.line import gauss_legendre
from ._erm_labels import TwoLabels
from ._erm_solve import Averages, Field, from_averages

_REACH = 9.0
_BASE = np.linspace(-_REACH, _REACH, 13)
_NODES = (8, 12)  # in each panel, by resolution
_GROWTH = 3.0 ** np.arange(8)
MarginLoss = Literal["logistic", "hinge"]


class MarginOutput:
    """Averages of a margin loss.

    Parameters
    ----------
    labels : TwoLabels
        Law of the label.
    loss : {"logistic", "hinge"}
        Loss of the margin y f.
    """

    def __init__(self, labels: TwoLabels, loss: MarginLoss) -> None:
        from ...calculus.proximal import MARGIN_LOSSES

        self.labels, self.loss, self.r = labels, loss, labels.r
        self._kind = MARGIN_LOSSES[loss]

    def averages(self, field: Field, resolution: int = 0) -> Averages:
        """Averages at a law of the output."""
        from ._erm_margin_kernels import margin_outputs

        scale = np.sqrt(field.q)
        # The hinge bends at the margins 1 and 1 - V, sharply; the logistic loss near 0 and -V,
        # over a distance of order 1.
        bends, width = ((1.0, 1.0 - field.V), 0.0) if self.loss == "hinge" else ((0.0, -field.V), 1)
        centers = [(y * t - field.b) / scale for t in bends for y in (-1.0, 1.0)]
        xi, weight = panels(self.labels, field, centers, width / scale, resolution)
        P, moment = self.labels.given(xi, field.m / scale, resolution)
        t = scale * xi + field.b
        up, up_loss = margin_outputs(self._kind, t, field.V)
        down, down_loss = margin_outputs(self._kind, -t, field.V)
        g = P * up - (1 - P) * down  # mean of g given xi
        mean = float(weight @ g)
        mean_omega_g = float(scale * (weight * xi) @ g)
        rest = np.outer(xi, field.m / scale) - moment  # E[z; y = -1]
        mean_z_g = (weight * up) @ moment - (weight * down) @ rest
        D, H = from_averages(field, mean_omega_g, mean_z_g)
        G = float(weight @ (P * up**2 + (1 - P) * down**2))
        loss = float(weight @ (P * up_loss + (1 - P) * down_loss))
        return Averages(D, G, H, mean, loss)

    def threshold(self, field: Field) -> float:
        """Margin of a new sample below which, once trained on, it is still on the wrong side."""
        return -field.V if self.loss == "hinge" else -0.5 * field.V


def zero_one_error(
    labels: TwoLabels, field: Field, *, margin: float = 0.0, resolution: int = 1
) -> float:
    r"""Probability that the margin :math:`y(\omega + b)` of a new sample is below a value.

    At 0 it is the probability of a wrong label.
    """
    scale = np.sqrt(field.q)
    jumps = [(y * margin - field.b) / scale for y in (-1.0, 1.0)]
    xi, weight = panels(labels, field, jumps, 0.0, resolution)
    P, _ = labels.given(xi, field.m / scale, resolution)
    t = scale * xi + field.b
    return float(weight @ (P * (t < margin) + (1 - P) * (-t < margin)))


def panels(
    labels: TwoLabels, field: Field, centers: list[float], width: float, resolution: int
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for a standard Gaussian variable, dense around centers of some width."""
    edges = [_BASE, np.array(centers)]
    if width:
        steps = np.array([-width, width])[:, None] * _GROWTH
        edges += [center + steps.ravel() for center in centers]
    # The label changes around its kinks over the distance that the output leaves open.
    cosine = min(np.sqrt(float(field.m @ field.m) / field.q), 1 - 1e-14)
    if cosine > 0.1:
        width = np.sqrt(1 - cosine**2) / cosine
        steps = np.array([-width, width])[:, None] * _GROWTH
        edges += [kink / cosine + steps.ravel() for kink in labels.kinks]
        edges.append(labels.kinks / cosine)
    ends = np.unique(np.concatenate(edges))
    ends = ends[np.abs(ends) <= _REACH]
    ends = ends[np.diff(ends, prepend=-np.inf) > 1e-12]
    nodes, weights = gauss_legendre(_NODES[resolution])
    lengths = np.diff(ends)[:, None]
    xi = (ends[:-1, None] + lengths * nodes).ravel()
    return xi, (lengths * weights).ravel() * normal_density(xi)
