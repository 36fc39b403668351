"""What is costly and depends on a target alone, kept for the life of a process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import RLock
from typing import Any, TypeVar

Kept = TypeVar("Kept")
_LIMIT = 200_000_000  # bytes


class Memory:
    """Results by their keys, the ones that were used last, up to a number of bytes.

    A result depends on its key alone, so nothing depends on what was asked before.

    Parameters
    ----------
    limit : int
        Largest total of the attributes ``nbytes``; what was asked for last stays in any case.

    Examples
    --------
    >>> import numpy as np
    >>> memory = Memory(100)
    >>> [memory.get(k, lambda: np.zeros(8)).nbytes for k in (1, 2)], memory.nbytes
    ([64, 64], 64)
    """

    def __init__(self, limit: int = _LIMIT) -> None:
        self.limit = limit
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = RLock()

    @property
    def nbytes(self) -> int:
        """Memory in use."""
        with self._lock:
            return sum(kept.nbytes for kept in self._kept.values())

    def forget(self) -> None:
        """Drop everything."""
        with self._lock:
            self._kept.clear()

    def get(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        """What is kept under a key, or else what `make` returns, which is kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                kept: Kept = self._kept[key]
                return kept
        made = make()
        with self._lock:
            self._kept[key] = made
            total = self.nbytes  # results may have grown since they were made
            while total > self.limit and len(self._kept) > 1:
                total -= self._kept.popitem(last=False)[1].nbytes
        return made


MEMORY = Memory()
