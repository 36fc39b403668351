"""Who can be watched and predicted: the cards of the algorithms, as the page shows them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..algorithms import Algorithm, Slider, all_cards, look_of
from ..charts import check_color, color_of
from ..experiments.entrants import axis_of
from ..theory import THEORIES

_SLOW = 0.3  # seconds of one point of a theory from which coarse curves come first


def racing(target: Any) -> list[Algorithm]:
    """Algorithms that are offered in a race."""
    return [card for card in all_cards() if card.shown(target) != "asked"]


def moving() -> list[Algorithm]:
    """Algorithms whose neurons are watched along time."""
    return [card for card in all_cards() if card.engine and "time" in (card.axis, card.own_clock)]


def predicted() -> dict[str, Algorithm]:
    """Algorithms with a theory, by name."""
    return {card.name: card for card in all_cards() if card.theory}


def named(names: Iterable[str]) -> list[Algorithm]:
    """Cards of some algorithms, in the order of the table; what is unknown is left out."""
    wanted = set(names)
    return [card for card in all_cards() if card.name in wanted]


def source_label(source: str) -> str:
    """Name of the algorithm of a source.

    Examples
    --------
    >>> source_label("simulation:sgd"), source_label("theory:giant_step")
    ('one pass of SGD', 'giant gradient step')
    """
    return look_of(source.rpartition(":")[2]).label


def source_color(source: str) -> str:
    """Color of the algorithm of a source, the same for theory and simulation."""
    return check_color(look_of(source.rpartition(":")[2]).color or color_of(source))


def covered(target: Any) -> list[dict[str, Any]]:
    """Contestants of a target, with the reason why a theory or a simulation is not there."""
    found = []
    for card in racing(target):
        theory = card.missing_theory(target, axis_of(target))
        simulation = card.missing_simulation(target)
        found.append(
            {
                **_look(card),
                "theory": theory,
                "simulation": simulation,
                "is_there": theory is None or simulation is None,
                "is_first": card.shown(target) == "first" and simulation is None,
            }
        )
    return found


def watched(target: Any) -> list[dict[str, Any]]:
    """Algorithms whose neurons can be watched while they learn a target.

    The one whose training is a picture of every report is chosen when the page opens.
    """
    return [
        {**_look(card), "is_there": True, "is_first": card.picture is not None}
        for card in moving()
        if card.is_exact_for(target)
    ]


def theories(target: Any) -> list[dict[str, Any]]:
    """Theories of the page with their sliders, or the reason why they do not cover a target."""
    return [
        {
            **_look(card),
            "axis": card.axis,
            "kind": card.kind,
            "reason": card.obstacle(target),
            "is_slow": THEORIES[card.theory_for(target)].seconds >= _SLOW and not card.at_once,
            "sliders": [
                {
                    "name": slider.name,
                    "label": slider.label or slider.name.replace("_", " "),
                    "low": slider.low,
                    "high": slider.high,
                    "value": first_value(card, slider),
                }
                for slider in card.sliders
            ],
        }
        for card in predicted().values()
    ]


def first_value(card: Algorithm, slider: Slider) -> float:
    """Where a slider stands when the page opens."""
    return float(card.defaults[slider.name] if slider.value is None else slider.value)


def _look(card: Algorithm) -> dict[str, str]:
    return {"key": card.name, "label": card.label, "color": source_color(card.name)}
