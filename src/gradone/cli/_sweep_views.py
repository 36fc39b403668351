"""What ``gradone sweep`` shows besides its bar: summaries, costs, the standing, scripts."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ._app import say

if TYPE_CHECKING:
    from ..experiments.coordinator import Summary
    from ..experiments.spec import Experiment
    from ..experiments.store import Store

_MOST_SHOWN = 10  # failures in a table of the standing, rows of results
_MOST_COLLECTED = 5000  # cells; more take longer to read than a person waits


def show_summary(name: str, store: Path, summary: Summary, failed: int, as_json: bool) -> None:
    """How a run ended."""
    found = {
        "sweep": name,
        "store": str(store),
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
    typer.echo(f"Cells of {name} in {store}:")
    _table(rows)


def show_standing(spec: Path, store: Path, size: str | None, as_json: bool) -> None:
    """What a store has of a spec."""
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
            say(f"failed: {described(stored.parameters)}: {reason_of(stored.result)}")


def show_costs(experiment: Experiment, store: Path, workers: int | None, as_json: bool) -> None:
    """Cells, time and memory of a sweep."""
    from ..base.memory import human_bytes
    from ..experiments.costs import cost, require_room
    from ..experiments.executors import choose_executor
    from ..experiments.store import Store
    from ._sweep_bar import duration

    known: set[str] = set()
    if store.exists():
        with Store(store, "ro") as opened:
            known = opened.keys()
    workers = choose_executor("processes", workers).workers
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
        say(
            f"{cells - int(stored)} cells to compute, about {duration(seconds / workers)} with "
            f"{workers} workers. Nothing was run."
        )
    require_room(cell for cell in experiment.cells() if cell.key not in known)


def show_export(experiment: Experiment, store: Path, path: Path, as_json: bool) -> None:
    """Write what a store has, and say how much that is."""
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


def show_results(experiment: Experiment, store: Store, command: str) -> None:
    """The first rows of what was found, and what to do with it."""
    from ..experiments.run import collect
    from ._curves import show_curve

    if len(experiment.cells()) <= _MOST_COLLECTED:
        typer.echo("")
        show_curve(collect(experiment, store), most_rows=_MOST_SHOWN)
    say(f"To have all numbers in a file: {command} --export results.csv")


def show_merge(
    experiment: Experiment, mark: str, store: Path, files: list[Path], as_json: bool
) -> None:
    """Take over the cells of other stores, and say what is there then."""
    from ..experiments.status import remember_cells, standing
    from ..experiments.store import Store

    for file in files:  # before the store is made: a wrong name changes nothing
        Store(file, "ro").close()
    with Store(store) as opened:
        merged = opened.merge(files)
        keys = [cell.key for cell in experiment.cells()]
        remember_cells(opened, mark, keys)
        found = standing(opened, keys)
    if as_json:
        counts = merged._asdict() | found._asdict() | {"missing": found.missing}
        typer.echo(json.dumps(counts, indent=2))
        return
    say(
        f"{merged.added} cells were added, {merged.known} were known already. Of the {found.cells} "
        "cells of "
        f"{experiment.name}, {found.done} are done, {found.failed} failed, {found.missing} missing."
    )


def show_salvage(spec: Path, store: Path, as_json: bool) -> None:
    """Save what can be read of a damaged store into a new one, and say what is lost."""
    from ..experiments.salvage import salvage

    found = salvage(store)
    if as_json:
        counts = {"store": str(found.path), "saved": found.saved, "lost": found.lost}
        typer.echo(json.dumps(counts | {"lost_is_exact": found.lost_is_exact}, indent=2))
        return
    lost = f"{'' if found.lost_is_exact else 'at least '}{found.lost}"
    go_on = shlex.join(["gradone", "sweep", str(spec), "--store", str(found.path)])
    say(f"{found.saved} cells are saved in {found.path}, {lost} are lost. To compute them: {go_on}")


def print_script(
    experiment: Experiment, spec: Path, options: Sequence[str], workers: int | None, jobs: Any
) -> None:
    """Print a job array for ``sbatch``."""
    from ..experiments.executors.job_array import job_array_script

    command = ["gradone", "sweep", str(spec), "--shard", "{shard}", "--store", "{store}"]
    command += ["--workers", "1", "--quiet", *options]
    shards = min(workers or 100, len(experiment.cells()))
    jobs["memory"] = jobs["memory"].removesuffix("B")  # sbatch writes 4G
    typer.echo(job_array_script(command, shards=shards, **jobs), nl=False)


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
