"""What a study computes in child processes: functions that can be called by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.analyze import analyze
from ..analysis.plan import plan
from ..base.errors import GradoneError
from ..targets.hierarchy import HierarchicalTarget
from ..targets.summary import summarize

if TYPE_CHECKING:
    import xarray as xr

    from ..targets.target import Target

KERNEL_DIMENSION = 30
"""Dimension in which the kernel is tried: its staircase needs n up to d^2.3."""


def facts(target: Any, d: int) -> Any:
    """Moments, structure, energies and labels."""
    return summarize(target, d=min(d, 256))


def verdicts(target: Any, d: int) -> dict[str, Any]:
    """Analysis and plan, or the reason, as text, why there is none; they share their integrals."""
    return {"analysis": _or_reason(_analysis, target), "plan": _or_reason(_plan, target, d)}


def _or_reason(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except GradoneError as reason:
        return str(reason)


def _analysis(target: Any) -> Any:
    found = analyze(target)
    found.to_dict()  # what is computed on access is computed here
    return found


def _plan(target: Any, d: int) -> Any:
    n = round(d**1.8) if isinstance(target, HierarchicalTarget) else 5 * d
    return plan(target, d=d, n=n)


def thresholds(target: Target) -> Any:
    """Where the stages of message passing open."""
    from ..theory import amp_thresholds

    return amp_thresholds(target)


def lazy_limit(target: Any) -> xr.Dataset:
    """Plateaus of kernels in the limit of large d, from both sides of each step."""
    from ..theory.predict import predict

    steps = [k + e for k in range(4) for e in (-1e-3, 1e-3) if k + e >= 0]
    kappa = np.unique(np.concatenate([[0.0], steps, [3.5]]))
    return predict(target, "lazy", kappa=kappa)


def kernel_points(target: Target, kappa: float, replicates: int, seed: int) -> xr.Dataset:
    """Kernel ridge regression on data, at one value of log n / log d."""
    from ..experiments.simulate import simulate

    d = KERNEL_DIMENSION
    found = simulate(
        target,
        "dot_kernel_ridge",
        d=d,
        n=max(2, round(d**kappa)),
        ridge=None,  # chosen on a validation split
        activation="relu(z - 0.5)",  # it has all degrees
        standardize=False,
        replicates=replicates,
        test_samples=2048,
        seed=seed,
        progress=False,
    )
    return found.squeeze("n", drop=True).assign_coords(kappa=kappa)
