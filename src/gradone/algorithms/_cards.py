"""Cards found by what they are the face of, and how they look."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ..base.errors import BadData, did_you_mean
from ..learners import LEARNERS
from ._card import ALGORITHMS, Algorithm

_FAMILIES = ("bayes", "lazy", "giant", "sgd", "depth", "tables")


class Look(NamedTuple):
    """Name for people and color of a curve."""

    label: str
    color: str


def all_cards() -> list[Algorithm]:
    """One card of each algorithm, family by family."""
    cards: list[Algorithm] = [ALGORITHMS[name]() for name in ALGORITHMS]
    known = {family: place for place, family in enumerate(_FAMILIES)}
    return sorted(cards, key=lambda card: (known.get(card.family, len(known)), card.name))


def card_of(name: str, face: str = "") -> Algorithm | None:
    """Card of an algorithm, theory, engine or learner; None if no algorithm has it.

    Parameters
    ----------
    name : str
        Its name.
    face : {"", "theory", "engine", "learner"}
        Look among the faces of this kind only.

    Examples
    --------
    >>> card_of("one_step").name, card_of("online_sgd", "learner").name, card_of("nobody")
    ('giant_step', 'sgd', None)
    """
    if not face and name in ALGORITHMS.files:
        found: Algorithm = ALGORITHMS[name]()
        return found
    return _faces(len(ALGORITHMS)).get((face, name))


@lru_cache(maxsize=1)
def _faces(count: int) -> dict[tuple[str, str], Algorithm]:
    found: dict[tuple[str, str], Algorithm] = {}
    cards = all_cards()
    found |= {("", card.name): card for card in cards}
    # Of algorithms that share a face, the one with the name of its engine or learner is the main
    # one, then the one with the name of its theory.
    for card in sorted(cards, key=_rank):
        for face, name in _names(card).items():
            found.setdefault((face, name), card)
            found.setdefault(("", name), card)
        for name in card.relatives:
            found |= {("theory", name): card, ("", name): card}
    return found


def _rank(card: Algorithm) -> int:
    if card.name in (card.engine, card.learner):
        return 0
    return 1 if card.name == card.theory else 2


def _names(card: Algorithm) -> dict[str, str]:
    faces = {"theory": card.theory, "learner": card.learner, "engine": card.engine}
    return {face: name for face, name in faces.items() if name}


def learner_of(name: str) -> str:
    """Name of the learner that a learner or an algorithm is named by.

    Examples
    --------
    >>> learner_of("giant_step"), learner_of("extragradient")
    ('giant_step', 'online_sgd')
    """
    if name in LEARNERS.files:
        return name
    if name in ALGORITHMS:
        found: str = ALGORITHMS[name].learner
        if not found:
            raise BadData(f"'{name}' has no learner: there is a theory of it alone")
        return found
    if ":" not in name and name not in LEARNERS:
        known = sorted({*LEARNERS, *(card.name for card in all_cards() if card.learner)})
        raise BadData(
            f"unknown algorithm '{name}'. Simulated can be: {', '.join(known)}."
            f"{did_you_mean(name, known)}"
        )
    return name


def look_of(name: str, face: str = "") -> Look:
    """Name for people and color of an algorithm or of one of its faces.

    Examples
    --------
    >>> look_of("one_step")
    Look(label='giant gradient step', color='vermillion')
    >>> look_of("something_else")
    Look(label='something else', color='')
    """
    card = card_of(name, face)
    if card is None:
        return Look(name.replace("_", " "), "")
    return Look(card.label, card.color)
