"""What the verbs of this room have in common: arguments that they check, what they read off."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import BadData, OutOfRegime
from ..base.memory import require_memory
from ..targets.sampled import Sampled, whole_number
from ..targets.target import Target


def multi_index(target: Sampled) -> Target:
    """Target, if it is a function of a fixed number of directions."""
    if not isinstance(target, Target):
        raise OutOfRegime(
            f"the chain needs a function of a fixed number of directions, got a "
            f"{type(target).__name__}; simulate its network with a learner instead"
        )
    return target


def check_room(d: int, r: int, width: int, *, buffers: bool = False) -> None:
    """Raise unless hidden directions, neurons and their buffers fit into d dimensions."""
    if buffers and d < r + 2 * width:
        raise BadData(
            f"d must be at least r + 2 width = {r} + {2 * width} with momentum, got {d}: hidden "
            "directions, neurons and buffers must have room to be independent; use a larger d"
        )
    if d < r + width:
        raise BadData(
            f"d must be at least r + width = {r} + {width}, got {d}: hidden directions and neurons "
            "must have room to be independent; use a larger d"
        )


def read_marks(record: Any, steps: int) -> np.ndarray:
    """Numbers of updates after which the state is kept.

    Examples
    --------
    >>> read_marks(3, 100)
    array([  0,   1,  10, 100])
    """
    if np.ndim(record) == 0:
        count = whole_number("record", record)
        require_memory(40 * count, f"a record of {count} times", "Use a smaller record.")
        times = np.geomspace(1, steps, count)
        return np.unique(np.concatenate([[0], np.round(times)]).astype(np.int64))
    marks = np.asarray(record)
    if marks.ndim != 1 or not marks.size or marks.dtype.kind not in "iu":
        raise BadData(f"record must be a number of times or a sequence of steps, got {record!r}")
    if marks.min() < 0 or marks.max() > steps:
        raise BadData(
            f"record must hold steps from 0 to {steps}, got {int(marks.min())} to "
            f"{int(marks.max())}; make steps larger or leave these times out"
        )
    return np.unique(marks).astype(np.int64)


def read_replicates(replicates: int | range) -> range:
    """Addresses of the runs.

    Examples
    --------
    >>> read_replicates(3), read_replicates(range(4, 8))
    (range(0, 3), range(4, 8))
    """
    if not isinstance(replicates, range):
        return range(whole_number("replicates", replicates))
    if not replicates or replicates.step != 1 or replicates.start < 0:
        raise BadData(
            "replicates must be a number, or a range of addresses that are not negative, such as "
            f"range(4, 8), got {replicates!r}"
        )
    return replicates


def recovery(M: np.ndarray, L: np.ndarray) -> np.ndarray:
    """R_k: length of the projection of direction k on the span of the rows of [M, L].

    Examples
    --------
    >>> recovery(np.array([[0.6]]), np.array([[0.8]]))
    array([0.6])
    """
    known = np.isfinite(M).all((-1, -2))
    result = np.full((*M.shape[:-2], M.shape[-1]), np.nan)
    rows = np.concatenate([M[known], L[known]], axis=-1)
    # The span does not change with the norms; without them its rank is easier to decide.
    rows /= np.linalg.norm(rows, axis=-1, keepdims=True)
    _, sizes, axes = np.linalg.svd(rows, full_matrices=False)
    inside = sizes > 1e-13 * sizes[:, :1]
    result[known] = np.sqrt((axes[..., : M.shape[-1]] ** 2 * inside[..., None]).sum(-2))
    return np.minimum(result, 1.0)
