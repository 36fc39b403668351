"""Whose turn it is: people are served in rounds."""

from __future__ import annotations

from collections import OrderedDict
from itertools import count


class Turns:
    """Order in which people are served.

    Everybody has one turn in each round. Who comes for the first time takes part in the round that
    is being served; who was told to come back later keeps the turn; who stayed away for long has
    saved one turn, not all that were missed.

    Parameters
    ----------
    kept : int
        Number of people that are remembered.

    Examples
    --------
    >>> turns = Turns()
    >>> turns.rank("ann") < turns.rank("bob")
    True
    >>> turns.serve("ann")
    >>> turns.rank("bob") < turns.rank("cyd") < turns.rank("ann")
    True
    """

    def __init__(self, kept: int = 2000) -> None:
        self._kept = kept
        self._clock = count()
        self._round = 0
        self._next: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def rank(self, who: str, taken: int = 0) -> tuple[int, int]:
        """Place of somebody in the order, after so many more turns: smaller is earlier."""
        if who not in self._next:
            self._set(who, self._round)
        mine, number = self._next[who]
        return max(mine, self._round - 1) + taken, number

    def serve(self, who: str) -> None:
        """Remember that somebody is served now."""
        mine, _ = self.rank(who)
        self._round = max(self._round, mine)
        self._set(who, mine + 1)

    def _set(self, who: str, turn: int) -> None:
        self._next[who] = turn, next(self._clock)
        self._next.move_to_end(who)
        if len(self._next) > self._kept:
            self._next.popitem(last=False)
