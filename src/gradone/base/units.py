"""Units in which numbers of any size can be squared: powers of two, so that nothing is rounded."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import BadData

_ROOM = 24  # powers of two between the numbers that are taken and the end of the range


def units(values: np.ndarray) -> np.ndarray:
    """Power of two of the size of each column, where its fourth powers leave the range; else 1.

    Numbers divided by a power of two keep all their digits, so that a mean, a variance or a linear
    fit in these units is, once put back, what it would be if floats had no end.

    Parameters
    ----------
    values : ndarray (n, ...)
        Numbers.

    Examples
    --------
    >>> units(np.array([[1e200, 3.0, 1e-90], [0.0, 1e5, 0.0]])) == [2.0**664, 1, 2.0**-299]
    array([ True,  True,  True])
    """
    largest = _largest(values)
    reach = np.finfo(values.dtype).maxexp // 4
    outside = (largest > 2.0**reach) | ((largest < 2.0**-reach) & (largest > 0))
    exponents = np.frexp(np.where(outside, largest, 0.5))[1] - 1
    return np.where(outside, np.ldexp(1.0, exponents), 1.0)


def check_range(values: Any, what: str, *, dtype: Any, fixed_units: bool = False) -> None:
    """Raise unless the numbers of every column can be worked with in a precision.

    Parameters
    ----------
    values : ndarray (n, ...)
        Finite numbers.
    what : str
        What they are, for the error.
    dtype : dtype
        The precision.
    fixed_units : bool
        Whether they are used as they are, so that fourth powers of the largest of all must be in
        range; else each column is brought to unit size before it is used.
    """
    largest = _largest(values)
    info = np.finfo(dtype)
    exponent = info.maxexp // 4 if fixed_units else info.maxexp - _ROOM
    if fixed_units:
        largest = largest.max(initial=0.0)
    outside = (largest > 2.0**exponent) | ((largest < 2.0**-exponent) & (largest > 0))
    if not outside.any():
        return
    # Of several columns the first that cannot be used is named.
    place = int(np.argmax(outside))
    size = float(np.ravel(largest)[place])
    where = f"column {place} of {what}" if np.ndim(largest) and len(largest) > 1 else what
    why = ", where they are not standardized" if fixed_units else ""
    raise BadData(
        f"the largest modulus in {where} is {size:.3g}: sizes from {2.0**-exponent:.0e} to "
        f"{2.0**exponent:.0e} can be worked with in {info.dtype.name}{why}. Measure in other "
        "units: multiply by a power of ten."
    )


def _largest(values: np.ndarray) -> np.ndarray:
    """Largest modulus of each column, without a copy of the numbers."""
    if not len(values):
        return np.zeros(values.shape[1:])
    return np.maximum(values.max(axis=0), -values.min(axis=0)).astype(np.float64)
