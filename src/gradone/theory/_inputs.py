"""Numbers and spectra as users give them, checked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.errors import BadData

# Negative eigenvalues of a covariance that are rounding, relative to the largest.
_ROUNDING = 1e-10


def vector(name: str, value: Any) -> np.ndarray:
    """Finite numbers as a vector.

    Examples
    --------
    >>> vector("eigenvalues", [1, np.nan])
    Traceback (most recent call last):
    gradone.base.errors.BadData: eigenvalues must be finite numbers, got nan at position 1
    """
    try:
        values = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty((0, 0))
    if values.ndim != 1 or not values.size:
        raise BadData(f"{name} must be a sequence of numbers, got {value!r}")
    if not np.isfinite(values).all():
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        raise BadData(f"{name} must be finite numbers, got {values[place]} at position {place}")
    return values


def like_vector(name: str, value: Any, partner: str, size: int) -> np.ndarray:
    """Vector with one entry for each entry of another one.

    Examples
    --------
    >>> like_vector("coefficients", [1.0], "eigenvalues", 3)
    Traceback (most recent call last):
    gradone.base.errors.BadData: coefficients has 1 entries and eigenvalues 3: give one for each
    """
    values = vector(name, value)
    if len(values) != size:
        raise BadData(f"{name} has {len(values)} entries and {partner} {size}: give one for each")
    return values


def spectrum_values(eigenvalues: Any) -> np.ndarray:
    """Eigenvalues of a covariance: nonnegative, not all zero; negative rounding becomes zero.

    Examples
    --------
    >>> spectrum_values([1.0, -1e-17])
    array([1., 0.])
    """
    values = vector("eigenvalues", eigenvalues)
    largest = float(np.abs(values).max())
    if (bad := values < -_ROUNDING * largest).any():
        place = int(np.flatnonzero(bad)[0])
        raise BadData(
            f"eigenvalues must be >= 0, got {values[place]:g} at position {place}: a covariance "
            "has no negative ones. Pass np.linalg.eigvalsh of a symmetric positive matrix"
        )
    if largest == 0:
        raise BadData("all eigenvalues are zero: the features are constant, nothing is learned")
    return np.maximum(values, 0.0)


def number(name: str, value: Any) -> float:
    """Finite number.

    Examples
    --------
    >>> number("mean", "much")
    Traceback (most recent call last):
    gradone.base.errors.BadData: mean must be a finite number, got 'much'
    """
    found = _as_float(value)
    if not math.isfinite(found):
        raise BadData(f"{name} must be a finite number, got {value!r}")
    return found


def nonnegative(name: str, value: Any, *, what: str = "") -> float:
    """Finite number >= 0.

    Examples
    --------
    >>> nonnegative("noise", -1.0, what="a variance")
    Traceback (most recent call last):
    gradone.base.errors.BadData: noise must be a finite number >= 0 (a variance), got -1.0
    """
    found = _as_float(value)
    if not 0 <= found < math.inf:
        meaning = f" ({what})" if what else ""
        raise BadData(f"{name} must be a finite number >= 0{meaning}, got {value!r}")
    return found


def positive(name: str, value: Any, *, infinite: bool = False) -> float:
    """Number > 0, infinity only where it is allowed.

    Examples
    --------
    >>> positive("width", math.inf, infinite=True)
    inf
    """
    found = _as_float(value)
    if not (found > 0 and (infinite or math.isfinite(found))):
        kind = "a number" if infinite else "a finite number"
        raise BadData(f"{name} must be {kind} > 0, got {value!r}")
    return found


def _as_float(value: Any) -> float:
    """One real number; NaN for what is none. Texts and booleans would turn into one silently."""
    if isinstance(value, str | bytes | bool | np.bool_):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan
