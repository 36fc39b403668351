"""The verb ``run``: what is missing of an experiment is computed, all of it comes back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..base.memory import available_memory
from ..base.progress import Progress, watcher
from ._foreign import UNKNOWN
from .cell_limits import CellLimits
from .coordinator import Summary, run_tasks
from .costs import cost, require_room
from .dataset import assemble
from .layout import Cell
from .recipes import ELSEWHERE, HERE
from .spec import Experiment
from .store import Store
from .task import Executor, Result, Task

if TYPE_CHECKING:
    import xarray as xr
    from distributed import Client

_LOG = logging.getLogger(__name__)


def run(
    experiment: Experiment | str | Path,
    *,
    store: str | Path = "runs.db",
    executor: str | Executor | Client = "processes",
    workers: int | None = None,
    size: str | None = None,
    progress: Progress | bool = True,
    cell_seconds: float | None = None,
    cell_memory: float | str | None = None,
) -> xr.Dataset:
    """Compute what a store does not have of an experiment, and give all of it.

    Parameters
    ----------
    experiment : Experiment, str or Path
        The experiment, or a file that describes one.
    store : str or Path
        File that keeps the cells; made if it is not there. The same call after an interruption, or
        with a larger grid, computes only what is missing.
    executor : str, Executor or distributed.Client
        ``"processes"``, ``"serial"``, ``"dask"``, the address of a Dask scheduler or a client. The
        numbers do not depend on it.
    workers : int, optional
        How many processes; all processors by default.
    size : {"small", "paper"}, optional
        A named size of the experiment.
    progress : bool or Progress
        True draws a bar on a terminal for runs over two seconds. An object is told the progress by
        ``step(i, total, failed=, rate=, seconds_left=)`` and stops the run by returning True.
    cell_seconds, cell_memory : float, optional
        Wall time and bytes (or a text, ``"2 GB"``) of one cell, instead of those of the experiment.
        A cell that takes more is stopped, tried once more alone, and then marked as failed.

    Returns
    -------
    xarray.Dataset
        Quantities over ``source``, ``target`` if there are several, the parameters that are given
        as lists, ``replicate``, and their own dimensions. What failed or was not run is NaN, with
        the reason in ``status``.

    Raises
    ------
    BadSpec
        Lists all that is wrong with the experiment.
    TooLarge
        A cell would not fit into memory; nothing was run.

    Examples
    --------
    >>> import tempfile
    >>> experiment = Experiment(
    ...     name="first", targets=["He3(z)"], grid={"d": 30, "alpha": [1, 40]}, replicates=2,
    ...     algorithms=[{"learner": "spectral_directions", "n_permutations": 9}])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = run(experiment, store=folder + "/runs.db", executor="serial")
    >>> found.cosine2.dims
    ('source', 'alpha', 'replicate', 'direction2')
    >>> bool((found.cosine2.sel(alpha=40) > 0.9).all())
    True
    """
    if not isinstance(experiment, Experiment):
        experiment = Experiment.read(experiment)
    chosen = experiment.sized(size)
    cells = chosen.cells()
    limits = CellLimits.read(cell_seconds, cell_memory).or_else(chosen.limits)
    limits.require_processes(executor)
    require_local_room(cells, store, executor)
    with Store(store) as opened:
        summary = execute(
            chosen.name,
            cells,
            opened,
            executor=executor,
            workers=workers,
            progress=watcher(progress, chosen.name),
            limits=limits,
        )
        if summary.failed:
            _LOG.warning("%d cells failed; `status` has the reasons", summary.failed)
        if summary.interrupted:
            _LOG.warning("the run was interrupted; the same call continues with the missing cells")
        return collect(chosen, opened)


def require_local_room(
    cells: Sequence[Cell], store: str | Path, executor: str | Executor | Client
) -> None:
    """Refuse cells that are to be computed on this machine and do not fit into its memory."""
    if executor not in ("processes", "serial", "dask"):
        return
    known: set[str] = set()
    if Path(store).exists():
        with Store(store, "ro") as opened:
            known = opened.keys()
    require_room(cell for cell in cells if cell.key not in known)


def execute(
    sweep: str,
    cells: Sequence[Cell],
    store: Store,
    *,
    executor: str | Executor | Client,
    workers: int | None = None,
    progress: Progress | None = None,
    on_failed: Callable[[Task, Result], None] | None = None,
    limits: CellLimits | None = None,
) -> Summary:
    """Compute the cells that a store does not have.

    Parameters
    ----------
    sweep : str
        Name under which the store counts them.
    cells : sequence of Cell
        What is wanted.
    store : Store
        Where results go.
    executor, workers, progress, on_failed
        As of :func:`gradone.experiments.coordinator.run_tasks`.
    limits : CellLimits, optional
        What one cell may use.
    """
    given = limits or CellLimits()
    given.require_processes(executor)
    for algorithm in {cell.algorithm for cell in cells}:
        if algorithm.numerics.endswith(UNKNOWN):
            _LOG.warning(
                "the source of %s '%s' cannot be read: whether it has changed since cells of it "
                "were stored, %s cannot know. If it has, give it a higher `numerics`",
                algorithm.kind,
                algorithm.name,
                store.path,
            )
    return run_tasks(
        tasks_of(cells, given),
        HERE if executor == "serial" else ELSEWHERE,
        store=store,
        sweep=sweep,
        executor=executor,
        workers=workers,
        progress=progress,
        on_failed=on_failed,
    )


def tasks_of(cells: Sequence[Cell], limits: CellLimits) -> list[Task]:
    """Cells with their estimated costs and their limits, as executors take them."""
    found, free = [], available_memory()
    for cell in cells:
        needed = cost(cell)
        found.append(
            Task(cell.key, cell.text, needed.bytes, needed.seconds, limits.of(needed, free))
        )
    return found


def collect(experiment: Experiment, store: Store) -> xr.Dataset:
    """Dataset of what a store has of an experiment."""
    keys = [cell.key for cell in experiment.cells()]
    return assemble(experiment, (stored.result for stored in store.results(keys=keys)))
