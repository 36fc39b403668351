"""The Bayes-optimal potential: free entropy against the overlap, with its hills and valleys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.axes import axis_values
from ...base.errors import BadData, OutOfRegime
from ...channels.averages.moments import total
from ...targets.target import Target, as_target
from ._framed import FramedEvolution
from ._free_entropy import free_entropy
from .bayes_amp import posterior_obstacle

if TYPE_CHECKING:
    import xarray as xr


def bayes_potential(target: Target | str, *, alpha: Any, overlap: Any) -> xr.Dataset:
    r"""Free entropy [FE-1] of a target at overlaps q, gained over knowing nothing.

    .. math:: \Phi(q I) - \Phi(0), \qquad \Phi(M) = \tfrac12\big(\mathrm{Tr}\,M +
              \log\det(I - M)\big) + \alpha\,\mathbb{E}_\omega \sum_y Z \log Z.            [FE-1]

    Its hills are the stable fixed points of state evolution, the highest hill is the
    Bayes-optimal estimate, and an algorithm that starts from nothing climbs the first one. Where
    that is not the highest one the problem is hard.

    Parameters
    ----------
    target : Target or str
        What is observed; of several directions all are known equally well.
    alpha : array
        Samples per dimension.
    overlap : array
        Overlaps q in [0, 1).

    Returns
    -------
    Dataset
        ``free_entropy`` over ``alpha`` and ``overlap``, and its error.

    References
    ----------
    Aubin et al. 2018, arXiv:1806.05451; Maillard et al. 2020, arXiv:2006.05228.

    Examples
    --------
    With three samples per dimension this target is hard: it pays to know the direction, but
    knowing a little of it does not.

    >>> found = bayes_potential("sign(cos(2.3*z))", alpha=3.0, overlap=[0.0, 0.3, 0.95])
    >>> found.free_entropy.values.round(3)
    array([[ 0.   , -0.009,  0.158]])
    """
    import xarray as xr

    known = as_target(target)
    if not isinstance(known, Target):
        raise OutOfRegime(
            f"the potential covers the class Target, and this one is a {type(known).__name__}"
        )
    obstacle = posterior_obstacle(known)
    if obstacle:
        raise OutOfRegime(obstacle)
    alphas, overlaps = axis_values("alpha", alpha), np.atleast_1d(np.asarray(overlap, dtype=float))
    if overlaps.ndim != 1 or not ((overlaps >= 0) & (overlaps < 1)).all():
        raise BadData(f"overlaps must lie in [0, 1), got {overlap!r}")
    evolution = FramedEvolution(known).inner
    identity = np.eye(evolution.r)
    values, errors = np.empty((2, len(alphas), len(overlaps)))
    at = [evolution.averages(q * identity) for q in (0.0, *overlaps)]
    start, *spread = (_error(evolution, q * identity) for q in (0.0, *overlaps))
    for i, a in enumerate(alphas):
        nothing, *gained = (
            free_entropy(evolution, q * identity, one, float(a))
            for q, one in zip((0.0, *overlaps), at, strict=True)
        )
        values[i], errors[i] = np.array(gained) - nothing, float(a) * (start + np.array(spread))
    dims = ("alpha", "overlap")
    return xr.Dataset(
        {"free_entropy": (dims, values), "free_entropy_err": (dims, errors)},
        {"alpha": alphas, "overlap": overlaps},
    )


def _error(evolution: Any, M: np.ndarray) -> float:
    """Error of the log evidence at an overlap matrix."""
    return float(total(evolution.channel.estimate(M)[1]).log_evidence)
