"""Values of oscillating functions on intervals."""

from __future__ import annotations

import math
from collections.abc import Callable

Interval = tuple[float, float]


def wave_image(wave: Callable[[float], float], crest: float, u: Interval) -> Interval:
    """Values of a sine or cosine on an interval; `crest` is where it is one."""
    if not u[1] - u[0] < 2 * math.pi:
        return -1.0, 1.0
    ends = wave(u[0]), wave(u[1])
    period = 2 * math.pi
    top = math.floor((u[1] - crest) / period) >= math.ceil((u[0] - crest) / period)
    bottom = math.floor((u[1] - crest) / period - 0.5) >= math.ceil((u[0] - crest) / period - 0.5)
    return -1.0 if bottom else min(ends), 1.0 if top else max(ends)
