"""Formulas of a few numbers, evaluated over axes and gathered as a curve."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.curves import curve

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Point:
    """Quantities at one point, each with its error; `status` says why a solver stopped early."""

    quantities: Mapping[str, tuple[float, float]]
    status: str = ""


def points_curve(
    point: Callable[..., Point],
    axes: Mapping[str, np.ndarray],
    *,
    source: str,
    target: str,
    params: Mapping[str, Any],
    answers: Collection[str],
    labels: Mapping[str, tuple[str, str]],
) -> xr.Dataset:
    """Curve of a function of the axes: each quantity with its error, ``converged``, ``status``.

    Parameters
    ----------
    point : callable
        Takes one number for each axis, by name.
    axes : mapping
        Dimension to values.
    answers : collection of str
        Quantities that are kept.
    source, target, params, labels
        See :func:`gradone.base.curves.curve`.
    """
    shape = tuple(len(values) for values in axes.values())
    found = [
        point(**dict(zip(axes, map(float, values), strict=True)))
        for values in itertools.product(*axes.values())
    ]
    dims = tuple(axes)
    values: dict[str, tuple[Any, Any]] = {}
    for name in found[0].quantities:
        if name in answers:
            both = np.reshape([p.quantities[name] for p in found], (*shape, 2))
            values[name], values[f"{name}_err"] = (dims, both[..., 0]), (dims, both[..., 1])
    status = np.reshape([p.status for p in found], shape)
    values["converged"] = (dims, status == "")
    values["status"] = (dims, status)
    return curve(values, axes, source=source, target=target, params=params, labels=labels)
