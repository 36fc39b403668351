"""Results of cells in one labeled dataset: dimensions are the parameters that vary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms import look_of
from ..algorithms._cards import Look
from ..base.curves import curve
from ..base.errors import BadData
from ..base.memory import require_memory
from .layout import Index, Layout
from .recipes import coordinates, encoded, part_of, quantities
from .status import reason_of
from .task import Result

if TYPE_CHECKING:
    import xarray as xr

    from .spec import Experiment

Arrays = dict[str, tuple[tuple[str, ...], np.ndarray]]
ABSENT = "not asked for"
"""Status of a place that has no cell."""
_FLAGS: dict[str, Any] = {"converged": False, "n_iter": -1, "status": ABSENT}


def assemble(experiment: Experiment, results: Iterable[Result]) -> xr.Dataset:
    """Dataset of an experiment from the results of its cells.

    Parameters
    ----------
    experiment : Experiment
        Tells which cells there are, and where each belongs.
    results : iterable of Result
        Results by key; cells without one are NaN, with the reason in ``status``.

    Notes
    -----
    What does not depend on a dimension is repeated along it, a theory along d for example; only
    along ``replicate`` it stands once, so that means and their errors are right.
    """
    wanted = None if experiment.metrics is None else set(experiment.metrics)
    values, coords = gather(experiment.layout, results, wanted)
    spec = experiment.model_dump(exclude={"sizes", "seed", "name"})
    targets = dict.fromkeys(cell.target.text for cell in experiment.cells())  # type: ignore[attr-defined]
    found = curve(
        values,
        coords,
        source=f"experiment:{experiment.name}",
        target="; ".join(targets),
        params=encoded(spec),
        seed=experiment.seed,
    )
    names = [str(source).partition(":")[2].partition("(")[0] for source in found["source"].values]
    own = experiment.layout.looks
    looks = []
    for source, name in zip(found["source"].values.tolist(), names, strict=True):
        label, color = own.get(source, ("", ""))
        known = look_of(name)
        looks.append(Look(label or known.label, color or known.color))
    return found.assign_coords(
        label=("source", [look.label for look in looks]),
        color=("source", [look.color for look in looks]),
    )


def gather(
    layout: Layout, results: Iterable[Result], wanted: set[str] | None = None
) -> tuple[Arrays, dict[str, np.ndarray]]:
    """Arrays of all quantities over the dimensions of a layout and their own, and coordinates.

    Parameters
    ----------
    layout : Layout
        Tells which cells there are, and where each belongs.
    results : iterable of Result
        Results by key, in any order.
    wanted : set of str, optional
        Quantities to keep; all by default.
    """
    found = {result.key: result for result in results}
    # In the order of the layout: the dataset must not depend on that of the results.
    measured = [
        part_of(found[key].arrays, part)
        for key, _, part in layout.placed
        if key in found and found[key].status == "done"
    ]
    shapes, inner = _inner(measured, layout, wanted)
    arrays = _empty(layout, shapes, inner)
    positions = {
        dim: {value: i for i, value in enumerate(values.tolist())} for dim, values in inner.items()
    }
    for place, reason in layout.uncovered:
        arrays["status"][1][_whole(layout, place)] = reason
    for key, place, part in layout.placed:
        result = found.get(key)
        everywhere = _whole(layout, place)
        if result is None or result.status == "failed":
            arrays["status"][1][everywhere] = reason_of(result)
            continue
        once = everywhere if len(place) == len(layout.coords) else (*place, 0)
        own = part_of(result.arrays, part)
        coords = coordinates(own)
        for name, dims, value in quantities(own):
            if name in _FLAGS:
                arrays[name][1][everywhere] = value.item()
            elif name in arrays:
                _fill(arrays[name], once, dims, value, coords, positions, len(layout.coords))
    arrays["status"] = (arrays["status"][0], arrays["status"][1].astype(str))
    return arrays, {**layout.coords, **inner}


def _whole(layout: Layout, place: tuple[Index, ...]) -> tuple[Index, ...]:
    """Place of a cell without replicates: all of them."""
    return place if len(place) == len(layout.coords) else (*place, slice(None))


def _inner(
    cells: Iterable[Mapping[str, np.ndarray]], layout: Layout, wanted: set[str] | None
) -> tuple[dict[str, tuple[list[str], np.dtype[Any]]], dict[str, np.ndarray]]:
    """Inner dimensions of every quantity, and the values that they take in some cell."""
    shapes: dict[str, tuple[list[str], np.dtype[Any]]] = {}
    values: dict[str, list[np.ndarray]] = {}
    for arrays in cells:
        kept = [q for q in quantities(arrays) if _is_wanted(q[0], wanted)]
        for name, dims, array in kept:
            known, dtype = shapes.setdefault(name, ([], array.dtype))
            known.extend(dim for dim in dims if dim not in known)
        for dim, coordinate in coordinates(arrays).items():
            if any(dim in dims for _, dims, _ in kept):
                values.setdefault(dim, []).append(coordinate)
    for dim in values:
        if dim in layout.coords:
            raise BadData(
                f"'{dim}' is an axis of the spec and a dimension of what an algorithm reports; "
                "give it as a single value, or split the spec"
            )
    return shapes, {dim: _union(some) for dim, some in values.items()}


def _is_wanted(name: str, wanted: set[str] | None) -> bool:
    return name in _FLAGS or wanted is None or name.removesuffix("_err") in wanted


def _union(coordinates: list[np.ndarray]) -> np.ndarray:
    distinct = {values.tobytes(): values for values in coordinates}
    return np.unique(np.concatenate(list(distinct.values())))


def _empty(
    layout: Layout,
    shapes: Mapping[str, tuple[list[str], np.dtype[Any]]],
    inner: Mapping[str, np.ndarray],
) -> Arrays:
    outer = tuple(layout.coords)
    shape = tuple(len(values) for values in layout.coords.values())
    sizes = {
        name: (*shape, *(len(inner[dim]) for dim in dims)) for name, (dims, _) in shapes.items()
    }
    require_memory(
        8 * sum(int(np.prod(size)) for size in sizes.values()),
        f"the dataset of {len(layout.cells)} cells",
        "Ask for fewer metrics, or record fewer steps.",
    )
    arrays: Arrays = {}
    for name, (dims, dtype) in shapes.items():
        if name not in _FLAGS:
            nothing = np.nan if dtype.kind == "f" else np.zeros((), dtype).item()
            arrays[name] = ((*outer, *dims), np.full(sizes[name], nothing))
    for name, nothing in _FLAGS.items():
        kind = object if name == "status" else None
        arrays[name] = (outer, np.full(shape, nothing, dtype=kind))
    return dict(sorted(arrays.items()))


def _fill(
    target: tuple[tuple[str, ...], np.ndarray],
    place: tuple[Index, ...],
    dims: tuple[str, ...],
    value: np.ndarray,
    coords: Mapping[str, np.ndarray],
    positions: Mapping[str, Mapping[Any, int]],
    outer: int,
) -> None:
    """Put the values of a cell where its coordinates are; repeat them along what it lacks."""
    names, array = target
    wanted = names[outer:]
    if not wanted:
        array[place] = value
        return
    # Dimensions in the order of the dataset, with length 1 where the cell has none.
    value = value.transpose([dims.index(dim) for dim in wanted if dim in dims])
    shape = iter(value.shape)
    value = value.reshape([next(shape) if dim in dims else 1 for dim in wanted])
    view = array[place]
    index = []
    for axis, dim in enumerate(wanted):
        if dim in dims:
            known = positions[dim]
            chosen = coords[dim][: value.shape[axis]].tolist()
            index.append(np.array([known[v] for v in chosen], dtype=int))
        else:
            index.append(np.arange(view.shape[axis - len(wanted)]))
    inside: tuple[Any, ...] = np.ix_(*index)
    view[(..., *inside)] = value
