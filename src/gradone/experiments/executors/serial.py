"""Cells one after the other in this process: for debugging, and as the reference."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

from ...base.threads import use_one_thread
from ..task import Batch, Result, resolve
from ._compute import compute_batch


@dataclass(frozen=True)
class Serial:
    """No other process: a debugger sees the cell, a cell that kills its process ends the run.

    Examples
    --------
    >>> from gradone.experiments.task import Task
    >>> batches = iter([[Task("0" * 32, "{}")]])
    >>> [result] = next(Serial().run("gradone.base.seeds:canonical", batches))
    >>> result.status
    'failed'
    """

    workers: int = 1

    def run(self, function: str, batches: Iterator[Batch]) -> Generator[list[Result]]:
        """Results in the order of the batches."""
        resolve(function)
        with use_one_thread():
            for batch in batches:
                for task in batch:  # one by one: an interruption keeps what is done
                    yield list(compute_batch(function, [task]))
