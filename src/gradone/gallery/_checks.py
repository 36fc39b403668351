"""Comparisons that figures make: a simulation against the line of its theory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from ._figure import Claim

if TYPE_CHECKING:
    import xarray as xr

STANDARD_ERRORS = 5.0
"""How far a mean over replicates may be from its theory, finite sizes aside."""


def diagonal(curve: xr.Dataset, variable: str = "overlap") -> np.ndarray:
    """Entries (k, k) of overlap matrices, over the other dimensions and then k."""
    matrix = curve[variable].transpose(..., "direction", "direction2").values
    return np.diagonal(matrix, axis1=-2, axis2=-1)


def setting(curve: xr.Dataset, name: str) -> Any:
    """Parameter that a curve was made with, for example its dimension ``d``."""
    return json.loads(curve.attrs["params"])[name]


def mean_and_error(runs: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean over replicates and its standard error.

    Examples
    --------
    >>> [float(value) for value in mean_and_error(np.array([1.0, 3.0]), axis=0)]
    [2.0, 1.0]
    """
    return runs.mean(axis), runs.std(axis, ddof=1) / np.sqrt(runs.shape[axis])


def agrees(
    text: str,
    measured: tuple[Any, Any, Any],
    theory: tuple[Any, Any],
    *,
    slack: float,
    relative: float = 0.0,
) -> Claim:
    """Claim that points lie on a line.

    Parameters
    ----------
    text : str
        The claim.
    measured : tuple of arrays
        Places, means and standard errors of the points.
    theory : tuple of arrays
        Places, in increasing order, and values of the line, which is interpolated.
    slack, relative : float
        What a finite size may add to five standard errors: a number, and a share of the value.

    Examples
    --------
    >>> print(agrees("on the line", ([1.5], [1.52], [0.01]), ([1, 2], [1, 2]), slack=0.0))
    on the line: yes (largest gap 0.02 at 1.5, allowed 0.05)
    """
    x, y, error = (np.asarray(part, dtype=float) for part in measured)
    line = np.interp(x, np.asarray(theory[0], dtype=float), np.asarray(theory[1], dtype=float))
    gap = np.abs(y - line)
    allowed = STANDARD_ERRORS * error + slack + relative * np.abs(line)
    worst = int(np.argmax(gap - allowed))
    found = f"largest gap {gap[worst]:.2g} at {x[worst]:.3g}, allowed {allowed[worst]:.2g}"
    return Claim(text, bool((gap <= allowed).all()), found)
