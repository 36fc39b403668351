r"""What a label tells where all else is known: posteriors that are a point along the gradient.

A label without noise fixes z along the gradient of the target; noise of variance
:math:`\Delta` limits what it tells. In units of the width of the posterior,

.. math:: J = \mathbb{E}\,\frac{\nabla g\,\nabla g^\top}{|\nabla g|^2} \quad\text{or}\quad
          J = \frac1\Delta\,\mathbb{E}\,\nabla g\,\nabla g^\top .     [SH-1]
"""

from __future__ import annotations

import numpy as np

from ...targets.target import Target
from .slices import Labels

_STEP = 1e-6  # of the differences


def sharp_information(target: Target, labels: Labels, Q: np.ndarray) -> np.ndarray | None:
    """J along the axes Q (r, r) where the posterior is a point; None where it has no such limit."""
    if labels.groups > 1 or target.q:
        return None
    z, weight = labels.halves[0].z, labels.halves[0].weight
    differences = [target(z + _STEP * e) - target(z - _STEP * e) for e in np.eye(z.shape[1])]
    gradient = np.stack(differences, axis=1) / (2 * _STEP)
    size = np.linalg.norm(gradient, axis=1)
    regular = (size > 0) & (size < 1e-2 / _STEP)  # next to a jump a difference is no gradient
    n = gradient[regular] @ Q
    if target.noise:
        if not regular[size > 0].all():
            return None
        n /= np.sqrt(target.noise)
    else:
        n /= size[regular, None]
    return np.asarray((n * weight[regular, None]).T @ n).ravel()
