"""What a cell needs, known before it runs: memory at its peak, and seconds on one core.

Operations and memory are what an algorithm states as its ``cost``; seconds are those operations at
the speed of one core of a present laptop. They are right within a factor of a few, which is enough
to begin with the long cells and to tell minutes from days.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, NamedTuple

from ..base.cost import Cost, Need
from ..base.errors import TooLarge
from ..base.memory import available_memory, human_bytes
from ..dynamics import ENGINES
from ..learners import LEARNERS
from ..learners._foreign import is_foreign
from ..targets.training import parameters_of
from ..theory import THEORIES
from .layout import Cell
from .recipes import DEFAULTS

_OPERATIONS = 2e10  # floating point operations per second, in matrix products
_DRAWN = 1.5e-8  # seconds for one random number
_START = 2e-3  # seconds of every cell, whatever its size
_LEAST = 1_000_000  # bytes of every cell
_FRESH = 2**22  # numbers in one chunk of fresh samples
_SHARE = 0.9  # of the free memory that one cell may use
_THEORY_BYTES = 50_000_000


class Estimated(NamedTuple):
    """What a cell needs.

    Parameters
    ----------
    bytes : int
        Memory at its peak.
    seconds : float
        Time on one core.
    largest : Need
        The largest part of the memory.
    """

    bytes: int
    seconds: float
    largest: Need


def cost(cell: Cell) -> Estimated:
    """Memory and time of a cell.

    Examples
    --------
    >>> from gradone import Experiment
    >>> e = Experiment(name="e", targets=["z"], algorithms=[{"learner": "dot_kernel_ridge"}],
    ...                grid={"d": 100, "n": 3000})
    >>> found = cost(e.cells()[0])
    >>> round(found.bytes / 1e6), found.largest.shrink
    (616, 'n')
    """
    algorithm = cell.algorithm
    if algorithm.kind == "theory":
        need = Need(_THEORY_BYTES, "the theory", "the number of its points")
        return Estimated(_THEORY_BYTES, _START + THEORIES[algorithm.name].seconds, need)
    sizes = _sizes(cell)
    if algorithm.kind == "engine":
        stated, needs, drawn = ENGINES[algorithm.name].cost, [], 0.0
    else:
        stated = getattr(LEARNERS[algorithm.name], "cost", _UNKNOWN)
        needs, drawn = _samples(sizes), _DRAWN * sizes.d * (sizes.n + sizes.test_samples)
    needs += stated.memory(sizes)
    total = _LEAST + 1.1 * sum(need.bytes for need in needs)
    seconds = _START + stated.operations(sizes) / _OPERATIONS + drawn
    return Estimated(math.ceil(total), seconds, max(needs, key=lambda need: need.bytes))


# Of a learner that does not say what it costs.
_UNKNOWN = Cost("unknown", lambda s: 10.0 * s.n * s.d * (s.d + getattr(s, "width", 512)))


def _sizes(cell: Cell) -> Any:
    """Sizes of a cell and all parameters of what runs, as whoever states a cost reads them."""
    kind, name = cell.algorithm.kind, cell.algorithm.name
    if is_foreign(name):
        sizes = {**DEFAULTS, "r": getattr(cell.target, "r", 1), **cell.arguments}
        return SimpleNamespace(**sizes)
    known = parameters_of(ENGINES[name].run if kind == "engine" else LEARNERS[name])
    default = {p.name: p.default for p in known.values() if p.default is not p.empty}
    given = {name: value for name, value in cell.arguments.items() if value is not None}
    return SimpleNamespace(**{**DEFAULTS, **default, "r": getattr(cell.target, "r", 1), **given})


def _samples(sizes: Any) -> list[Need]:
    n, d, itemsize = sizes.n, sizes.d, 4 if sizes.dtype == "float32" else 8
    fresh = 3 * 8 * min(sizes.test_samples * d, _FRESH)
    return [
        Need(2 * n * d * itemsize, f"the samples of {n} x {d} numbers and a copy", "n or d"),
        Need(fresh, "the fresh samples", "test_samples"),
    ]


def require_room(cells: Iterable[Cell]) -> None:
    """Raise :class:`TooLarge` if a cell cannot fit into the memory that is free now."""
    free = available_memory()
    worst: tuple[Estimated, Cell] | None = None
    count = 0
    for cell in cells:
        needed = cost(cell)
        if needed.bytes > _SHARE * free:
            count += 1
            if worst is None or needed.bytes > worst[0].bytes:
                worst = needed, cell
    if worst is None:
        return
    needed, cell = worst
    sizes = ", ".join(f"{k} = {v}" for k, v in cell.arguments.items() if k in ("d", "n", "width"))
    raise TooLarge(
        f"{count} cell{'s do' if count > 1 else ' does'} not fit into memory. The largest, "
        f"'{cell.algorithm.name}' at {sizes}, needs {human_bytes(needed.bytes)}, most of it for "
        f"{needed.largest.what}; only {human_bytes(free)} are available. Use a smaller "
        f"{needed.largest.shrink}. Nothing was run."
    )
