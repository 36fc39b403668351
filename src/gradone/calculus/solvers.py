"""Fixed points and roots, with a status that cannot be overlooked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..base.errors import BadData, NotConverged
from ..base.estimate import Estimate


@dataclass(frozen=True)
class Solution:
    """Result of an iteration.

    Parameters
    ----------
    value : ndarray
        Last iterate.
    residual : float
        Largest change that one more undamped step would make.
    n_iter : int
        Number of steps taken.
    converged : bool
        Whether the residual is below the tolerance.
    error : float
        Estimated distance to the fixed point: residual / (1 - contraction rate).
    """

    value: np.ndarray
    residual: float
    n_iter: int
    converged: bool
    error: float


def fixed_point(
    step: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    *,
    damping: float = 0.0,
    tolerance: float = 1e-10,
    max_iter: int = 10_000,
    throw: bool = True,
) -> Solution:
    """Fixed point of a map by damped iteration, ``x <- (1 - damping) step(x) + damping x``.

    Parameters
    ----------
    step : callable
        The map; arrays of any shape.
    start : array
        First iterate.
    damping : float
        In [0, 1): 0.5 cures oscillations between two points.
    tolerance : float
        Largest entry of ``step(x) - x`` that counts as converged, relative to ``1 + |x|``.
    max_iter : int
        Steps after which to give up.
    throw : bool
        Whether to raise :class:`NotConverged` (with the last iterate) or to return it marked.

    Examples
    --------
    >>> solution = fixed_point(np.cos, np.array(1.0))
    >>> round(float(solution.value), 6), solution.converged
    (0.739085, True)
    """
    if not 0 <= damping < 1:
        raise BadData(f"damping must be in [0, 1), got {damping}")
    x = np.array(start, dtype=np.float64)
    before = math.inf
    rates: list[float] = []
    residual, count = math.inf, 0
    for count in range(1, max_iter + 1):
        new = np.asarray(step(x), dtype=np.float64)
        if not np.isfinite(new).all():
            raise NotConverged(
                f"a value of the iteration was not finite after {count} steps; start closer to a "
                "solution or use damping",
                last=x,
            )
        residual = float(np.max(np.abs(new - x) / (1 + np.abs(x)), initial=0.0))
        if 0 < before < math.inf:
            rates.append(residual / before)
        before = residual
        x = (1 - damping) * new + damping * x
        if residual <= tolerance:
            break
    rate = float(np.median(rates[-8:])) if rates else 0.0
    error = residual / max(1 - rate, 1e-6) if residual else 0.0
    solution = Solution(x, residual, count, residual <= tolerance, error)
    if throw and not solution.converged:
        raise NotConverged(
            f"the iteration stopped after {count} steps, residual {residual:.1e} > tolerance "
            f"{tolerance:.1e} (it shrinks by {rate:.4f} per step). Raise max_iter, change damping, "
            "or accept a larger tolerance; the last iterate is in error.last",
            last=solution,
        )
    return solution


def root(
    function: Callable[[float], float], low: float, high: float, *, tolerance: float = 1e-12
) -> Estimate:
    """Root of a continuous function that changes sign between `low` and `high` (Brent's method).

    Examples
    --------
    >>> root(lambda x: x * x - 2, 0.0, 2.0)
    1.414213562373 ± 1e-12 (iteration)
    """
    from scipy.optimize import brentq

    at_low, at_high = function(low), function(high)
    if not (math.isfinite(at_low) and math.isfinite(at_high)) or at_low * at_high > 0:
        raise BadData(
            f"no change of sign between {low:g} (value {at_low:.3g}) and {high:g} "
            f"(value {at_high:.3g}); widen the bracket"
        )
    value, report = brentq(
        function, low, high, xtol=tolerance, rtol=8.9e-16, full_output=True, disp=False
    )
    if not report.converged:
        raise NotConverged(
            f"root search between {low:g} and {high:g} stopped after {report.iterations} steps",
            last=value,
        )
    return Estimate(float(value), tolerance + 4e-16 * abs(value), "iteration")
