r"""Law of a label with two values, given one linear statistic of the projections.

With z and :math:`\xi` standard Gaussian and :math:`\mathbb{E} z\xi = c`, the margin losses need

.. math:: P(y = 1 \mid \xi), \qquad \mathbb{E}[z\,1_{y=1} \mid \xi].                    [EM-3]
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from ...base.errors import BadData, OutOfRegime
from ...calculus.hermite import normal_density
from ...channels import MAX_DIRECTIONS
from ...channels.samples.channel import SampleChannel
from ...targets.target import Target


class TwoLabels:
    """Label of a target that takes two values; the larger one counts as 1, the other as -1.

    Parameters
    ----------
    target : Target
        Noiseless target with two values.
    flips : float
        Probability that the label of a training or test sample is the other one.

    Examples
    --------
    >>> labels = TwoLabels(Target("sign(z)"), flips=0.1)
    >>> P, moment = labels.given(np.array([0.0]), np.array([0.5]))
    >>> P, moment.round(6)
    (array([0.5]), array([[0.276...]]))
    """

    def __init__(self, target: Target, flips: float = 0.0) -> None:
        if target.noise:
            raise BadData(
                f"the labels of a classification carry no additive noise, the target has noise "
                f"{target.noise:g}; use noise=0 and flips=... for labels that may be wrong"
            )
        values = target.channel.values
        if target.channel.kind != "discrete" or len(values) != 2:
            raise OutOfRegime(
                "'random_features' with this loss does not cover this target: a classification "
                f"has two labels, '{target.text}' has "
                + (f"{len(values)}" if target.channel.kind == "discrete" else "real ones")
                + ". Use sign(...) around it, or loss='square' or 'huber'."
            )
        self.target, self.flips, self.r = target, flips, target.r
        self.values = values
        self._known: dict[int, tuple[float, np.ndarray]] = {}
        self._channels: list[SampleChannel] = []
        if target.r == 1 and not target.expression.breaks[1]:
            self.kinks = np.array(target.expression.kinks)
            ends = [self.kinks[0] - 1, *(self.kinks[:-1] + self.kinks[1:]) / 2, self.kinks[-1] + 1]
            self._is_up = np.asarray(target(np.array(ends)[:, None])) == values[1]
            return
        self.kinks = np.zeros(1)  # where the law may change fast, in units of <c, z>/|c|
        if len(target.expression.span) > MAX_DIRECTIONS:
            raise OutOfRegime(
                f"the law of the label is an integral over {len(target.expression.span)} "
                f"directions, at most {MAX_DIRECTIONS} can be done with this loss"
            )
        self._channels = [SampleChannel(target, resolution=i) for i in (1, 2)]

    def given(
        self, xi: np.ndarray, c: np.ndarray, resolution: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """P(y = 1) (n,) and E[z; y = 1] (n, r) at each xi (n,), for E[z xi] = c (r,)."""
        mean = xi[:, None] * c
        if not c.any():  # the same law everywhere
            mass, moments = self._anywhere(resolution)
            P, moment = np.full(len(xi), mass), np.broadcast_to(moments, mean.shape)
        elif self._channels:
            P, moment = self._channels[resolution].outcome(1, mean, np.eye(self.r) - np.outer(c, c))
        else:
            P, moment = self._between_kinks(mean[:, 0], float(1 - c @ c))
        wrong = self.flips
        return wrong + (1 - 2 * wrong) * P, wrong * mean + (1 - 2 * wrong) * moment

    def _anywhere(self, resolution: int) -> tuple[float, np.ndarray]:
        """P(y = 1) and E[z; y = 1] without knowledge."""
        if resolution not in self._known:
            zero = np.zeros((1, self.r))
            if self._channels:
                mass, moment = self._channels[resolution].outcome(1, zero, np.eye(self.r))
            else:
                mass, moment = self._between_kinks(zero[:, 0], 1.0)
            self._known[resolution] = float(mass[0]), moment[0]
        return self._known[resolution]

    def _between_kinks(self, mean: np.ndarray, variance: float) -> tuple[np.ndarray, np.ndarray]:
        """Masses and means of the intervals with label 1, in closed form."""
        width = np.sqrt(variance)
        u = (self.kinks[:, None] - mean) / width
        ones, zeros = np.ones_like(mean), np.zeros_like(mean)
        below = np.vstack([zeros, ndtr(u), ones])
        density = np.vstack([zeros, normal_density(u), zeros])
        P = np.diff(below, axis=0)[self._is_up].sum(axis=0)
        edge = np.diff(density, axis=0)[self._is_up].sum(axis=0)
        return P, (mean * P - width * edge)[:, None]
