"""What was found, in a sentence or two."""

from __future__ import annotations

import numpy as np

from ..._found import Found, counted
from .ensemble import Ensemble

_NAMES = {"linear": "ridge", "trees": "boosted trees"}


def diagnosis(
    ensemble: Ensemble,
    directions: int,
    test: Found,
    shape: tuple[int, int],
    values: np.ndarray,
) -> str:
    """What a fit has found.

    Parameters
    ----------
    ensemble : Ensemble
        The fit.
    directions : int
        Number of directions that it gives.
    test : Found
        What label-conditional moments show.
    shape : (int, int)
        n and d.
    values : ndarray
        Mean square derivatives along all directions, also those that are not given.
    """
    text = _found(ensemble, directions, test, shape)
    if more := len(values) - directions:
        which = "One further direction has" if more == 1 else f"{more} further directions have"
        text += f" {which} {_percent(values[directions:].sum() / values.sum())} of the gradient."
    if ensemble.columns is not None and ensemble.stack.weights:
        out = shape[1] - len(ensemble.columns.smooth)
        text += (
            f" {out} of {shape[1]} columns say no more than shuffled ones can and were left out of "
            "smooth functions but ridge."
        )
    trees = ensemble.stack.weights.get("trees", 0.0)
    if trees:
        text += (
            f" Boosted trees of single columns have weight {trees:.2f} in the prediction; "
            "directions describe the smooth part."
        )
    return (
        f"{text} The fit was stopped early; this is the best so far." if ensemble.stopped else text
    )


def _percent(share: float) -> str:
    """A small share in words.

    Examples
    --------
    >>> _percent(0.031), _percent(0.0004)
    ('3 %', 'less than 1 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.01 else "less than 1 %"


def _found(ensemble: Ensemble, directions: int, test: Found, shape: tuple[int, int]) -> str:
    stack, (n, d) = ensemble.stack, shape
    seen = test.first_order_rank or test.second_order_rank
    if not stack.weights:
        text = (
            f"nothing beats the mean out of fold (the best member is {stack.best}, "
            f"R² = {stack.scores[stack.best]:.3f} ± {stack.score_errors[stack.best]:.3f})."
        )
        return text if seen else f"{text} {test.diagnosis[0].upper()}{test.diagnosis[1:]}"
    index = any(name.startswith(("stage", "best", "rough")) for name in stack.weights)
    smooth = max(stack.weights.keys() - {"trees"}, key=stack.scores.__getitem__, default="trees")
    kept = "all" if ensemble.columns is None else f"{len(ensemble.columns.smooth)} of {d}"
    name = _NAMES.get(smooth, f"a kernel on {kept} features")
    if not ensemble.basis.shape[1]:
        beyond = "no direction beyond those of a linear function was found"
        trees = "trees" in stack.weights and stack.scores["trees"] > stack.scores[smooth]
        best = "predicts best of smooth functions" if trees else "predicts best"
        return f"{beyond}: {name} {best} (R² = {stack.scores[smooth]:.3f} out of fold)."
    if not index:
        over = ensemble.over_simple
        assert over is not None
        return (
            f"directions were found (k = {directions}), but {name} predicts as well: "
            f"the gain is {over.value:.3f} ± {over.error:.3f} R²."
        )
    plural = "s were" if directions > 1 else " was"
    if not seen:
        return (
            f"{directions} direction{plural} found through the kernel, which label-conditional "
            f"moments up to second order do not show at this sample size (n = {n}, d = {d})."
        )
    first = min(test.first_order_rank, directions)
    union = min(len(test.directions), directions)
    ranks = [stage["rank"] for stage in ensemble.path]
    stages = [rank for i, rank in enumerate(ranks) if rank > max(ranks[:i], default=0)]
    later = directions - max(union, stages[0] if stages else 0)
    if later > 0 and len(stages) > 1:
        return (
            f"{directions} directions were found in {len(stages)} stages: {later} became visible "
            "only after the first ones were known (staircase)."
        )
    return counted(first, directions - first)
