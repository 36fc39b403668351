"""The mean Hessian of a target, and how well the residual step sees all of its range."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...base.errors import BadData
from ...targets.target import Target, as_target


class MeanHessian(NamedTuple):
    """Mean Hessian of a target and its condition number."""

    matrix: np.ndarray
    """The matrix, r by r."""
    rank: int
    """Number of eigenvalues that are not zero."""
    condition: float
    """The number kappa, infinite if the rank is below r."""


def mean_hessian(target: Target | str) -> MeanHessian:
    r"""Mean Hessian H of a target, and the condition number of the residual step.

    .. math:: H = \mathbb{E}\,\nabla^2 g = \mathbb{E}[g\,(zz^\top - I)], \qquad
              \kappa = \|H^\dagger\|\,\sqrt{\mathrm{Var}\,g}\,/\sqrt r.               [AN-9]

    A step on the residual of a linear fit turns neurons to the range of H, from
    :math:`\kappa^2 r\,d^2` samples on. Without full rank some direction is not seen at all.

    Parameters
    ----------
    target : Target or str
        The target.

    References
    ----------
    Damian et al. 2022, arXiv:2206.15144.

    Examples
    --------
    >>> round(mean_hessian("z1*z2").condition, 6)
    0.707107
    >>> mean_hessian("He2(z1) + 0.1*He2(z2)").condition > 5
    True
    """
    known: Any = as_target(target)
    if not isinstance(known, Target):
        raise BadData(f"a mean Hessian is of a Target, got {known!r}")
    expression = known.regression
    r, expansion = expression.r, expression.hermite(2)
    H = np.zeros((r, r))
    for index, value in zip(expansion.indices, expansion.value, strict=True):
        places = np.flatnonzero(index)
        if index.sum() == 2:
            i, j = (places[0], places[-1])
            H[i, j] = H[j, i] = value * (math.sqrt(2) if i == j else 1.0)
    variance = expression.second_moment().value - float(expansion.value[0]) ** 2
    sizes = np.abs(np.linalg.eigvalsh(H))
    rank = int((sizes > 1e-8 * math.sqrt(max(variance, 1e-300))).sum())
    condition = math.sqrt(variance / r) / float(sizes.min()) if rank == r else math.inf
    return MeanHessian(H, rank, condition)
