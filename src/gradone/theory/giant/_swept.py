"""Parameters of a theory that may be one number or many: many become a dimension of the curve."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...base.axes import axis_values
from ...base.errors import BadData


class Swept:
    """Grid of parameters.

    Parameters
    ----------
    always : mapping
        Arrays that are dimensions of the curve in any case.
    given : mapping
        For each further parameter its checked array, and what the user gave: a single number is no
        dimension but a coordinate without one.

    Examples
    --------
    >>> grid = Swept({"alpha": np.array([1.0, 2.0])}, {"ridge": (np.array([0.1]), 0.1)})
    >>> grid.dims, [point for _, point in grid][-1]
    (('alpha',), {'alpha': 2.0, 'ridge': 0.1})
    """

    def __init__(
        self,
        always: Mapping[str, np.ndarray],
        given: Mapping[str, tuple[np.ndarray, Any]],
    ) -> None:
        self.values = {**always, **{name: values for name, (values, _) in given.items()}}
        single = [name for name, (_, what) in given.items() if np.ndim(what) == 0]
        self.dims = tuple(name for name in self.values if name not in single)
        self._keep = tuple(0 if name in single else slice(None) for name in self.values)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of all parameters, single numbers included."""
        return tuple(len(values) for values in self.values.values())

    @property
    def coords(self) -> dict[str, Any]:
        """Coordinates of the curve."""
        return {n: v if n in self.dims else v[0] for n, v in self.values.items()}

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], dict[str, float]]]:
        """Places and points; the last parameter moves first."""
        for place in itertools.product(*(range(n) for n in self.shape)):
            numbers = zip(self.values.items(), place, strict=True)
            yield place, {name: float(values[i]) for (name, values), i in numbers}

    def labeled(self, array: np.ndarray, *dims: str) -> tuple[tuple[str, ...], np.ndarray]:
        """Dimensions and values of an array over :attr:`shape`, without those of single numbers."""
        return (*self.dims, *dims), array[self._keep]


def one_number(name: str, value: Any, *, infinite: bool = False) -> float:
    """Positive number of a parameter that is no axis, checked.

    Examples
    --------
    >>> one_number("width", [100, 200])
    Traceback (most recent call last):
    gradone.base.errors.BadData: width must be one number > 0, got [100, 200]
    """
    if np.ndim(value):
        raise BadData(f"{name} must be one number > 0, got {value!r}")
    return float(axis_values(name, value, infinite=infinite)[0])
