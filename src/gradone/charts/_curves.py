"""From labelled curves to series: theory becomes lines, simulation points with error bars."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import BadData
from ._palette import CYCLE, check_color, color_of, ordered_colors
from ._series import Series, line, points

if TYPE_CHECKING:
    import xarray as xr

AXES = {
    "alpha": r"samples per dimension $\alpha = n/d$",
    "kappa": r"$\log n/\log d$",
    "n": "samples $n$",
    "d": "dimension $d$",
    "width": "neurons $p$",
    "width_ratio": "neurons per dimension $p/d$",
    "batch_ratio": "batch per dimension $n_0/d$",
    "readout_ratio": "samples of the readout per dimension $n/d$",
    "step": "steps",
    "time": "time",
    "degree": "degree $k$",
    "eigenvalue": "eigenvalue",
    "ridge": r"ridge $\lambda$",
    "step_size": r"step size $\eta$",
}
"""Label of the axis along each dimension."""

_SYMBOLS = {
    "alpha": r"\alpha", "kappa": r"\kappa", "n": "n", "d": "d", "width": "p",
    "width_ratio": "p/d", "batch_ratio": "n_0/d", "readout_ratio": "n/d", "ridge": r"\lambda",
    "step_size": r"\eta", "step": "t", "time": "t", "direction": "k", "neuron": "j",
}  # fmt: skip
_DASHES = ("solid", "dash", "dot", "dashdot")
_MARKERS = ("circle", "square", "triangle", "diamond", "down", "star")
_ORDERED = frozenset(
    "alpha kappa n d width width_ratio batch_ratio readout_ratio ridge step_size step time".split()
)


@dataclass(frozen=True)
class Part:
    """One source of a chart: the curve of one theory or of one simulation."""

    source: str
    data: xr.Dataset

    @property
    def is_theory(self) -> bool:
        """Whether it is drawn as a line."""
        return not self.source.startswith("simulation:")

    @property
    def algorithm(self) -> str:
        """Name without the kind."""
        return self.source.rpartition(":")[2]

    @property
    def color(self) -> str:
        """Color that the curve carries, as a coordinate or attribute, or one from its name."""
        return check_color(self._carried("color") or color_of(self.source))

    @property
    def label(self) -> str:
        """Name for people that the curve carries, or its name in words."""
        return self._carried("label") or self.algorithm.replace("_", " ")

    def _carried(self, what: str) -> str:
        if what in self.data.coords:
            return str(self.data[what].item())
        return str(self.data.attrs.get(what, ""))

    @property
    def params(self) -> dict[str, Any]:
        """Parameters that made the numbers."""
        found: dict[str, Any] = json.loads(self.data.attrs.get("params", "{}"))
        return found


def parts_of(curves: Iterable[xr.Dataset]) -> list[Part]:
    """Sources of some curves; a curve with the dimension ``source`` holds several."""
    found = []
    for curve in curves:
        if not hasattr(curve, "data_vars"):
            raise BadData(
                "a chart draws curves (xarray.Dataset), as gd.predict, gd.simulate and gd.compare "
                f"return them, got {type(curve).__name__}"
            )
        if "source" in curve.sizes:
            found += [
                Part(str(name), curve.sel(source=name).drop_vars("source"))
                for name in curve.source.values
            ]
        elif "source" in curve.attrs:
            found.append(Part(str(curve.attrs["source"]), curve))
        else:
            raise BadData("a curve needs the attribute 'source', as gradone.predict gives it")
    if not found:
        raise BadData("give at least one curve to draw")
    return found


def average(curve: xr.Dataset, variable: str) -> tuple[xr.DataArray, xr.DataArray]:
    """Mean over replicates and its standard error; without replicates the value and its error.

    Examples
    --------
    >>> from gradone.base.curves import curve
    >>> runs = curve({"q": ("replicate", [1.0, 3.0]), "q_err": ("replicate", [0.0, 0.0])},
    ...              {"replicate": [0, 1]}, source="simulation:x", target="z1")
    >>> mean, error = average(runs, "q")
    >>> float(mean), float(error)
    (2.0, 1.0)
    """
    values, errors = curve[variable], curve[f"{variable}_err"]
    if "replicate" not in values.dims:
        return values, errors
    count = values.notnull().sum("replicate")
    if curve.sizes["replicate"] == 1:
        return values.mean("replicate"), errors.mean("replicate")
    # The mean of no finished runs is a gap, and numpy would warn about it.
    mean = values.sum("replicate").where(count > 0) / count.where(count > 0)
    squares = ((values - mean) ** 2).sum("replicate")
    error = (squares / (count * (count - 1)).where(count > 1)) ** 0.5
    return mean, error


@dataclass(frozen=True)
class _Entry:
    part: Part
    key: tuple[tuple[str, Any], ...]
    x: np.ndarray
    y: np.ndarray
    yerr: np.ndarray


def series_along(
    parts: Sequence[Part],
    along: Sequence[str],
    variables: Sequence[str],
    *,
    positive: Sequence[str] = (),
) -> tuple[Series, ...]:
    """Series of one quantity of several sources.

    Parameters
    ----------
    parts : sequence of Part
        The sources.
    along : sequence of str
        Dimensions or coordinates that may be the horizontal axis; the first that a source has.
    variables : sequence of str
        Names of the quantity; the first that a source has.
    positive : sequence of {"x", "y"}
        Logarithmic axes: what is not positive becomes a gap.
    """
    entries = [entry for part in parts for entry in _entries(part, along, variables)]
    style = _Styles(entries)
    found = []
    for entry in entries:
        x, y = entry.x, entry.y
        if "x" in positive:
            x = np.where(x > 0, x, np.nan)
        if "y" in positive:
            y = np.where(y > 0, y, np.nan)
        make = line if entry.part.is_theory else points
        yerr = np.nan_to_num(entry.yerr)
        found.append(make(style.name(entry), x, y, yerr, **style.of(entry)))
    # Points stand in front of lines.
    return tuple(sorted(found, key=lambda one: one.kind == "points"))


def axis_of(part: Part, along: Sequence[str]) -> str:
    """Which of some dimensions or coordinates a source has."""
    for name in along:
        if name in part.data.coords:
            return name
    raise BadData(
        f"the curve of '{part.source}' has no {' or '.join(along)} to be the horizontal axis; "
        f"it has {', '.join(map(str, part.data.sizes))}"
    )


def variable_of(part: Part, variables: Sequence[str]) -> str:
    """Which of some names of a quantity a source has."""
    for name in variables:
        if name in part.data:
            return name
    raise BadData(
        f"the curve of '{part.source}' has no {' or '.join(variables)}; "
        f"it has {', '.join(map(str, part.data.data_vars))}"
    )


def _entries(part: Part, along: Sequence[str], variables: Sequence[str]) -> Iterator[_Entry]:
    name = variable_of(part, variables)
    coordinate = part.data[axis_of(part, along)]
    mean, error = average(part.data, name)
    if {"direction", "direction2"} <= set(mean.dims):
        mean, error = _diagonal(mean), _diagonal(error)
    # Sources on different grids share one dataset with nothing where another source has a number.
    present = mean.notnull()
    if part.is_theory and "converged" in part.data:
        mean = mean.where(part.data.converged == 1)
    dim = coordinate.dims[0] if coordinate.dims else axis_of(part, along)
    if dim not in mean.dims:
        raise BadData(f"'{name}' of '{part.source}' does not vary with {dim}")
    others = [str(other) for other in mean.dims if other != dim]
    for values in itertools.product(*(mean[other].values for other in others)):
        place = dict(zip(others, values, strict=True))
        there = present.sel(place).values
        y, yerr = mean.sel(place).values[there], error.sel(place).values[there]
        if np.isnan(y).all():
            continue
        key = tuple((other, value) for other, value in place.items() if mean.sizes[other] > 1)
        yield _Entry(part, key, np.asarray(coordinate.values, dtype=float)[there], y, yerr)


def _diagonal(matrix: xr.DataArray) -> xr.DataArray:
    """Entries (k, k) of the overlap matrices."""
    count = min(matrix.sizes["direction"], matrix.sizes["direction2"])
    rows = [matrix.isel(direction=k, direction2=k, drop=True) for k in range(count)]
    import xarray as xr

    joined: xr.DataArray = xr.concat(rows, dim="direction")
    return joined.assign_coords(direction=matrix.direction.values[:count])


class _Styles:
    """Colors and shapes that tell entries apart: by algorithm, or by what varies in one."""

    def __init__(self, entries: Sequence[_Entry]) -> None:
        self.algorithms = list(dict.fromkeys(entry.part.algorithm for entry in entries))
        self.keys = list(dict.fromkeys(entry.key for entry in entries))
        colors = {entry.part.color for entry in entries}
        self.by_algorithm = len(colors) > 1 or len(self.keys) == 1
        dims = {dim for key in self.keys for dim, _ in key}
        many = len(self.keys) > len(CYCLE) or bool(dims & _ORDERED)
        self.colors = ordered_colors(len(self.keys)) if many else CYCLE

    def of(self, entry: _Entry) -> dict[str, Any]:
        place = self.keys.index(entry.key)
        if not self.by_algorithm:
            return {"color": self.colors[place]}
        dash, marker = _DASHES[place % len(_DASHES)], _MARKERS[place % len(_MARKERS)]
        look = {"dash": dash} if entry.part.is_theory else {"marker": marker}
        return {"color": entry.part.color, **look}

    def name(self, entry: _Entry) -> str:
        kind = "theory" if entry.part.is_theory else "simulation"
        d = entry.part.params.get("d")
        if d is not None and not entry.part.is_theory:
            kind += f" $d={d}$"
        words = [kind] if len(self.algorithms) == 1 else [f"{entry.part.label}, {kind}"]
        for dim, value in entry.key:
            text = f"{value:g}" if isinstance(value, int | float | np.number) else str(value)
            words.append(f"${_SYMBOLS.get(dim, dim)}={text}$" if dim in _SYMBOLS else text)
        return ", ".join(words)
