"""Bayes-optimal approximate message passing in the limit of high dimension."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...base.curves import curve
from ...base.errors import BadData
from ...base.estimate import Estimate
from ...channels import MAX_DIRECTIONS
from ...channels.averages.moments import Averages
from ...targets.frame import natural_frame
from ...targets.target import Target
from .._registry import THEORIES, Theory
from ._fixed_points import FixedPoint
from ._framed import FramedEvolution

if TYPE_CHECKING:
    import xarray as xr

LABELS = {
    "rate": (r"\rho", "contraction per iteration"),
}
# An Estimate is always a number; where a point is given up, NaN takes its place.
NOTHING = Estimate(0.0, math.inf)


@THEORIES.add("bayes_amp")
class BayesAMPTheory(Theory):
    r"""State evolution of Bayes-AMP, the best known efficient algorithm at n = alpha d.

    The overlap matrix M of the estimate with the hidden directions obeys

    .. math:: M \leftarrow \alpha J(M)\,[I + \alpha J(M)]^{-1}, \qquad
              J(M) = \mathbb{E}_{\omega \sim N(0, M)} \sum_y Z\, g_{out} g_{out}^\top     [SE-1]

    with the output function of the posterior channel at :math:`V = I - M`. From an uninformed start
    a direction stays at zero until the map becomes unstable there, so the directions are learned in
    stages (the grand staircase).

    Parameters
    ----------
    alpha : array
        Samples per dimension.
    start : {"uninformed", "informed"}
        Where the iteration begins: without knowledge, as the algorithm does, or close to the truth,
        which shows whether a better estimate exists that the algorithm does not find.

    Notes
    -----
    ``overlap`` is the matrix M, exact zeros in directions that are not learned; up to the symmetry
    of the target it is what the algorithm attains. ``test_mse`` is the error of the posterior mean
    of a new label, noise included; ``zero_one_error`` that of the most probable label (discrete
    outputs), the error of ``predict_label`` of the learner. ``rate`` is the largest factor by which
    a small deviation shrinks per iteration (for r >= 3 among deviations that keep the sign
    symmetries of the target): the algorithm needs of the order of
    :math:`\log(1/\epsilon)/\log(1/\sqrt\rho)` iterations. ``n_iter`` counts evaluations of the map.
    Errors compare two resolutions of all integrals; that of the overlap is half the interval in
    which the fixed points of all maps within these errors lie: wide close to a transition.

    References
    ----------
    Troiani et al. 2024, arXiv:2405.15480; Aubin et al. 2018, arXiv:1806.05451.

    Examples
    --------
    >>> import gradone as gd
    >>> state = gd.predict("sign(z1*z2)", "bayes_amp", alpha=[2.0, 4.0])
    >>> state.overlap.sel(direction=1, direction2=1).values.round(4)
    array([0.    , 0.6438])
    """

    answers = ("overlap", "test_mse", "zero_one_error", "rate")
    axes = ("alpha",)
    seconds = 0.3
    regime = "n, d -> infinity with alpha = n/d fixed; Gaussian input; the link is known"
    latent = True
    whitens = True
    cites = ("troiani2024limits", "aubin2018committee")
    numerics = 6

    def obstacle(self, target: Target) -> str | None:
        """Why the theory does not cover a target, or None."""
        return posterior_obstacle(target)

    def predict(
        self,
        target: Target,
        *,
        alpha: Any,
        start: Literal["uninformed", "informed"] = "uninformed",
    ) -> xr.Dataset:
        """Overlaps and errors at each alpha."""
        if start not in ("uninformed", "informed"):
            raise BadData(f"start must be 'uninformed' or 'informed', got {start!r}")
        evolution = FramedEvolution(target)
        points = (
            evolution.uninformed_curve(alpha)
            if start == "uninformed"
            else evolution.informed_curve(alpha)
        )
        errors = (evolution.zero_one_error(point) for point in points)
        return self._curve(target, alpha, start, points, errors)

    def blank(self, target: Target, *, alpha: Any, start: str = "uninformed") -> xr.Dataset:
        """Curve of the form of :meth:`predict` without a number."""
        lost = [lost_point(target.r)] * len(alpha)
        return self._curve(target, alpha, start, lost, [NOTHING] * len(alpha))

    def _curve(
        self,
        target: Target,
        alpha: Any,
        start: str,
        points: list[FixedPoint],
        errors: Iterable[Estimate],
    ) -> xr.Dataset:
        values = point_values(points) | label_errors(target, errors)
        return curve(
            {name: (("alpha", *dims), array) for name, (dims, array) in values.items()},
            {"alpha": alpha, **directions(target)},
            source=f"theory:{self.name}",
            target=target.text,
            params={"noise": target.noise, "start": start},
            labels=LABELS,
        ).assign_attrs(estimator="posterior mean")


def posterior_obstacle(target: Target) -> str | None:
    """Why the posterior of a target's directions cannot be computed, or None."""
    used = len(natural_frame(target.joint).rows)
    if used > MAX_DIRECTIONS:
        latent = " and latent variables" if target.q else ""
        return (
            f"the target depends on {used} directions{latent}, the posterior is an integral over "
            f"at most {MAX_DIRECTIONS}"
        )
    return None


def directions(target: Target) -> dict[str, np.ndarray]:
    """Coordinates of the overlap matrix."""
    index = np.arange(1, target.r + 1)
    return {"direction": index, "direction2": index}


def point_values(points: list[FixedPoint]) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Variables of a list of fixed points: name -> dims besides the list, array."""
    matrix = ("direction", "direction2")
    overlap = np.array([p.M for p in points])
    return {
        "overlap": (matrix, overlap),
        "overlap_err": (
            matrix,
            np.broadcast_to([[[p.error]] for p in points], overlap.shape).copy(),
        ),
        "test_mse": ((), np.array([p.at.test_mse for p in points])),
        "test_mse_err": ((), np.array([p.at_error.test_mse for p in points])),
        "rate": ((), np.array([p.rate for p in points])),
        "rate_err": ((), np.array([p.rate_error for p in points])),
        "converged": ((), np.array([p.converged for p in points])),
        "n_iter": ((), np.array([p.n_iter for p in points])),
        "status": ((), np.array([p.status for p in points])),
    }


def lost_point(r: int) -> FixedPoint:
    """Fixed point of which nothing is known."""
    nan, matrix = math.nan, np.full((r, r), math.nan)
    unknown = Averages(matrix, nan, nan)
    return FixedPoint(matrix, nan, unknown, unknown, nan, nan, 0, converged=False, status="")


def label_errors(
    target: Target, errors: Iterable[Estimate]
) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Probabilities of a wrong label as variables, for discrete outputs; else nothing."""
    if target.channel.kind != "discrete":
        return {}
    found = list(errors)
    return {
        "zero_one_error": ((), np.array([e.value for e in found])),
        "zero_one_error_err": ((), np.array([e.error for e in found])),
    }
