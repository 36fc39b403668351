"""``gradone study``: everything about a target, in the terminal and as one report."""

from __future__ import annotations

import json
import re
import time
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._app import app
from ._target import Noise, TargetName, find_target

if TYPE_CHECKING:
    from rich.console import Console

    from ..report import Study
    from ..targets.hierarchy import HierarchicalTarget
    from ..targets.summary import Summary
    from ..targets.target import Target
    from ..targets.zoo import Entry

_BAR = 30  # width of a bar
_HEIGHT = 8  # height of the histogram


@app.command()
def study(
    target: TargetName,
    noise: Noise = None,
    d: Annotated[int | None, typer.Option("--d", help="Dimension of the simulations.")] = None,
    budget: Annotated[
        float,
        typer.Option(
            "--budget", help="Seconds of work on each processor; 0 is a coarse whole report."
        ),
    ] = 30.0,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the report.")] = Path(
        "gradone-reports"
    ),
    seed: Annotated[int, typer.Option("--seed", help="Seed of all random numbers.")] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Make the curves of the report in DIR finer.")
    ] = False,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Print what is known at once; no report.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what is known at once as JSON; no report.")
    ] = False,
) -> None:
    """Study a target: print a summary, write one HTML report."""
    began = time.monotonic()
    chosen = find_target(target, noise)
    if as_json or no_report:
        _at_once(chosen, as_json=as_json)
        return
    from ..base.progress import TerminalBar
    from ..report import study as verb

    file = out / f"{file_name(chosen)}.html"
    bar = TerminalBar("study")

    def tell(found: Study, done: int, known: int | str) -> None:
        if isinstance(known, str):
            typer.echo(known, err=True)
        elif done:
            bar.step(done, known)
        else:
            _first_words(found)
            # Children are still importing: what draws the report is imported meanwhile.
            Thread(target=import_module, args=("gradone.charts._matplotlib",), daemon=True).start()

    try:
        found = verb(
            chosen, d=d, budget=budget, seed=seed, resume=file if resume else None, progress=tell
        )
    finally:
        bar.close()
    found.save(file)
    _last_words(found)
    _say_where(file, time.monotonic() - began)


def file_name(target: Target | HierarchicalTarget) -> str:
    """Name of the report on a target, for files: that of the zoo, or its letters.

    Examples
    --------
    >>> from gradone import Target
    >>> file_name(Target("sign(z1*z2)")), file_name(Target("z1*z2 + He3(z1)/7"))
    ('parity2', 'z1-z2-He3-z1-7')
    """
    from ..targets.zoo import zoo

    if entry := zoo().find(target):
        return entry.name
    noise = f" noise {target.noise:g}" if target.noise else ""
    return re.sub(r"[^A-Za-z0-9.]+", "-", target.text + noise).strip("-.")[:60].strip("-.")


def _at_once(target: Target | HierarchicalTarget, *, as_json: bool) -> None:
    """What is known without simulations."""
    from ..targets.summary import summarize
    from ..targets.zoo import zoo

    summary = summarize(target)
    start = time.process_time()
    analysis, reason = _analysis(target)
    summary.seconds["analysis"] = time.process_time() - start
    entry = zoo().find(target)
    if as_json:
        found = summary.to_dict()
        found["zoo"] = entry and {
            "name": entry.name,
            "shows": entry.shows,
            "cites": list(entry.cites),
        }
        found["analysis"] = analysis and analysis.to_dict()
        typer.echo(json.dumps(found, indent=2, allow_nan=False))
        return
    _show(summary, entry, analysis.summary(heading=False) if analysis else reason)


def _analysis(target: Target | HierarchicalTarget) -> tuple[Any, str]:
    """Analysis of a target, or the reason why there is none."""
    from ..analysis.analyze import analyze
    from ..base.errors import OutOfRegime

    try:
        return analyze(target), ""
    except OutOfRegime as reason:
        return None, str(reason)


def _first_words(study: Study) -> None:
    """What is known before any curve."""
    from ..targets.zoo import zoo

    analysis = study.analysis
    text = analysis.summary(heading=False) if analysis else study.why_not("analysis")
    _show(study.facts, zoo().find(study.target), text)


def _last_words(study: Study) -> None:
    """The curves as a table."""
    from ..report.words import curve_rows
    from ._terminal import console, show

    screen = console()
    show(screen, "Predicted and simulated", style="bold")
    _table(screen, dict(curve_rows(study)))


def _say_where(file: Path, seconds: float) -> None:
    from ._terminal import console, show

    size = file.stat().st_size / 1e6
    # Not through the console: it would break a long path.
    typer.secho(f"Report: {file} ({size:.1f} MB, {seconds:.0f} s)", bold=True)
    show(
        console(),
        "It is one file that needs no network: open it in a browser, send it or print it.\n"
        "The same command with --resume makes its curves finer.",
    )


def _show(summary: Summary, entry: Entry | None, analysis: str) -> None:
    from ._terminal import console, show

    screen = console()
    _heading(screen, summary, entry)
    _table(screen, _first_facts(summary))
    show(screen, "How hard it is", style="bold")
    show(screen, analysis)
    show(screen, "")
    if summary.energies:
        show(screen, "Hermite energies", style="bold")
        _energies(screen, summary)
    _labels(screen, summary)
    times = ", ".join(f"{name} {1e3 * t:.0f} ms" for name, t in summary.seconds.items())
    show(screen, f"CPU time: {times}", style="dim")


def _heading(screen: Console, summary: Summary, entry: Entry | None) -> None:
    from ..targets.target import Target
    from ._terminal import pretty, show

    target = summary.target
    text = target.text
    show(screen, text, style="bold")
    if isinstance(target, Target) and pretty(text) != text:
        show(screen, f"y = {pretty(text)}", style="bold cyan")
    if entry:
        show(screen, f"{entry.name}: {entry.shows}", style="italic")
        show(screen, f"references: gradone cite {entry.name}", style="dim")
    show(screen, "")


def _first_facts(summary: Summary) -> dict[str, str]:
    from ..targets.target import Target
    from ._terminal import with_error

    target, rows = summary.target, {}
    if isinstance(target, Target):
        names = ", ".join(f"z{i}" for i in target.variables)
        rows["directions"] = f"r = {target.r}, uses {names}"
    else:
        levels = [summary.d, *summary.widths]
        rows["levels"] = " -> ".join(map(str, levels if levels[-1] == 1 else [*levels, 1]))
    rows["noise"] = f"variance {target.noise:g}" if target.noise else "none"
    if isinstance(target, Target) and target.q:
        rows["latent noise"] = f"q = {target.q}"
    if summary.mean is not None and summary.variance is not None:
        rows["mean"] = with_error(summary.mean)
        rows["variance"] = with_error(summary.variance) + (", noise aside" if target.noise else "")
    for key, values in (("structure", summary.facts), ("note", summary.notes)):
        if values:
            rows[key] = "\n".join(values)
    return rows


def _table(screen: Console, rows: dict[str, str]) -> None:
    from rich.table import Table
    from rich.text import Text

    from ._terminal import show

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for name, text in rows.items():
        table.add_row(Text(name, style="dim"), Text(text))
    show(screen, table)
    show(screen, "")


def _energies(screen: Console, summary: Summary) -> None:
    from rich.table import Table
    from rich.text import Text

    from ._terminal import bar, error_of, number, show

    rows = [(str(k), energy) for k, energy in enumerate(summary.energies)]
    if summary.tail is not None:
        rows.append((f"> {len(summary.energies) - 1}", summary.tail))
    total = sum(max(energy.value, 0.0) for _, energy in rows) or 1.0
    largest = max(energy.value for _, energy in rows) or 1.0
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("degree", "energy", "error", "share"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for degree, energy in rows:
        share = max(energy.value, 0.0) / total
        table.add_row(
            degree,
            number(energy),
            error_of(energy),
            f"{100 * share:.1f} %" if share > 5e-13 else "",
            Text(bar(energy.value / largest, _BAR), style="cyan"),
        )
    show(screen, table)
    show(screen, "")


def _labels(screen: Console, summary: Summary) -> None:
    from rich.table import Table
    from rich.text import Text

    from ._terminal import bar, columns, show

    labels = summary.labels
    where = f" in dimension d = {summary.d}" if summary.widths else ""
    show(screen, f"Distribution of y{where}", style="bold")
    if labels.atoms:
        largest = max(p.value for _, p in labels.atoms)
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        for value, p in labels.atoms:
            table.add_row(
                Text(f"y = {value:.6g}", justify="right"),
                Text(f"{100 * p.value:.2f} %", justify="right"),
                Text(bar(p.value / largest, _BAR), style="green"),
            )
        show(screen, table)
    if not labels.is_discrete:
        for row in columns(labels.shares.tolist(), _HEIGHT):
            show(screen, f"  {row}", style="green")
        low, high = f"{labels.edges[0]:.3g}", f"{labels.edges[-1]:.3g}"
        middle = f"{(labels.edges[0] + labels.edges[-1]) / 2:.3g}"
        width = labels.shares.size
        show(screen, "  " + "─" * width, style="dim")
        scale = low + middle.center(width - len(low) - len(high)) + high
        show(screen, f"  {scale}", style="dim")
        show(screen, f"  {labels.n:,} samples, {100 * labels.outside:.1f} % outside", style="dim")
    show(screen, "")
