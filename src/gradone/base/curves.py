"""Curves: the labeled form of every result, the same for theory and simulation.

A curve is an :class:`xarray.Dataset`. Dimensions come from one vocabulary; a variable ``q`` comes
with its error ``q_err``; solvers add ``converged`` and ``n_iter``; numbers are float64.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import BadData
from .seeds import canonical

if TYPE_CHECKING:
    import xarray as xr

DIMENSIONS = frozenset(
    "source target alpha kappa n d width width_ratio batch_ratio readout_ratio step time "
    "neuron neuron2 direction direction2 degree eigenvalue branch layer optimizer replicate ridge "
    "ridge_exponent step_size width_exponent".split()
)
STATUS = frozenset({"converged", "is_hard", "n_iter", "status"})
INTERRUPTED = "interrupted"  # status of a point that was not computed because the run was stopped
QUANTITIES = {
    "test_mse": (r"\mathbb{E}(y-\hat f)^2", "mean squared test error"),
    "excess_mse": (r"\mathbb{E}(g-\hat f)^2", "mean squared error without label noise"),
    "train_mse": (r"\frac1n\sum_i(y_i-\hat f_i)^2", "mean squared training error"),
    "train_loss": (r"\frac1n\sum_i\ell_i", "mean training loss"),
    "zero_one_error": (r"\mathbb{P}(\hat y\neq y)", "share of wrong labels"),
    "overlap": ("M", "overlap with the hidden directions"),
    "overlap_aligned": ("M", "overlap up to the symmetries of the target"),
    "cosine2": (r"\cos^2\theta", "squared cosines between the subspaces"),
    "recovery": ("R", "part of each hidden direction in the span of the neurons"),
    "row_overlap": ("M_W", "overlap of the first layer with the hidden directions"),
    "norm": ("Q", "scalar products of the neurons"),
    "readout": ("a", "readout weights"),
    "bias": ("b", "biases"),
    "effective_ridge": (r"\kappa", "effective ridge"),
}
"""Symbols and names of quantities that several theories and simulations report."""


def curve(
    values: Mapping[str, tuple[Any, Any]],
    coords: Mapping[str, Any],
    *,
    source: str,
    target: str,
    params: Mapping[str, Any] | None = None,
    seed: int | None = None,
    labels: Mapping[str, tuple[str, str]] | None = None,
) -> xr.Dataset:
    """Labelled curve that satisfies :func:`check_curve`.

    Parameters
    ----------
    values : mapping
        Variable name to ``(dims, array)``; each quantity ``q`` comes with ``q_err``.
    coords : mapping
        Values of the dimensions.
    source : str
        ``"theory:<name>"``, ``"simulation:<name>"`` or ``"analysis:<name>"``.
    target : str
        Text of the target.
    params, seed : optional
        What else made the numbers.
    labels : mapping, optional
        Variable name to ``(symbol in LaTeX, long name)``, where :data:`QUANTITIES` does not say it.

    Examples
    --------
    >>> ds = curve({"energy": ("degree", [0.0, 1.0]), "energy_err": ("degree", [0.0, 0.0])},
    ...            {"degree": [0, 1]}, source="analysis:hermite", target="z1")
    >>> float(ds.energy.sel(degree=1))
    1.0
    """
    import xarray as xr

    data = {}
    for name, (dims, array) in values.items():
        array = np.asarray(array)
        if name not in STATUS:
            array = array.astype(np.float64)
        symbol, long_name = {**QUANTITIES, **(labels or {})}.get(name, ("", ""))
        attrs = {"symbol": symbol, "long_name": long_name} if symbol else {}
        data[name] = (dims, array, attrs)
    origin: dict[str, Any] = {
        "source": source,
        "target": target,
        "params": canonical(params or {}),
        "seed": -1 if seed is None else seed,
        "gradone_version": _installed_version(),
    }
    dataset = xr.Dataset(data, {name: np.asarray(c) for name, c in coords.items()}, origin)
    check_curve(dataset)
    return dataset


@lru_cache(maxsize=1)
def _installed_version() -> str:
    return version("gradone")


def check_curve(dataset: xr.Dataset) -> None:
    """Raise :class:`BadData` that lists every defect of a curve; return nothing if it is sound.

    Examples
    --------
    >>> import xarray as xr
    >>> check_curve(xr.Dataset({"q": ("beta", [1.0])}))
    Traceback (most recent call last):
    gradone.base.errors.BadData: not a curve: ...
    """
    defects = [
        f"dimension '{name}' is not in the vocabulary ({', '.join(sorted(DIMENSIONS))})"
        for name in dataset.sizes
        if name not in DIMENSIONS
    ]
    defects += [
        f"dimension '{name}' has no coordinate"
        for name in dataset.sizes
        if name not in dataset.coords
    ]
    names = [str(name) for name in dataset.data_vars]
    # Bare variables: building a DataArray for each takes longer than a fast theory.
    variables = dataset.variables
    for name in names:
        if name in STATUS:
            continue
        variable = variables[name]
        if variable.dtype != np.float64:
            defects.append(f"'{name}' is {variable.dtype}, not float64")
        if name.endswith("_err"):
            if name.removesuffix("_err") not in names:
                defects.append(f"'{name}' is the error of a variable that does not exist")
            elif (variable.values < 0).any():
                defects.append(f"'{name}' is negative somewhere")
        elif f"{name}_err" not in names:
            defects.append(f"'{name}' has no '{name}_err'")
        elif variables[f"{name}_err"].dims != variable.dims:
            defects.append(f"the dimensions of '{name}_err' differ from those of '{name}'")
    if "converged" in names and variables["converged"].dtype != np.bool_:
        defects.append("'converged' is not boolean")
    defects += [
        f"attribute '{name}' is missing"
        for name in ("source", "target", "params", "seed", "gradone_version")
        if name not in dataset.attrs
    ]
    if defects:
        raise BadData("not a curve: " + "; ".join(defects))


def with_look(found: xr.Dataset, label: str, color: str, latex: str = "") -> xr.Dataset:
    """Curve that carries its name, its color and the formula of its target for the charts."""
    look = {"label": label, "color": color} if color else {}
    return found.assign_attrs(look | ({"latex": latex} if latex else {}))


def joined(curves: Sequence[xr.Dataset], axis: str) -> xr.Dataset:
    """Curves at several places of an axis as one, in the order of the axis."""
    import xarray as xr

    if len(curves) == 1 and axis in curves[0].dims:
        return curves[0]
    wide = [one if axis in one.dims else one.expand_dims(axis) for one in curves]
    found = xr.concat(
        wide,
        axis,
        data_vars="all",
        coords="minimal",
        compat="override",
        join="outer",
        combine_attrs="override",
    )
    return found.sortby(axis)
