"""How one cell of a sweep is computed: a pure function of the canonical text of the cell.

A cell is a JSON object

- ``recipe``: kind, name and version of the algorithm, as ``"learner:giant_step/1"``;
- ``target``: a table of :mod:`.target_tables`;
- ``parameters``: arguments of the algorithm, sizes among them;
- ``seed``, ``replicate``: address of the random numbers, absent for a theory.

It gives arrays by name. A name states the dimensions, ``"overlap(direction,direction2)"``, or none
for a scalar, ``"test_mse"``. The coordinate of a dimension that does not count 1, 2, ... is the
array ``"@step"``. Every quantity ``q`` comes with its error ``q_err``, and there are always
``converged``, ``n_iter`` and ``status``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import BadData
from ..learners._foreign import estimator_table, is_estimator
from ..targets.sampled import Sampled
from .cell import Fit, Simulation, run_cell
from .target_tables import read_target, table_of

if TYPE_CHECKING:
    import xarray as xr

HERE = f"{__name__}:compute"
ELSEWHERE = f"{__package__}.worker_recipes:compute"
"""Names by which an executor finds :func:`compute`: in this process, and in its workers."""

DEFAULTS = {"test_samples": 4096, "dtype": "float64"}
"""What the measurement of a learner takes if a cell does not say otherwise."""
Arrays = dict[str, np.ndarray]
_STATUS = ("converged", "n_iter", "status")


def compute(parameters: str) -> Arrays:
    """Arrays of one cell.

    Parameters
    ----------
    parameters : str
        Canonical JSON text of the cell.

    Examples
    --------
    >>> from gradone.base.seeds import canonical
    >>> cell = {"recipe": "learner:spectral_directions/1", "seed": 0, "replicate": 0,
    ...         "target": {"kind": "Target", "text": "He3(z1)", "noise": 0},
    ...         "parameters": {"d": 20, "n": 800, "test_samples": 100, "dtype": "float64"}}
    >>> found = compute(canonical(cell))
    >>> found["cosine2(direction2)"] > 0.9, found["status"]
    (array([ True]), array('', dtype='<U1'))
    """
    cell = json.loads(parameters)
    kind, _, rest = cell["recipe"].partition(":")
    name = rest.partition("/")[0]
    target, arguments = read_target(cell["target"]), decoded(cell["parameters"])
    if kind == "theory":
        return _theory(name, target, arguments)
    address = {"seed": cell["seed"], "replicate": cell["replicate"]}
    if kind == "engine":
        return _engine(name, target, arguments, **address)
    return run_learner(name, target, arguments, **address)


# ---- values that JSON does not know


def encoded(value: Any) -> Any:
    """Value of a parameter in the types of JSON: targets as tables, infinity as text.

    Examples
    --------
    >>> encoded({"width": math.inf, "channel": read_target("z1*z2")})
    {'width': 'inf', 'channel': {'kind': 'Target', 'text': 'z1*z2', 'noise': 0.0}}
    """
    if isinstance(value, Sampled):
        return table_of(value)
    if is_estimator(value):
        return encoded(estimator_table(value))
    if isinstance(value, float | np.floating) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if isinstance(value, Mapping):
        return {key: encoded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encoded(item) for item in value]
    return value


def decoded(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as the algorithm wants them: the inverse of :func:`encoded`."""
    return {
        name: read_target(value) if name == "channel" and value is not None else _decoded(value)
        for name, value in parameters.items()
    }


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if isinstance(value, dict):
        return {name: _decoded(item) for name, item in value.items()}
    return float(value) if value in ("inf", "-inf") else value


# ---- learners


def run_learner(
    name: str, target: Sampled, arguments: Mapping[str, Any], *, seed: int, replicate: int
) -> Arrays:
    """Arrays of one cell of a learner.

    Parameters
    ----------
    name : str
        Name of the learner.
    target : Target or hierarchical target
        What is learned.
    arguments : mapping
        ``d`` and ``n``, how it is measured (:data:`DEFAULTS`), and the parameters of the learner; a
        list of values of the ``ridge`` gives a path of fits.
    seed, replicate : int
        Address of the random numbers.
    """
    arguments = dict(arguments)
    d, n = arguments.pop("d"), arguments.pop("n")
    fresh, dtype = (arguments.pop(name, value) for name, value in DEFAULTS.items())
    ridge = arguments.get("ridge")
    ridges = None
    if ridge is not None:
        ridges = ridge if isinstance(ridge, list) else [ridge]
        ridges = [float(value) for value in ridges]
        arguments["ridge"] = ridges[0]
    simulation = Simulation(target, name, d, seed, arguments, fresh, dtype)
    fits = run_cell(simulation, n=n, replicate=replicate, ridges=ridges)
    return encoded_fits(fits, is_path=isinstance(ridge, list))


def encoded_fits(fits: Sequence[Fit], *, is_path: bool) -> Arrays:
    """Arrays of the fits of a cell: of one, or of a path over the dimension ``ridge``."""
    outer = ("ridge",) if is_path else ()
    shape = (len(fits),) if is_path else ()
    found: Arrays = {}
    for name in _STATUS:
        values = np.array([getattr(fit, name) for fit in fits])
        found[_named(name, outer)] = values.reshape(shape)
    names = dict.fromkeys(name for fit in fits for name in fit.measured)
    for name in names:
        some = [fit.measured.get(name) for fit in fits]
        dims = next(one.dims for one in some if one is not None)
        for part, key in ((1, name), (2, f"{name}_err")):
            # A fit of a path may find fewer directions than another: NaN fills up.
            rows = [None if one is None else np.asarray(one[part], np.float64) for one in some]
            sizes = np.max([row.shape for row in rows if row is not None], axis=0).astype(int)
            whole = np.full((len(rows), *sizes.tolist()), np.nan)
            for i, row in enumerate(rows):
                if row is not None:
                    inside: tuple[Any, ...] = tuple(map(slice, row.shape))
                    whole[(i, *inside)] = row
            found[_named(key, (*outer, *dims))] = whole if is_path else whole[0]
    return found


def part_of(arrays: Mapping[str, np.ndarray], number: int | None) -> Mapping[str, np.ndarray]:
    """Arrays of one fit of a path by its number along the ridge; None stands for the whole.

    Examples
    --------
    >>> part_of({"overlap(ridge,direction)": np.array([[1.0, 2.0], [3.0, 4.0]])}, 1)
    {'overlap(direction)': array([3., 4.])}
    """
    if number is None:
        return arrays
    return {
        _named(name, dims[1:]): np.asarray(array[number])
        for name, dims, array in quantities(arrays)
    }


# ---- engines and theories


def _engine(
    name: str, target: Sampled, arguments: dict[str, Any], *, seed: int, replicate: int
) -> Arrays:
    from ..dynamics import ENGINES

    run = ENGINES[name].run(
        target,
        **arguments,
        replicates=range(replicate, replicate + 1),
        seed=seed,
        progress=False,
    )
    return _of_curve(run.isel(replicate=0, drop=True).drop_vars("time", errors="ignore"))


def _theory(name: str, target: Sampled, arguments: dict[str, Any]) -> Arrays:
    from ..theory.predict import predict
    from .algorithms import find_algorithm

    found = predict(target, name, **arguments)
    # An argument that is a single number is no axis, also where the theory makes it one.
    alone = [
        str(dim)
        for dim in found.dims
        if dim in find_algorithm("theory", name).parameters
        and not isinstance(arguments.get(str(dim)), list)
    ]
    return _of_curve(found.squeeze(alone, drop=True))


def _of_curve(curve: xr.Dataset) -> Arrays:
    found: Arrays = {
        "converged": np.array(True),
        "n_iter": np.array(-1),
        "status": np.array(""),
    }
    for name, variable in curve.data_vars.items():
        if str(name) in _STATUS:  # of the whole cell
            found[str(name)] = np.asarray(_OF_ALL[str(name)](variable.values))
        else:
            found[_named(str(name), tuple(map(str, variable.dims)))] = variable.values
    for dim in curve.dims:
        values = curve[dim].values
        if not np.array_equal(values, np.arange(1, len(values) + 1)):
            found[f"@{dim}"] = values
    return found


def _first(texts: np.ndarray) -> str:
    """First text that is not empty."""
    return next((text for text in texts.ravel().tolist() if text), "")


_OF_ALL: dict[str, Callable[[np.ndarray], Any]] = {
    "converged": np.all,
    "n_iter": np.max,
    "status": _first,
}


# ---- names of arrays


def _named(name: str, dims: Sequence[str]) -> str:
    return f"{name}({','.join(dims)})" if dims else name


def quantities(arrays: Mapping[str, np.ndarray]) -> list[tuple[str, tuple[str, ...], np.ndarray]]:
    """Name, dimensions and values of the arrays of a cell, coordinates left out.

    Examples
    --------
    >>> quantities({"overlap(step)": np.zeros(2), "@step": np.arange(2)})
    [('overlap', ('step',), array([0., 0.]))]
    """
    found = []
    for key, array in arrays.items():
        name, _, dims = key.partition("(")
        if not key.startswith("@"):
            inner = tuple(dims.removesuffix(")").split(",")) if dims else ()
            if len(inner) != np.ndim(array):
                raise BadData(f"'{key}' has {np.ndim(array)} dimensions, its name {len(inner)}")
            found.append((name, inner, array))
    return found


def coordinates(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Coordinates of the dimensions of the arrays of a cell.

    Examples
    --------
    >>> coordinates({"overlap(step,direction)": np.zeros((2, 1)), "@step": np.array([0, 8])})
    {'step': array([0, 8]), 'direction': array([1])}
    """
    found: dict[str, np.ndarray] = {}
    for _, dims, array in quantities(arrays):
        for dim, size in zip(dims, array.shape, strict=True):
            if size >= len(
                found.get(dim, ())
            ):  # quantities may know different numbers of directions
                found[dim] = arrays.get(f"@{dim}", np.arange(1, size + 1))
    return found
