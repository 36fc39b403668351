"""Engines of the exact dynamics: what each runs, answers and costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..base.cost import Cost, Need
from ..base.registry import Registry

ENGINES = Registry("engine", "gradone.dynamics")


@dataclass(frozen=True)
class Engine:
    """One exact simulation.

    Parameters
    ----------
    run : callable
        The verb, called as ``run(target, **parameters)``.
    answers : tuple of str
        Quantities that it reports.
    cost : Cost
        What one run costs.
    numerics : int
        Version of its numbers, one higher when they may change: stored ones are computed anew.
    """

    run: Callable[..., Any]
    answers: tuple[str, ...]
    cost: Cost
    numerics: int = 1


def record_of(sizes: Any) -> Need:
    """Memory of what is recorded."""
    p, r = sizes.width, sizes.r
    times = len(sizes.record) if isinstance(sizes.record, list) else sizes.record
    return Need(
        8 * times * (3 * p * r + 4 * p * p + 2 * r + 4 * p),
        f"the record of {times} times",
        "record",
    )
