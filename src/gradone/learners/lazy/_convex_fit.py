r"""Linear models with a convex loss and a ridge, solved by Newton's method.

.. math:: \min_{c, b}\; \sum_i \ell(y_i, f_i) + \frac{\lambda}{2} |c|^2, \qquad f = F c + b.  [CF-1]

The minimum of a smooth loss is certified by its dual: with the gradient g in c, and the intercept
at its optimum, the objective lies at most :math:`|g|^2/(2\lambda)` above the minimum.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ...base.errors import NotConverged
from ._convex_losses import SmoothLoss
from ._design import Design

_SHORT_STEP, _LEAST_STEP = 0.1, 1e-6
_ARMIJO = 1e-4
_ROUNDING = 1e-14
_ATTEMPTS = 8


class Fitted(NamedTuple):
    """Solution of a linear model.

    Parameters
    ----------
    theta : ndarray (m,)
        Coefficients, the intercept last if there is one.
    outputs : ndarray (n,)
        f on the training rows.
    gap : float
        Bound on what the objective lies above its minimum, as a share of it.
    n_iter : int
        Newton steps.
    """

    theta: np.ndarray
    outputs: np.ndarray
    gap: float
    n_iter: int


def newton_fit(
    design: Design,
    y: np.ndarray,
    loss: SmoothLoss,
    ridge: float,
    *,
    tol: float,
    max_iter: int,
    start: np.ndarray | None = None,
) -> Fitted:
    """Minimum of [CF-1] for a smooth loss.

    Parameters
    ----------
    design : Design
        Rows F, with the column of ones if there is an intercept.
    y : ndarray (n,)
        Labels.
    loss : SmoothLoss
        The loss.
    ridge : float
        Positive.
    tol : float
        Gap at which to stop.
    max_iter : int
        Most steps.
    start : ndarray (m,), optional
        First coefficients; zero if None.

    Examples
    --------
    >>> from ._convex_losses import Huber
    >>> fit = newton_fit(Design(np.array([[1.0]]), has_intercept=False), np.array([3.0]),
    ...                  Huber(1.0), 1.0, tol=1e-12, max_iter=10)
    >>> fit.theta
    array([1.])
    """
    penalty = np.zeros(design.columns)
    penalty[: design.penalized] = ridge
    theta = np.zeros(design.columns) if start is None else start.copy()
    f = design.forward(theta)

    def objective(theta: np.ndarray, f: np.ndarray) -> float:
        return float(loss.value(y, f).sum() + 0.5 * (penalty * theta) @ theta)

    value, gap, is_careful = objective(theta, f), np.inf, start is None
    for iteration in range(max_iter + 1):
        slopes = loss.slope(y, f)
        gradient = design.backward(slopes) + penalty * theta
        gap = _gap(gradient, theta, ridge, design) / max(value, np.finfo(float).tiny)
        if gap <= tol or iteration == max_iter:
            break
        # Far from the minimum Newton's parabola may be flat (all rows of Huber's loss far off); the
        # one that lies above the loss always leads down.
        weights = loss.majorant(y, f) if is_careful else loss.curvature(y, f)
        step = -newton_solve(design.weighted_gram(weights), penalty)(gradient)
        along, slope, t = design.forward(step), float(gradient @ step), 1.0
        reached = objective(theta + step, f + along)
        # At the bottom the decrease drowns in rounding: then the full step is the right one.
        while reached > value + _ARMIJO * t * slope and -slope > _ROUNDING * value:
            t /= 2
            if t < _LEAST_STEP:
                break
            reached = objective(theta + t * step, f + t * along)
        if t < _LEAST_STEP and is_careful:
            break
        is_careful = t < _SHORT_STEP
        if t >= _LEAST_STEP:
            theta, value, f = theta + t * step, reached, f + t * along
    return Fitted(theta, f, gap, iteration)


def _gap(gradient: np.ndarray, theta: np.ndarray, ridge: float, design: Design) -> float:
    """Distance of the primal from the dual objective, for the slopes as dual variables."""
    m = design.penalized
    gap = float(gradient[:m] @ gradient[:m]) / (2 * ridge)
    # Slopes that do not sum to zero are not feasible; moved there, they cost about this much.
    return gap + float(np.abs(gradient[m:] * theta[m:]).sum()) + float((gradient[m:] ** 2).sum())


def newton_solve(gram: np.ndarray, penalty: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Inverse of gram + diag(penalty), as a function; gram in its upper triangle."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    diagonal = gram.diagonal() + penalty
    # An intercept that no row holds has no curvature of its own; and rounding errors may make a
    # matrix indefinite whose ridge is tiny. The step is then shortened by a larger ridge.
    added = np.where(penalty > 0, 0.0, np.finfo(float).eps * float(diagonal.max()))
    for _ in range(_ATTEMPTS):
        shifted = np.array(gram, order="F")
        np.fill_diagonal(shifted, diagonal + added)
        try:
            factor = cho_factor(shifted, lower=False, overwrite_a=True, check_finite=False)
        except LinAlgError:
            added = np.maximum(100 * added, 1e-15 * float(diagonal.max()))
            continue
        return partial(cho_solve, factor, check_finite=False)
    raise NotConverged(
        "the matrix of a Newton step is not positive definite, whatever is added to it. Use a "
        "larger ridge, or an activation that grows more slowly."
    )
