r"""Free entropy of state evolution: which of its fixed points is the Bayes-optimal one.

.. math:: \Phi(M) = \tfrac12\big(\mathrm{Tr}\,M + \log\det(I - M)\big)
          + \alpha\,\mathbb{E}_\omega \sum_y Z \log Z                                       [FE-1]

per dimension; its stationary points are the fixed points and its largest value belongs to the
Bayes-optimal overlap (Aubin et al. 2018, arXiv:1806.05451). A label without noise can determine the
projections completely; then both terms diverge as :math:`1 - m = \epsilon \to 0` on k directions,

.. math:: \Phi \simeq \tfrac12 (\alpha a - k) \log(1/\epsilon),                              [FE-2]

where a = 1 if the label has a density that sharpens with the posterior, else 0.
"""

from __future__ import annotations

import math

import numpy as np

from ...base.estimate import Estimate
from ...channels.averages.moments import PERFECT, Averages
from ._fixed_points import FixedPoint, StateEvolution


def free_entropy(evolution: StateEvolution, M: np.ndarray, at: Averages, alpha: float) -> float:
    """Free entropy [FE-1] at an overlap matrix with its averages; infinite if perfect [FE-2]."""
    overlaps = np.linalg.eigvalsh(M)
    if k := int((overlaps > PERFECT).sum()):
        return math.copysign(math.inf, alpha * sharpening(evolution, M) - k)
    return 0.5 * float(np.sum(overlaps + np.log1p(-overlaps))) + alpha * at.log_evidence


def entropy_of(evolution: StateEvolution, point: FixedPoint, alpha: float) -> Estimate:
    """Free entropy of a fixed point with its error."""
    value = free_entropy(evolution, point.M, point.at, alpha)
    if math.isinf(value):
        return Estimate(value, 0.0, "iteration", "perfect recovery")
    # Stationary at a fixed point: an error of M enters at second order only.
    gap = 1 - float(np.linalg.eigvalsh(point.M)[-1])
    second = len(point.M) * (point.error / gap) ** 2
    return Estimate(value, alpha * point.at_error.log_evidence + second, "iteration")


def sharpening(evolution: StateEvolution, M: np.ndarray) -> int:
    """The number a of [FE-2]: whether the label's density sharpens with the posterior."""
    overlaps, Q = np.linalg.eigh(M)
    evidence = [
        evolution.averages((Q * np.where(overlaps > PERFECT, 1 - gap, overlaps)) @ Q.T).log_evidence
        for gap in (1e-3, 1e-5)
    ]
    return round((evidence[1] - evidence[0]) / (0.5 * math.log(100.0)))
