"""``gradone figure``: figures of the literature, made again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._app import MISTAKE, app

if TYPE_CHECKING:
    from ..gallery import Reproduction

_FAILED = 3  # exit code when some of the figures could not be made


@app.command()
def figure(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME...", show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All figures.")] = False,
    size: Annotated[str, typer.Option("--size", help="small or paper.")] = "small",
    out: Annotated[Path, typer.Option("--out", help="Folder for the files.")] = Path("figures"),
    show_list: Annotated[bool, typer.Option("--list", help="Show the names and stop.")] = False,
) -> None:
    """Make figures of the literature again, with theory."""
    from ..experiments.store import Store
    from ..gallery import FIGURES

    if show_list:
        _list()
        return
    chosen = list(FIGURES) if everything else list(dict.fromkeys(names or ()))
    if not chosen:
        typer.echo("Give names of figures, or --all. `gradone figure --list` shows them.", err=True)
        raise typer.Exit(MISTAKE)
    for name in chosen:
        FIGURES[name]  # a mistyped name must not wait for the figures before it
    out.mkdir(parents=True, exist_ok=True)
    rows, failed = [], 0
    with Store(out / "gallery.db") as store:
        for name in chosen:
            row, ok = _make(name, size, out, store)
            rows.append(row)
            failed += not ok
    _table(rows)
    typer.echo(f"The files are in {out}.")
    if failed:
        raise typer.Exit(_FAILED)


def _make(name: str, size: str, out: Path, store: Any) -> tuple[tuple[str, ...], bool]:
    """Row of the table, and whether the figure was made and its claims hold."""
    from ..base.errors import GradoneError
    from ..charts import plain_text
    from ..gallery import FIGURES, reproduce

    try:
        made: Reproduction = reproduce(name, size, store=store)  # type: ignore[arg-type]
        files = made.save(out)
    except GradoneError as error:
        if size not in FIGURES[name].budget:
            raise
        typer.echo(f"{name}: failed. {type(error).__name__}: {error}", err=True)
        return (name, f"{FIGURES[name].budget[size]:.0f}", "failed", "", ""), False
    typer.echo(f"{name}: {plain_text(made.sentence)}")
    for claim in made.claims:
        if not claim.holds:
            typer.echo(f"  does not hold here: {claim}", err=True)
    held = sum(claim.holds for claim in made.claims)
    suffixes = " ".join(path.suffix for path in files)
    row = (
        name,
        f"{made.budget:.0f}",
        f"{made.seconds:.1f}",
        f"{held}/{len(made.claims)}",
        f"{name}: {suffixes}",
    )
    return row, held == len(made.claims)


def _table(rows: list[tuple[str, ...]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from ._terminal import console, show

    screen = console()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("figure", "budget s", "CPU s", "claims"):
        right = title in ("budget s", "CPU s", "claims")
        table.add_column(title, justify="right" if right else "left", no_wrap=True)
    table.add_column("files", overflow="fold")
    for row in rows:
        table.add_row(*(Text(word) for word in row))
    show(screen, "")
    show(screen, table)


def _list() -> None:
    from rich.table import Table
    from rich.text import Text

    from ..charts import plain_text
    from ..gallery import FIGURES
    from ._terminal import console, show

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for name in FIGURES:
        table.add_row(Text(name, style="bold cyan"), Text(plain_text(FIGURES[name].sentence)))
    show(console(), table)
