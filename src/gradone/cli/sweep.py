"""``gradone sweep``: run an experiment that survives interruptions, and look at what it has."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._app import INTERRUPTED, app
from ._sweep_views import (
    print_script,
    show_costs,
    show_export,
    show_merge,
    show_results,
    show_salvage,
    show_standing,
    show_summary,
)
from ._target import AsJson

if TYPE_CHECKING:
    from ..experiments.layout import Cell
    from ..experiments.spec import Experiment
    from ..experiments.store import Store

FAILED = 3  # exit code of a sweep of which some cells failed


@app.command()
def sweep(
    spec: Annotated[Path, typer.Argument(help="Description of the sweep: a .toml or .json file.")],
    files: Annotated[
        list[Path] | None, typer.Argument(help="Stores, for --merge.", metavar="[FILES]...")
    ] = None,
    store: Annotated[Path, typer.Option("--store", help="File that keeps the results.")] = Path(
        "runs.db"
    ),
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="Number of processes or jobs; default all cores."),
    ] = None,
    executor: Annotated[
        str, typer.Option("--executor", help="Executor: processes, serial, dask or slurm.")
    ] = "processes",
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="ADDRESS", help="Address of a Dask scheduler."),
    ] = None,
    size: Annotated[
        str | None, typer.Option("--size", help="A named size of the spec: small or paper.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show cells, time and memory; run nothing.")
    ] = False,
    status: Annotated[bool, typer.Option("--status", help="Show what the store has.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run failed cells again.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="Write the results to a .nc or .csv file."),
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Take over the cells of other stores, --merge FILES.")
    ] = False,
    salvage: Annotated[
        bool, typer.Option("--salvage", help="Save what can be read of a damaged store.")
    ] = False,
    slurm_script: Annotated[
        bool, typer.Option("--slurm-script", help="Print a job array for sbatch.")
    ] = False,
    shard: Annotated[
        str | None, typer.Option("--shard", metavar="I/K", help="Run every K-th cell, from I on.")
    ] = None,
    walltime: Annotated[
        str, typer.Option("--walltime", help="Longest time of a SLURM job.")
    ] = "01:00:00",
    memory: Annotated[str, typer.Option("--memory", help="Memory of a SLURM job.")] = "4GB",
    cell_seconds: Annotated[
        float | None,
        typer.Option("--cell-seconds", metavar="S", help="Time after which a cell is stopped."),
    ] = None,
    cell_memory: Annotated[
        str | None,
        typer.Option("--cell-memory", metavar="2GB", help="Memory above which a cell is stopped."),
    ] = None,
    queue: Annotated[
        str | None, typer.Option("--queue", help="Name of the SLURM partition.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress bar, for logs.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run the cells of a spec that are not in the store.

    After an interruption the same command continues where it stopped. The exit code is 0 if all
    cells are done, 3 if some failed, and 2 if the spec is wrong; then all its defects are listed.
    A cell that takes more time or memory than it may is stopped, tried once more alone, and marked
    as failed if it does so again.
    """
    from ..base.errors import BadData

    modes = {
        "--dry-run": dry_run,
        "--status": status,
        "--retry-failed": retry_failed,
        "--export": export is not None,
        "--merge": merge,
        "--salvage": salvage,
        "--slurm-script": slurm_script,
    }
    if len(chosen := [mode for mode, given in modes.items() if given]) > 1:
        raise BadData(f"{' and '.join(chosen)} exclude each other; give only one")
    if bool(files) != merge:
        raise BadData("write --merge FILES to take over the cells of other stores")
    if salvage:
        show_salvage(spec, store, as_json)
        return
    if status:
        show_standing(spec, store, size, as_json)
        return
    from ..experiments.spec import Experiment
    from ..experiments.spec_text import read_spec, text_mark

    experiment = Experiment.read(spec).sized(size)
    mark = text_mark(read_spec(spec)[0], size)
    if dry_run:
        show_costs(experiment, store, workers, as_json)
    elif export is not None:
        show_export(experiment, store, export, as_json)
    elif merge:
        show_merge(experiment, mark, store, files or [], as_json)
    elif slurm_script:
        jobs = {"walltime": walltime, "memory": memory, "queue": queue}
        given = {"--size": size, "--cell-seconds": cell_seconds, "--cell-memory": cell_memory}
        print_script(experiment, spec, _words(given), workers, jobs)
    else:
        from ..experiments.cell_limits import CellLimits

        limits = CellLimits.read(cell_seconds, cell_memory).or_else(experiment.limits)
        where = _executor(executor, cluster, workers, walltime, memory, queue)
        limits.require_processes(where)
        cells = _share(experiment.cells(), shard)
        options: dict[str, Any] = {
            "--store": store,
            "--size": size,
            "--workers": workers,
            "--cluster": cluster,
        }
        options |= {"--executor": executor if executor != "processes" else None, "--shard": shard}
        options |= {"--cell-seconds": cell_seconds, "--cell-memory": cell_memory}
        with _opened(experiment, mark, store, where) as opened:
            if retry_failed:
                opened.forget_failed(keys=[cell.key for cell in cells])
            command = shlex.join(["gradone", "sweep", str(spec), *_words(options)])
            how = {"executor": where, "workers": workers, "limits": limits}
            _run(experiment.name, cells, opened, how, quiet, as_json, command)
            if not (as_json or quiet or shard):
                show_results(experiment, opened, command)


def _words(options: Mapping[str, Any]) -> list[str]:
    """Options that were given, as one types them."""
    return [str(word) for pair in options.items() if pair[1] is not None for word in pair]


def _executor(
    name: str,
    cluster: str | None,
    workers: int | None,
    walltime: str,
    memory: str,
    queue: str | None,
) -> Any:
    """Where cells are computed; a mistake must not wait until the store is made."""
    from ..experiments.executors import choose_executor

    if cluster is not None:
        return cluster if "://" in cluster else f"tcp://{cluster}"
    if name == "slurm":
        from ..experiments.executors.slurm import Slurm

        return Slurm(workers or 1, walltime=walltime, memory=memory, queue=queue)
    choose_executor(name, workers)
    return name


def _opened(experiment: Experiment, mark: str, store: Path, where: Any) -> Store:
    """Store that remembers the cells of the spec; made only if they fit into memory."""
    from ..experiments.run import require_local_room
    from ..experiments.status import remember_cells
    from ..experiments.store import Store

    cells = experiment.cells()
    require_local_room(cells, store, where)
    opened = Store(store)
    remember_cells(opened, mark, [cell.key for cell in cells])
    return opened


def _run(
    name: str,
    cells: Sequence[Cell],
    store: Store,
    how: Mapping[str, Any],
    quiet: bool,
    as_json: bool,
    command: str,
) -> None:
    from ..experiments.run import execute
    from ._sweep_bar import SweepBar

    bar = None if quiet else SweepBar(name)
    if bar:
        bar.begin(len(cells), len({cell.key for cell in cells} & store.keys()))
    summary = execute(
        name,
        cells,
        store,
        **how,
        progress=bar,
        on_failed=bar.failed if bar else None,
    )
    failed = len({cell.key for cell in cells} & store.keys("failed"))
    show_summary(name, store.path, summary, failed, as_json)
    if summary.interrupted:
        typer.echo(
            f"The sweep was interrupted; finished cells are stored. To continue: {command}",
            err=True,
        )
        raise typer.Exit(INTERRUPTED)
    if failed:
        typer.echo(f"To run failed cells again: {command} --retry-failed", err=True)
        raise typer.Exit(FAILED)


def _share(cells: Sequence[Cell], shard: str | None) -> Sequence[Cell]:
    """Cells of one job of an array."""
    from ..base.errors import BadData
    from ..experiments.executors.job_array import shard as share

    if shard is None:
        return cells
    number, _, count = shard.partition("/")
    if not (number.isdigit() and count.isdigit()):
        raise BadData(f"--shard is I/K, the number of a share from 0 and of all, got {shard!r}")
    return share(cells, int(number), int(count))
