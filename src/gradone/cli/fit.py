"""``gradone fit``: the few directions of a table that matter, a predictor, and a report."""

from __future__ import annotations

import json
import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._app import app, say
from ._target import AsJson

if TYPE_CHECKING:
    from ..report.table import Prepared, TableFit


_LONG = 30.0  # CPU seconds from which a fit is announced
_MOST_COLUMNS = 30  # that are named one by one


class Kind(StrEnum):
    """What a target is."""

    AUTO = "auto"
    REGRESSION = "regression"
    CLASSIFICATION = "classification"


@app.command()
def fit(
    table: Annotated[Path, typer.Argument(metavar="DATA", help="A CSV or Parquet file.")],
    target: Annotated[str, typer.Option("--target", help="The column to predict.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder of report and model; default DATA-fit."),
    ] = None,
    task: Annotated[
        Kind, typer.Option("--task", help="Whether the target is a number or a class.")
    ] = Kind.AUTO,
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", help="A column to leave out; may be given several times."),
    ] = None,
    max_levels: Annotated[
        int, typer.Option("--max-levels", min=2, help="Largest number of texts in a category.")
    ] = 50,
    folds: Annotated[
        int | None, typer.Option("--folds", help="Folds of the comparison; 5, or 3 for many rows.")
    ] = None,
    curve: Annotated[
        bool, typer.Option("--curve/--no-curve", help="Measure the learning curve as well.")
    ] = True,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of folds and learners.")] = 0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the table and estimate the cost; fit nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Learn a column of a table, compare, and write a report."""
    from ..report.table import fit_prepared, prepare

    data = prepare(table, target, task=task.value, drop=drop or (), max_levels=max_levels)
    if dry_run:
        _show_cost(data, folds, curve, as_json)
        return
    folder = out or table.with_name(f"{table.stem}-fit")
    if not as_json:
        _show_table(data)
        _announce(data, folds, curve)
    found = fit_prepared(data, folds=folds, curve=curve, seed=seed, say=_say)
    files = found.save(folder, command=_command(table, found, task, drop, curve))
    if as_json:
        written = {kind: str(path) for kind, path in files.items()}
        typer.echo(json.dumps({**found.to_dict(), "files": written}, indent=2, allow_nan=False))
        return
    _show(found, files)


def _say(text: str) -> None:
    """What is being done, on one line of a terminal that the next one replaces."""
    import sys

    if sys.stderr.isatty():
        typer.echo(f"\r\033[K{text} ...", err=True, nl=False)


def _command(table: Path, found: TableFit, task: Kind, drop: list[str] | None, curve: bool) -> str:
    """The command line that makes the report again."""
    import shlex

    words = ["gradone", "fit", str(table), "--target", found.data.target]
    words += [] if task is Kind.AUTO else ["--task", task.value]
    for name in drop or ():
        words += ["--drop", name]
    words += ["--folds", str(found.folds), "--seed", str(found.seed)]
    words += [] if curve else ["--no-curve"]
    return shlex.join(words)


def _show_table(data: Prepared) -> None:
    from ..base.errors import number_of

    n, d = data.X.shape
    kind = f"{len(data.classes)} classes" if data.classes else "a number"
    size = f"{number_of(n, 'row')}, {number_of(d, 'feature')}"
    say(f"{data.source}: {size}, '{data.target}' is {kind}")
    for note in data.notes:
        say(f"  {note}")
    for warning in data.warnings:
        say(f"Warning: {warning}", err=True)


def _show_cost(data: Prepared, folds: int | None, curve: bool, as_json: bool) -> None:
    from ..report.table.cost import expected_cost
    from ..report.table.fit import number_of_folds

    count = number_of_folds(data, folds)
    cost = expected_cost(data, folds=count, curve=curve)
    if as_json:
        n, d = data.X.shape
        told = {
            "rows": n,
            "features": d,
            "task": data.task,
            "folds": count,
            "cpu_seconds": round(cost.seconds, 1),
            "memory_bytes": round(cost.memory),
            "notes": list(data.notes),
            "warnings": list(data.warnings),
        }
        typer.echo(json.dumps(told, indent=2))
        return
    _show_table(data)
    say(f"columns: {_columns(data)}")
    say(f"expected with {count} folds: {cost}")


def _announce(data: Prepared, folds: int | None, curve: bool) -> None:
    """Say what a long fit will cost before it begins."""
    from ..report.table.cost import expected_cost
    from ..report.table.fit import number_of_folds

    count = number_of_folds(data, folds)
    cost = expected_cost(data, folds=count, curve=curve)
    if cost.seconds > _LONG:
        say(f"expected with {count} folds: {cost}")


def _columns(data: Prepared) -> str:
    """Every column with its kind, or how many there are of each kind if they fill a screen."""
    columns = data.encoder.columns
    if len(columns) <= _MOST_COLUMNS:
        return ", ".join(f"{c.name} ({_kind(c)})" for c in columns)
    kinds = [_kind(c).rpartition(" levels")[1].strip() or _kind(c) for c in columns]
    found = ((kinds.count(kind), kind) for kind in dict.fromkeys(kinds))
    names = {"number": "of numbers", "date": "of dates", "levels": "of categories"}
    shown = [f"{count} {names.get(kind, 'of many texts (mean label)')}" for count, kind in found]
    return f"{len(columns)}, {', '.join(shown)}"


def _kind(column: object) -> str:
    levels = getattr(column, "levels", None)
    if levels is None:
        return "date" if hasattr(column, "parts") else "number"
    return f"{len(levels)} levels" + (", mean label" if hasattr(column, "means") else "")


def _show(found: TableFit, files: dict[str, Path]) -> None:
    from rich.table import Table
    from rich.text import Text

    from ..report.table import words
    from ..report.table.peers import label_of
    from ._terminal import console, show

    screen = console()
    if screen.is_terminal:
        typer.echo("\r\033[K", err=True, nl=False)
    show(screen, "")
    show(screen, found.learner.diagnosis_, style="bold")
    show(screen, words.headline(found))
    show(screen, "")
    rows = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("method", found.comparison.measure, "±", "CPU s per fit"):
        rows.add_column(name, justify="left" if name == "method" else "right")
    for name, entry in found.comparison.entries.items():
        style = "bold cyan" if name == "gradone" else ""
        label = Text(label_of(name, found.data.task), style=style)
        if entry.failure:
            rows.add_row(label, "failed", "", "")
        else:
            numbers = f"{entry.mean:.3f}", f"{entry.error:.3f}", f"{entry.seconds:.1f}"
            rows.add_row(label, *numbers)
    show(screen, rows)
    show(screen, "")
    for k in range(found.learner.n_directions_):
        shares = f"{found.gradient_shares[k]:.0%} of the gradient"
        if not math.isnan(found.explained[k]):
            so_far = "it explains" if k == 0 else "with those before it explains"
            shares += f", {so_far} {max(found.explained[k], 0.0):.0%} of the variance"
        show(screen, f"direction {k + 1}: {words.leading_features(found, k)}; {shares}")
    if found.growth is not None:
        show(screen, words.more_rows(found))
    show(screen, "")
    for kind, path in files.items():
        show(screen, f"{kind}: {path}")
    show(screen, f"CPU time: {found.seconds:.0f} s", style="dim")
