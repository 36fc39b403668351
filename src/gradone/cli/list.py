"""``gradone list``: what there is to use, by kind."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..base.errors import BadData
from ._app import app

if TYPE_CHECKING:
    from rich.console import Console

    from ..base.registry import Registry


@app.command("list")
def list_(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WORD]...",
            help="A kind (functions, targets, inputs, algorithms, theories, learners, charts, "
            "figures, commands), or words to look for in names and descriptions.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """List targets, theories, learners, charts and figures.

    Without a word it prints names; with words it also says what the things are.
    """
    from ..algorithms import ALGORITHMS
    from ..charts import CHARTS
    from ..gallery import FIGURES
    from ..learners import LEARNERS
    from ..targets.inputs import LAWS
    from ..targets.vocabulary import vocabulary
    from ..targets.zoo import zoo
    from ..theory import THEORIES

    functions = vocabulary()
    algorithms = {name: _faces(ALGORITHMS[name]) for name in ALGORITHMS}
    theories, learners = _summaries(THEORIES), _summaries(LEARNERS)
    charts, figures = _summaries(CHARTS), _summaries(FIGURES)
    commands = _commands(context)
    if as_json:
        targets = [
            {
                "name": entry.name,
                "section": entry.section,
                "formula": entry.formula,
                "noise": entry.noise,
                "shows": entry.shows,
                "cites": entry.cites,
            }
            for entry in zoo().entries.values()
        ]
        kinds = {
            "functions": functions,
            "targets": targets,
            "inputs": _summaries(LAWS),
            "algorithms": algorithms,
            "theories": theories,
            "learners": learners,
            "charts": charts,
            "figures": figures,
            "commands": commands,
        }
        typer.echo(json.dumps(kinds, indent=2))
        return
    from ._terminal import console

    screen = console()
    sections = {"functions": {"Functions of the language": functions}}
    sections["targets"] = {
        f"Targets of the zoo: {section}": {
            entry.name: f"{entry.label}\n{entry.shows}" for entry in entries
        }
        for section, entries in zoo().sections().items()
    }
    sections |= {
        "inputs": {"Laws of the inputs": _summaries(LAWS)},
        "algorithms": {"Algorithms": algorithms},
        "theories": {"Theories": theories},
        "learners": {"Learners": learners},
        "charts": {"Charts": charts},
        "figures": {"Figures of the literature": figures},
        "commands": {"Commands": commands},
    }
    if not words:
        _names(screen, sections)
        return
    found = _chosen(sections, words)
    if not found:
        raise BadData(
            f"nothing here has {' and '.join(map(repr, words))} in its name or description; the "
            f"kinds are {', '.join(sections)}"
        )
    for title, rows in found.items():
        _section(screen, title, rows)


def _chosen(
    sections: dict[str, dict[str, dict[str, str]]], words: list[str]
) -> dict[str, dict[str, str]]:
    """Rows of the kinds named among the words, with the other words in them."""
    kinds = [word for word in words if word in sections]
    wanted = [word.lower() for word in words if word not in sections]
    found: dict[str, dict[str, str]] = {}
    for kind in kinds or sections:
        for title, rows in sections[kind].items():
            kept = {
                name: text
                for name, text in rows.items()
                if all(word in f"{name} {text}".lower() for word in wanted)
            }
            found |= {title: kept} if kept else {}
    return found


def _names(screen: Console, sections: dict[str, dict[str, dict[str, str]]]) -> None:
    """All names on one screen."""
    from rich.text import Text

    from ._terminal import show

    for kind, parts in sections.items():
        names = [name for rows in parts.values() for name in rows]
        show(screen, Text(kind.upper(), style="bold").append(f"  {', '.join(names)}", "default"))
    show(screen, "")
    show(screen, "What they are: gradone list KIND or WORD, for example gradone list theories")


def _faces(card: Any) -> str:
    """Name for people of an algorithm, what it does, and its faces."""
    names = {"theory": card.theory, "engine": card.engine, "learner": card.learner}
    faces = ", ".join(f"{kind} {name}" for kind, name in names.items() if name)
    return f"{card.label}: {card.__doc__.strip().partition(chr(10))[0]}\n{faces}"


def _summaries(registry: Registry) -> dict[str, str]:
    """First line of the docstring of every thing of a registry."""
    return {name: registry[name].__doc__.strip().partition("\n")[0] for name in registry}


def _commands(context: typer.Context) -> dict[str, str]:
    group: Any = context.find_root().command
    return {
        name: command.get_short_help_str(limit=90)
        for name, command in sorted(group.commands.items())
    }


def _section(screen: Console, title: str, rows: dict[str, str]) -> None:
    """Names in one column, what they are in the next; a second line is dimmed."""
    from rich.table import Table
    from rich.text import Text

    from ._terminal import show

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, min_width=22)
    table.add_column(overflow="fold")
    for name, text in rows.items():
        first, _, second = text.partition("\n")
        about = Text(first)
        if second:
            about.append(f"\n{second}", style="dim italic")
        table.add_row(Text(name, style="bold cyan"), about)
    show(screen, title.upper(), style="bold")
    show(screen, table)
    show(screen, "")
