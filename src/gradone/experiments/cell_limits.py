"""What one cell may use before it is stopped: as given, or far beyond what it is known to need."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..base.errors import BadData
from ..base.memory import read_bytes
from ..base.pool import Limits
from .costs import Estimated

# Where nothing is given: a hundred times the estimate is no mistake of the estimate, and below the
# least no cell is stopped at all.
_PATIENCE, _LEAST_SECONDS = 100.0, 1800.0
_ROOM, _LEAST_BYTES = 10.0, 4e9
_SHARE = 0.9  # of the free memory


class CellLimits(NamedTuple):
    """Limits that somebody gave; None stands for a generous multiple of the estimated cost.

    Parameters
    ----------
    seconds : float, optional
        Wall time of a cell; by default a hundred times the estimate, and at least half an hour.
    memory : int, optional
        Bytes that a cell may take; by default ten times the estimate and at least 4 GB, but no
        more than 90 % of what is free.

    Examples
    --------
    >>> given = CellLimits.read(5, "2 GB")
    >>> given
    CellLimits(seconds=5.0, memory=2000000000)
    >>> CellLimits.read(None, "3 GB").or_else(given)
    CellLimits(seconds=5.0, memory=3000000000)
    """

    seconds: float | None = None
    memory: int | None = None

    @classmethod
    def read(cls, seconds: Any, memory: Any) -> CellLimits:
        """Limits as they are written in a spec, on the command line or in Python."""
        return cls(
            None if seconds is None else _seconds(seconds),
            None if memory is None else read_bytes(memory, "cell_memory"),
        )

    def or_else(self, others: CellLimits) -> CellLimits:
        """These limits, and those of others where none is given here."""
        return CellLimits(
            others.seconds if self.seconds is None else self.seconds,
            others.memory if self.memory is None else self.memory,
        )

    def of(self, needed: Estimated, free: float) -> Limits:
        """Limits of one cell on a machine with so many bytes free."""
        seconds, memory = self
        usual = max(_ROOM * needed.bytes, _LEAST_BYTES)
        return Limits(
            max(_PATIENCE * needed.seconds, _LEAST_SECONDS) if seconds is None else seconds,
            min(usual, _SHARE * free) if memory is None else memory,
        )

    def require_processes(self, executor: object) -> None:
        """Refuse limits where no process of ours could be ended."""
        from .executors.processes import Processes

        if self == CellLimits() or executor == "processes" or isinstance(executor, Processes):
            return
        name = executor if isinstance(executor, str) else type(executor).__name__
        raise BadData(
            f"cell_seconds and cell_memory end the process of a cell, which the executor '{name}' "
            "cannot do. Use executor='processes' (workers=1 computes one cell at a time), or leave "
            "the limits out."
        )


def _seconds(given: Any) -> float:
    try:
        seconds = float(given)
    except (TypeError, ValueError):
        seconds = math.nan
    if isinstance(given, bool) or not 0 < seconds < math.inf:
        raise BadData(f"cell_seconds is a positive number of seconds, got {given!r}")
    return seconds
