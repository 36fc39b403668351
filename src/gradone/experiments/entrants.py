"""Who takes part in a comparison: the faces of algorithms that cover a target, as tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..algorithms import Algorithm, Run, all_cards
from ..algorithms.own import Algorithm as Own
from ..algorithms.own import as_card
from ..base.children import Task
from ..base.curves import joined
from ..base.pool import Call
from ..learners._foreign import require_importable
from ..targets.hierarchy import HierarchicalTarget
from ..targets.on_inputs import without_inputs
from ..targets.sampled import Sampled
from ._common_quantities import common_quantities
from .places import coarse_to_fine, known_places, next_places, next_run

if TYPE_CHECKING:
    import xarray as xr

Faces = Literal["both", "theory", "simulation"]
_FEW = 3  # points of a curve that are computed whatever the budget
_PATIENCE = 2.0  # with a simulation that is slow at one place and less so at another
_MANY = 25  # points of a line that are computed at once
_ROUNDS = 3  # how often the line of a quick theory is made finer whatever the budget


@dataclass(frozen=True)
class Field:
    """Everybody who takes part, and why the others do not.

    Parameters
    ----------
    axis : {"alpha", "kappa"}
        Samples per dimension, or log n / log d for hierarchical targets.
    tasks : tuple of Task
        Named ``"theory:<algorithm>"`` or ``"simulation:<algorithm>"``; their pieces give curves.
    absent : dict of str to str
        Source to the reason why it has no curve.
    places : ndarray
        All values of the axis.
    """

    axis: str
    tasks: tuple[Task, ...]
    absent: Mapping[str, str] = field(default_factory=dict)
    places: np.ndarray = field(default_factory=lambda: np.empty(0))


def line_up(
    target: Sampled,
    algorithms: Sequence[Any] | None = None,
    *,
    d: int,
    grid: np.ndarray,
    points: np.ndarray,
    replicates: int = 2,
    seed: int = 0,
    faces: Faces = "both",
    grow: int = 0,
) -> Field:
    """Tasks of the theories and simulations of algorithms that cover a target.

    Parameters
    ----------
    target : Target or hierarchical target
        What is learned.
    algorithms : sequence of str, Algorithm or estimator, optional
        Names, or algorithms of one's own; all names by default.
    d : int
        Dimension of the simulations.
    grid, points : ndarray
        Values of the axis for theories and for simulations.
    replicates, seed : int
        Of the simulations.
    faces : {"both", "theory", "simulation"}
        Which faces take part.
    grow : int
        If positive, the places are a beginning, curves become finer as long as there is time, and
        lines of theories by so many points at once.

    Examples
    --------
    >>> from gradone import Target
    >>> field = line_up(Target("z1*z2"), ["bayes_amp", "giant_step"], d=100, grid=np.array([1.0]),
    ...                 points=np.array([1.0]))
    >>> [task.name for task in field.tasks], list(field.absent)
    (['theory:bayes_amp', 'simulation:bayes_amp', 'simulation:giant_step'], ['theory:giant_step'])
    """
    axis = axis_of(target)
    cards = all_cards() if algorithms is None else [as_card(given) for given in algorithms]
    tasks: list[Task] = []
    absent: dict[str, str] = {}
    for card in cards:
        if isinstance(card, Own):  # which children cannot look up by its name
            require_importable(card.where)
        who = card if isinstance(card, Own) else card.name
        shared = {"target": target, "name": who, "d": d, "axis": axis, "seed": seed}
        if faces != "simulation" and card.theory:
            source = f"theory:{card.name}"
            if reason := card.missing_theory(target, axis):
                absent[source] = reason
            else:
                tasks.append(_theory(source, card, shared, grid, grow))
        if faces != "theory" and (card.engine or card.learner):
            source = f"simulation:{card.name}"
            if reason := card.missing_simulation(target):
                absent[source] = reason
            else:
                tasks.append(_simulation(source, card, shared, points, replicates, grow))
    return Field(axis, tuple(tasks), absent, np.union1d(grid, points))


def axis_of(target: Sampled) -> str:
    """Axis along which algorithms are compared on a target."""
    return "kappa" if isinstance(without_inputs(target), HierarchicalTarget) else "alpha"


def _theory(
    source: str, card: Algorithm, shared: Mapping[str, Any], grid: np.ndarray, grow: int
) -> Task:
    if card.at_once:
        places = np.union1d(grid, np.linspace(grid[0], grid[-1], _MANY)) if grow else grid
        return Task(source, [(predicted, {**shared, "places": places.tolist()})])

    def at(*places: float) -> Call:
        return predicted, {**shared, "places": sorted(places)}

    def finer(answers: list[Any]) -> Call | None:
        places = next_places(answers, shared["axis"], most=grow)
        return at(*places) if places else None

    def apart(call: Call) -> tuple[list[Call], list[Call]]:
        # With more samples posteriors are narrower, and points take longer: five points up to the
        # second place are at least a line, and the others follow as far as they go.
        first, second = order[0], sorted(order[1:5])
        if call[1]["places"] != second:
            return [], []
        between = [first + (second[0] - first) * part for part in (0.5, 1.0, 0.25, 0.75)]
        return [at(place) for place in between], [at(place) for place in second[1:]]

    order = [float(grid[i]) for i in coarse_to_fine(len(grid))]
    if card.with_time_to_spare or grow <= 1:
        few = 0 if card.with_time_to_spare else _FEW
        return Task(source, [at(place) for place in order], few, refine=finer if grow else None)
    # What a theory has prepared for one point serves the next ones in the same process; the first
    # ones tell whether it is slow, and five are enough then; else it is made finer where it bends.
    pieces = [at(*some) for some in (order[:1], order[1:5], order[5:]) if some]
    return Task(source, pieces, enough=2, rounds=_ROUNDS, refine=finer, split=apart)


def _simulation(
    source: str,
    card: Algorithm,
    shared: Mapping[str, Any],
    points: np.ndarray,
    replicates: int,
    grow: int,
) -> Task:
    """Points of a simulation; more replicates have the next seeds."""
    if card.is_exact_for(shared["target"]):
        calls = [points.tolist()] if card.at_once else [[float(p)] for p in points]
        return Task(source, [(simulated_exactly, {**shared, "places": p}) for p in calls])

    def at(place: float, seed: int = shared["seed"]) -> Call:
        return simulated, {**shared, "place": place, "replicates": replicates, "seed": seed}

    def finer(answers: list[Any]) -> Call | None:
        more = next_run(answers, shared["axis"], can_insert=not is_deep)
        return None if more is None else at(more[0], shared["seed"] + more[1])

    # Along log n / log d the cost grows fast: what is cheap comes first.
    is_deep = shared["axis"] == "kappa"
    order = list(range(len(points))) if is_deep else coarse_to_fine(len(points))
    pieces = [at(float(points[i])) for i in order]
    return Task(source, pieces, coarse=_FEW, refine=finer if grow else None, patience=_PATIENCE)


# ---- what a child computes


def predicted(
    target: Sampled, name: str | Own, *, d: int, axis: str, places: Sequence[float], seed: int = 0
) -> xr.Dataset:
    """Curve of the theory of an algorithm, in common quantities.

    Where it has no number, as many further places stand in.
    """
    card = as_card(name)

    def at(places: Sequence[float]) -> xr.Dataset:
        return common_quantities(card.predicted(Run(target, axis, places, d=d, seed=seed)), axis)

    parts = [at(places)]
    lost = 0 if card.at_once else len(places) - len(known_places(parts[0], axis))
    for _ in range(2 * lost):  # a place between a known and an unknown one may be either
        if lost and (more := next_places(parts, axis)):
            parts.append(at(more))
            lost -= len(known_places(parts[-1], axis))
    return joined(parts, axis)


def simulated_exactly(
    target: Sampled, name: str | Own, *, d: int, axis: str, places: Sequence[float], seed: int = 0
) -> xr.Dataset:
    """Curve of the engine of an algorithm, in common quantities."""
    run = Run(target, axis, places, d=d, seed=seed)
    return common_quantities(as_card(name).simulated(run), axis)


def simulated(
    target: Sampled, name: str | Own, *, d: int, axis: str, place: float, replicates: int, seed: int
) -> xr.Dataset:
    """Curve of the learner of an algorithm at one place of the axis, in common quantities."""
    from .simulate import simulate

    run = Run(target, axis, [place], d=d, seed=seed)
    found = simulate(
        target,
        name,
        d=d,
        n=int(run.n[0]),
        replicates=replicates,
        seed=seed,
        test_samples=as_card(name).test_samples,
        progress=False,
    )
    found = found.squeeze("n", drop=True).assign_coords({axis: place})
    return common_quantities(found, axis).expand_dims(axis)
