"""``gradone sweep``: run an experiment that survives interruptions, and look at what it has."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._app import INTERRUPTED, app
from ._target import AsJson

if TYPE_CHECKING:
    from ..experiments.coordinator import Summary
    from ..experiments.spec import Experiment
    from ..experiments.store import Store

FAILED = 3  # exit code of a sweep of which some cells failed
_MOST_SHOWN = 10  # failures in a table of the standing


@app.command()
def sweep(
    spec: Annotated[Path, typer.Argument(help="Description of the sweep, .toml or .json.")],
    files: Annotated[
        list[Path] | None, typer.Argument(help="Stores, for --merge.", metavar="[FILES]...")
    ] = None,
    store: Annotated[Path, typer.Option("--store", help="File that keeps the results.")] = Path(
        "runs.db"
    ),
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Processes or jobs; all cores.")
    ] = None,
    executor: Annotated[
        str, typer.Option("--executor", help="processes, serial, dask or slurm.")
    ] = "processes",
    cluster: Annotated[
        str | None, typer.Option("--cluster", metavar="ADDRESS", help="A Dask scheduler.")
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
        Path | None, typer.Option("--export", metavar="FILE", help="Write the results: .nc, .csv.")
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Take over the cells of other stores: --merge FILES.")
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
    queue: Annotated[str | None, typer.Option("--queue", help="Partition of SLURM.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No bar, for logs.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run the cells of a spec that a store does not have.

    The same command after an interruption goes on where it stopped. The exit code is 0 if all
    cells are done, 3 if some failed, 2 if the spec is wrong (all that is wrong is listed).
    """
    from ..base.errors import BadData

    modes = {
        "--dry-run": dry_run,
        "--status": status,
        "--retry-failed": retry_failed,
        "--export": export is not None,
        "--merge": merge,
        "--slurm-script": slurm_script,
    }
    if len(chosen := [mode for mode, given in modes.items() if given]) > 1:
        raise BadData(f"{' and '.join(chosen)} exclude each other; give one")
    if bool(files) != merge:
        raise BadData("write --merge FILES to take over the cells of other stores")
    if status:
        _show_standing(spec, store, size, as_json)
        return
    from ..experiments.spec import Experiment

    experiment = Experiment.read(spec).sized(size)
    if dry_run:
        _show_costs(experiment, store, workers, as_json)
    elif export is not None:
        _export(experiment, store, export, as_json)
    elif merge:
        _merge(experiment, store, files or [], as_json)
    elif slurm_script:
        limits = {"walltime": walltime, "memory": memory, "queue": queue}
        _print_script(experiment, spec, size, workers, limits)
    else:
        where: Any = executor
        if cluster is not None:
            where = cluster if "://" in cluster else f"tcp://{cluster}"
        if where == "slurm":
            from ..experiments.executors.slurm import Slurm

            where = Slurm(workers or 1, walltime=walltime, memory=memory, queue=queue)
        command = ["gradone", "sweep", str(spec), "--store", str(store)]
        command += ["--size", size] if size else []
        with _opened(experiment, spec, size, store, where) as opened:
            if retry_failed:
                opened.forget_failed(keys=[cell.key for cell in experiment.cells()])
            _run(experiment, opened, where, workers, shard, quiet, as_json, shlex.join(command))


def _opened(experiment: Experiment, spec: Path, size: str | None, store: Path, where: Any) -> Store:
    """Store that remembers the cells of the spec; made only if they fit into memory."""
    from ..experiments.costs import require_room
    from ..experiments.spec_text import read_spec, text_mark
    from ..experiments.status import remember_cells
    from ..experiments.store import Store

    cells = experiment.cells()
    if where in ("processes", "serial", "dask"):
        require_room(cells)
    opened = Store(store)
    remember_cells(opened, text_mark(read_spec(spec)[0], size), [cell.key for cell in cells])
    return opened


def _run(
    experiment: Experiment,
    store: Store,
    executor: Any,
    workers: int | None,
    shard: str | None,
    quiet: bool,
    as_json: bool,
    command: str,
) -> None:
    from ..experiments.run import execute
    from ._sweep_bar import SweepBar

    cells = _share(experiment.cells(), shard)
    bar = None if quiet else SweepBar(experiment.name)
    summary = execute(
        experiment.name,
        cells,
        store,
        executor=executor,
        workers=workers,
        progress=bar,
        on_failed=bar.failed if bar else None,
    )
    failed = len({cell.key for cell in cells} & store.keys("failed"))
    _show_summary(experiment, store, summary, failed, as_json)
    if summary.interrupted:
        typer.echo(f"Interrupted; what is done is stored. To go on: {command}", err=True)
        raise typer.Exit(INTERRUPTED)
    if failed:
        typer.echo(f"To run failed cells again: {command} --retry-failed", err=True)
        raise typer.Exit(FAILED)


def _share(cells: Any, shard: str | None) -> Any:
    """Cells of one job of an array."""
    from ..base.errors import BadData
    from ..experiments.executors.job_array import shard as share

    if shard is None:
        return cells
    number, _, count = shard.partition("/")
    if not (number.isdigit() and count.isdigit()):
        raise BadData(f"--shard is I/K, the number of a share from 0 and of all, got {shard!r}")
    return share(cells, int(number), int(count))


def _show_summary(
    experiment: Experiment, store: Store, summary: Summary, failed: int, as_json: bool
) -> None:
    found = {
        "sweep": experiment.name,
        "store": str(store.path),
        "done": summary.done,
        "failed": summary.failed,
        "skipped": summary.skipped,
        "failed_in_store": failed,
        "interrupted": summary.interrupted,
    }
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    rows = [
        ("done", str(summary.done), "computed now"),
        ("failed", str(summary.failed), "computed now, without a result"),
        ("skipped", str(summary.skipped), "in the store already"),
    ]
    typer.echo(f"Cells of {experiment.name} in {store.path}:")
    _table(rows)


def _show_standing(spec: Path, store: Path, size: str | None, as_json: bool) -> None:
    from ..experiments.status import keys_of, reason_of, standing
    from ..experiments.store import Store

    with Store(store, "ro") as opened:
        keys = keys_of(opened, spec, size)
        found = standing(opened, keys)
        failures = sorted(opened.keys("failed").intersection(keys)) if found.failed else []
        shown = list(opened.results(keys=failures[:_MOST_SHOWN])) if failures else []
    if as_json:
        counts = found._asdict() | {"missing": found.missing, "failures": failures}
        typer.echo(json.dumps(counts, indent=2))
        return
    typer.echo(f"Cells of {spec} in {store}:")
    names = ("done", "failed", "missing", "cells")
    _table([(name, str(getattr(found, name))) for name in names])
    if shown:
        from ._sweep_bar import described

        for stored in shown:
            typer.echo(f"failed: {described(stored.parameters)}: {reason_of(stored.result)}")


def _show_costs(experiment: Experiment, store: Path, workers: int | None, as_json: bool) -> None:
    from ..base.memory import human_bytes
    from ..dynamics._run import available_cores
    from ..experiments.costs import cost, require_room
    from ..experiments.store import Store
    from ._sweep_bar import duration

    known: set[str] = set()
    if store.exists():
        with Store(store, "ro") as opened:
            known = opened.keys()
    workers = workers or available_cores()
    totals: dict[str, list[float]] = {}
    for cell in experiment.cells():
        row = totals.setdefault(f"{cell.algorithm.kind} {cell.algorithm.name}", [0, 0, 0.0, 0])
        needed = cost(cell)
        row[0] += 1
        if cell.key in known:
            row[1] += 1
        else:
            row[2] += needed.seconds
        row[3] = max(row[3], needed.bytes)
    cells, stored = sum(int(row[0]) for row in totals.values()), sum(r[1] for r in totals.values())
    seconds, most = sum(r[2] for r in totals.values()), max(r[3] for r in totals.values())
    if as_json:
        names = ("cells", "stored", "seconds", "bytes")
        rows = {name: dict(zip(names, row, strict=True)) for name, row in totals.items()}
        found = {"sweep": experiment.name, "cells": cells, "stored": int(stored)}
        found |= {"seconds": seconds, "bytes": int(most), "algorithms": rows}
        typer.echo(json.dumps(found, indent=2))
    else:
        head = ("algorithm", "cells", "in the store", "time on one core", "memory of a cell")
        rows_shown = [
            (name, str(int(a)), str(int(b)), duration(c), human_bytes(e))
            for name, (a, b, c, e) in [*totals.items(), ("all", [cells, stored, seconds, most])]
        ]
        _table(rows_shown, head)
        typer.echo(
            f"{cells - int(stored)} cells to compute, about {duration(seconds / workers)} with "
            f"{workers} workers. Nothing was run."
        )
    require_room(experiment.cells())


def _export(experiment: Experiment, store: Path, path: Path, as_json: bool) -> None:
    from ..experiments.export import check_ending, export
    from ..experiments.run import collect
    from ..experiments.status import standing
    from ..experiments.store import Store

    check_ending(path)
    with Store(store, "ro") as opened:
        found = standing(opened, [cell.key for cell in experiment.cells()])
        export(collect(experiment, opened), path)
    if as_json:
        typer.echo(json.dumps(found._asdict() | {"file": str(path)}, indent=2))
        return
    lack = f"; {found.missing + found.failed} are NaN" if found.done < found.cells else ""
    typer.echo(f"{found.done} of {found.cells} cells written to {path}{lack}.")


def _merge(experiment: Experiment, store: Path, files: list[Path], as_json: bool) -> None:
    from ..experiments.status import standing
    from ..experiments.store import Store

    with Store(store) as opened:
        merged = opened.merge(files)
        found = standing(opened, [cell.key for cell in experiment.cells()])
    if as_json:
        counts = merged._asdict() | found._asdict() | {"missing": found.missing}
        typer.echo(json.dumps(counts, indent=2))
        return
    typer.echo(
        f"{merged.added} cells came in, {merged.known} were there. Of the {found.cells} cells of "
        f"{experiment.name}, {found.done} are done, {found.failed} failed, {found.missing} missing."
    )


def _print_script(
    experiment: Experiment, spec: Path, size: str | None, workers: int | None, limits: Any
) -> None:
    from ..experiments.executors.job_array import job_array_script

    command = ["gradone", "sweep", str(spec), "--shard", "{shard}", "--store", "{store}"]
    command += ["--executor", "serial", "--quiet"] + (["--size", size] if size else [])
    shards = min(workers or 100, len(experiment.cells()))
    limits["memory"] = limits["memory"].removesuffix("B")  # sbatch writes 4G
    typer.echo(job_array_script(command, shards=shards, **limits), nl=False)


def _table(rows: Sequence[Sequence[str]], head: Sequence[str] = ()) -> None:
    """Rows of text, numbers to the right."""
    from rich.table import Table

    from ._terminal import console, show

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(head))
    for i, cell in enumerate(rows[0]):
        justify: Any = "right" if i > 0 and cell[:1].isdigit() else "left"
        table.add_column(head[i] if head else "", justify=justify, no_wrap=True)
    for row in rows:
        table.add_row(*row)
    show(console(), table)
