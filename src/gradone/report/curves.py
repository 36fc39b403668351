"""The curves of a study, by name, and how fine they are."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ..algorithms import look_of
from ..experiments.places import known_places, merged

if TYPE_CHECKING:
    import xarray as xr

    from .study import Study

_AXES = {"gradient": "batch_ratio", "plateau": "kappa"}
_POINTS = ("batch_ratio", "time", "step", "alpha", "kappa")  # whose points a curve has, if several


class Fineness(NamedTuple):
    """How fine a curve is."""

    name: str
    places: int
    runs: float
    seconds: float


def curves(study: Study) -> dict[str, xr.Dataset]:
    """The comparison, and theory and simulation of each picture of its own."""
    from .tasks import cards_with_pictures

    found = {"comparison": study.comparison}
    for card in cards_with_pictures(study):
        axis = _AXES.get(card.picture.kind, "") if card.picture else ""
        for face, task in (("theory", "theory"), ("simulation", "run")):
            if answers := study.answers(f"{card.name} {task}"):
                found[f"{face}:{card.name}"] = merged(answers, axis) if axis else answers[0]
    return found


def fineness(study: Study) -> list[Fineness]:
    """Points and runs of every curve."""
    rows = []
    for task, outcome in study.outcomes.items():
        if not study.answers(task):
            continue
        face, _, name = task.partition(":") if ":" in task else task.rpartition(" ")[::-1]
        runs_at: Counter[float] = Counter()
        for one in outcome.answers.values():
            axis = next(axis for axis in _POINTS if axis in one.dims)
            for place in known_places(one, axis).tolist():
                runs_at[place] += one.sizes.get("replicate", 1)
        face = "simulation" if face == "run" else face
        label = f"{look_of(name).label}, {face}"
        runs = runs_at.total() / max(len(runs_at), 1)
        rows.append(Fineness(label, len(runs_at), runs, outcome.seconds))
    return rows
