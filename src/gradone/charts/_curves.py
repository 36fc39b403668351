"""From labeled curves to numbers on one pair of axes: the parts of a chart and their entries."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import BadData
from ..base.quantities import PARTS, SIGNED, Reading, available, params_of, read
from ..base.replicates import mean_over_replicates
from ._palette import check_color, color_of

if TYPE_CHECKING:
    import xarray as xr

AXES = {
    "alpha": r"samples per dimension $n/d$",
    "kappa": r"$\log n/\log d$",
    "n": "samples $n$",
    "d": "dimension $d$",
    "width": "neurons $p$",
    "width_ratio": "neurons per dimension $p/d$",
    "batch_ratio": "samples of each step per dimension $n_0/d$",
    "readout_ratio": "samples of the readout per dimension $n/d$",
    "step": "steps",
    "time": "time = steps / $d$",
    "degree": "degree $k$",
    "eigenvalue": "eigenvalue",
    "ridge": r"ridge $\lambda$",
    "step_size": r"step size $\eta$",
}
"""Label of the axis along each dimension."""

WORDS = {
    "test_mse": "test error",
    "excess_mse": "error without noise",
    "zero_one_error": "share of wrong labels",
    "train_mse": "training error",
    "train_loss": "training loss",
    "cosine2": "squared cosines",
    "recovery": "recovery",
    "density": "density of eigenvalues",
    "overlap": "overlap",
    "overlap_aligned": "overlap, symmetries removed",
}
"""Short words for quantities, which stand before their symbols."""

SYMBOLS = {
    "alpha": r"\alpha", "kappa": r"\kappa", "n": "n", "d": "d", "width": "p",
    "width_ratio": "p/d", "batch_ratio": "n_0/d", "readout_ratio": "n/d", "ridge": r"\lambda",
    "step_size": r"\eta", "step": "t", "time": "t", "direction2": "k", "neuron": "j",
    "eigenvalue": "x", "degree": "k", "replicates": "R", "noise": r"\Delta",
}  # fmt: skip
"""Symbols of dimensions and parameters in legends."""


@dataclass(frozen=True)
class Part:
    """One source of a chart: the curve of one theory or of one simulation."""

    source: str
    data: xr.Dataset
    of_many: bool = False
    """Whether it is one of the sources of a dataset, which may lack what others have."""
    notes: tuple[str, ...] = ()
    """What was filled in."""

    @property
    def is_theory(self) -> bool:
        """Whether it is drawn as a line."""
        return not self.source.startswith("simulation:")

    @property
    def is_unfinished(self) -> bool:
        """Whether a comparison could not compute all of its points."""
        return self._carried("outcome") not in ("", "done")

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
        return params_of(self.data)

    def fixed(self) -> dict[str, Any]:
        """What has one value: parameters, coordinates without or with one value, the target."""
        coords = {
            str(name): coord.values.reshape(-1)[0].item()
            for name, coord in self.data.coords.items()
            if coord.size == 1 and name not in PARTS | {"replicate", "label", "color", "outcome"}
        }
        plain = {k: v for k, v in self.params.items() if isinstance(v, str | int | float)}
        return {**plain, **coords, "target": str(self.data.attrs.get("target", ""))}

    def stated(self, name: str) -> Any:
        """The one value of a parameter, as a factor of a picture; empty if there is none.

        A run that is measured at its end has made all of its steps.
        """
        known = self.fixed()
        value = known.get(name, known.get("steps", "") if name == "step" else "")
        return float(value) if isinstance(value, int | float) else value

    def places(self, reading: Reading, name: str) -> tuple[str, np.ndarray] | None:
        """Dimension and values of an axis of a quantity; None if it is not one of its axes.

        With the dimension d of a simulation, alpha, n and kappa follow from each other.
        """
        value = reading.value
        if name in value.coords and name not in PARTS | {"replicate"}:
            coord = value[name]
            if coord.ndim <= 1 and coord.dtype.kind in "fiub":
                dim = str(coord.dims[0]) if coord.dims else ""
                return dim, np.atleast_1d(np.asarray(coord.values, float))
        d = self.params.get("d")
        if name in _SAMPLES and isinstance(d, int) and d > 1:
            for other, count in _SAMPLES.items():
                if other != name and other in value.dims:
                    n = count[1](np.asarray(value[other].values, float), d)
                    return other, _SAMPLES[name][0](n, d)
        return None


# Each way to count samples, from n and to n.
_SAMPLES: dict[str, tuple[Any, Any]] = {
    "alpha": (lambda n, d: n / d, lambda alpha, d: alpha * d),
    "n": (lambda n, d: n, lambda n, d: n),
    "kappa": (lambda n, d: np.log(n) / np.log(d), lambda kappa, d: d**kappa),
}


def parts_of(curves: Iterable[Any]) -> list[Part]:
    """Sources of some curves; a curve with the dimension ``source`` holds several."""
    found: list[Part] = []
    for curve in curves:
        if not hasattr(curve, "data_vars"):
            raise BadData(
                "a chart draws curves (xarray.Dataset), as gd.predict, gd.simulate and gd.compare "
                f"return them, got {type(curve).__name__}"
            )
        bare = [dim for dim in curve.sizes if dim not in curve.coords]
        curve = curve.assign_coords({dim: np.arange(curve.sizes[dim]) for dim in bare})
        notes = tuple(f"'{dim}' has no values and is numbered." for dim in bare)
        if "source" in curve.sizes:
            found += [
                Part(str(name), curve.sel(source=name).drop_vars("source"), True, notes)
                for name in curve.source.values
            ]
            continue
        source = str(curve.attrs.get("source", ""))
        if not source:
            kind = "simulation" if "replicate" in curve.sizes else "theory"
            source = f"{kind}:curve {len(found) + 1}"
            notes = (*notes, f"Curve {len(found) + 1} names no source; it is drawn as a {kind}.")
        found.append(Part(source, curve, notes=notes))
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
    mean = mean_over_replicates(curve[[variable, f"{variable}_err"]])
    return mean[variable], mean[f"{variable}_err"]


# ---- one quantity of all


class Quantity:
    """One quantity of all parts: its readings, and its label.

    Parameters
    ----------
    name : str
        Name of the quantity.
    readings : sequence of Reading
        Of each part.
    """

    def __init__(self, name: str, readings: Sequence[Reading]) -> None:
        self.name, self.readings = name, readings
        averaged = any("replicate" in one.value.dims for one in readings)
        self.is_absolute = name in SIGNED and averaged
        """Whether signs are removed: those of replicates may be arbitrary."""

    @property
    def label(self) -> str:
        """Words, symbol, and the formula of a conversion."""
        first = self.readings[0]
        words = WORDS.get(self.name) or first.value.attrs.get("long_name", "")
        words = words or self.name.replace("_", " ")
        symbol = f"|{first.symbol}|" if self.is_absolute else first.symbol
        formulas = dict.fromkeys(one.how for one in self.readings if one.how)
        if not symbol:
            return str(words)
        return f"{words} ${' = '.join([symbol, *formulas])}$"

    def averaged(self, reading: Reading) -> tuple[xr.DataArray, xr.DataArray]:
        """Mean over replicates and error of one reading; signs are removed before."""
        value, error = reading.value, reading.error
        if self.name in ("overlap", "overlap_aligned") and {"direction", "direction2"} <= set(
            value.dims
        ):
            value, error = _diagonal(value), _diagonal(error)
        pair = (abs(value) if self.is_absolute else value).to_dataset(name="q")
        return average(pair.assign(q_err=error), "q")


def quantity_of(parts: Sequence[Part], names: Sequence[str]) -> tuple[list[Part], Quantity]:
    """The first of some quantities that all parts have, and the parts that are drawn.

    Sources of one dataset that have no number of it are left out; curves that were given one by
    one must all have it.
    """
    for name in names:
        kept = [part for part in parts if not (part.of_many and read(part.data, name) is None)]
        readings = [read(part.data, name) for part in kept]
        known = [one for one in readings if one is not None]
        if kept and len(known) == len(kept) and len({one.kind for one in known}) == 1:
            return kept, Quantity(name, known)
    raise BadData(nothing_common(parts, names))


def common_names(parts: Sequence[Part]) -> list[str]:
    """Quantities that all parts have, the most telling first."""
    found = []
    for name in ranked(name for part in parts for name in available(part.data)):
        readings = [read(part.data, name) for part in parts]
        kinds = {None if one is None else one.kind for one in readings}
        if len(kinds) == 1 and None not in kinds:
            found.append(name)
    return found


def ranked(names: Iterable[str]) -> list[str]:
    """Names of quantities without repetition, the most telling first."""
    places = {name: place for place, name in enumerate(_FIRST)}
    return sorted(dict.fromkeys(names), key=lambda name: places.get(name, len(places)))


_FIRST = (
    "test_mse", "excess_mse", "zero_one_error", "density", "recovery", "cosine2",
    "overlap_aligned", "overlap",
)  # fmt: skip


def nothing_common(parts: Sequence[Part], names: Sequence[str]) -> str:
    """What each part has of some quantities, and what all of them have."""
    wanted = " or ".join(names)
    words = []
    for part in parts:
        found = next(((n, r) for n in names if (r := read(part.data, n)) is not None), None)
        if found is None:
            words.append(f"'{part.source}' has no {wanted}")
            continue
        symbol, inner = found[1].kind
        over = f" over {', '.join(inner)}" if inner else ""
        words.append(f"'{part.source}' has {found[0]} = {symbol or found[0]}{over}")
    common = common_names(parts)
    advice = "They have no quantity in common; draw them in charts of their own"
    if common and len(parts) > 1:
        advice = f"All of them have {', '.join(common)}; choose one with y=..."
    elif len(parts) == 1:
        advice = f"It has {', '.join(common) or 'no numbers'}"
    return f"{'; '.join(words)}. {advice}."


# ---- the horizontal axis


def axis_of(
    parts: Sequence[Part], quantity: Quantity, wanted: Sequence[str], taken: set[str]
) -> str:
    """The dimension along which all parts are drawn: the one that varies.

    Parameters
    ----------
    parts : sequence of Part
        The curves.
    quantity : Quantity
        What is drawn.
    wanted : sequence of str
        Axes to choose from, the first that varies; none means the one that varies.
    taken : set of str
        Dimensions that are told apart by color or panel.
    """
    pairs = list(zip(parts, quantity.readings, strict=True))
    varying = dict.fromkeys(
        str(dim)
        for reading in quantity.readings
        for dim in reading.value.dims
        if dim not in PARTS | {"replicate"} | taken and reading.value.sizes[dim] > 1
    )
    names = dict.fromkeys(
        [*varying, *(str(c) for _, one in pairs for c in one.value.coords), *_SAMPLES]
    )
    found = {
        name: [part.places(reading, name) for part, reading in pairs] for name in [*wanted, *names]
    }
    shared = {name: each for name, each in found.items() if all(one is not None for one in each)}
    moving = [n for n, each in shared.items() if any(len(one[1]) > 1 for one in each if one)]
    if wanted:
        choice = [name for name in wanted if name in moving]
        if not choice and not varying:
            choice = [name for name in wanted if name in shared]
        if choice:
            return choice[0]
        raise BadData(_no_axis(pairs, wanted, varying, found))
    free = [name for name in moving if name not in taken]
    # Several names of one dimension, as step and time, are one axis.
    dims = {tuple(one[0] for one in shared[name] if one): name for name in reversed(free)}
    if len(dims) == 1:
        return free[0]
    if len(dims) > 1:
        raise Ambiguous(list(reversed(dims.values())), shared)
    still = [n for n, each in shared.items() if n in AXES and n not in taken]
    if still and not varying:
        return still[0]
    raise BadData(_no_axis(pairs, wanted, varying, found))


class Ambiguous(BadData):
    """Several dimensions vary; ``names`` are those that can be the horizontal axis."""

    def __init__(self, names: list[str], shared: dict[str, Any]) -> None:
        counts = {n: max(len(one[1]) for one in shared[n] if one is not None) for n in names}
        self.names = sorted(names, key=lambda name: -counts[name])
        words = " and ".join(f"{name} ({counts[name]} values)" for name in names)
        choices = " or ".join(f"x='{name}'" for name in names)
        super().__init__(
            f"{words} vary: say which is the horizontal axis, {choices}; the others become colors"
        )


def _no_axis(pairs: Any, wanted: Sequence[str], varying: Any, found: Any) -> str:
    each = []
    for part, reading in pairs:
        dims = [str(d) for d in reading.value.dims if d not in PARTS | {"replicate"}]
        moving = [dim for dim in dims if reading.value.sizes[dim] > 1]
        words = f"varies with {' and '.join(moving)}" if moving else f"has one {', '.join(dims)}"
        each.append(f"'{part.source}' {words if dims else 'is one number'}")
    others = [f"x='{name}'" for name in varying if all(one is not None for one in found[name])]
    advice = f". Choose {' or '.join(others)}" if others else ""
    head = f"no {' or '.join(wanted)} to draw along" if wanted else "the curves share no axis"
    return f"{head}: {'; '.join(dict.fromkeys(each))}{advice}."


# ---- entries


@dataclass(frozen=True)
class Entry:
    """One line or row of points: its part, what tells it apart, and its numbers."""

    part: Part
    key: dict[str, Any]
    x: np.ndarray
    y: np.ndarray
    yerr: np.ndarray


def entries_of(part: Part, reading: Reading, quantity: Quantity, x: str) -> Iterator[Entry]:
    """Entries of one part along an axis."""
    mean, error = quantity.averaged(reading)
    found = part.places(reading, x)
    assert found is not None
    dim, places = found
    if not dim:
        dim, mean, error = x, mean.expand_dims(x), error.expand_dims(x)
    error = error.transpose(*mean.dims)
    # Sources on different grids share one dataset with nothing where another source has a number.
    present = mean.notnull()
    if part.is_theory and "converged" in part.data:
        good = part.data.converged == 1
        lost = [d for d in good.dims if d not in mean.dims]
        mean = mean.where(good.all(lost)).transpose(*mean.dims)
    others = [str(other) for other in mean.dims if other != dim]
    for index in itertools.product(*(range(mean.sizes[other]) for other in others)):
        place = dict(zip(others, index, strict=True))
        there = present.isel(place).values
        y, yerr = mean.isel(place).values[there], error.isel(place).values[there]
        if not np.isfinite(y).any():
            continue
        key = {
            other: mean[other].values[i].item()
            for other, i in place.items()
            if mean.sizes[other] > 1
        }
        order = np.argsort(places[there], kind="stable")
        yield Entry(part, key, places[there][order], y[order], np.nan_to_num(yerr[order]))


def _diagonal(matrix: xr.DataArray) -> xr.DataArray:
    """Entries (k, k) of the overlap matrices."""
    import xarray as xr

    count = min(matrix.sizes["direction"], matrix.sizes["direction2"])
    rows = [matrix.isel(direction=k, direction2=k, drop=True) for k in range(count)]
    joined: xr.DataArray = xr.concat(rows, dim="direction")
    return joined.assign_coords(direction=matrix.direction.values[:count])
