"""Values of an axis as users give them: one number or many."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import BadData


def axis_values(name: str, value: Any, *, zero: bool = False, infinite: bool = False) -> np.ndarray:
    """Values of an axis as a vector of positive numbers, no two of them equal.

    Parameters
    ----------
    name : str
        Name of the axis, for the text of an error.
    value : number or sequence of numbers
        What the user gave.
    zero, infinite : bool
        Whether these limits are allowed.

    Examples
    --------
    >>> axis_values("alpha", 2)
    array([2.])
    >>> axis_values("alpha", [1.0, -1.0])
    Traceback (most recent call last):
    gradone.base.errors.BadData: alpha must be finite numbers > 0, got -1.0 ...
    >>> axis_values("ridge", [0.0, 1.0], zero=True)
    array([0., 1.])
    """
    sign = ">=" if zero else ">"
    try:
        values = np.asarray(value)
        # Texts and booleans would turn into numbers without a word.
        values = values.astype(np.float64) if values.dtype.kind in "fiu" else np.empty((0, 0))
    except ValueError:  # ragged
        values = np.empty((0, 0))
    if values.ndim > 1 or not values.size:
        raise BadData(f"{name} must be a number {sign} 0 or a sequence of them, got {value!r}")
    values = np.atleast_1d(values)
    allowed = (values > 0) | (zero & (values == 0))
    if not infinite:
        allowed &= np.isfinite(values)
    if not allowed.all():
        place = int(np.flatnonzero(~allowed)[0])
        kind = "numbers" if infinite else "finite numbers"
        raise BadData(
            f"{name} must be {kind} {sign} 0, got {float(values[place])} at position {place}"
        )
    if len(np.unique(values)) < len(values):
        raise BadData(f"{name} must not hold a number twice, got {value!r}")
    return values
