"""What work costs, stated once by whoever does it: operations and memory as functions of sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple


class Need(NamedTuple):
    """A part of the memory: how much, for what, and which parameter makes it smaller."""

    bytes: float
    what: str
    shrink: str


def _nothing(sizes: Any) -> Iterable[Need]:
    return ()


@dataclass(frozen=True)
class Cost:
    """Operations and memory of one run.

    Parameters
    ----------
    words : str
        For people: what grows how.
    operations : callable
        Number of floating point operations. It is given the sizes as attributes: ``n``, ``d``,
        ``r``, ``test_samples``, and all parameters of whoever states the cost, with their defaults.
    memory : callable, optional
        Parts of the memory beside the samples, from the same sizes.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> cost = Cost("2 n d operations", lambda s: 2 * s.n * s.d)
    >>> str(cost), cost.operations(SimpleNamespace(n=10, d=5))
    ('2 n d operations', 100)
    """

    words: str
    operations: Callable[[Any], float]
    memory: Callable[[Any], Iterable[Need]] = _nothing

    def __str__(self) -> str:
        return self.words
