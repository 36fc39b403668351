"""What the process of a run does: pieces of theory and simulation, told one by one."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.children import Task
from ..base.errors import GradoneError
from ..targets.on_inputs import without_inputs
from . import neurons
from .contestants import moving, named, source_color, source_label
from .predictions import finite, first_of_kinds

if TYPE_CHECKING:
    import xarray as xr

Event = dict[str, Any]
_COMPARED = ("test_mse", "excess_mse", "cosine2")
_REFINED = 10.0  # seconds of a line after which it is fine enough, as far as a reader waits for it


def stream(parameters: Mapping[str, Any]) -> Iterator[Event]:
    """Events of a run.

    Parameters
    ----------
    parameters : mapping
        ``target``, ``noise``, ``d``, ``seed``, ``seeds``, ``view``, ``algorithms``, ``top``,
        ``inputs``, ``directions``.
    """
    yield from (trained if parameters["view"] == "time" else raced)(parameters)


# ---- along the number of samples


def raced(parameters: Mapping[str, Any]) -> Iterator[Event]:
    """Curves of theories and learners, point by point."""
    tasks, absent = line_ups(parameters)
    for source, reason in absent.items():
        yield {"kind": "absent", "source": source, "label": source_label(source), "why": reason}
    left = {key: list(task.pieces) for key, task in tasks.items()}
    found: dict[tuple[str, int], list[xr.Dataset]] = {key: [] for key in tasks}
    # What takes long is last.
    seconds = {key: 20.0 if task.coarse == 0 else 0.0 for key, task in tasks.items()}
    told = set()
    done = 0
    while any(left.values()):
        # Whoever has used the least time is next, so that all curves grow together.
        key = min((k for k in left if left[k]), key=lambda k: seconds[k])
        (function, arguments), began = left[key].pop(0), time.process_time()
        words = {"source": key[0], "label": source_label(key[0])}
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("default")
                curve = function(**arguments)
        except GradoneError as error:
            yield {"kind": "failed", **words, "why": str(error)}
        else:
            for kind, note in first_of_kinds(str(one.message) for one in caught).items():
                if (key[0], kind) not in told:
                    told.add((key[0], kind))
                    yield {"kind": "note", **words, "why": note}
            found[key].append(curve)
            yield curve_event(key[0], curve, parameters["axis"], key[1])
        seconds[key] += time.process_time() - began
        done += 1
        refine = tasks[key].refine
        if refine and found[key] and not left[key] and seconds[key] < _REFINED:
            left[key] += [call for call in [refine(found[key])] if call]
        yield {"kind": "progress", "done": done, "total": done + sum(map(len, left.values()))}


def line_ups(
    parameters: Mapping[str, Any],
) -> tuple[dict[tuple[str, int], Task], Mapping[str, str]]:
    """Tasks by name and seed, and why others have none."""
    from ..experiments.entrants import line_up
    from ..targets.naming import find_target

    found = find_target(parameters["target"], parameters["noise"])
    target = found.on(parameters.get("inputs"), parameters.get("directions", "random"))
    names = [card.name for card in named(parameters["algorithms"])]
    grid, places = race_places(target, parameters["top"])
    sizes: dict[str, Any] = {"d": parameters["d"], "grid": grid, "points": places}
    first = line_up(target, names, faces="theory", grow=1, **sizes)
    tasks = {(task.name, 0): task for task in first.tasks}
    absent = dict(first.absent)
    for seed in range(parameters["seed"], parameters["seed"] + parameters["seeds"]):
        field = line_up(target, names, faces="simulation", replicates=1, seed=seed, **sizes)
        tasks |= {(task.name, seed): task for task in field.tasks}
        absent |= field.absent
    return tasks, absent


def race_places(target: Any, top: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Where lines of theories begin, and the places of learners, up to `top` if it is given."""
    from ..experiments.places import coarse_places, default_places
    from .predictions import analysis_of

    analysis = analysis_of(without_inputs(target))
    grid, _ = coarse_places(target, analysis, top)
    _, places = default_places(target, analysis)
    if top:
        grid, places = (axis * top / axis[-1] for axis in (grid, places))
    return grid, places


def curve_event(source: str, curve: xr.Dataset, axis: str, seed: int) -> Event:
    """Numbers of a piece of a curve."""
    parts = []
    for quantity in _COMPARED:
        if quantity not in curve:
            continue
        values, errors = curve[quantity], curve[f"{quantity}_err"]
        names = [("", values, errors)]
        if "direction2" in values.dims:
            names = [
                (str(k), values.sel(direction2=k), errors.sel(direction2=k))
                for k in values.direction2.values.tolist()
            ]
        x = np.atleast_1d(curve[axis].values).tolist()
        parts += [
            {
                "quantity": quantity,
                "name": name,
                "x": x,
                "y": finite(np.atleast_1d(value.values)),
                "error": finite(np.atleast_1d(error.values)),
            }
            for name, value, error in names
        ]
    return _event(source, seed, parts)


def _event(source: str, seed: int, parts: list[Event], **more: Any) -> Event:
    return {
        "kind": "curve",
        "source": source,
        "label": source_label(source),
        "color": source_color(source),
        "seed": seed,
        "parts": parts,
        **more,
    }


# ---- along time: neurons in the plane of the target


def trained(parameters: Mapping[str, Any]) -> Iterator[Event]:
    """Training of a few neurons by each algorithm for each seed, then the flow of each.

    A training takes milliseconds and its flow a second: what moves comes first.
    """
    from ..targets.naming import find_target

    target: Any = find_target(parameters["target"], parameters["noise"])
    cards = [card for card in moving() if card.name in parameters["algorithms"]]
    seeds = range(parameters["seed"], parameters["seed"] + parameters["seeds"])
    pairs = [(card, seed) for seed in seeds for card in cards]
    total, done = 2 * len(pairs), 0
    runs: dict[tuple[str, int], xr.Dataset] = {}
    for kind, (card, seed) in itertools.product(("simulation", "theory"), pairs):
        try:
            if kind == "simulation":
                curve = runs[card.name, seed] = neurons.training(
                    card, target, parameters["d"], seed
                )
                yield training_event(f"simulation:{card.name}", curve, seed)
            elif (card.name, seed) in runs:
                curve = neurons.flow_of(card, target, runs[card.name, seed])
                yield training_event(f"theory:{card.name}", curve, seed)
        except GradoneError as error:
            yield {
                "kind": "failed",
                "source": f"{kind}:{card.name}",
                "label": card.label,
                "why": str(error),
            }
        done += 1
        yield {"kind": "progress", "done": done, "total": total}


def training_event(source: str, curve: xr.Dataset, seed: int) -> Event:
    """Recovery of each direction along time, and where each neuron is."""
    one = curve.squeeze("replicate") if "replicate" in curve.dims else curve
    clock = "step" if "step" in one.dims else "time"
    keep = np.flatnonzero(np.asarray(one["time"].values) >= neurons.FIRST_TIME)
    one = one.isel({clock: keep})
    x = np.asarray(one["time"].values, float).tolist()
    parts = []
    if "recovery" in one:  # infinitely many neurons span every direction: they have none
        recovery = one["recovery"].transpose(clock, "direction")
        parts = [
            {
                "quantity": "recovery",
                "name": f"z{k}",
                "x": x,
                "y": finite(recovery.sel(direction=k).values),
                "error": [0.0] * len(x),
            }
            for k in recovery.direction.values.tolist()
        ]
    M = one["overlap"].transpose("neuron", clock, "direction").values
    if "norm" in one:
        Q = one["norm"].transpose(clock, "neuron", "neuron2").values
        lengths = np.diagonal(Q, axis1=1, axis2=2).T
        outside = np.sqrt(np.clip(lengths - (M**2).sum(-1), 0.0, None))
    else:
        outside = one["orthogonal_norm"].transpose("neuron", clock).values
    found = {
        "time": x,
        "overlap": [[finite(row) for row in neuron] for neuron in M],
        "outside": [finite(row) for row in outside],
    }
    return _event(source, seed, parts, neurons=found)
