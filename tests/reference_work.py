"""How fast this machine is now, in units of a fixed piece of work."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import cache

import numpy as np

# CPU seconds of `fixed_work` on the machine whose limits are demanded, on one core.
REFERENCE = 0.1


def cpu_time(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def fixed_work() -> None:
    """Half interpreted, half in arrays, like an analysis."""
    x = np.random.default_rng(0).standard_normal(1 << 18)
    for _ in range(5):
        np.sort(np.exp(-0.5 * x * x) * np.sin(x))
    counts: dict[tuple[int, int], float] = {}
    for i in range(200_000):
        key = (i % 97, i % 13)
        counts[key] = counts.get(key, 0.0) + math.sqrt(i)


@cache
def slowness() -> float:
    """How much slower than the reference this machine is; faster ones count as equal."""
    fixed_work()
    return slowness_now()


def slowness_now() -> float:
    """The same at this moment: a machine that others use too changes its speed within minutes."""
    return max(1.0, min(cpu_time(fixed_work) for _ in range(5)) / REFERENCE)


def reference_time(action: Callable[[], object], repeats: int = 7) -> float:
    """CPU seconds of an action on the reference machine: the best of several.

    The fixed work is measured right after each, so that both meet the same speed.
    """
    action()
    fixed_work()
    return min(
        cpu_time(action) / max(1.0, cpu_time(fixed_work) / REFERENCE) for _ in range(repeats)
    )
