"""``gradone atlas``: the claims of the literature, and whether they hold here."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._app import app, say
from ._target import AsJson

if TYPE_CHECKING:
    from ..gallery import Atlas, Entry

_FAILED = 3  # exit code when a verdict is not the one on record


@app.command()
def atlas(
    family: Annotated[
        str, typer.Argument(metavar="[FAMILY]", help="bayes, lazy, sgd, giant or depth.")
    ] = "",
    claim: Annotated[str, typer.Argument(metavar="[CLAIM]", help="Name of one claim.")] = "",
    check: Annotated[
        bool, typer.Option("--check", help="Measure and judge the claims anew.")
    ] = False,
    store: Annotated[
        Path, typer.Option("--store", help="File that remembers what was measured.")
    ] = Path("atlas.db"),
    as_json: AsJson = False,
) -> None:
    """List claims of the literature, with verdicts."""
    from ..gallery import atlas

    chosen = atlas(family or None, claim or None)
    last = chosen.recorded()
    if check:
        rows = _checked(chosen, store, quiet=as_json)
        last = {**last, "claims": rows}
    if as_json:
        typer.echo(json.dumps(_plain(chosen, last, check), indent=1, allow_nan=False))
    elif claim:
        _show(chosen[claim], last)
    else:
        _table(chosen, last, check)
    if check:
        _compare_with_record(chosen, last["claims"])


def _checked(chosen: Atlas, path: Path, *, quiet: bool) -> dict[str, Any]:
    """Verdicts that were measured now, or before in the same store."""
    from ..experiments.store import Store

    try:
        with Store(path) as store:
            verdicts = chosen.check(store=store, progress=not quiet)
    except KeyboardInterrupt:
        say(
            f"Interrupted; what was measured is kept in {path}, the same command continues.",
            err=True,
        )
        raise
    return {name: verdict.to_dict() for name, verdict in verdicts.items()}


def _plain(chosen: Atlas, last: dict[str, Any], check: bool) -> dict[str, Any]:
    """What a program reads; after a check, what ``gallery/verdicts.json`` holds."""
    from importlib.metadata import version

    if check:
        day = datetime.now(UTC).date().isoformat()
        head = {"version": version("gradone"), "date": day}
        return {**head, "claims": list(last["claims"].values())}
    described = [
        {
            "family": entry.family,
            "claim": name,
            "kind": entry.kind,
            "statement": entry.statement,
            "formula": entry.formula,
            "regime": entry.regime,
            "cites": list(entry.cites),
            "show": entry.show,
            "figure": entry.figure,
            "why": entry.why,
            **last["claims"].get(name, {}),
        }
        for name, entry in chosen.items()
    ]
    return {"version": last["version"], "date": last["date"], "claims": described}


def _table(chosen: Atlas, last: dict[str, Any], check: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from ._terminal import console, show

    screen = console()
    for family, entries in chosen.families().items():
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for title in (f"{family}: claim", "kind", "verdict"):
            table.add_column(title, overflow="fold")
        for entry in entries:
            row = last["claims"].get(entry.name)
            word = row["verdict"] if row else "not checked yet"
            table.add_row(Text(entry.name, style="bold cyan"), entry.kind, Text(word))
        show(screen, table)
        show(screen, "")
    count = len(chosen)
    when = "now" if check else f"on {last['date']} with gradone {last['version']}"
    show(screen, f"{count} claims, checked {when}. `gradone atlas FAMILY CLAIM` shows one of them.")


def _show(entry: Entry, last: dict[str, Any]) -> None:
    """One claim in full."""
    from ..base.references import cite
    from ..charts import plain_text
    from ._terminal import console, show

    screen = console()
    show(screen, f"{entry.name} ({entry.family}, {entry.kind})", "bold")
    show(screen, plain_text(entry.statement))
    if entry.formula:
        show(screen, f"  {entry.formula}")
    show(screen, f"Regime: {plain_text(entry.regime)}.")
    for key in entry.cites:
        show(screen, f"Source: {cite(key)}")
    show(screen, "")
    for line in entry.show.strip().splitlines():
        show(screen, f"    {line}")
    if entry.figure:
        show(screen, f"    gradone figure {entry.figure}")
    show(screen, "")
    row = last["claims"].get(entry.name)
    show(screen, f"Verdict: {row['verdict'] if row else 'not checked yet'}", "bold")
    for number in row["numbers"] if row else ():
        show(screen, f"  {_number(number)}")
    if entry.why:
        show(screen, plain_text(entry.why))


def _number(row: dict[str, Any]) -> str:
    from ..gallery import Number

    return str(Number(row["name"], row["claimed"], row["measured"], row["error"]))


def _compare_with_record(chosen: Atlas, rows: dict[str, Any]) -> None:
    """Say which verdicts are not those on record, and end with an error if there are any."""
    from ..gallery import SKIPPED

    before = chosen.recorded()["claims"]
    moved = [
        f"{name}: {before[name]['verdict']} before, {row['verdict']} now"
        for name, row in rows.items()
        if name in before and row["verdict"] not in (before[name]["verdict"], SKIPPED)
    ]
    for line in moved:
        typer.echo(line, err=True)
    if moved:
        raise typer.Exit(_FAILED)
