"""The work of a study: which algorithms, with which numbers, in the order of the story."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms import Algorithm, all_cards
from ..base.children import Task
from ..base.pool import Call
from ..experiments.entrants import line_up
from ..experiments.places import AT_ONCE, coarse_places, next_run
from . import _work

if TYPE_CHECKING:
    from .study import Study


_STORY = ("time", "step", "gradient", "plateau")


def tasks_of(found: Study) -> list[Task]:
    """All that children compute for a report; notes in the study what has no curve."""
    alone = cards_with_pictures(found)
    grid, points = coarse_places(found.target, found.analysis)
    if found.plan is not None and found.axis == "alpha":
        sizes = found.plan.sizes  # lines have a point there, so that the plan knows it too
        grid = np.union1d(grid, [sizes.n / sizes.d])
    cards = [card for card in all_cards() if card.shown(found.target) == "first"]
    lined_up = line_up(
        found.target,
        [card.name for card in cards if card.name not in {one.name for one in alone}],
        d=found.d,
        grid=grid,
        points=points,
        replicates=1,
        seed=found.seed,
        grow=AT_ONCE,
    )
    found.absent = dict(lined_up.absent)
    return [*lined_up.tasks, *(task for card in alone for task in _pictured(found, card))]


def cards_with_pictures(found: Study) -> list[Algorithm]:
    """Algorithms that have a picture of their own in this study, in the order of the story."""
    cards = [card for card in all_cards() if card.picture] if found.axis == "alpha" else []
    return sorted(cards, key=lambda card: _STORY.index(card.picture.kind) if card.picture else 0)


def _pictured(found: Study, card: Algorithm) -> list[Task]:
    """Simulations of the picture of an algorithm, and the theory of the same."""
    picture = card.picture
    assert picture is not None
    shared = {"target": found.target, "name": card.name, "d": found.d, "seed": found.seed}

    def at(place: float | None, seed: int = found.seed) -> Call:
        return _work.watched, {**shared, "place": place, "seed": seed}

    def finer(answers: list[Any]) -> Call | None:
        axis = {"gradient": "batch_ratio", "plateau": "kappa"}[picture.kind]
        more = next_run(answers, axis, can_insert=False)
        return None if more is None else at(more[0], found.seed + more[1])

    def explained(run: Any) -> list[Task]:
        return [Task(f"{card.name} theory", [(_work.explained, {**shared, "run": run})])]

    if not picture.line:  # one run, which its theory follows
        pieces = [at(place) for place in picture.places or (None,)]
        return [Task(f"{card.name} run", pieces, then=explained)]
    theory = Task(f"{card.name} theory", [(_work.explained, shared)])
    runs = Task(f"{card.name} run", [at(place) for place in picture.places], 3, refine=finer)
    return [theory, runs]
