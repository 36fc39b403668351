"""Curves in pieces: who waits sees how far they are, and keeps what was found."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..base.curves import INTERRUPTED, STATUS, joined
from ..base.progress import Progress

if TYPE_CHECKING:
    import xarray as xr

_QUICK = 0.5  # seconds of a piece; more points are asked for together until it takes as long


def in_pieces(
    compute: Callable[[list[float]], xr.Dataset],
    axis: str,
    values: Sequence[float],
    progress: Progress,
) -> xr.Dataset:
    """Curve whose points are computed a few at a time.

    Parameters
    ----------
    compute : callable
        Curve at some values of the axis.
    axis, values
        The axis, and all of its values.
    progress : Progress
        Is told how many points are there.
    """
    parts: list[xr.Dataset] = []
    done, count = 0, 1
    try:
        is_stopped = progress.step(0, len(values))
        while done < len(values) and not is_stopped:
            start = time.monotonic()
            parts.append(compute(list(values[done : done + count])))
            done = min(done + count, len(values))
            count = 2 * count if time.monotonic() - start < _QUICK else max(1, count // 2)
            is_stopped = progress.step(done, len(values))
    except KeyboardInterrupt:
        if not parts:
            raise
    finally:
        progress.close()
    if done < len(values):
        parts.append(_missing(parts[-1], axis, values[done:]))
        parts = [_with_status(part, axis) for part in parts]
    found = joined(parts, axis).sel({axis: list(values)})
    return found.assign_attrs(parts[0].attrs)


def _with_status(part: xr.Dataset, axis: str) -> xr.Dataset:
    """Curve with ``converged`` and ``status``, also of a theory that never fails."""
    if "status" in part:
        return part
    size = part.sizes[axis]
    return part.assign(converged=(axis, np.ones(size, bool)), status=(axis, np.full(size, "")))


def _missing(like: xr.Dataset, axis: str, values: Sequence[float]) -> xr.Dataset:
    """Points without numbers, in the form of others."""
    import xarray as xr

    like = _with_status(like, axis)
    wide = like.isel({axis: [0] * len(values)}).assign_coords({axis: list(values)})
    lost = {v: xr.full_like(wide[v], np.nan) for v in wide.data_vars if v not in STATUS}
    lost["converged"] = xr.zeros_like(wide["converged"])
    lost["status"] = xr.full_like(wide["status"], INTERRUPTED, dtype=object)
    return wide.assign(lost)
