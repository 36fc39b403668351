"""Exact simulations of SGD and the theories of the same runs: equal students, steps and starts."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.seeds import stream
from ..targets.target import Target

if TYPE_CHECKING:
    import xarray as xr

_STUDENT: dict[str, Any] = {"width": 2, "activation": "relu(z)"}
_MOST_TIMES = 40


def lucky_start(target: Target, d: int, *, width: int = 2, seed: int = 0) -> dict[str, Any]:
    r"""Overlaps of a lucky start in dimension d: of random sign, :math:`3/\sqrt d`.

    Random neurons have :math:`1/\sqrt d`, but there the noise of the samples is as large as the
    overlaps, and no flow without noise tells when they escape.

    Examples
    --------
    >>> np.abs(lucky_start(Target("z1*z2"), 900)["M"]).tolist()
    [[0.1, 0.1], [0.1, 0.1]]
    """
    rng = stream(seed, "init", d=d, width=width, r=target.r)
    size = min(3 / math.sqrt(d), 0.5 / math.sqrt(target.r))  # the rows must fit into unit neurons
    M = size * rng.choice([-1.0, 1.0], (width, target.r))
    return {"M": M.tolist(), "Q": np.eye(width).tolist()}


def exact_sgd(
    target: Target, *, d: int, times: np.ndarray | None = None, replicates: int = 8, seed: int = 0
) -> xr.Dataset:
    """One-pass SGD at dimension d, from a lucky start, with steps chosen by the theory.

    Parameters
    ----------
    target : Target
        What is learned.
    d : int
        Dimension.
    times : ndarray, optional
        Steps divided by d; by default as long as the first direction needs.
    replicates, seed : int
        Number of runs, seed.
    """
    from ..dynamics import sgd

    marks: Any = 60
    steps = None
    if times is not None:
        marks = np.unique(np.maximum(np.round(np.asarray(times) * d), 1)).astype(np.int64)
        steps = int(marks[-1])
    start = lucky_start(target, d, seed=seed)
    settings: dict[str, Any] = {**_STUDENT, "init": start, "replicates": replicates, "seed": seed}
    return sgd(target, d=d, steps=steps, record=marks, progress=False, **settings)


def flow_of(target: Target, run: xr.Dataset, *, seed: int = 0) -> xr.Dataset:
    """Flow in the limit of large d that belongs to a run of :func:`exact_sgd`."""
    from ..theory.predict import predict

    made = json.loads(run.attrs["params"])
    d = int(made["d"])
    times = run["time"].values
    times = times[times > 0]
    if len(times) > _MOST_TIMES:
        times = times[np.unique(np.linspace(0, len(times) - 1, _MOST_TIMES).round().astype(int))]
    start = lucky_start(target, d, seed=seed)
    return predict(
        target,
        "sgd_flow",
        time=times,
        step_size=made["step_size"] * d,
        init=start,
        points=8192,
        **_STUDENT,
    )


def exact_reuse(
    target: Target, *, d: int, alpha: float, replicates: int = 4, seed: int = 0
) -> xr.Dataset:
    """Gradient descent on n = alpha d samples that are seen at each of six steps."""
    from ..dynamics import reused_batch

    settings: dict[str, Any] = {
        **_STUDENT,
        "steps": 6,
        "init": "orthogonal",
        "record": np.arange(7),
    }
    settings |= {"replicates": replicates, "seed": seed, "record": np.arange(7), "progress": False}
    return reused_batch(target, d=d, alpha=alpha, **settings)


def reuse_theory(target: Target, run: xr.Dataset, *, alpha: float) -> xr.Dataset:
    """Dynamical mean field of a run of :func:`exact_reuse`."""
    from ..theory.predict import predict

    step = json.loads(run.attrs["params"])["step_size"]
    return predict(target, "reused_batch", alpha=alpha, step_size=step, steps=6, **_STUDENT)
