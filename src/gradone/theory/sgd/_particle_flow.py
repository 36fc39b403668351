"""Solutions of the mean-field flow: nodes for the projections, and integration in time."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...calculus.grid import gauss_hermite, product_rule
from ...calculus.integrand import Integrand
from ...targets.activation import Activation
from ...targets.on_inputs import OnInputs
from ...targets.target import Target
from ._covariance_field import CovarianceField, Frame
from ._particles import Field, Motion, Particles
from ._smoothed import SmoothedActivation

# By r: nodes along each direction of a smooth target, and of each panel of one that breaks.
_SMOOTH = {1: 60, 2: 34, 3: 24, 4: 16}
_PANEL = {1: 40, 2: 22, 3: 12, 4: 6}
_COARSER = 1.4
_TOLERANCE = 1e-7
# Where d is finite, the points that stand for the neurons limit the accuracy to about 1e-2.
_FINITE_COARSER, _FINITE_TOLERANCE = 1.6, 1e-4
_GROWTH = 1e6  # sum of squares from which nothing comes back


class Solution(NamedTuple):
    """Values at the asked times; NaN after `until`, for the reason `why`."""

    values: dict[str, np.ndarray]
    until: float
    why: str


class ParticleFlow:
    """The flow of one target and network from any start.

    Parameters
    ----------
    target : Target or OnInputs
        Function, with its inputs where these are not standard Gaussian.
    sigma : Activation
        Activation of the neurons.
    motion : Motion
        Rates.
    times : ndarray
        Times in increasing order.
    is_limit : bool
        Whether the dimension is infinite: then few particles are exact, and solved finely.
    """

    def __init__(
        self,
        target: Target | OnInputs,
        sigma: Activation,
        motion: Motion,
        times: np.ndarray,
        *,
        is_limit: bool,
    ) -> None:
        self._law = target if isinstance(target, OnInputs) else None
        self._target: Target = target.target if isinstance(target, OnInputs) else target
        self._frame = None
        if self._law is not None and self._law.situation == "covariance":
            self._frame, self._target, self._law = Frame(self._law), self._law.reduced, None
        self._sigma, self._motion, self._times = sigma, motion, times
        self._coarser = 1.0 if is_limit else _FINITE_COARSER
        self._tolerance = _TOLERANCE if is_limit else _FINITE_TOLERANCE

    def solve(self, start: Particles, shares: np.ndarray, *, coarse: bool) -> Solution:
        """Solution at the times, in their order."""
        field = self._field(shares, coarse)
        tolerance = self._tolerance * (10.0 if coarse else 1.0)
        states, latest = _states(field, field.state(start), self._times, tolerance)
        missing = len(self._times) - len(states)
        values = {
            name: np.concatenate([known, np.full((missing, *known.shape[1:]), np.nan)])
            for name, known in field.readings(states).items()
        }
        why = f"the weights grow without bound near time {latest:.4g}" if missing else ""
        return Solution(values, latest if missing else math.inf, why)

    def _field(self, shares: np.ndarray, coarse: bool) -> Field | CovarianceField:
        coarser = self._coarser * (_COARSER if coarse else 1.0)
        if self._law is None:
            z, weights = _nodes(self._target, coarser)
        else:
            z, weights = self._law.z_rule(2 * max(4, round(_SMOOTH[self._law.r] / coarser / 2)))
        labels = np.asarray(self._target.mean(z), dtype=np.float64)
        noise = self._target.noise_variance.value
        smoothed = SmoothedActivation(self._sigma, 17 if coarse else 24)
        means = (z, weights, labels, noise, smoothed, shares, self._motion)
        return CovarianceField(self._frame, *means) if self._frame else Field(*means)


def _states(
    field: Field | CovarianceField, first: np.ndarray, times: np.ndarray, tolerance: float
) -> tuple[np.ndarray, float]:
    """States (times, ...) as far as the flow goes, and the latest time that it saw."""
    from scipy.integrate import solve_ivp

    limit = _GROWTH * float(first @ first)
    latest, end = 0.0, float(times[-1])
    if end == 0:
        return np.repeat(first[None], len(times), axis=0), latest
    if isinstance(field, Field):
        known = field.integrated(first, times, tolerance, limit)
        if known is not None:
            return known

    def velocity(time: float, state: np.ndarray) -> np.ndarray:
        nonlocal latest
        latest = time
        return field.velocity(state)

    def leaves(_: float, state: np.ndarray) -> float:
        return limit - float(state @ state)

    leaves.terminal = True  # type: ignore[attr-defined]
    with np.errstate(over="ignore", invalid="ignore"):
        found = solve_ivp(
            velocity, (0.0, end), first, method="DOP853", t_eval=times,
            events=leaves, rtol=tolerance, atol=tolerance * 1e-2,
        )  # fmt: skip
    return np.reshape(np.transpose(found.y), (-1, len(first))), latest


def _nodes(target: Target, coarser: float) -> tuple[np.ndarray, np.ndarray]:
    """Points (m, r) and weights (m,) for the projections, split where E[y|z] breaks."""
    r = target.r
    planes, is_curved = target.regression.breaks
    if planes and not is_curved:
        shape = Integrand(lambda columns: columns[0], r, planes, degree=4.0)
        if (rule := product_rule(shape, max(4, round(_PANEL[r] / coarser)))) is not None:
            return rule
    nodes, weights = gauss_hermite(round(_SMOOTH[r] / coarser))
    points = np.stack(np.meshgrid(*[nodes] * r, indexing="ij"), axis=-1).reshape(-1, r)
    product = weights
    for _ in range(r - 1):
        product = np.multiply.outer(product, weights)
    return points, product.ravel()
