"""What an executor is given and gives back: a task is one cell, a result what came of it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from ..base.errors import BadData
from ..base.pool import Limits

if TYPE_CHECKING:  # workers read this module before the number of threads of numpy is settled
    import numpy as np

Status = Literal["done", "failed"]
Compute = Callable[[str], "dict[str, np.ndarray]"]


@dataclass(frozen=True)
class Task:
    """One cell that is to be computed.

    Parameters
    ----------
    key : str
        Name of the cell, 32 hexadecimal digits: :func:`gradone.base.seeds.fingerprint` of all that
        its numbers depend on.
    parameters : str
        Canonical JSON text of the cell; all that the function that computes it is given.
    bytes : int
        Memory at its peak, estimated; 0 if unknown.
    seconds : float
        Time on one core, estimated; 0 if unknown.
    limits : Limits
        What it may use before its process is killed.

    Examples
    --------
    >>> Task("0" * 32, '{"d":100}', bytes=80_000).seconds
    0.0
    """

    key: str
    parameters: str
    bytes: int = 0
    seconds: float = 0.0
    limits: Limits = Limits()


@dataclass(frozen=True)
class Result:
    """What came of a task.

    Parameters
    ----------
    key : str
        Name of the cell.
    status : {"done", "failed"}
        Whether there are numbers.
    arrays : mapping of str to ndarray
        What was measured; scalars have dimension 0, text is an array of text, nothing is of the
        type ``object``. Empty if the task failed.
    error : str
        Why it failed.
    seconds : float
        Time that it took.
    host : str
        Name of the machine that computed it.
    """

    key: str
    status: Status
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    error: str = ""
    seconds: float = 0.0
    host: str = ""


Batch = Sequence[Task]


def peak_bytes(batch: Batch) -> int:
    """Memory of a batch: its cells come one after the other.

    Examples
    --------
    >>> peak_bytes([Task("0" * 32, "{}", bytes=10), Task("1" * 32, "{}", bytes=30)])
    30
    """
    return max(task.bytes for task in batch)


def limits_of(batch: Batch) -> Limits:
    """Limits of each cell of a batch: the widest that one of them has.

    Examples
    --------
    >>> limits_of([Task("0" * 32, "{}", limits=Limits(2.0)), Task("1" * 32, "{}")]).seconds
    inf
    """
    return Limits(
        max(task.limits.seconds for task in batch), max(task.limits.memory for task in batch)
    )


class Executor(Protocol):
    """Something that computes batches of tasks, here or elsewhere."""

    @property
    def workers(self) -> int:
        """How many batches can be computed at the same time, as far as it is known now."""

    def run(self, function: str, batches: Iterator[Batch]) -> Generator[list[Result]]:
        """Results in the order in which they come; those that come together are stored together.

        Parameters
        ----------
        function : str
            ``"module:name"`` of the function that computes a cell from its parameters. Workers
            import it themselves, so it stands at the top of a module.
        batches : iterator of sequences of Task
            Asked for the next batch only when there is room for it, so its sizes may follow from
            the results so far.

        Notes
        -----
        Closing the iterator drops the cells that are being computed. A cell that raises, that
        kills its worker again and again, or that stays beyond its limits when it is tried alone
        gives a failed result; what is wrong with the executor itself is raised.
        """


def resolve(function: str) -> Compute:
    """Function that a text ``"module:name"`` names.

    Examples
    --------
    >>> resolve("gradone.base.seeds:canonical")("a")
    '"a"'
    """
    module, name = split_name(function)
    found: Compute = getattr(importlib.import_module(module), name)
    return found


def split_name(function: str) -> tuple[str, str]:
    """Module and name of a function that workers can import.

    Examples
    --------
    >>> split_name("gradone.base.seeds")
    Traceback (most recent call last):
    gradone.base.errors.BadData: 'gradone.base.seeds' names no function; write "module:name", ...
    """
    module, _, name = function.partition(":")
    if not module or not name.isidentifier() or module == "__main__":
        raise BadData(
            f'{function!r} names no function; write "module:name", where the module is a file '
            "that other processes can import (a script that is being run is not)"
        )
    return module, name
