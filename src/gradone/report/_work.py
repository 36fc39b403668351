"""What a study computes in child processes: functions that can be called by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms import ALGORITHMS, Run

if TYPE_CHECKING:
    import xarray as xr

    from ..targets.target import Target

_MOST_TIMES = 40


def watched(
    target: Target, name: str, *, d: int, seed: int, place: float | None = None
) -> xr.Dataset:
    """Simulation of the picture of an algorithm, at one place of it."""
    card, run = _pictured(target, name, () if place is None else (place,), d, seed)
    if card.picture.kind != "plateau":
        found: xr.Dataset = card.watched(run)
        return found
    from ..experiments.simulate import simulate

    errors = simulate(
        target,
        name,
        d=run.dimension,
        n=int(run.n[0]),
        replicates=1,
        test_samples=2048,
        seed=seed,
        progress=False,
        **run.settings,
    )
    errors = errors[["excess_mse", "excess_mse_err"]].isel(replicate=0, n=0, drop=True)
    return errors.assign_coords({run.axis: place}).expand_dims(run.axis)


def explained(
    target: Target, name: str, *, d: int, seed: int, run: xr.Dataset | None = None
) -> xr.Dataset:
    """Theory of the picture of an algorithm; without places of its own, at those of a run."""
    from ..theory.predict import predict

    card, asked = _pictured(target, name, ALGORITHMS[name].picture.line, d, seed)
    if run is not None:
        places = card.picture.places or _few(run["time"].values)
        asked = replace(asked, places=places)
    found: xr.Dataset = predict(target, card.theory_for(target), **card.theory_arguments(asked))
    return found


def _pictured(
    target: Target, name: str, places: Sequence[float], d: int, seed: int
) -> tuple[Any, Run]:
    card = ALGORITHMS[name]()
    d = card.picture.d or min(d, _MOST[card.picture.kind])
    axis = _AXES.get(card.picture.kind, card.axis)
    return card, Run(target, axis, places, d=d, seed=seed, settings=card.picture.settings)


# Exact SGD of the slowest targets stays quick up to some dimension.
_MOST = {"time": 2000, "step": 10**9, "gradient": 10**9, "plateau": 10**9}
_AXES = {"step": "alpha", "plateau": "kappa"}


def _few(times: np.ndarray) -> np.ndarray:
    """Some times of a run: the flow takes longer the more there are."""
    times = times[times > 0]
    if len(times) <= _MOST_TIMES:
        return times
    return times[np.unique(np.linspace(0, len(times) - 1, _MOST_TIMES).round().astype(int))]
