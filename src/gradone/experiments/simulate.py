"""The verb ``simulate``: a target and the name of a learner give a curve with replicates."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..base.curves import curve
from ..base.errors import BadData, GradoneError
from ..base.memory import require_memory
from ..base.progress import Progress, watcher
from ..base.seeds import canonical
from ..targets.sampled import Sampled, whole_number
from ..targets.target import as_target
from .cell import Outcome, Simulation, build_learner, run_cell
from .grid import Grid, Point, read_grid

if TYPE_CHECKING:
    import xarray as xr
    from distributed import Client

    from .task import Executor

_LOG = logging.getLogger(__name__)
INTERRUPTED = "interrupted"
"""Status of a fit that was not made because the run was stopped."""

LABELS = {
    "overlap": ("M", "overlap with the target directions"),
    "overlap_aligned": ("M", "overlap up to the symmetries of the target"),
    "cosine2": (r"\cos^2\theta", "squared cosines between the subspaces"),
    "row_overlap": ("M_W", "overlap of the first layer with the hidden directions"),
    "test_mse": (r"\mathbb{E}(y-\hat f)^2", "mean squared test error"),
    "excess_mse": (r"\mathbb{E}(g-\hat f)^2", "mean squared error without label noise"),
    "train_mse": (r"\frac1n\sum_i(y_i-\hat f_i)^2", "mean squared training error"),
    "train_loss": (r"\frac1n\sum_i\ell_i", "mean training loss"),
    "zero_one_error": (r"\mathbb{P}(\hat y\neq y)", "share of wrong labels"),
}


def simulate(
    target: Sampled | str,
    name: str,
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
    executor: str | Executor | Client = "serial",
    workers: int | None = None,
    **parameters: Any,
) -> xr.Dataset:
    r"""Learner fitted on samples of a target, measured against the truth, as a labelled curve.

    Parameters
    ----------
    target : Target, hierarchical target, or str
        A text is read as a noiseless target.
    name : str
        Name of the learner; ``gradone list`` shows them.
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
        are the same.
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
    Ctrl-C, the curve holds what was done; the rest is NaN with the status ``"interrupted"``.

    Examples
    --------
    >>> found = simulate("He3(z)", "spectral_directions", d=40, n=[40, 1600], replicates=3)
    >>> dict(found.sizes)["replicate"], bool((found.cosine2.sel(n=1600) > 0.9).all())
    (3, True)
    >>> simulate("He3(z)", "spectral_directions", d=40)
    Traceback (most recent call last):
    gradone.base.errors.BadData: give alpha or n, one of the two
    """
    if on_failure not in ("raise", "mark"):
        raise BadData(f"on_failure must be 'raise' or 'mark', got {on_failure!r}")
    d, replicates = whole_number("d", d), whole_number("replicates", replicates)
    grid, same = read_grid(d, alpha=alpha, n=n, width_ratio=width_ratio, parameters=parameters)
    simulation = Simulation(
        as_target(target),
        name,
        d,
        whole_number("seed", seed, least=0),
        same,
        whole_number("test_samples", test_samples),
        _checked_dtype(dtype),
    )
    # A mistyped parameter must not wait for the first sample.
    build_learner(_at(simulation, grid, grid.points[0]), 0)
    largest = max(point.n for point in grid.points)
    require_memory(
        2 * largest * d * np.dtype(simulation.dtype).itemsize,
        f"a fit on {largest} x {d} numbers (the samples and one copy)",
        "Use fewer samples, a smaller d, or dtype='float32'.",
    )
    watching = watcher(progress, name)
    if store is None and executor == "serial":
        outcomes = _run(simulation, grid, replicates, on_failure, watching)
    else:
        outcomes = _run_elsewhere(
            simulation, grid, replicates, on_failure, watching, store, executor, workers
        )
    outer = (*grid.axes, "replicate")
    quantities = _gathered(outcomes, (*grid.shape, replicates), outer)
    coords: dict[str, Any] = {**grid.axes, "replicate": np.arange(replicates)}
    for dims, array in quantities.values():
        inner = slice(len(outer), None)
        sizes_of = dict(zip(dims[inner], array.shape[inner], strict=True))
        coords |= {dim: np.arange(1, size + 1) for dim, size in sizes_of.items()}
    settings = _plain(same) | {
        "d": d,
        "test_samples": simulation.test_samples,
        "dtype": simulation.dtype,
    }
    return curve(
        quantities,
        coords,
        source=f"simulation:{name}",
        target=simulation.target.text,  # type: ignore[attr-defined]
        params=settings | {"noise": simulation.target.noise},
        seed=simulation.seed,
        labels=LABELS,
    )


def _checked_dtype(dtype: Any) -> str:
    if dtype not in ("float64", "float32"):
        raise BadData(f"dtype must be 'float64' or 'float32', got {dtype!r}")
    return str(dtype)


def _at(simulation: Simulation, grid: Grid, point: Point) -> Simulation:
    """The simulation at one point of the grid."""
    given = {**simulation.parameters, **point.given}
    if grid.ridges is not None:
        given["ridge"] = grid.ridges[0]
    return replace(simulation, parameters=given)


Place = tuple[int, ...]


def _run(
    simulation: Simulation, grid: Grid, replicates: int, on_failure: str, progress: Progress
) -> dict[Place, Outcome | str]:
    """Outcome of every cell, or why there is none."""
    fits = [(point, replicate) for replicate in range(replicates) for point in grid.points]
    outcomes: dict[Place, Outcome | str] = {
        place: INTERRUPTED for point, r in fits for place in _places(grid, point, r)
    }
    try:
        for done, (point, replicate) in enumerate(fits, start=1):
            places = _places(grid, point, replicate)
            address = {"n": point.n, "replicate": replicate}
            try:
                found = run_cell(_at(simulation, grid, point), ridges=grid.ridges, **address)
            except Exception as error:
                words = _named(simulation, point, replicate)
                if on_failure == "raise":
                    error.add_note(f"in the cell {words} of '{simulation.learner}'")
                    raise
                _LOG.warning("%s at %s failed: %s", simulation.learner, words, error)
                outcomes |= dict.fromkeys(places, f"{type(error).__name__}: {error}")
            else:
                outcomes |= dict(zip(places, found, strict=True))
            if progress.step(done, len(fits), **address, **point.given):
                break
    except KeyboardInterrupt:
        _LOG.warning(
            "%s was interrupted after %d of %d fits", simulation.learner, done - 1, len(fits)
        )
    finally:
        progress.close()
    return outcomes


def _run_elsewhere(
    simulation: Simulation,
    grid: Grid,
    replicates: int,
    on_failure: str,
    progress: Progress,
    store: str | Path | None,
    executor: str | Executor | Client,
    workers: int | None,
) -> dict[Place, Outcome | str]:
    """The same from a store and an executor."""
    from .fits import fits

    addresses = [(point, r) for r in range(replicates) for point in grid.points]
    found = fits(
        [
            (_at(simulation, grid, point), point.n, replicate, grid.ridges)
            for point, replicate in addresses
        ],
        store=store,
        executor=executor,
        workers=workers,
        progress=progress,
    )
    outcomes: dict[Place, Outcome | str] = {}
    failures = []
    for (point, replicate), result in zip(addresses, found, strict=True):
        places = _places(grid, point, replicate)
        if isinstance(result, str):
            outcomes |= dict.fromkeys(places, result)
            failures += [f"{_named(simulation, point, replicate)}: {result}"] * (
                result != INTERRUPTED
            )
        else:
            outcomes |= dict(zip(places, result, strict=True))
    if failures and on_failure == "raise":
        raise GradoneError(
            f"{len(failures)} of {len(addresses)} fits failed, the first in the cell {failures[0]}"
        )
    return outcomes


def _named(simulation: Simulation, point: Point, replicate: int) -> str:
    sizes = {"n": point.n, **point.given, "d": simulation.d}
    words = ", ".join(f"{key} = {value}" for key, value in sizes.items())
    return f"{words}, replicate {replicate}"


def _places(grid: Grid, point: Point, replicate: int) -> list[Place]:
    """Positions that one fit, or one path of fits, fills."""
    if grid.ridges is None:
        return [(*point.place, replicate)]
    return [(*point.place, i, replicate) for i in range(len(grid.ridges))]


def _gathered(
    outcomes: Mapping[Place, Outcome | str], shape: tuple[int, ...], outer: tuple[str, ...]
) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Arrays over the outer dimensions and their own of everything that some cell measured."""
    converged, n_iter = np.zeros(shape, dtype=bool), np.full(shape, -1)
    status = np.full(shape, "", dtype=object)
    finished: dict[Place, Outcome] = {}
    for place, outcome in outcomes.items():
        if isinstance(outcome, str):
            status[place] = outcome
        else:
            finished[place] = outcome
            converged[place], n_iter[place] = outcome.converged, outcome.n_iter
            status[place] = outcome.status
    sizes = _sizes(finished.values())
    found: dict[str, tuple[tuple[str, ...], np.ndarray]] = {}
    for place, outcome in finished.items():
        for name, (dims, value, error) in outcome.measured.items():
            for key, part in ((name, value), (f"{name}_err", error)):
                empty = np.full((*shape, *(sizes[dim] for dim in dims)), np.nan)
                array = found.setdefault(key, ((*outer, *dims), empty))[1]
                inside: tuple[Any, ...] = tuple(map(slice, np.shape(part)))
                array[place + inside] = part
    return found | {
        "converged": (outer, converged),
        "n_iter": (outer, n_iter),
        "status": (outer, status.astype(str)),
    }


def _sizes(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """Length of the inner dimensions: a learner may find fewer directions in one cell."""
    sizes: dict[str, int] = {}
    for outcome in outcomes:
        for dims, value, _ in outcome.measured.values():
            for dim, size in zip(dims, np.shape(value), strict=True):
                sizes[dim] = max(size, sizes.get(dim, 0))
    return sizes


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters in a form that can be stored: what has no canonical text is shown by its repr."""
    plain = {}
    for name, value in parameters.items():
        try:
            canonical(value)
        except BadData:
            value = repr(value)
        plain[name] = value
    return plain
