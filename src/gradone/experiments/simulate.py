"""The verb ``simulate``: a target and the name of a learner give a curve with replicates."""

from __future__ import annotations

import contextlib
import logging
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..algorithms import look_of
from ..algorithms.own import Algorithm as Own
from ..algorithms.own import as_card
from ..base.axes import axis_values
from ..base.curves import INTERRUPTED, curve, with_look
from ..base.errors import BadData, GradoneError
from ..base.memory import require_memory
from ..base.progress import Progress, Unwatched, watcher
from ..base.seeds import canonical
from ..learners import LEARNERS
from ..learners._foreign import is_foreign, require_importable
from ..targets.on_inputs import OnInputs
from ..targets.sampled import Sampled, whole_number
from ..targets.target import as_target
from ..targets.training import parameters_of
from .algorithms import OF_FOREIGN, OF_LEARNERS
from .cell import Simulation, build_learner
from .cell_limits import CellLimits
from .dataset import gather
from .faces import learner_face
from .foreign import EstimatorFailed
from .layout import Cell, Layout, Run, place_runs
from .recipes import encoded, run_learner
from .run import execute
from .status import reason_of
from .store import Store
from .task import Result

if TYPE_CHECKING:
    import xarray as xr
    from distributed import Client

    from .task import Executor

_LOG = logging.getLogger(__name__)


def simulate(
    target: Sampled | str,
    name: str | Any,
    *,
    d: int,
    alpha: float | Sequence[float] | None = None,
    n: int | Sequence[int] | None = None,
    width_ratio: float | Sequence[float] | None = None,
    replicates: int = 8,
    seed: int = 0,
    test_samples: int = 4096,
    dtype: Literal["float64", "float32"] = "float64",
    on_failure: Literal["raise", "mark"] = "raise",
    progress: Progress | bool = True,
    store: str | Path | None = None,
    executor: str | Executor | Client | None = None,
    workers: int | None = None,
    cell_seconds: float | None = None,
    cell_memory: float | str | None = None,
    inputs: Any = None,
    directions: Any = "random",
    **parameters: Any,
) -> xr.Dataset:
    r"""Learner fitted on samples of a target, measured against the truth, as a labeled curve.

    Parameters
    ----------
    target : Target, hierarchical target, or str
        A text is read as a noiseless target.
    name : str or estimator
        Name of an algorithm that has a learner: what is not given is that of its card, so that
        :func:`predict` of the same name is about the same run. Or name of another learner, with its
        own defaults; ``gradone list`` shows both. Or anything
        with ``fit(X, y)`` and ``predict(X)``: an estimator of yours, a :class:`gradone.Algorithm`,
        or ``"package.module:Class"`` with its arguments as ``parameters={...}``.
    d : int
        Input dimension.
    alpha, n : float or int, or sequences of them
        Either samples per dimension (n is :math:`\alpha d`, rounded) or numbers of samples; one
        of the two. It becomes the first dimension of the curve.
    width_ratio : float or sequence of float, optional
        Neurons per dimension, for learners with a ``width``; the next dimension of the curve.
    replicates : int
        Number of independent repetitions.
    seed : int
        Seed of everything random.
    test_samples : int
        Number of fresh samples on which errors are measured.
    dtype : {"float64", "float32"}
        Type of the inputs that the learner sees; float32 halves the memory.
    on_failure : {"raise", "mark"}
        What to do with a fit that fails: raise, or leave NaN with the reason in ``status``. A fit
        that ends without convergence is no failure: its numbers count, ``converged`` is False.
    progress : bool or Progress
        True draws a bar on a terminal for runs over two seconds. An object is told each cell by
        ``step(i, total, **scalars)`` and stops the run by returning True.
    store : str or Path, optional
        File that keeps the fits: what it has is not fitted again, by this call or by a sweep.
    executor, workers
        Where to fit, as of :func:`gradone.run`: ``"processes"`` uses all processors. The numbers
        are the same. By default fits are made one after the other in this process, and with limits
        in other processes.
    cell_seconds, cell_memory : float, optional
        Wall time and bytes (or a text, ``"2 GB"``) of one fit; one that takes more is stopped, also
        inside of compiled code, tried once more alone, and then failed.
    inputs, directions
        Law of the inputs and hidden directions, as of :meth:`.Target.on`. Of rows of a table at
        most those that are kept for tests are fresh samples.
    **parameters
        Parameters of the learner. One that cannot do without the link gets ``channel=target``.
        ``ridge``, and ``width`` if it has several values, become dimensions of the curve; a learner
        with ``fit_path`` makes all values of the ridge from one decomposition.

    Returns
    -------
    xarray.Dataset
        Over (alpha or n, replicate), with the width and the ridge between them where they vary:
        ``overlap`` and ``overlap_aligned`` (direction, direction2)
        and ``cosine2`` where the learner has ``directions_``; ``test_mse``, ``excess_mse`` and, for
        discrete outputs, ``zero_one_error`` where it predicts (of ``predict_label`` if the learner
        has it, else of the values nearest to its predictions); ``train_mse`` and ``train_loss``
        where the learner tells them; ``converged``, ``n_iter``, ``status``. ``q_err`` is the
        standard error of the measurement of one fit on fresh samples; the spread between fits is
        that over ``replicate``.

    Notes
    -----
    A cell depends on its own address alone: more replicates, more values of alpha or another
    learner do not change the samples, and fewer samples are the first of more. Interrupted by
    Ctrl-C, the curve holds what was done; the rest is NaN with the status ``"interrupted"``. With
    ``progress=False`` Ctrl-C is passed on, so that it ends a script of many simulations.

    Examples
    --------
    >>> found = simulate("He3(z)", "spectral_directions", d=40, n=[40, 1600], replicates=3)
    >>> dict(found.sizes)["replicate"], bool((found.cosine2.sel(n=1600) > 0.9).all())
    (3, True)
    >>> simulate("He3(z)", "spectral_directions", d=40)
    Traceback (most recent call last):
    gradone.base.errors.BadData: give either alpha or n
    """
    if on_failure not in ("raise", "mark"):
        raise BadData(f"on_failure must be 'raise' or 'mark', got {on_failure!r}")
    if np.ndim(d):
        raise BadData(f"d takes one number here, got {d!r}; {_SEVERAL}")
    d, replicates = whole_number("d", d), whole_number("replicates", replicates)
    seed = whole_number("seed", seed, least=0)
    truth = as_target(target).on(inputs, directions)
    look = None
    if not isinstance(name, str) or is_foreign(name):
        own = as_card(name)
        if isinstance(own, Own):
            parameters = {**own.settings, **parameters}
            if store is not None or executor not in (None, "serial") or cell_seconds or cell_memory:
                require_importable(own.where)
            _check_foreign(own.name, parameters)
        name, look = own.name, (own.label, own.color)
        algorithm = learner_face(own.learner)
    else:
        algorithm = learner_face(name)
    learner = algorithm.name
    measurement: dict[str, Any] = {
        "test_samples": whole_number("test_samples", test_samples),
        "dtype": _checked_dtype(dtype),
    }
    same = dict(parameters)
    axes = _axes(same, alpha=alpha, n=n, width_ratio=width_ratio)
    for key, value in same.items():
        _require_one(key, value, learner)
    objects = {key: value for key, value in same.items() if not _has_text(value)}
    unknown = {key: value for key, value in same.items() if key not in algorithm.parameters}
    run = Run(
        algorithm,
        f"simulation:{name}",
        own={**measurement, **same},
        shared={"d": d, **axes},
        axes={key: values.tolist() for key, values in axes.items()},
        fixed={**unknown, **{key: repr(value) for key, value in objects.items()}},
        path="ridge",
    )
    coords = {**axes, "replicate": np.arange(replicates)}
    layout = place_runs([run], [truth], coords, replicates=replicates, seed=seed)
    told = {key: v for key, v in layout.cells[0].arguments.items() if key not in OF_LEARNERS}
    # A mistyped parameter must not wait for the first sample.
    told |= {key.removesuffix("_ratio"): values.flat[0] for key, values in axes.items()}
    told.pop("n" if n is not None else "alpha")
    build_learner(Simulation(truth, learner, d, seed, {**told, **objects}), 0)
    largest = max(cell.arguments["n"] for cell in layout.cells)
    require_memory(
        2 * largest * d * np.dtype(measurement["dtype"]).itemsize,
        f"a fit on {largest} x {d} numbers (the samples and one copy)",
        "Use fewer samples, a smaller d, or dtype='float32'.",
    )
    limits = CellLimits.read(cell_seconds, cell_memory)
    executor = executor or ("serial" if limits == CellLimits() else "processes")
    limits.require_processes(executor)
    watching = watcher(progress, name)
    if (
        truth.inputs is not None
        and not truth.inputs.is_stored
        and not (store is None and executor == "serial")
    ):
        raise BadData(
            f"{truth.inputs!r} cannot be stored or sent to other processes: save the table with "
            "np.save and give its path, gd.inputs.rows('table.npy')"
        )
    if store is None and executor == "serial":
        results = _run_here(layout, seed, objects, on_failure, watching)
    elif objects:
        raise BadData(
            f"{', '.join(objects)} of '{name}' cannot be stored or sent to other processes; "
            "without a store and with executor='serial' every value is used as it is"
        )
    else:
        where = {"executor": executor, "workers": workers, "limits": limits}
        results = _run_elsewhere(layout, name, on_failure, watching, store, where)
    values, coordinates = gather(layout, results)
    settings = _shared_by_all(layout.cells, axes)
    found = curve(
        values,
        coordinates,
        source=f"simulation:{name}",
        target=truth.text,  # type: ignore[attr-defined]
        params=settings | measurement | {"d": d, "noise": truth.noise},
        seed=seed,
    )
    if isinstance(truth, OnInputs) and truth.situation == "rows":
        found.attrs["notes"] = _shape_of_z(truth, d, seed)
    return with_look(found, *(look or look_of(name)), getattr(truth, "latex", ""))


def _shape_of_z(target: OnInputs, d: int, seed: int) -> str:
    """How far the projections of rows of a table are from Gaussian."""
    skewness, kurtosis = (
        ", ".join(f"{value:.2f}" for value in values) for values in target.cumulants(d, seed=seed)
    )
    where = " in the first replicate" if target.directions == "random" else ""
    return (
        f"The projections z have skewness {skewness} and excess kurtosis {kurtosis}{where}; "
        "Gaussian ones have 0."
    )


def _shared_by_all(cells: Sequence[Cell], axes: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of the learner that are the same in all cells."""
    first = cells[0].arguments
    varying = {*OF_LEARNERS, *(name.removesuffix("_ratio") for name in axes)}
    return {
        key: value if _is_plain(value) else repr(value)
        for key, value in first.items()
        if key not in varying and all(_holds(cell, key, value) for cell in cells)
    }


def _holds(cell: Cell, key: str, value: Any) -> bool:
    """Whether a cell has this value of a parameter, which may be an array."""
    return key in cell.arguments and bool(np.array_equal(cell.arguments[key], value))


def _check_foreign(name: str, parameters: Mapping[str, Any]) -> None:
    for key in parameters:
        if key not in OF_FOREIGN:
            raise BadData(
                f"'{key}' is no argument here: parameters of '{name}' are given to it itself, or "
                f"as parameters={{{key!r}: ...}}"
            )


def _checked_dtype(dtype: Any) -> str:
    if dtype not in ("float64", "float32"):
        raise BadData(f"dtype must be 'float64' or 'float32', got {dtype!r}")
    return str(dtype)


def _axes(same: dict[str, Any], *, alpha: Any, n: Any, width_ratio: Any) -> dict[str, np.ndarray]:
    """What varies: samples, then widths, then the ridge; taken out of the parameters.

    Examples
    --------
    >>> same = {"ridge": [0.1, 1.0], "loss": "square"}
    >>> _axes(same, alpha=[1.0, 2.0], n=None, width_ratio=0.5)
    {'alpha': array([1., 2.]), 'width_ratio': array([0.5]), 'ridge': array([0.1, 1. ])}
    >>> same
    {'loss': 'square'}
    """
    if (alpha is None) == (n is None):
        raise BadData("give either alpha or n")
    axes = {"alpha": axis_values("alpha", alpha)} if n is None else {"n": _whole("n", n)}
    if width_ratio is not None:
        if "width" in same:
            raise BadData("give either width or width_ratio")
        axes["width_ratio"] = axis_values("width_ratio", width_ratio)
    elif np.ndim(same.get("width", 0)) > 0:
        axes["width"] = _whole("width", same.pop("width"))
    if same.get("ridge") is not None:
        axes["ridge"] = axis_values("ridge", same.pop("ridge"), zero=True)
    return axes


_SEVERAL = (
    "alpha, n, width_ratio, width and ridge may have several. gd.Experiment (gradone sweep) varies "
    "any parameter"
)


def _require_one(key: str, value: Any, learner: str) -> None:
    """Refuse several values of a number; sweeps have them."""
    parameter = parameters_of(LEARNERS[learner]).get(key)
    kinds = {part.strip() for part in str(getattr(parameter, "annotation", "")).split("|")}
    if np.ndim(value) and kinds & {"int", "float"} and not kinds - {"int", "float", "None", "str"}:
        raise BadData(f"{key} of '{learner}' takes one number here, got {value!r}; {_SEVERAL}")


def _whole(name: str, given: Any) -> np.ndarray:
    values = axis_values(name, given)
    for value in values.tolist():
        if not value.is_integer():
            raise BadData(f"{name} must be an integer >= 1, got {value!r}")
    return values.astype(int)


def _has_text(value: Any) -> bool:
    """Whether a parameter can be part of the name of a cell."""
    return _is_plain(encoded(value))


def _is_plain(value: Any) -> bool:
    try:
        canonical(value)
    except BadData:
        return False
    return True


def _run_here(
    layout: Layout, seed: int, objects: Mapping[str, Any], on_failure: str, progress: Progress
) -> list[Result]:
    """Results of all cells, computed in this process from the parameters as they are."""
    cells = sorted(layout.cells, key=lambda cell: cell.replicate or 0)  # whole curves come first
    results: list[Result] = []
    failures: dict[str, list[str]] = {}
    try:
        progress.step(0, len(cells))
        for cell in cells:
            name, replicate = cell.algorithm.name, cell.replicate or 0
            address = {"seed": seed, "replicate": replicate}
            try:
                arrays = run_learner(name, cell.target, {**cell.arguments, **objects}, **address)
            except Exception as error:
                words = _named(layout, cell)
                if on_failure == "raise":
                    if not isinstance(error, EstimatorFailed):  # which says so itself
                        error.add_note(f"in the cell {words} of '{name}'")
                    raise
                text = f"{type(error).__name__}: {error}"
                results.append(Result(cell.key, "failed", error=text))
                failures.setdefault(text, []).append(words)
            else:
                results.append(Result(cell.key, "done", arrays))
            if progress.step(len(results), len(cells), replicate=replicate, **_sizes(layout, cell)):
                break
    except KeyboardInterrupt:
        if isinstance(progress, Unwatched):
            raise
        _LOG.warning("%s was interrupted after %d of %d fits", name, len(results), len(cells))
    finally:
        progress.close()
    for text, where in failures.items():
        more = f" and {len(where) - 1} others" if len(where) > 1 else ""
        _LOG.warning("%s at %s%s failed: %s", name, where[0], more, text.partition(": ")[2])
    return results + _interrupted(cells[len(results) :])


def _run_elsewhere(
    layout: Layout,
    name: str,
    on_failure: str,
    progress: Progress,
    store: str | Path | None,
    where: Mapping[str, Any],
) -> list[Result]:
    """The same from a store and an executor."""
    with contextlib.ExitStack() as stack:
        if store is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="gradone-"))
            store = Path(folder) / "runs.db"
        opened = stack.enter_context(Store(store))
        execute(
            f"simulate {name}",
            layout.cells,
            opened,
            progress=progress,
            **where,
        )
        keys = [cell.key for cell in layout.cells]
        found = {one.result.key: one.result for one in opened.results(keys=keys)}
    failed = [cell for cell in layout.cells if (r := found.get(cell.key)) and r.status == "failed"]
    if failed and on_failure == "raise":
        raise GradoneError(
            f"{len(failed)} of {len(layout.cells)} fits failed, the first in the cell "
            f"{_named(layout, failed[0])}: {reason_of(found[failed[0].key])}"
        )
    missing = [cell for cell in layout.cells if cell.key not in found]
    return [*found.values(), *_interrupted(missing)]


def _interrupted(cells: Sequence[Cell]) -> list[Result]:
    return [Result(cell.key, "failed", error=INTERRUPTED) for cell in cells]


def _sizes(layout: Layout, cell: Cell) -> dict[str, Any]:
    """Sizes of a cell that may differ from those of others."""
    varies = {name.removesuffix("_ratio") for name in layout.coords}
    return {name: cell.arguments[name] for name in ("n", "width") if name in {"n", *varies}}


def _named(layout: Layout, cell: Cell) -> str:
    sizes = {**_sizes(layout, cell), "d": cell.arguments["d"]}
    words = ", ".join(f"{key} = {value}" for key, value in sizes.items())
    return f"{words}, replicate {cell.replicate}"
