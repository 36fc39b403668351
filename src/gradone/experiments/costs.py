"""What a cell needs, known before it runs: memory at its peak, and seconds on one core.

Memory follows from the shapes of what an algorithm holds. Seconds are the operations that its
``cost`` states at the speed of one core of a present laptop: right within a factor of a few, which
is enough to begin with the long cells and to tell minutes from days.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ..base.errors import TooLarge
from ..base.memory import available_memory, human_bytes
from .layout import Cell

_OPERATIONS = 2e10  # floating point operations per second, in matrix products
_DRAWN = 1.5e-8  # seconds for one random number
_START = 2e-3  # seconds of every cell, whatever its size
_LEAST = 1_000_000  # bytes of every cell
_FRESH = 2**22  # numbers in one chunk of fresh samples
_SHARE = 0.9  # of the free memory that one cell may use
# Seconds of a theory at one point, where it is not much less than a tenth.
_THEORIES = {
    **{"bayes_amp": 0.3, "bayes_optimal": 0.5, "feature_spectrum": 0.5},
    **{"giant_steps": 0.3, "reused_batch": 3.0, "sgd_flow": 1.0, "depth": 0.5},
}
_THEORY_BYTES = 50_000_000


class Need(NamedTuple):
    """A part of the memory of a cell: how much, for what, and which parameter makes it smaller."""

    bytes: float
    what: str
    shrink: str


class Cost(NamedTuple):
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


def cost(cell: Cell) -> Cost:
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
    given = {name: value for name, value in cell.arguments.items() if value is not None}
    name = cell.algorithm.name
    r = getattr(cell.target, "r", 1)
    if cell.algorithm.kind == "theory":
        need = Need(_THEORY_BYTES, "the theory", "the number of its points")
        return Cost(_THEORY_BYTES, _START + _THEORIES.get(name, 0.02), need)
    if cell.algorithm.kind == "engine":
        needs, seconds = (_sgd if name == "sgd" else _reused)(given, r)
    else:
        needs, seconds = _learner(name, given, r)
    total = _LEAST + 1.1 * sum(need.bytes for need in needs)
    return Cost(math.ceil(total), _START + seconds, max(needs, key=lambda need: need.bytes))


def _learner(name: str, given: Mapping[str, Any], r: int) -> tuple[list[Need], float]:
    n, d, fresh = given["n"], given["d"], given.get("test_samples", 4096)
    itemsize = 4 if given.get("dtype") == "float32" else 8
    width = given.get("width", {"online_sgd": 4, "reused_batch": 4}.get(name, 512))
    needs = [
        Need(2 * n * d * itemsize, f"the samples of {n} x {d} numbers and a copy", "n or d"),
        Need(3 * 8 * min(fresh * d, _FRESH), "the fresh samples", "test_samples"),
    ]
    if name == "dot_kernel_ridge":
        held = 24 * n * (n + fresh) + 8 * _FRESH
        needs.append(Need(held, f"the kernel of {n} samples", "n"))
    elif "width" in given or name in ("giant_step", "random_features", "residual_step"):
        size = min(width, n) if name.startswith("random_features") else width
        needs.append(Need(40 * size * size, f"the system of {size} features", "width"))
        layer = 16 * width * d + 8 * min(fresh * width, _FRESH)
        needs.append(Need(layer, f"the first layer of {width} x {d} numbers", "width"))
    elif name in ("spectral_directions", "sir", "save", "phd"):
        needs.append(Need(8 * _FRESH + 64 * d * d, f"the {d} x {d} matrices", "d"))
    elif name in ("layerwise", "joint_network"):
        needs.append(Need(8 * 1024 * n, f"two layers of features of {n} samples", "n"))
    operations = _operations(name, given, n, d, width, r, fresh)
    return needs, operations / _OPERATIONS + _DRAWN * d * (n + fresh)


def _operations(
    name: str, given: Mapping[str, Any], n: int, d: int, width: int, r: int, fresh: int
) -> float:
    """Operations of a fit, as the attribute ``cost`` of the learner states them."""
    steps = given.get("steps", {"reused_batch": 200}.get(name, 1))
    layers = [*given.get("widths", (256, 50)), 1]
    deep = 6 * given.get("batch_size", 256) * (d * layers[0] + layers[0] * layers[1])
    table: dict[str, Callable[[], float]] = {
        # A posterior of the channel takes two microseconds, an entry of a kernel 50 ns.
        "bayes_amp": lambda: 150 * n * (4 * d * r + 2e-6 * _OPERATIONS),
        "dot_kernel_ridge": lambda: n * (n + fresh) * (2 * d + 5e-8 * _OPERATIONS) + n**3 / 3,
        "giant_step": lambda: 4 * n * d * width * steps + n * width * width,
        "residual_step": lambda: 2 * n * d * width + n * width * width,
        "random_features": lambda: 2 * n * d * width + n * width * min(n, width),
        "random_features_classifier": lambda: 2 * n * d * width + 15 * n * min(n, width) ** 2,
        "online_sgd": lambda: 30 * n * d * width,
        "reused_batch": lambda: 8 * n * d * width * steps,
        "spectral_directions": lambda: 6 * (given.get("n_permutations", 39) + 1) * n * d * d,
        "layerwise": lambda: _OPERATIONS + 120 * n * d * d + deep * (steps - 1),
        "joint_network": lambda: deep * (2000 if steps == 1 else steps),
    }
    return table.get(name, lambda: 10 * n * d * (d + width))()


def _sgd(given: Mapping[str, Any], r: int) -> tuple[list[Need], float]:
    p, b = given.get("width", 4), given.get("batch_size", 1)
    # Without a number of steps the engine asks the theory of the escape: some tens of d.
    steps = given.get("steps", 50 * given["d"] / b)
    seconds = steps * (2e-7 + 1e-8 * b * p * (r + p))
    return [_record(given, p, r)], seconds


def _reused(given: Mapping[str, Any], r: int) -> tuple[list[Need], float]:
    n, p, steps = given["n"], given.get("width", 4), given.get("steps", 6)
    itemsize = 4 if given.get("dtype") == "float32" else 8
    columns = min(r + 9 * p + 2 * p * steps, r + 9 * p + 2 * given["d"])
    held = Need(n * columns * itemsize, f"{columns} coordinates of {n} samples", "n or steps")
    seconds = 1e-8 * n * p * steps * (r + p + p * steps / 2)
    return [held, _record(given, p, r)], seconds


def _record(given: Mapping[str, Any], p: int, r: int) -> Need:
    record = given.get("record", 200)
    times = len(record) if isinstance(record, list) else record
    bytes_ = 8 * times * (3 * p * r + 4 * p * p + 2 * r + 4 * p)
    return Need(bytes_, f"the record of {times} times", "record")


def require_room(cells: Iterable[Cell]) -> None:
    """Raise :class:`TooLarge` if a cell cannot fit into the memory that is free now."""
    free = available_memory()
    worst: tuple[Cost, Cell] | None = None
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
