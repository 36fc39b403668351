r"""Posteriors that are too narrow for a lattice, and the limit of a point along the gradient.

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


def extrapolated(
    widths: np.ndarray, found: np.ndarray, to: float, limit: np.ndarray | None
) -> np.ndarray:
    """Numbers at a narrower width from those (n, k) at some widths, and a limit of the first.

    By a polynomial in the width; the last number may diverge with its logarithm.
    """
    n = len(widths)
    with_log = np.stack([np.ones(n), np.log(widths), widths], axis=1)[:, :n]
    last = np.array([1.0, np.log(to), to])[:n] @ np.linalg.solve(with_log, found[:, -1])
    numbers = _polynomial(widths, found[:, :-1], to)
    if limit is not None:
        values = np.concatenate([found[:, : len(limit)], limit[None]])
        numbers[: len(limit)] = _polynomial(np.append(widths, 0.0), values, to)
    return np.append(numbers, last)


def _polynomial(x: np.ndarray, values: np.ndarray, at: float) -> np.ndarray:
    """Polynomial through values (n, k) at n places, at another place."""
    coefficients = np.linalg.solve(np.vander(x, increasing=True), values)
    return np.asarray(at ** np.arange(float(len(x))) @ coefficients)


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
