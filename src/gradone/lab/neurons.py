"""The small network whose neurons the lab shows: its width, its start, its training in time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr

    from ..targets.target import Target

MARKS = 160
"""Times of a training that are looked at."""
FIRST_TIME = 0.05
"""Before it neurons have seen d/20 samples, and have not moved."""
_ACTIVATION = "relu(z)"
POINTS = 4096
"""Points of each net of a flow: its error is below the width of a line."""


def student(target: Target) -> dict[str, Any]:
    """Width and activation: two neurons, of readout 1 and -1, for one direction, else four.

    Examples
    --------
    >>> from gradone import Target
    >>> student(Target("z1*z2"))
    {'width': 4, 'activation': 'relu(z)'}
    """
    return {"width": 2 if target.r == 1 else 4, "activation": _ACTIVATION}


def start(target: Target, d: int, seed: int) -> dict[str, Any]:
    """Overlaps and norms of the neurons at the start, lucky ones of dimension d."""
    from ..experiments.sgd_pairs import lucky_start

    return lucky_start(target, d, width=student(target)["width"], seed=seed)


def start_of(target: Target, overlap: float) -> dict[str, Any]:
    """Start of the flow, whose overlaps have a given size.

    Examples
    --------
    >>> from gradone import Target
    >>> start_of(Target("z"), 0.1)["Q"]
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return start(target, max(2, round(9 / overlap**2)), 0)


def training(target: Target, d: int, rule: str, seed: int) -> xr.Dataset:
    """One pass of SGD by a rule, exact at dimension d, with steps chosen by the theory."""
    from ..dynamics import sgd

    settings = {**student(target), "rule": rule, "init": start(target, d, seed), "seed": seed}
    return sgd(target, d=d, record=MARKS, replicates=1, progress=False, **settings)


def flow_of(target: Target, run: xr.Dataset) -> xr.Dataset:
    """Flow in the limit of large dimensions with the student, start and steps of a training."""
    from ..theory.predict import predict

    made = json.loads(run.attrs["params"])
    d, inner = made["d"], made.get("inner_step_size")
    times = run["time"].values
    return predict(
        target,
        "sgd_flow",
        time=times[times >= FIRST_TIME],
        step_size=made["step_size"] * d,
        rule=made["rule"],
        inner_step_size=None if inner is None else inner * d,
        init=made["init"],
        points=POINTS,
        **student(target),
    )
