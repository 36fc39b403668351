"""Arrays of any library: NumPy, and whatever speaks the array API (torch, CuPy)."""

from __future__ import annotations

from typing import Any

import numpy as np


def array_namespace(x: Any) -> Any:
    """Namespace of the functions that act on `x`; NumPy for arrays, lists and numbers.

    Examples
    --------
    >>> array_namespace([1.0, 2.0]).__name__
    'numpy'
    """
    if isinstance(x, np.ndarray | np.generic | list | tuple | int | float):
        return np
    import array_api_compat

    return array_api_compat.array_namespace(x)


def as_floats(x: Any) -> tuple[Any, Any]:
    """Namespace of `x`, and `x` as an array of floats (float32 stays, integers become float64).

    Examples
    --------
    >>> xp, x = as_floats([[1, 2]])
    >>> x.dtype
    dtype('float64')
    """
    xp = array_namespace(x)
    if xp is np:
        x = np.asarray(x)
        if x.dtype not in (np.float32, np.float64):
            x = x.astype(np.float64)
        return xp, x
    if not xp.isdtype(x.dtype, "real floating"):
        x = xp.astype(x, xp.float64)
    return xp, x


def to_numpy(x: Any) -> np.ndarray:
    """Array of any library as a NumPy array.

    Examples
    --------
    >>> to_numpy([1.0]).shape
    (1,)
    """
    if isinstance(x, np.ndarray):
        return x
    if hasattr(x, "detach"):  # torch
        x = x.detach().cpu()
    try:
        return np.from_dlpack(x)
    except (AttributeError, TypeError, BufferError, RuntimeError):
        return np.asarray(x)


def apply_elementwise(function: Any, x: Any) -> Any:
    """Apply a NumPy ufunc to an array of any library and return an array of that library."""
    xp = array_namespace(x)
    if xp is np:
        return function(x)
    import array_api_compat

    result = np.asarray(function(to_numpy(x)))
    return xp.asarray(result, dtype=x.dtype, device=array_api_compat.device(x))
