"""The work of a study: which algorithms, with which numbers, in which order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..algorithms import Algorithm, all_cards
from ..base.children import Task
from ..base.pool import Call
from . import _work

if TYPE_CHECKING:
    from .study import Study

_REPLICATES = 2


def tasks_of(found: Study) -> Iterator[Task]:
    """Work that needs no other work; the rest follows from the analysis."""
    target, d = found.target, found.d
    cards = cards_with_pictures(found)

    yield Task("facts", [(_work.facts, {"target": target, "d": d})])
    yield Task(
        "verdicts",
        [(_work.verdicts, {"target": target, "d": d})],
        then=lambda answer: [
            *_comparison(found, answer["analysis"]),
            *_thresholds(found),
            *(task for card in cards if not _is_long(card) for task in _pictured(found, card)),
        ],
    )
    for card in cards:
        if _is_long(card):
            yield from _pictured(found, card)


def _is_long(card: Algorithm) -> bool:
    """Whether the picture is one long run, which had better begin at once."""
    return card.picture is not None and not card.picture.places


def cards_with_pictures(found: Study) -> list[Algorithm]:
    """Algorithms that have a picture of their own in this study."""
    return [card for card in all_cards() if card.picture] if found.axis == "alpha" else []


def _comparison(found: Study, analysis: Any) -> list[Task]:
    """Theories and simulations along one axis."""
    from ..experiments.compare import default_places
    from ..experiments.entrants import line_up

    is_deep = found.axis == "kappa"
    grid, points = default_places(found.target, analysis)
    alone = {card.name for card in cards_with_pictures(found)}
    cards = [card for card in all_cards() if card.shown(found.target) == "first"]
    lined_up = line_up(
        found.target,
        [card.name for card in cards if card.name not in alone],
        d=found.d,
        grid=grid,
        points=points,
        replicates=1 if is_deep else _REPLICATES,
        seed=found.seed,
    )
    found.absent = dict(lined_up.absent)
    found._compared = [task.name for task in lined_up.tasks]
    return list(lined_up.tasks)


def _thresholds(found: Study) -> list[Task]:
    if found.axis == "kappa":
        return []
    return [Task("thresholds", [(_work.thresholds, {"target": found.target})], handicap=1.0)]


def _pictured(found: Study, card: Algorithm) -> list[Task]:
    """Simulations of the picture of an algorithm, and the theory of the same."""
    picture = card.picture
    assert picture is not None
    shared = {"target": found.target, "name": card.name, "d": found.d, "seed": found.seed}

    def explained(run: Any) -> list[Task]:
        call: Call = (_work.explained, {**shared, "run": run})
        return [Task(f"{card.name} theory", [call])]

    pieces = [(_work.watched, {**shared, "place": place}) for place in picture.places or (None,)]
    if not picture.line:
        return [Task(f"{card.name} run", pieces, then=explained, handicap=1.0)]
    theory = Task(f"{card.name} theory", [(_work.explained, shared)], handicap=1.0)
    return [theory, Task(f"{card.name} run", pieces, handicap=1.0)]
