"""What no algorithm can beat: the Bayes-optimal estimate, and where it is hard to reach."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.curves import curve
from ...base.estimate import Estimate
from ...targets.target import Target
from .._registry import THEORIES, Theory
from ._branches import Branch, branches, hard_phase
from ._framed import FramedEvolution
from .bayes_amp import (
    LABELS,
    NOTHING,
    directions,
    label_errors,
    lost_point,
    point_values,
    posterior_obstacle,
)

if TYPE_CHECKING:
    import xarray as xr

_NO_PHASE = dict.fromkeys(("alpha_spinodal", "alpha_it", "alpha_algorithmic"), (math.nan, math.nan))


@THEORIES.add("bayes_optimal")
class BayesOptimalTheory(Theory):
    r"""Bayes-optimal overlaps and errors, all branches of state evolution and their free entropies.

    The optimal overlap maximizes the free entropy

    .. math:: \Phi(M) = \tfrac12\big(\mathrm{Tr}\,M + \log\det(I - M)\big)
              + \alpha\,\mathbb{E}_\omega \sum_y Z \log Z.                                   [FE-1]

    Efficient algorithms reach the branch of the uninformed start; where another one has the larger
    free entropy, the problem is hard: the data determine more than can be found efficiently.

    Parameters
    ----------
    alpha : array
        Samples per dimension.

    Notes
    -----
    ``overlap``, ``test_mse``, ``zero_one_error`` and ``free_entropy`` are those of the optimum;
    ``branch_overlap`` and ``branch_free_entropy`` hold every stable fixed point that was found,
    first that of the algorithm, NaN where there are fewer. ``is_hard`` says where the first
    is not the optimum. ``alpha_spinodal`` (a better fixed point appears), ``alpha_it`` (it becomes
    optimal) and ``alpha_algorithmic`` (the algorithm finds it) delimit the hard phase; they are NaN
    if informed and uninformed starts always agree. At perfect recovery the free entropy is
    infinite.

    References
    ----------
    Aubin et al. 2018, arXiv:1806.05451; Troiani et al. 2024, arXiv:2405.15480.

    Examples
    --------
    >>> import gradone as gd
    >>> best = gd.predict("z**2", "bayes_optimal", alpha=[0.9, 1.1])
    >>> best.overlap.values.ravel().round(3), best.is_hard.values
    (array([0.331, 1.   ]), array([False,  True]))
    """

    answers = (
        "overlap",
        "test_mse",
        "zero_one_error",
        "free_entropy",
        "branch_overlap",
        "branch_free_entropy",
        "alpha_spinodal",
        "alpha_it",
        "alpha_algorithmic",
    )
    axes = ("alpha",)
    seconds = 0.5
    regime = "n, d -> infinity with alpha = n/d fixed; Gaussian input; the link is known"
    latent = True
    whitens = True
    cites = ("aubin2018committee", "troiani2024limits")
    numerics = 6

    def obstacle(self, target: Target) -> str | None:
        """Why the theory does not cover a target, or None."""
        return posterior_obstacle(target)

    def predict(self, target: Target, *, alpha: Any) -> xr.Dataset:
        """Branches, optimum and thresholds."""
        evolution = FramedEvolution(target)
        found = [branches(evolution.inner, float(a)) for a in alpha]
        found = [[b._replace(point=evolution.typed(b.point)) for b in row] for row in found]
        best = [max(row, key=lambda branch: branch.entropy.value) for row in found]
        errors = (evolution.zero_one_error(b.point) for b in best)
        return self._curve(target, alpha, found, best, errors, _thresholds(evolution))

    def blank(self, target: Target, *, alpha: Any) -> xr.Dataset:
        """Curve of the form of :meth:`predict` without a number."""
        lost = [Branch(lost_point(target.r), NOTHING)] * len(alpha)
        found, errors = [[branch] for branch in lost], [NOTHING] * len(alpha)
        return self._curve(target, alpha, found, lost, errors, _NO_PHASE)

    def _curve(
        self,
        target: Target,
        alpha: Any,
        found: list[list[Branch]],
        best: list[Branch],
        errors: Iterable[Estimate],
        thresholds: dict[str, tuple[float, float]],
    ) -> xr.Dataset:
        points = [b.point for b in best]
        values: dict[str, tuple[Any, Any]] = {
            name: (("alpha", *dims), array)
            for name, (dims, array) in (point_values(points) | label_errors(target, errors)).items()
            if name.removesuffix("_err") != "rate"
        }
        values["converged"] = ("alpha", np.array([_all_converged(row) for row in found]))
        values["free_entropy"] = ("alpha", [b.entropy.value for b in best])
        values["free_entropy_err"] = ("alpha", [b.entropy.error for b in best])
        hard = [b is not row[0] for b, row in zip(best, found, strict=True)]
        values["is_hard"] = ("alpha", np.array(hard))
        values |= _branch_values(found, target.r)
        for name, threshold in thresholds.items():
            values[name], values[f"{name}_err"] = ((), threshold[0]), ((), threshold[1])
        return curve(
            values,
            {
                "alpha": alpha,
                "branch": np.arange(1, 1 + max(len(row) for row in found)),
                **directions(target),
            },
            source=f"theory:{self.name}",
            target=target.text,
            params={"noise": target.noise},
            labels={
                **LABELS,
                "free_entropy": (r"\Phi", "free entropy per dimension"),
                "branch_overlap": ("M", "overlap of each branch"),
                "branch_free_entropy": (r"\Phi", "free entropy of each branch"),
                "alpha_it": (r"\alpha_{IT}", "information-theoretic threshold"),
                "alpha_spinodal": (r"\alpha_{sp}", "spinodal"),
                "alpha_algorithmic": (r"\alpha_{alg}", "algorithmic threshold"),
            },
        ).assign_attrs(estimator="posterior mean")


def _all_converged(row: list[Branch]) -> bool:
    return all(branch.point.converged for branch in row)


def _branch_values(found: list[list[Branch]], r: int) -> dict[str, Any]:
    """Overlaps and free entropies of all branches, NaN where there are fewer."""
    most = max(len(row) for row in found)
    overlap = np.full((len(found), most, r, r), math.nan)
    overlap_err, entropy = overlap.copy(), np.full((len(found), most), math.nan)
    entropy_err = entropy.copy()
    for i, row in enumerate(found):
        for j, branch in enumerate(row):
            overlap[i, j], overlap_err[i, j] = branch.point.M, branch.point.error
            entropy[i, j], entropy_err[i, j] = branch.entropy.value, branch.entropy.error
    dims = ("alpha", "branch")
    return {
        "branch_overlap": ((*dims, "direction", "direction2"), overlap),
        "branch_overlap_err": ((*dims, "direction", "direction2"), overlap_err),
        "branch_free_entropy": (dims, entropy),
        "branch_free_entropy_err": (dims, entropy_err),
    }


def _thresholds(evolution: FramedEvolution) -> dict[str, tuple[float, float]]:
    """Limits of the hard phase with their errors; NaN if there is none."""
    phase = hard_phase(evolution.inner)
    if phase is None:
        return _NO_PHASE
    limits: tuple[Estimate, ...] = phase
    return {name: (e.value, e.error) for name, e in zip(_NO_PHASE, limits, strict=True)}
