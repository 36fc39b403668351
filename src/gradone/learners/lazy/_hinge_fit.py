r"""Linear models with the hinge loss and a ridge, solved by an interior-point method.

.. math:: \min_{c, b}\; \sum_i \max(0, 1 - y_i f_i) + \frac{\lambda}{2}|c|^2, \qquad
          \max_{0 \le \alpha \le 1,\; \langle y, \alpha\rangle = 0}\;
          \sum_i \alpha_i - \frac{1}{2\lambda} \Big|\sum_i \alpha_i y_i F_i\Big|^2,      [HF-1]

for slacks :math:`\xi_i \ge 0` and :math:`s_i = y_i f_i - 1 + \xi_i \ge 0` with
:math:`\alpha_i s_i = (1 - \alpha_i) \xi_i = \tau`, and :math:`\tau` goes to zero. The difference of
the two objectives of [HF-1] certifies the solution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._convex_fit import Fitted, newton_solve
from ._design import Design

_SHARE = 0.995  # of the way to the border that a step may go
_ROUNDING = 1e-3


@dataclass
class _Point:
    """Coefficients, slacks and multipliers; mu = 1 - alpha holds throughout."""

    theta: np.ndarray
    f: np.ndarray
    s: np.ndarray
    xi: np.ndarray
    alpha: np.ndarray
    mu: np.ndarray

    def moved(self, step: _Point, primal: float, dual: float) -> _Point:
        return _Point(
            self.theta + primal * step.theta,
            self.f + primal * step.f,
            self.s + primal * step.s,
            self.xi + primal * step.xi,
            self.alpha + dual * step.alpha,
            self.mu + dual * step.mu,
        )

    @property
    def complementarity(self) -> float:
        """Mean of the products that vanish at the solution."""
        return float(self.alpha @ self.s + self.mu @ self.xi) / (2 * len(self.s))


def hinge_fit(design: Design, y: np.ndarray, ridge: float, *, tol: float, max_iter: int) -> Fitted:
    """Minimum of [HF-1].

    Parameters
    ----------
    design : Design
        Rows F, with the column of ones if there is an intercept.
    y : ndarray (n,)
        Labels -1 and 1.
    ridge : float
        Positive.
    tol : float
        Share of the objective that the duality gap may have.
    max_iter : int
        Most steps.

    Notes
    -----
    Mehrotra's predictor and corrector: one weighted Gram matrix and one Cholesky factor for each
    step, ten to thirty steps.

    Examples
    --------
    >>> fit = hinge_fit(Design(np.array([[1.0], [-1.0]]), has_intercept=False),
    ...                 np.array([1.0, -1.0]), 1.0, tol=1e-10, max_iter=50)
    >>> fit.theta.round(9)
    array([1.])
    """
    n, penalty = design.n, np.zeros(design.columns)
    penalty[: design.penalized] = ridge
    half = np.full(n, 0.5)
    at = _Point(np.zeros(design.columns), np.zeros(n), np.ones(n), np.full(n, 2.0), half, half)
    best = Fitted(at.theta, at.f, np.inf, 0)
    for iteration in range(max_iter + 1):
        pulled = design.backward(y * at.alpha)
        gap, objective = _gap(at, y, pulled, ridge, design.penalized)
        if gap < best.gap:
            best = Fitted(at.theta, at.f, gap, iteration)
        # Once the products are far below the tolerance, what is left of the gap is rounding.
        if gap <= tol or 2 * n * at.complementarity < _ROUNDING * tol * objective:
            break
        ratio = 1 / (at.xi / at.mu + at.s / at.alpha)
        inverse = newton_solve(design.weighted_gram(ratio), penalty)
        residual = penalty * at.theta - pulled

        def direction(
            products_s: np.ndarray,
            products_xi: np.ndarray,
            at: _Point = at,
            ratio: np.ndarray = ratio,
            inverse: object = inverse,
            residual: np.ndarray = residual,
        ) -> _Point:
            """Newton step to the given values of alpha s and mu xi."""
            r_slack = y * at.f - 1 + at.xi - at.s
            r_s, r_xi = products_s - at.alpha * at.s, products_xi - at.mu * at.xi
            g = r_s / at.alpha - r_xi / at.mu - r_slack
            theta = inverse(design.backward(y * ratio * g) - residual)  # type: ignore[operator]
            f = design.forward(theta)
            alpha = ratio * (g - y * f)
            s = (r_s - at.s * alpha) / at.alpha
            xi = (r_xi + at.xi * alpha) / at.mu
            return _Point(theta, f, s, xi, alpha, -alpha)

        tau, zero = at.complementarity, np.zeros(n)
        ahead = direction(zero, zero)
        reached = at.moved(ahead, *_lengths(at, ahead)).complementarity
        target = tau * (reached / tau) ** 3
        step = direction(target - ahead.alpha * ahead.s, target - ahead.mu * ahead.xi)
        primal, dual = _lengths(at, step)
        at = at.moved(step, _SHARE * primal, _SHARE * dual)
    return best


def _gap(
    at: _Point, y: np.ndarray, pulled: np.ndarray, ridge: float, m: int
) -> tuple[float, float]:
    """Duality gap as a share of the primal objective, and that objective."""
    primal = float(np.maximum(0.0, 1.0 - y * at.f).sum()) + 0.5 * ridge * float(
        at.theta[:m] @ at.theta[:m]
    )
    dual = float(at.alpha.sum()) - float(pulled[:m] @ pulled[:m]) / (2 * ridge)
    # With an intercept sum(y alpha) = 0 must hold; what it misses is worth |b| per unit.
    missed = float(np.abs(pulled[m:] * at.theta[m:]).sum()) + float(np.abs(pulled[m:]).sum())
    return (abs(primal - dual) + missed) / primal, primal


def _lengths(at: _Point, step: _Point) -> tuple[float, float]:
    """Longest primal and dual steps, at most 1, that keep slacks and multipliers positive."""

    def longest(value: np.ndarray, change: np.ndarray) -> float:
        shrinking = change < 0
        return float(np.min(-value[shrinking] / change[shrinking], initial=np.inf))

    primal = min(longest(at.s, step.s), longest(at.xi, step.xi))
    dual = min(longest(at.alpha, step.alpha), longest(at.mu, step.mu))
    return min(1.0, primal), min(1.0, dual)
