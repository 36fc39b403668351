"""What every posterior channel answers: the law of z given a label and a Gaussian prior."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from ..targets.target import Target


class Posterior(NamedTuple):
    """Posterior of z for n labels, each with its own prior mean and a common prior covariance."""

    log_z: np.ndarray
    """(n,) logarithm of the evidence Z; -inf where the label is impossible (g and dg are 0)."""
    g: np.ndarray
    """(n, r) output function."""
    dg: np.ndarray
    """(n, r, r) its derivative with respect to omega, a symmetric matrix."""


class Outcomes(NamedTuple):
    """All labels that may come out at m prior means, as a quadrature rule over the label.

    ``sum_k weight * exp(log_z) * f(y)`` is the mean of ``f(y)`` at each omega.
    """

    y: np.ndarray
    """(m, k) labels."""
    weight: np.ndarray
    """(m, k) weight of each label: 1 for an atom, the step dy of the rule for a density."""
    log_z: np.ndarray
    """(m, k) logarithm of the evidence."""
    g: np.ndarray
    """(m, k, r) output function."""
    dg: np.ndarray | None = None
    """(m, k, r, r) its derivative with respect to omega, if asked for."""


class PosteriorChannel(ABC):
    r"""Posterior of the projections z given a label, under a Gaussian prior.

    With :math:`z \sim N(\omega, V)` and the label drawn from P(y | z):

    .. math::
        Z = \mathbb{E}[P(y|z)], \qquad g_{out} = V^{-1}\,\mathbb{E}[z - \omega \mid y],
        \qquad \partial_\omega g_{out} = V^{-1} \mathrm{Cov}[z \mid y] V^{-1} - V^{-1}    [PC-1]

    so that :math:`g_{out} = \partial_\omega \log Z`. The state evolution of Bayes-AMP and the
    algorithm itself both stand on these functions; nothing else is shared between them.

    Parameters
    ----------
    target : Target
        The target whose output is observed.
    resolution : int
        Number of times that the step of every rule inside is halved: what it changes in an answer
        is the error of the coarser one.
    """

    def __init__(self, target: Target, resolution: int = 0) -> None:
        self.target, self.resolution = target, max(resolution, 0)
        self.r = target.r

    def finer(self) -> PosteriorChannel:
        """Channel in which the step of every rule is half as large."""
        return type(self)(self.target, self.resolution + 1)

    @abstractmethod
    def posterior(self, y: np.ndarray, omega: np.ndarray, V: np.ndarray) -> Posterior:
        """Posterior at labels `y` (n,), prior means `omega` (n, r), covariance `V` (r, r)."""

    @abstractmethod
    def outcomes(self, omega: np.ndarray, V: np.ndarray, *, curvature: bool = False) -> Outcomes:
        """Every label that may come out at the prior means `omega` (m, r), covariance `V`.

        With its derivative dg if `curvature` is true, from the same nodes as g.
        """

    @abstractmethod
    def check_labels(self, y: np.ndarray) -> None:
        """Raise :class:`~gradone.BadData` if some label cannot come out of this channel."""

    def mean(self, omega: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Mean of the label at prior means `omega` (m, r): the Bayes-optimal prediction (m,)."""
        out = self.outcomes(omega, V)
        return np.sum(out.weight * np.exp(out.log_z) * out.y, axis=1)
