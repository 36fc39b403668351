"""Whose turn it is: that of whoever was served least recently."""

from __future__ import annotations

from collections import OrderedDict
from itertools import count


class Turns:
    """Order in which people are served.

    Somebody who comes for the first time counts as served at that moment: a new name is no way to
    the front. Who was told to come back later keeps the place of the first time.

    Parameters
    ----------
    kept : int
        Number of people that are remembered.

    Examples
    --------
    >>> turns = Turns()
    >>> turns.since("ann") < turns.since("bob")
    True
    >>> turns.serve("ann")
    >>> turns.since("ann") < turns.since("bob")
    False
    """

    def __init__(self, kept: int = 2000) -> None:
        self._kept = kept
        self._clock = count()
        self._last: OrderedDict[str, int] = OrderedDict()

    def since(self, who: str) -> int:
        """When somebody was last served: smaller is longer ago."""
        if who not in self._last:
            self.serve(who)
        return self._last[who]

    def serve(self, who: str) -> None:
        """Remember that somebody is served now."""
        self._last[who] = next(self._clock)
        self._last.move_to_end(who)
        if len(self._last) > self._kept:
            self._last.popitem(last=False)
