"""The small network whose neurons the lab shows: its width, its start, its training in time."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..algorithms import Run

if TYPE_CHECKING:
    import xarray as xr

    from ..algorithms import Algorithm
    from ..targets.target import Target

MARKS = 160
"""Times of a training that are looked at."""
FIRST_TIME = 0.05
"""Before it neurons have seen d/20 samples, and have not moved."""
_ACTIVATION = "relu(z)"
POINTS = 4096
"""Points of each net of a flow: its error is below the width of a line."""


def student(target: Target, card: Algorithm | None = None) -> dict[str, Any]:
    """Width and activation: two neurons, of readout 1 and -1, for one direction, else four.

    An algorithm that is about more neurons says how many.

    Examples
    --------
    >>> from gradone import Target
    >>> student(Target("z1*z2"))
    {'width': 4, 'activation': 'relu(z)'}
    """
    width = 2 if target.r == 1 else 4
    return {"width": (card and card.neurons) or width, "activation": _ACTIVATION}


def run_of(card: Algorithm, target: Target, d: int, seed: int) -> Run:
    """The training of one seed, as long as the first direction needs."""
    settings = {**student(target, card), "record": MARKS, "replicates": 1}
    return Run(target, "time", (), d=d, seed=seed, settings=settings)


def training(card: Algorithm, target: Target, d: int, seed: int) -> xr.Dataset:
    """One pass by an algorithm, exact at dimension d, with steps chosen by the theory."""
    return card.watched(run_of(card, target, d, seed))


def flow_run(card: Algorithm, target: Target, d: int, seed: int, times: Any) -> Run:
    """The flow with the student, start and steps of a training, at some of its times."""
    run = run_of(card, target, d, seed)
    return replace(run, places=times, settings={**student(target, card), "points": POINTS})


def flow_of(card: Algorithm, target: Target, run: xr.Dataset) -> xr.Dataset:
    """Flow in the limit of large dimensions of a training."""
    d, times = json.loads(run.attrs["params"])["d"], run["time"].values
    asked = flow_run(card, target, d, int(run.attrs["seed"]), times[times >= FIRST_TIME])
    return card.predicted(asked)
