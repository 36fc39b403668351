"""What a report on a table costs, before it is made."""

from __future__ import annotations

from dataclasses import dataclass

from ...base.memory import human_bytes
from .peers import EXACT_KERNEL_ROWS
from .prepare import Prepared

_START = 3.5  # CPU seconds to load libraries and write the report
_BASE = 230e6  # bytes of the libraries


@dataclass(frozen=True)
class Cost:
    """CPU time and memory that are expected, within a factor of 1.5 of what was measured.

    Parameters
    ----------
    seconds, memory : float
        CPU seconds, and bytes at the peak.
    """

    seconds: float
    memory: float

    def __str__(self) -> str:
        return f"about {_time(self.seconds)} of CPU time, {human_bytes(self.memory)} of memory"


def expected_cost(data: Prepared, *, folds: int, curve: bool) -> Cost:
    """Cost of :func:`fit_table` with these rows and features, fitted to measurements.

    Parameters
    ----------
    data : Prepared
        The table.
    folds : int
        Number of folds.
    curve : bool
        Whether the learning curve is measured.
    """
    n, d = data.X.shape
    columns = len(data.classes) if len(data.classes) > 2 else 1
    used = n * (folds - 1) // folds
    # The parts of a learning curve are nearly another fit in each fold.
    own = (1.9 if curve else 1.0) * folds * _own_seconds(used, d, columns)
    seconds = _START + own + _own_seconds(n, d, columns)
    seconds += folds * _peer_seconds(used, d, exact=n <= EXACT_KERNEL_ROWS)
    return Cost(seconds, _BASE + 8 * n * (4 * d + 600) + _kernel_bytes(n))


def _kernel_bytes(n: int) -> float:
    """Some kernels of all rows, or those of landmarks and what they are made into."""
    return 36.0 * n**2 if n <= EXACT_KERNEL_ROWS else 1e8 + 12e3 * n


def _own_seconds(n: int, d: int, columns: int) -> float:
    """One fit of the feature learner, which looks for no directions if there are many classes."""
    classes = columns**0.7 if columns <= 3 else 0.5 * columns**0.4
    search = 0.55 * (min(n, 6000) / 1000) ** 1.6 * (d / 30) ** 0.4 * classes
    return 0.1 + search + 5e-4 * max(n - 4000, 0)


def _peer_seconds(n: int, d: int, *, exact: bool) -> float:
    """One fit of all others together, with kernels of all rows or with landmarks."""
    kernels = 0.3 * (n / 1000) ** 2.5 if exact else 0.0
    return 0.1 + kernels + 2.5e-4 * n * (1 + d / 100)


def _time(seconds: float) -> str:
    """Time in words.

    Examples
    --------
    >>> _time(40), _time(400)
    ('40 s', '7 min')
    """
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
