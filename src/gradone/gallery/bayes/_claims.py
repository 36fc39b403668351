"""Measurements behind the claims on learnability, message passing and the limits of learning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...algorithms.predict import predict
from ...analysis.analyze import analyze
from ...base.estimate import Estimate
from ...experiments.simulate import simulate
from ...targets.target import Target
from ...theory import amp_thresholds, bayes_potential
from .._checks import diagonal
from .._verdict import found, mean_of, median_of, slope_of
from .amp_iterations import half_overlap

if TYPE_CHECKING:
    import xarray as xr


def exponents(target: str) -> xr.Dataset:
    """Information, leap and generative exponent, and the class of the target."""
    known: Any = analyze(target)
    return found(
        information=str(known.information_exponent),
        leap=str(known.leap_exponent),
        generative=str(known.generative_exponent),
        learnability=str(known.learnability),
    )


def threshold(target: str, noise: float = 0.0) -> xr.Dataset:
    """The ratio n/d at which the first direction opens."""
    known: Any = analyze(Target(target, noise=noise))
    return found(alpha_c=known.weak_threshold, learnability=str(known.learnability))


def stages(target: str) -> xr.Dataset:
    """Thresholds of the grand staircase, as if earlier directions were known perfectly."""
    known: Any = analyze(target)
    steps = known.grand_staircase
    numbers = {f"alpha_{i}": step.threshold for i, step in enumerate(steps, 1)}
    words = {f"new_{i}": str(step.new) for i, step in enumerate(steps, 1)}
    return found(**numbers, **words, count=float(len(steps)))


def amp_stages(target: str) -> xr.Dataset:
    """Thresholds of message passing, which knows earlier directions only up to an error."""
    steps = amp_thresholds(target)
    return found(**{f"alpha_{i}": step.threshold for i, step in enumerate(steps, 1)})


def state_evolution(target: str, alpha: float) -> xr.Dataset:
    """Largest and smallest diagonal overlap at the fixed point of state evolution."""
    state = predict(target, "bayes_amp", alpha=[alpha])
    entries, errors = diagonal(state)[0], diagonal(state, "overlap_err")[0]
    top, low = int(np.argmax(entries)), int(np.argmin(entries))
    return found(
        overlap=Estimate(float(entries[top]), float(errors[top])),
        smallest=Estimate(float(entries[low]), float(errors[low])),
    )


def amp_run(target: str, alpha: float, d: int, replicates: int = 16) -> xr.Dataset:
    """Mean diagonal overlap of Bayes-AMP, run on samples."""
    runs = simulate(
        target, "bayes_amp", d=d, alpha=[alpha], replicates=replicates, progress=False, seed=0
    )
    return found(overlap=mean_of(np.abs(diagonal(runs, "overlap_aligned"))[0].mean(-1)))


def amp_iterations(
    target: str, alpha: float, sizes: list[int], replicates: list[int]
) -> xr.Dataset:
    """Growth with log d of the iterations of AMP, from a random start to half of its overlap."""
    medians = [
        median_of(half_overlap(target, alpha, d, runs).iterations.values)
        for d, runs in zip(sizes, replicates, strict=True)
    ]
    return found(per_log_d=slope_of(np.log(sizes), medians), at_the_largest=medians[-1])


def optimal(target: str, alpha: list[float]) -> xr.Dataset:
    """Where the data determine the directions, and from where on message passing finds them."""
    best = predict(target, "bayes_optimal", alpha=alpha)
    hard = [f"{a:g}" for a, is_hard in zip(alpha, best.is_hard.values, strict=True) if is_hard]
    return found(
        alpha_it=float(best.alpha_it),
        alpha_algorithmic=float(best.alpha_algorithmic),
        hard_at=", ".join(hard) or "none",
    )


def potential(target: str, alpha: float) -> xr.Dataset:
    """Highest point of the free entropy over the overlap, its height, and the valley before it."""
    overlaps = np.linspace(0, 0.99, 100)
    values = bayes_potential(target, alpha=alpha, overlap=overlaps).free_entropy.values[0]
    top = int(np.argmax(values))
    valley = float(values[: top + 1].min())
    return found(overlap=float(overlaps[top]), height=float(values[top]), valley=valley)
