"""The grid of a simulation: which parameters vary, and the fits that this makes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.axes import axis_values
from ..base.errors import BadData


@dataclass(frozen=True)
class Point:
    """One fit of a grid, or one path of fits over the ridge.

    Parameters
    ----------
    place : tuple of int
        Its position along the axes other than the ridge.
    n : int
        Number of samples.
    given : mapping
        Parameters of the learner that vary over the grid.
    """

    place: tuple[int, ...]
    n: int
    given: Mapping[str, Any]


@dataclass(frozen=True)
class Grid:
    """Axes of a simulation.

    Parameters
    ----------
    axes : mapping of str to ndarray
        Names and values of the dimensions, in their order.
    points : tuple of Point
        The fits.
    ridges : tuple of float, optional
        Values of the ridge if it is the last axis: one path of fits gives them all.
    """

    axes: Mapping[str, np.ndarray]
    points: tuple[Point, ...]
    ridges: tuple[float, ...] | None

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of every axis."""
        return tuple(len(values) for values in self.axes.values())


def read_grid(
    d: int, *, alpha: Any, n: Any, width_ratio: Any, parameters: Mapping[str, Any]
) -> tuple[Grid, dict[str, Any]]:
    """Grid of a simulation, and the parameters that are the same everywhere.

    Samples come first, then the width (given as `width_ratio`, or by several values of the
    parameter ``width``), then the parameter ``ridge``.

    Examples
    --------
    >>> grid, same = read_grid(10, alpha=[1.0, 2.0], n=None, width_ratio=0.5,
    ...                        parameters={"ridge": [0.1, 1.0], "loss": "square"})
    >>> grid.shape, grid.points[1], same
    ((2, 1, 2), Point(place=(1, 0), n=20, given={'width': 5}), {'loss': 'square'})
    """
    same = dict(parameters)
    axes: dict[str, np.ndarray] = {}
    sizes = _samples(axes, d, alpha, n)
    given: list[dict[str, Any]] = [{}]
    if (widths := _widths(axes, d, width_ratio, same)) is not None:
        given = [{"width": width} for width in widths]
    ridges = None
    if same.get("ridge") is not None:
        axes["ridge"] = axis_values("ridge", same.pop("ridge"), zero=True)
        ridges = tuple(axes["ridge"].tolist())
    points = []
    for (i, size), (j, some) in itertools.product(enumerate(sizes), enumerate(given)):
        points.append(Point((i, j) if widths is not None else (i,), size, some))
    return Grid(axes, tuple(points), ridges), same


def _samples(axes: dict[str, np.ndarray], d: int, alpha: Any, n: Any) -> list[int]:
    """Number of samples of each value of the first axis."""
    if (alpha is None) == (n is None):
        raise BadData("give alpha or n, one of the two")
    if n is not None:
        sizes = _whole("n", n)
        axes["n"] = np.array(sizes)
        return sizes
    axes["alpha"] = values = axis_values("alpha", alpha)
    return _rounded("alpha", values, d, "sample")


def _widths(
    axes: dict[str, np.ndarray], d: int, width_ratio: Any, same: dict[str, Any]
) -> list[int] | None:
    """Width of each value of the second axis, if there is one."""
    if width_ratio is not None:
        if "width" in same:
            raise BadData("give width or width_ratio, one of the two")
        axes["width_ratio"] = values = axis_values("width_ratio", width_ratio)
        return _rounded("width_ratio", values, d, "neuron")
    if "width" not in same or np.ndim(same["width"]) == 0:
        return None
    widths = _whole("width", same.pop("width"))
    axes["width"] = np.array(widths)
    return widths


def _whole(name: str, given: Any) -> list[int]:
    values = axis_values(name, given)
    for value in values.tolist():
        if not value.is_integer():
            raise BadData(f"{name} must be an integer >= 1, got {value!r}")
    return [int(value) for value in values.tolist()]


def _rounded(name: str, ratios: np.ndarray, d: int, what: str) -> list[int]:
    """Ratios times d, as whole numbers."""
    sizes = [round(value * d) for value in ratios.tolist()]
    if 0 in sizes:
        raise BadData(
            f"{name} = {ratios[sizes.index(0)]:g} in d = {d} gives no {what}; use {name} >= "
            f"{1 / d:g}"
        )
    return sizes
