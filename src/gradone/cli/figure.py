"""``gradone figure``: figures of the literature, made again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._app import MISTAKE, app, say
from ._target import AsJson

if TYPE_CHECKING:
    from ..experiments.store import Store

_FAILED = 3  # exit code when some of the figures could not be made, or say something else


@app.command()
def figure(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME...", help="Names of figures, which --list shows.", show_default=False
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All figures.")] = False,
    size: Annotated[str, typer.Option("--size", help="Size: small or paper.")] = "small",
    out: Annotated[Path, typer.Option("--out", help="Folder for the files.")] = Path("figures"),
    show_list: Annotated[bool, typer.Option("--list", help="List the figures and stop.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make figures of the literature, with theory and simulation."""
    from ..base.errors import BadData
    from ..experiments.store import Store
    from ..gallery import FIGURES

    if show_list:
        _list(as_json)
        return
    chosen = list(FIGURES) if everything else list(dict.fromkeys(names or ()))
    if not chosen:
        say("Give the names of figures, or --all. `gradone figure --list` lists them.", err=True)
        raise typer.Exit(MISTAKE)
    # A mistake must not wait for the figures before it.
    for name in chosen:
        if size not in FIGURES[name].budget:
            raise BadData(f"the size of a figure is small or paper, got '{size}'")
    out.mkdir(parents=True, exist_ok=True)
    with Store(out / "gallery.db") as store:
        rows = [_make(name, size, out, store, quiet=as_json) for name in chosen]
    if as_json:
        typer.echo(json.dumps(rows, indent=2, allow_nan=False))
    else:
        _table(rows)
        say(f"The files are in {out.resolve()}")
    if not all(row["ok"] for row in rows):
        raise typer.Exit(_FAILED)


def _make(name: str, size: Any, out: Path, store: Store, *, quiet: bool) -> dict[str, Any]:
    """What became of one figure; `ok` if it was made and its claims hold."""
    from ..base.errors import GradoneError
    from ..charts import plain_text
    from ..gallery import FIGURES, reproduce

    row: dict[str, Any] = {"name": name, "size": size, "budget": FIGURES[name].budget[size]}
    try:
        made = reproduce(name, size, store=store, progress=not quiet)
        files = made.save(out)
    except KeyboardInterrupt:
        say(
            f"{name}: interrupted; its finished curves are kept, the same command continues.",
            err=True,
        )
        raise
    except GradoneError as error:
        say(f"{name}: failed. {type(error).__name__}: {error}", err=True)
        return row | {"ok": False, "error": f"{type(error).__name__}: {error}"}
    if not quiet:
        say(f"{name}: {plain_text(made.sentence)}")
    for claim in made.claims:
        if not claim.holds:
            say(f"  does not hold here: {claim}", err=True)
        elif not quiet:
            say(f"  {claim}")
    return row | {
        "ok": all(claim.holds for claim in made.claims),
        "cpu_seconds": round(made.seconds, 2),
        "claims": [
            {"text": claim.text, "holds": claim.holds, "found": claim.found}
            for claim in made.claims
        ],
        "files": [str(path) for path in files],
    }


def _table(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from ._terminal import console, show

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("figure", "budget s", "CPU s", "claims"):
        table.add_column(title, justify="left" if title == "figure" else "right", no_wrap=True)
    table.add_column("files", overflow="fold")
    for row in rows:
        words = [row["name"], f"{row['budget']:.0f}"]
        if "error" in row:
            words.append("failed")
        else:
            held = sum(claim["holds"] for claim in row["claims"])
            suffixes = " ".join(Path(path).suffix for path in row["files"])
            words += [f"{row['cpu_seconds']:.1f}", f"{held}/{len(row['claims'])}", suffixes]
        table.add_row(*map(Text, words))
    screen = console()
    show(screen, "")
    show(screen, table)


def _list(as_json: bool) -> None:
    from ..charts import plain_text
    from ..gallery import FIGURES

    sentences = {name: plain_text(FIGURES[name].sentence) for name in FIGURES}
    if as_json:
        typer.echo(json.dumps(sentences, indent=2))
        return
    from rich.table import Table
    from rich.text import Text

    from ._terminal import console, show

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for name, sentence in sentences.items():
        table.add_row(Text(name, style="bold cyan"), Text(sentence))
    show(console(), table)
