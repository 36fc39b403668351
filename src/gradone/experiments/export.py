"""Datasets as files: NetCDF for programs, CSV for tables; the same dataset gives the same bytes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.csv_text import csv_text
from ..base.curves import STATUS
from ..base.errors import BadData

if TYPE_CHECKING:
    import xarray as xr


def export(dataset: xr.Dataset, path: str | Path) -> Path:
    """Write a dataset as ``.nc`` or ``.csv``; a file of that name is replaced once all is written.

    Parameters
    ----------
    dataset : xarray.Dataset
        A curve.
    path : str or Path
        The file; its ending says which of the two. ``xarray.open_dataset(path)`` reads ``.nc``.
    """
    path = Path(path)
    check_ending(path)
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".export-") as folder:
            part = Path(folder) / path.name
            if path.suffix == ".nc":
                dataset.to_netcdf(part, engine="h5netcdf")
            else:
                part.write_text(to_csv(dataset), encoding="utf-8", newline="")
            os.replace(part, path)
    except (OSError, RuntimeError) as error:  # HDF5 says of a full disk that it cannot flush
        reason = getattr(error, "strerror", None) or str(error).partition(" (")[0]
        raise BadData(
            f"{path} cannot be written ({reason}): the disk may be full, or the folder may not be "
            "written to. Nothing was changed."
        ) from error
    return path


def check_ending(path: Path) -> None:
    """Refuse a file that cannot be written, before anything is computed for it."""
    if path.suffix not in (".nc", ".csv"):
        raise BadData(f"export to a file .nc or .csv, got '{path.name}'")
    if not path.parent.is_dir():
        raise BadData(f"there is no folder {path.parent} for {path.name}")
    if path.is_dir():
        raise BadData(f"{path} is a folder; export to a file")


def to_csv(dataset: xr.Dataset) -> str:
    """One row for each number: its place, the quantity, the value, its error and the status.

    Quantities have different dimensions; a column is empty where a quantity does not have it. A
    place without numbers has one row with the reason, if there is one.

    Examples
    --------
    >>> from gradone.base.curves import curve
    >>> print(to_csv(curve({"q": ("alpha", [0.5, np.nan]), "q_err": ("alpha", [0.1, np.nan]),
    ...                     "status": ("alpha", ["", "not run"])},
    ...                    {"alpha": [1.0, 2.0]}, source="simulation:x", target="z")))
    alpha,quantity,value,error,status
    1.0,q,0.5,0.1,
    2.0,,,,not run
    """
    return csv_text(_table(dataset))


def _table(dataset: xr.Dataset) -> Iterator[list[Any]]:
    """Lines of the table, the names of its columns first."""
    dims = [str(dim) for dim in dataset.sizes]
    yield [*dims, "quantity", "value", "error", "status"]
    outer = [str(dim) for dim in dataset["status"].dims] if "status" in dataset else []
    names = [
        name
        for name in sorted(map(str, dataset.data_vars))
        if name not in STATUS and not name.endswith("_err")
    ]
    labels = {dim: dataset[dim].values.tolist() for dim in dims}
    for place in np.ndindex(*(dataset.sizes[dim] for dim in outer)):
        at = dict(zip(outer, place, strict=True))
        status = str(dataset["status"].values[place]) if outer else ""
        shown = {dim: labels[dim][i] for dim, i in at.items()}
        rows = list(_rows(dataset, names, at, labels))
        if status and not rows:
            rows = [({}, "", "", "")]
        for inner, name, value, error in rows:
            where = {**shown, **inner}
            yield [*(where.get(dim, "") for dim in dims), name, value, error, status]


def _rows(
    dataset: xr.Dataset, names: list[str], at: dict[str, int], labels: dict[str, list[Any]]
) -> Iterator[tuple[dict[str, Any], str, Any, Any]]:
    """Numbers of one place: labels of their own dimensions, name, value, error."""
    variables = dataset.variables
    for name in names:
        variable = variables[name]
        index = tuple(at.get(str(dim), slice(None)) for dim in variable.dims)
        inner = [str(dim) for dim in variable.dims if dim not in at]
        values = np.asarray(variable.values[index])
        errors = np.asarray(variables[f"{name}_err"].values[index])
        for place in np.argwhere(np.isfinite(values)).tolist():
            found = {dim: labels[dim][i] for dim, i in zip(inner, place, strict=True)}
            yield found, name, values[tuple(place)].item(), errors[tuple(place)].item()
