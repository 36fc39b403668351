"""Fits of learners as cells of a store, computed by an executor."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.errors import BadData
from ..base.progress import Progress
from .cell import Outcome, Simulation
from .layout import Cell, cell_key, cell_texts
from .recipes import decoded_outcomes
from .run import execute
from .simulate import INTERRUPTED
from .status import reason_of
from .store import Store
from .task import Executor

if TYPE_CHECKING:
    from distributed import Client

Fit = tuple[Simulation, int, int, Sequence[float] | None]
"""What is simulated, the number of samples, the replicate, and the ridges of a path."""


def fits(
    wanted: Sequence[Fit],
    *,
    store: str | Path | None,
    executor: str | Executor | Client,
    workers: int | None,
    progress: Progress,
) -> list[list[Outcome] | str]:
    """Outcomes of fits, or why there are none, from a store or computed now.

    Parameters
    ----------
    wanted : sequence of Fit
        What is to be fitted; a fit is the same cell as that of an experiment.
    store : str, Path or None
        Where cells are kept; None keeps them for the time of the call.
    executor, workers, progress
        As of :func:`gradone.experiments.coordinator.run_tasks`.
    """
    cells = [_cell(*fit) for fit in wanted]
    with contextlib.ExitStack() as stack:
        if store is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="gradone-"))
            store = Path(folder) / "runs.db"
        opened = stack.enter_context(Store(store))
        execute(
            f"simulate {wanted[0][0].learner}",
            cells,
            opened,
            executor=executor,
            workers=workers,
            progress=progress,
        )
        keys = [cell.key for cell in cells]
        found = {stored.result.key: stored.result for stored in opened.results(keys=keys)}
    outcomes: list[list[Outcome] | str] = []
    for key, (_, _, _, ridges) in zip(keys, wanted, strict=True):
        if key not in found:
            outcomes.append(INTERRUPTED)
        elif found[key].status == "failed":
            outcomes.append(reason_of(found[key]))
        else:
            is_path = ridges is not None and len(ridges) > 1
            outcomes.append(decoded_outcomes(found[key].arrays, is_path=is_path))
    return outcomes


def _cell(simulation: Simulation, n: int, replicate: int, ridges: Sequence[float] | None) -> Cell:
    """Cell of a fit, the same as that of an experiment with these parameters."""
    from .algorithms import find_algorithm

    arguments: dict[str, Any] = {
        **simulation.parameters,
        "d": simulation.d,
        "n": n,
        "test_samples": simulation.test_samples,
        "dtype": simulation.dtype,
    }
    if ridges is not None:
        arguments["ridge"] = ridges[0] if len(ridges) == 1 else list(ridges)
    algorithm = find_algorithm("learner", simulation.learner)
    try:
        [text] = cell_texts(algorithm, simulation.target, arguments, simulation.seed, [replicate])
    except BadData as error:
        raise BadData(
            f"a parameter of '{simulation.learner}' cannot be stored or sent to other processes: "
            f"{error}; without a store and with executor='serial' it is used as it is"
        ) from error
    return Cell(cell_key(text), text, algorithm, simulation.target, arguments)
