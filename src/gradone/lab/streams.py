"""What the process of a run does: pieces of theory and simulation, told one by one."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.children import Outcome, Task
from ..base.errors import GradoneError
from .answers import finite
from .contestants import RACE, RULES, source_color, source_label

if TYPE_CHECKING:
    import xarray as xr

Event = dict[str, Any]
_COMPARED = ("test_mse", "excess_mse", "cosine2")
_NEURONS: dict[str, Any] = {"width": 2, "activation": "relu(z)"}
_MARKS = 60


def stream(parameters: Mapping[str, Any]) -> Iterator[Event]:
    """Events of a run.

    Parameters
    ----------
    parameters : mapping
        ``target``, ``noise``, ``d``, ``seed``, ``seeds``, ``view``, ``algorithms``, ``top``.
    """
    yield from (trained if parameters["view"] == "time" else raced)(parameters)


# ---- along the number of samples


def raced(parameters: Mapping[str, Any]) -> Iterator[Event]:
    """Curves of theories and learners, point by point, and a report at the end."""
    tasks, absent = line_ups(parameters)
    for source, reason in absent.items():
        yield {"kind": "absent", "source": source, "label": source_label(source), "why": reason}
    outcomes: dict[tuple[str, int], Outcome] = {key: Outcome() for key in tasks}
    left = {key: list(range(len(task.pieces))) for key, task in tasks.items()}
    total, done = sum(map(len, left.values())), 0
    while any(left.values()):
        # Whoever has used the least time is next, so that all curves grow together.
        key = min((k for k in left if left[k]), key=lambda k: outcomes[k].seconds)
        place, began = left[key].pop(0), time.monotonic()
        function, arguments = tasks[key].pieces[place]
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("default")
                found = function(**arguments)
        except GradoneError as error:
            outcomes[key].failures[place] = str(error)
            name = key[0]
            yield {"kind": "failed", "source": name, "label": source_label(name), "why": str(error)}
        else:
            outcomes[key].answers[place] = found
            notes = {str(one.message) for one in caught} - set(outcomes[key].notes)
            outcomes[key].notes += sorted(notes)
            for note in sorted(notes):
                label = source_label(key[0])
                yield {"kind": "note", "source": key[0], "label": label, "why": note}
            for source, curve in found.items():
                yield curve_event(source, curve, parameters["axis"], key[1])
        outcomes[key].seconds += time.monotonic() - began
        done += 1
        yield {"kind": "progress", "done": done, "total": total}
    yield {"kind": "report", "html": report(parameters, outcomes, absent)}


def line_ups(
    parameters: Mapping[str, Any],
) -> tuple[dict[tuple[str, int], Task], Mapping[str, str]]:
    """Tasks by name and seed, and why others have none."""
    from ..experiments.compare import default_places
    from ..experiments.entrants import line_up
    from ..targets.naming import find_target

    target = find_target(parameters["target"], parameters["noise"])
    chosen = [who for who in RACE if who.key in parameters["algorithms"]]
    theories = [name for who in chosen for name in who.theories]
    learners = [name for who in chosen for name in who.learners]
    grid, places = default_places(target)
    grid = grid[::2]  # both ends stay; a reader waits for every point
    if parameters["top"]:
        grid, places = (axis * parameters["top"] / axis[-1] for axis in (grid, places))
    sizes: dict[str, Any] = {"d": parameters["d"], "grid": grid, "points": places}
    first = line_up(target, theories=theories, learners=[], **sizes)
    tasks = {(task.name, 0): task for task in first.tasks}
    absent = dict(first.absent)
    for seed in range(parameters["seed"], parameters["seed"] + parameters["seeds"]):
        field = line_up(target, theories=[], learners=learners, replicates=1, seed=seed, **sizes)
        tasks |= {(task.name, seed): task for task in field.tasks}
        absent |= field.absent
    return tasks, absent


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


def report(
    parameters: Mapping[str, Any],
    outcomes: Mapping[tuple[str, int], Outcome],
    absent: Mapping[str, str],
) -> str:
    """The HTML report of a run: analysis, plan, and the curves of its first seed."""
    from ..analysis.analyze import analyze
    from ..analysis.plan import plan
    from ..report import Study
    from ..targets.naming import find_target
    from ..targets.summary import summarize

    target = find_target(parameters["target"], parameters["noise"])
    d = parameters["d"]
    names = {name: outcome for (name, seed), outcome in outcomes.items()
             if seed in (0, parameters["seed"])}  # fmt: skip
    study = Study(
        target,
        d=d,
        budget=sum(outcome.seconds for outcome in outcomes.values()) or 1.0,
        seed=parameters["seed"],
        axis=parameters["axis"],
        absent=dict(absent),
        _compared=list(names),
    )
    made = {"analysis": _or_reason(analyze, target), "plan": _or_reason(plan, target, d=d)}
    facts = Outcome(answers={0: summarize(target, d=min(d, 256))})
    study.outcomes |= {**names, "facts": facts, "verdicts": Outcome(answers={0: made})}
    study.seconds = study.budget
    return study.to_html(until=0.0)  # still pictures take long, and a screen does not need them


def _or_reason(function: Any, *arguments: Any, **named: Any) -> Any:
    try:
        return function(*arguments, **named)
    except GradoneError as reason:
        return str(reason)


# ---- along time: neurons in the plane of the target


def trained(parameters: Mapping[str, Any]) -> Iterator[Event]:
    """Training of two neurons, one run for each rule and seed, and the flow of large dimensions."""
    from ..targets.naming import find_target

    target: Any = find_target(parameters["target"], parameters["noise"])
    rules = [rule for rule in RULES if rule in parameters["algorithms"]]
    total, done = len(rules) * (parameters["seeds"] + 1), 0
    for place in range(parameters["seeds"]):
        for rule in rules:
            try:
                run = training(target, parameters["d"], rule, parameters["seed"] + place)
                found = [(f"simulation:{rule}", run)]
                if place == 0:
                    done += 1
                    found += [(f"theory:{rule}", flow(target, run, rule, parameters["seed"]))]
            except GradoneError as error:
                label = source_label(f"simulation:{rule}")
                yield {"kind": "failed", "source": rule, "label": label, "why": str(error)}
                continue
            for source, curve in found:
                yield training_event(source, curve, parameters["seed"] + place)
            done += 1
            yield {"kind": "progress", "done": done, "total": total}


def training(target: Any, d: int, rule: str, seed: int) -> xr.Dataset:
    """One pass of SGD by a rule, from a lucky start, with steps chosen by the theory."""
    from ..dynamics import sgd
    from ..experiments.sgd_pairs import lucky_start

    start = lucky_start(target, d, seed=seed)
    settings: dict[str, Any] = {**_NEURONS, "rule": rule, "init": start, "seed": seed}
    return sgd(target, d=d, record=_MARKS, replicates=1, workers=1, progress=False, **settings)


def flow(target: Any, run: xr.Dataset, rule: str, seed: int) -> xr.Dataset:
    """Flow in the limit of large dimensions with the student, start and steps of a run."""
    from ..experiments.sgd_pairs import lucky_start
    from ..theory.predict import predict

    made = json.loads(run.attrs["params"])
    d, inner = made["d"], made.get("inner_step_size")
    times = run["time"].values
    return predict(
        target,
        "sgd_flow",
        time=times[times > 0],
        step_size=made["step_size"] * d,
        rule=rule,
        inner_step_size=None if inner is None else inner * d,
        init=lucky_start(target, d, seed=seed),
        points=8192,
        **_NEURONS,
    )


def training_event(source: str, curve: xr.Dataset, seed: int) -> Event:
    """Recovery of each direction along time, and the path of each neuron in the first two."""
    one = curve.squeeze("replicate") if "replicate" in curve.dims else curve
    clock = "step" if "step" in one.dims else "time"
    x = np.asarray(one["time"].values, float)
    keep = x > 0
    recovery = one["recovery"].transpose(clock, "direction")
    parts = [
        {
            "quantity": "recovery",
            "name": f"z{k}",
            "x": x[keep].tolist(),
            "y": finite(recovery.sel(direction=k).values[keep]),
            "error": [0.0] * int(keep.sum()),
        }
        for k in recovery.direction.values.tolist()
    ]
    M = one["overlap"].transpose("neuron", clock, "direction").values
    paths = [[finite(row[:2]) for row in neuron] for neuron in M]
    return _event(source, seed, parts, paths=paths)
