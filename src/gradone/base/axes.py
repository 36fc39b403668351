"""Values of an axis as users give them: one number or many."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import BadData


def axis_values(name: str, value: Any) -> np.ndarray:
    """Values of an axis as a vector of finite positive numbers.

    Examples
    --------
    >>> axis_values("alpha", 2)
    array([2.])
    >>> axis_values("alpha", [1.0, -1.0])
    Traceback (most recent call last):
    gradone.base.errors.BadData: alpha must be finite numbers > 0, got -1.0 ...
    """
    try:
        values = np.asarray(value)
        # Texts and booleans would turn into numbers without a word.
        values = values.astype(np.float64) if values.dtype.kind in "fiu" else np.empty((0, 0))
    except ValueError:  # ragged
        values = np.empty((0, 0))
    if values.ndim > 1 or not values.size:
        raise BadData(f"{name} must be a number > 0 or a sequence of them, got {value!r}")
    values = np.atleast_1d(values)
    if (bad := ~(np.isfinite(values) & (values > 0))).any():
        place = int(np.flatnonzero(bad)[0])
        raise BadData(
            f"{name} must be finite numbers > 0, got {float(values[place])} at position {place}"
        )
    if len(np.unique(values)) < len(values):
        raise BadData(f"{name} must not hold a number twice, got {value!r}")
    return values
