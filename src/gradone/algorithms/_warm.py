"""Compiled code that algorithms need for a target, made ahead and kept on disk."""

from __future__ import annotations

from collections.abc import Callable

from ..targets.sampled import Sampled
from ._cards import all_cards


def compile_ahead(target: Sampled, say: Callable[[str], object]) -> int:
    """Compile what reports need for a target; returns how many parts were not on disk.

    Parameters
    ----------
    target : Target or hierarchical target
        What is to be learned.
    say : callable
        Told a line about each part that is compiled; nothing about what is there.

    Examples
    --------
    >>> from gradone import Target
    >>> _ = compile_ahead(Target("z1"), lambda line: None)
    >>> compile_ahead(Target("z1"), print)
    0
    """
    from ..base.machine_code import announced

    cards = (card for card in all_cards() if card.picture or card.shown(target) == "first")
    parts = [part for card in cards for part in card.compiled(target)]
    count = 0
    for number, part in enumerate(parts, start=1):
        heard: list[str] = []

        def note(name: str, number: int = number, heard: list[str] = heard) -> None:
            if not heard:
                say(f"compiling, once on this machine: {number} of {len(parts)}")
            heard.append(name)

        with announced(note):
            part()
        count += bool(heard)
    return count
