"""``gradone study``: everything that is quickly known about a target."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import typer

from ._app import app
from ._target import AsJson, Noise, TargetName, find_target

if TYPE_CHECKING:
    from rich.console import Console

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
    as_json: AsJson = False,
) -> None:
    """Show the structure, difficulty, energies and labels of a target."""
    from ..targets.summary import summarize
    from ..targets.zoo import zoo

    chosen = find_target(target, noise)
    summary = summarize(chosen)
    start = time.process_time()
    analysis, reason = _analysis(chosen)
    summary.seconds["analysis"] = time.process_time() - start
    entry = zoo().find(chosen)
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
        names = ", ".join(f"z{i}" for i in target.expression.variables)
        rows["directions"] = f"r = {target.r}, uses {names}"
    else:
        levels = [summary.d, *summary.widths]
        rows["levels"] = " -> ".join(map(str, levels if levels[-1] == 1 else [*levels, 1]))
    rows["noise"] = f"variance {target.noise:g}" if target.noise else "none"
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
